"""A journey's flip names the turns that caused it, in a receipt, in a difference, in a bisection and in SQL."""

from pathlib import Path

import pytest

from grading.changes import LATEST, changes_of
from recorder.scripted import Reply
from replay import bisect, diff
from replay.graders import load
from replay.regrade import Options, regrade
from replay.sql.session import Session
from tests.journeys.conftest import flat, journeys, turns_of_oracle
from tests.recorder.recording import record

TRIAGE = journeys()["triage-and-correct"]
BEFORE = f"claims@{changes_of(LATEST).index('A-23') + 1}"
MIRRORED = "checkout-1 is unauthorized, it lacks credentials. payments-1 only waits for it."

SUCCESSFUL = """
SELECT case_id, count(*) AS runs, count(*) FILTER (outcome = 'success') AS successful_journeys
FROM latest_grades WHERE verdict <> 'not_gradable' GROUP BY case_id ORDER BY case_id
"""
BY_TURN = """
WITH turns AS (SELECT case_id, unnest(CAST(explanation -> '$.turns' AS JSON[])) AS turn FROM latest_grades)
SELECT case_id, CAST(turn ->> '$.turn' AS INTEGER) AS number, count(*) AS played,
    count(*) FILTER (turn ->> '$.outcome' = 'success') AS passed
FROM turns GROUP BY ALL ORDER BY case_id, number
"""


@pytest.fixture
async def campaign(tmp_path: Path) -> Path:
    """One run of a journey whose second answer gives the cause of the wrong pod."""
    turns = turns_of_oracle(TRIAGE)
    turns[1][-1] = Reply(text=MIRRORED)
    (tmp_path / "c-abc").mkdir()
    await record(tmp_path / "c-abc" / "runs", flat(turns), case=TRIAGE)
    return tmp_path / "c-abc"


async def test_a_receipt_names_the_turn_of_a_flip(campaign: Path) -> None:
    assert regrade(campaign, load(BEFORE), Options()).receipt.coverage.passed == 1
    (flip,) = regrade(campaign, load("claims"), Options()).receipt.flips
    assert (flip.before, flip.after) == ("pass", "fail")
    assert (flip.cause.changes, flip.cause.turns) == (("A-23",), (2,))


async def test_a_difference_shows_the_turn_with_its_findings(campaign: Path) -> None:
    (moved,) = diff.between([campaign], BEFORE, "claims").moved
    assert [turn.turn for turn in moved.turns] == list(moved.cause.turns) == [2]
    (finding,) = moved.turns[0].findings
    assert finding.role == "bound"
    assert finding.before.startswith("claimed: «unauthorized»")
    assert "other_subject" in finding.after
    assert "  turn 2: pass (success) -> fail (misdiagnosis)" in list(
        diff.render(diff.between([campaign], BEFORE, "claims"))
    )


async def test_a_bisection_names_change_and_turn(campaign: Path) -> None:
    lines = list(bisect.render(bisect.bisected([campaign], BEFORE, "claims")))
    assert lines[-1].endswith("pass -> fail in turn 2: A-23")


async def test_the_turns_of_a_journey_are_rows(campaign: Path) -> None:
    with Session([campaign]) as session:
        rows = list(session.query("SELECT turn, outcome, answer FROM turns ORDER BY turn").rows())
    assert [(row[0], row[1]) for row in rows] == [(1, "answered"), (2, "answered"), (3, "answered")]
    assert rows[1][2] == MIRRORED


async def test_successful_journeys_are_derived_from_the_turns_of_a_verdict(campaign: Path) -> None:
    regrade(campaign, load("claims"), Options())
    with Session([campaign]) as session:
        whole = list(session.query(SUCCESSFUL).rows())
        turns = list(session.query(BY_TURN).rows())
    assert whole == [("triage-and-correct", 1, 0)]
    assert turns == [("triage-and-correct", 1, 1, 1), ("triage-and-correct", 2, 1, 0), ("triage-and-correct", 3, 1, 1)]


def test_the_documented_queries_are_the_tested_ones() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "journeys.md").read_text("utf-8")
    assert all(query.strip() in documented for query in (SUCCESSFUL, BY_TURN))
