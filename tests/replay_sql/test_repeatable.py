"""The same record gives the same numbers to the last digit, with an index or without, and no infinite ones."""

import math
import shutil
from pathlib import Path
from statistics import fmean, stdev

import pytest

from replay.sql import index
from replay.sql.session import Session
from tests.replay_sql.test_docs import QUESTIONS

GRADED = """SELECT g.iterations, g.duration_s FROM runs JOIN latest_grades g USING (run_id)
WHERE latest AND verdict IN ('pass', 'fail')"""


def scoreboards(campaign: Path, *, use_index: bool) -> list[tuple[object, ...]]:
    with Session([campaign], use_index=use_index) as session:
        return list(session.query("FROM scoreboard ORDER BY ALL").rows())


def test_the_scoreboard_of_an_index_is_that_of_the_logs_to_the_last_digit(graded: Path, tmp_path: Path) -> None:
    campaign = Path(shutil.copytree(graded, tmp_path / graded.name))
    first = scoreboards(campaign, use_index=False)
    index.build(campaign)
    assert index.is_fresh(campaign)
    assert first
    assert [scoreboards(campaign, use_index=True) for _ in range(5)] == [first] * 5


def test_means_and_deviation_of_the_scoreboard_are_those_of_the_graded_runs(graded: Path) -> None:
    with Session([graded]) as session:
        runs = [(row[0], row[1]) for row in session.query(GRADED).rows()]
        ((mean, sd, seconds),) = session.query(
            "SELECT iterations_mean, iterations_sd, duration_mean_s FROM scoreboard"
        ).rows()
    assert mean == pytest.approx(fmean(iterations for iterations, _ in runs))
    assert sd == pytest.approx(stdev(iterations for iterations, _ in runs))
    assert seconds == pytest.approx(fmean(duration for _, duration in runs), abs=1e-6)


@pytest.mark.parametrize(("title", "statement"), QUESTIONS, ids=[title for title, _ in QUESTIONS])
def test_no_question_is_answered_by_a_number_that_is_none_where_no_run_passed(
    graded: Path, title: str, statement: str
) -> None:
    nothing_passed = statement.replace("verdict = 'pass'", "verdict = 'never'")
    with Session([graded]) as session:
        cells = [cell for row in session.query(nothing_passed).rows() for cell in row]
    assert all(math.isfinite(cell) for cell in cells if isinstance(cell, float)), title
