"""Rows of megabytes: what the writing of a grade file was given, the comparing afterwards has too."""

from collections.abc import Callable
from pathlib import Path

from tests.replay_grades.tools import run_regrade
from tests.seal.campaigns import record

WIDE = """
import hashlib

def wide(run, rubric):
    blocks = (hashlib.sha256(f"{run.run_id}{number}".encode()).hexdigest() for number in range(40_000))
    return Verdict(verdict="fail", reason="".join(blocks), outcome="failure")
"""


def test_rows_that_could_be_written_can_be_compared_with_those_that_are_stored(
    tmp_path: Path, grader_file: Callable[[str], str]
) -> None:
    campaign = tmp_path / "c"
    for number in range(6):
        record(campaign, f"case{number}")
    grader = grader_file(WIDE).removesuffix(":mine") + ":wide"
    assert run_regrade(campaign, grader).written
    assert not run_regrade(campaign, grader).written
