"""Log files that were copied, swapped, renamed or mixed with those of others: found, named, and not sealed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from replay.cli import cli
from replay.graders import load
from replay.regrade import Options, regrade
from replay.seal.sealing import seal
from replay.verify import verify
from schemas.errors import LogError, WorkError
from tests.replay_grades.tools import rows
from tests.seal.campaigns import campaign, files

FIRST, SECOND = "api-1-r1-abc.jsonl.zst", "api-1-r2-abc.jsonl.zst"


def duplicated(runs: Path) -> list[str]:
    shutil.copy(runs / FIRST, runs / "api-1-r9-abc.jsonl.zst")
    return ["api-1-r9-abc"]


def swapped(runs: Path) -> list[str]:
    (runs / FIRST).rename(runs / "kept")
    (runs / SECOND).rename(runs / FIRST)
    (runs / "kept").rename(runs / SECOND)
    return ["api-1-r1-abc", "api-1-r2-abc"]


def renamed(runs: Path) -> list[str]:
    (runs / FIRST).rename(runs / "other-r1-abc.jsonl.zst")
    return ["other-r1-abc"]


def overwritten(runs: Path) -> list[str]:
    shutil.copy(runs / FIRST, runs / SECOND)
    return ["api-1-r2-abc"]


def of_another_campaign(runs: Path) -> list[str]:
    manifest = runs.parent / "campaign.json"
    manifest.write_text(json.dumps({"campaign_id": "c-other"}))
    return sorted(path.name.partition(".")[0] for path in runs.iterdir())


def doubled_inside(runs: Path) -> list[str]:
    (runs / FIRST).write_bytes((runs / FIRST).read_bytes() * 2)
    return ["api-1-r1-abc"]


def joined(runs: Path) -> list[str]:
    (runs / FIRST).write_bytes((runs / FIRST).read_bytes() + (runs / SECOND).read_bytes())
    return ["api-1-r1-abc"]


def emptied(runs: Path) -> list[str]:
    (runs / FIRST).write_bytes(b"")
    return []


CHANGES = (duplicated, swapped, renamed, overwritten, of_another_campaign, doubled_inside, joined, emptied)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_logs_that_were_mixed_up_are_named_and_not_sealed(tmp_path: Path, change: Callable[[Path], list[str]]) -> None:
    directory = campaign(tmp_path / "c", torn=False)
    wrong = change(directory / "runs")
    found = {check.run_id for check in verify(directory) if check.state == "corrupt"}  # type: ignore[union-attr]
    assert sorted(found) == wrong
    told = CliRunner().invoke(cli, ["verify", str(directory)])
    assert told.exit_code == (1 if wrong else 0)
    assert all(f"{run}: " in told.stdout for run in wrong)
    before = files(directory)
    with pytest.raises(LogError):
        seal(directory, level=1)
    assert files(directory) == before


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_no_run_is_graded_twice_whatever_its_log_is_called(tmp_path: Path, change: Callable[[Path], list[str]]) -> None:
    directory = campaign(tmp_path / "c", torn=False)
    change(directory / "runs")
    if change is of_another_campaign:
        with pytest.raises(WorkError, match="this run belongs to campaign c-abc, not to c-other"):
            regrade(directory, load("claims"), Options())
        return
    graded = regrade(directory, load("claims"), Options()).receipt.coverage
    assert graded.graded <= 6
    ids = [row[0] for row in rows(directory, "SELECT run_id FROM grades WHERE verdict IS NOT NULL")]
    assert len(ids) == len(set(ids))
