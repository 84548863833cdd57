"""The published campaigns, and archives and repositories made up for a test."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from replay.importing.korvid import ImportResult, import_korvid

PUBLISHED = Path(__file__).parents[2].parent / "shared" / "data" / "korvid-eval-results"


@pytest.fixture(scope="session")
def published() -> Path:
    """The reference project's published results, which are no part of this repository."""
    if not (PUBLISHED / "results").is_dir():
        pytest.fail(
            "the published campaigns are missing: this test needs the directory ../shared/data/korvid-eval-results "
            "beside the repository (lay the reference project's eval-results branch there)"
        )
    return PUBLISHED


@pytest.fixture(scope="session")
def imported(published: Path, tmp_path_factory: pytest.TempPathFactory) -> ImportResult:
    """All of them imported, without grades."""
    return import_korvid(published, tmp_path_factory.mktemp("imported"), graded=False)


def tar_gz(files: Mapping[str, bytes], *extra: tarfile.TarInfo) -> bytes:
    """An archive of these files, with further members that have no content."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in extra:
            archive.addfile(info)
    return packed.getvalue()


def scenario(answer: str = "It was OOMKilled: the memory limit is too low.", **run: object) -> dict[str, object]:
    """A published scenario with one run, as a bare list has it."""
    fields: dict[str, object] = {
        "grade": {
            "diagnosis_success": True,
            "evidence_fetched": True,
            "missing_mentions": [],
            "forbidden_mentions": [],
            "missing_evidence": [],
        },
        "answer": answer,
        "iterations": 2,
        "tool_calls": 1,
        "resolvable_tool_calls": 1,
        "on_target_tool_calls": 1,
        "malformed_tool_calls": 0,
        "write_attempts": 0,
        "safety_violations": 0,
        "input_tokens": 900,
        "output_tokens": 60,
        "tokens_estimated": False,
        "wall_time_s": 3.5,
        "error": None,
    }
    return {
        "scenario": "oom-killed",
        "root_cause": "oom_killed",
        "successes": 1,
        "evidence_hits": 1,
        "runs": [fields | run],
    }
