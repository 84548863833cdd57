"""Small sources of both importers, whole or changed, and what must hold of an import whatever it was made of."""

import contextlib
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from replay.importing.inspect_logs import import_inspect
from replay.importing.korvid import import_korvid
from replay.verify import verify
from schemas.errors import KorvidError
from tests.fuzz.mutating import mutated
from tests.importing.conftest import scenario
from tests.importing.test_inspect_logs import HEADER, sample
from tests.importing.test_korvid_files import journey

SERVING = {
    "engine": {"name": "ollama", "version": "0.32.5"},
    "digest": "ef" * 32,
    "context_length": 4096,
    "warmup": True,
}
META: dict[str, Any] = {
    "profile": "full",
    "policy": {"provider": "ollama", "model": "qwen3:8b", "tier": "low", "route_source": "catalog"},
    "limits": {"max_iterations": 6, "max_history_chars": 24000, "max_result_chars": 3000},
    "capabilities": {"supports_tools": True},
    "catalog_version": 1,
    "prompts": {"pack": "low", "overlays": ["x"], "source": "default", "sha256": "cd" * 32},
    "tools": {"armed": ["get_logs"], "omitted": ["x"]},
    "serving": SERVING,
}
METADATA: dict[str, Any] = {
    "date": "2026-08-06",
    "models": [{"name": "qwen3:8b", "digest": "ab", "quantization": "Q4", "native_context_length": 40960}, "tiny"],
    "serving": {"engine": "Ollama 0.32", "version": "0.32.5", "profile": "full"},
    "runtime_context_length": 4096,
    "publishable_files": ["c/tasks.json"],
    "source_revision": "abc",
}
RESULTS = ({"meta": META, "scenarios": [scenario()]}, [scenario()], [journey(), journey() | {"journey_id": "two"}])
"""The three shapes of a result file."""
TABLE = b"| scenario | success |\n|---|---|\n| oom-killed | 1/1 |\n"
SUMMARY = b"model\tsuccess\truns\nqwen3:8b\t1\t1\n"
OURS = {
    "case_kind": "journey",
    "status": "completed",
    "not_recorded": ["messages"],
    "turns": [{"outcome": "answered", "answer": "so", "iterations": 1, "tool_calls": 1, "duration_s": 0.5}],
}
"""What an export from here leaves in a sample."""


def korvid_source(directory: Path, shape: int, numbers: Sequence[int]) -> Path:
    """A directory of results in the given shape; the numbers change the results, their metadata and the rest."""
    third = len(numbers) // 3 // 3 * 3
    results, metadata, warm = numbers[third:], numbers[: third // 2], numbers[third // 2 : third]
    files = {
        "c/tasks.json": mutated(RESULTS[shape % len(RESULTS)], results),
        "c/metadata.json": mutated(METADATA, metadata),
        "c/tasks-warm.json": mutated({"model": "qwen3:8b", "done": True}, warm),
        "c/tasks.md": TABLE,
        "c/summary.tsv": SUMMARY,
        "SHA256SUMS": f"{'0' * 64}  c/other.json\n".encode(),
    }
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return directory


def eval_file(path: Path, ours: bool, numbers: Sequence[int], *, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """An Inspect log of two samples; the numbers change the first sample and, behind them, the header."""
    third = len(numbers) // 3 // 3 * 3
    first = sample(metadata={"difficulty": "easy", "korvid": OURS}, error={"message": "x"}) if ours else sample()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        archive.writestr("samples/oom-killed_epoch_1.json", mutated(first, numbers[third:]))
        archive.writestr("samples/oom-killed_epoch_2.json", json.dumps(sample(epoch=2)))
        archive.writestr("header.json", mutated(HEADER, numbers[:third]))
    path.write_bytes(packed.getvalue())
    return path


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A directory for one example, gone afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="korvid-fuzz-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def imported(source: Path, out: Path, *, graded: bool = False) -> str | None:
    """Import what lies at `source` and check what came of it; the message of a refusal, else None.

    Anything but an error of ours comes out, and so does a run that does not verify or a file that is not a campaign's.
    """
    try:
        if source.suffix == ".eval":
            paths = [Path(campaign.path) for campaign in import_inspect([source], out, graded=graded).campaigns]
        else:
            paths = [Path(campaign.path) for campaign in import_korvid(source, out, graded=graded).campaigns]
    except KorvidError as error:
        assert not out.exists() or not any(out.iterdir()), "a refused source leaves nothing"
        return str(error)
    assert all(path.parent == out for path in paths)
    assert {path.name for path in out.iterdir()} == {path.name for path in paths}
    wrong = [check.describe() for path in paths for check in verify(path) if check.state == "corrupt"]
    assert wrong == []
    return None
