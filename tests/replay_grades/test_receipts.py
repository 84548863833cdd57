"""A damaged receipt: passed over and named by what asks for grades, found by `verify`, and written again."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from replay.cli import cli
from replay.graders import load
from replay.receipts import grade_files
from replay.regrade import Options, regrade
from replay.scoreboard.gather import Choice, gather
from replay.seal.sealing import seal
from replay.verify import FileCheck, verify
from tests.replay_grades.tools import run_regrade

CUT = b'{"created": "2026'


@pytest.fixture
def graded(campaign: Path) -> Path:
    """The campaign, graded by one version."""
    run_regrade(campaign, "claims@1")
    return campaign


def receipt_of(campaign: Path) -> Path:
    (file,) = grade_files(campaign)
    return file.with_suffix(".json")


def complaints(campaign: Path) -> list[tuple[str, str]]:
    """The files that `verify` finds damaged."""
    return [(check.file, check.detail) for check in verify(campaign) if isinstance(check, FileCheck)]


@pytest.mark.parametrize("options", [Options(), Options(where="repetition = 1")], ids=["all", "--where"])
def test_regrade_names_a_damaged_receipt_and_goes_on(graded: Path, options: Options) -> None:
    receipt = receipt_of(graded)
    receipt.write_bytes(CUT)
    notes: list[str] = []
    assert regrade(graded, load("claims"), options, notes.append).written
    (note,) = notes
    assert note.startswith(f"{receipt}: not a receipt of grades (")


def test_the_scoreboard_names_a_damaged_receipt_and_goes_on(graded: Path) -> None:
    whole = gather([graded], Choice())
    receipt_of(graded).write_bytes(CUT)
    notes: list[str] = []
    assert gather([graded], Choice(), note=notes.append) == whole
    assert [note.partition(": ")[0] for note in notes] == [str(receipt_of(graded))]


def test_the_way_out_of_a_damaged_receipt_leads_out(graded: Path) -> None:
    receipt = receipt_of(graded)
    receipt.write_bytes(CUT)
    receipt.rename(graded / "damaged.json")
    assert not run_regrade(graded, "claims@1").written
    assert complaints(graded) == []


@pytest.mark.parametrize("is_sealed", [False, True])
def test_verify_finds_a_damaged_receipt_once(graded: Path, is_sealed: bool) -> None:
    if is_sealed:
        seal(graded, level=3)
    assert complaints(graded) == []
    receipt = receipt_of(graded)
    receipt.write_bytes(CUT)
    ((file, _),) = complaints(graded)
    assert file == f"grades/{receipt.name}"
    shown = CliRunner().invoke(cli, ["verify", str(graded)])
    assert shown.exit_code == 1
    assert f"grades/{receipt.name}: " in shown.output


def test_verify_finds_a_grade_file_that_is_not_the_one_of_its_receipt_or_is_gone(graded: Path) -> None:
    (file,) = grade_files(graded)
    file.write_bytes(file.read_bytes() + b" ")
    ((name, why),) = complaints(graded)
    assert name == f"grades/{file.name}"
    assert "one of the two was changed" in why
    file.unlink()
    ((name, why),) = complaints(graded)
    assert (name, "is missing and its receipt is there" in why) == (f"grades/{file.name}", True)
