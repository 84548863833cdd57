"""The SQL functions say what the grader says."""

from pathlib import Path
from typing import Any

import pytest

from grading.grader import grade
from replay.sql.functions import FUNCTIONS, mentions_function, signature
from replay.sql.session import Session
from schemas.errors import UsageError
from tests.replay_sql.logs import whole_run


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("functions")
    whole_run(directory, "case-r1-abc", answer="sh: command not found. It was not OOMKilled.")
    return directory


def one(campaign: Path, expression: str, source: str = "") -> Any:
    with Session([campaign]) as session:
        ((value,),) = session.query(f"SELECT {expression} {source}").rows()
        return value


LOCATION = """'{"tool": "get_logs", "args": {"pod": "a"}, "contains": "%s"}'"""


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("mentions('It was OOMKilled.', ['evicted', 'oom killed'])", True),
        ("mentions('It was not OOMKilled.', ['oom killed'])", False),
        ("mentions('The probe is fine.', ['probe'])", False),
        ("mentions('The probe is fine.', ['probe'], control := true)", True),
        ("mentions('It was OOM-Killed', '[\"oom killed\"]'::JSON)", True),
        ("mentions(NULL, ['x'])", None),
        ("mention('It was OOM-Killed.', ['oom killed'])", "OOM-Killed"),
        ("mention('It was evicted.', ['oom killed'])", ""),
        ("mentions('Not restarted \u2014 it was OOMKilled.', ['oom killed'], version := 1)", False),
        ("mentions('Not restarted \u2014 it was OOMKilled.', ['oom killed'])", True),
        ("passes_claims('It was OOMKilled.', [['oom killed']])", True),
        ("passes_claims('It was OOMKilled, no, evicted.', [['oom killed']], [['evicted']])", False),
        ("meets_evidence('get_logs', '{\"pod\": \"a\"}', 'exit 137', " + LOCATION % "exit 137" + ")", True),
        ("meets_evidence('get_logs', '{\"pod\": \"b\"}', 'exit 137', " + LOCATION % "exit 137" + ")", False),
        ("meets_evidence('get_logs', '{\"pod\": \"a\"}', 'exit 137', " + LOCATION % "exit 13" + ")", False),
        (
            "meets_evidence('get_logs', '{\"pod\": \"a\"}', 'exit 137', " + LOCATION % "exit 137" + ", ok := false)",
            False,
        ),
        ("meets_evidence('get_logs', 'no json', 'exit 137', " + LOCATION % "exit 137" + ")", False),
    ],
)
def test_a_function_gives(campaign: Path, expression: str, value: object) -> None:
    assert one(campaign, expression) == value


@pytest.mark.parametrize("version", [0, 1, 5])
def test_a_recorded_rubric_passes_what_the_grader_passes(graded: Path, version: int) -> None:
    from replay.fold import fold

    with Session([graded]) as session:
        rows = session.query(
            f"SELECT path, passes_rubric(answer, rubric, version := {version}) FROM turns JOIN runs USING (run_id) "
            "JOIN cases USING (case_id, stimulus_sha256, rubric_sha256) "
            "WHERE turns.outcome = 'answered' AND status = 'completed' ORDER BY path LIMIT 40"
        )
        found = list(rows.rows())
    for path, passes in found:
        run = fold(Path(path))
        assert passes == grade(run, run.rubric, version or None).diagnosis_success
    assert {passes for _, passes in found} == {True, False}


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("mentions('x', ['y'], version := 9999)", "9999"),
        ("passes_rubric('x', '{}')", "not a rubric"),
        ("passes_rubric('x', (SELECT any_value(rubric) FROM cases), turn := 2)", "1 turn, not 2"),
        ("meets_evidence('get_logs', '{}', 'x', '{}')", "not an evidence location"),
        ("mentions('x')", "mentions"),
    ],
)
def test_a_wrong_argument_is_one_line_and_wrong_usage(campaign: Path, expression: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as raised:
        one(campaign, expression)
    assert "\n" not in str(raised.value)


def test_the_grading_rules_are_imported_only_for_a_statement_that_calls_them() -> None:
    assert not any(mentions_function(f"SELECT '{function.name}' FROM runs") for function in FUNCTIONS)
    assert all(mentions_function(f"select {function.name.upper()} (1)") for function in FUNCTIONS)


def test_signatures_show_defaults() -> None:
    assert signature(FUNCTIONS[0]) == (
        "mentions(answer VARCHAR, alternatives VARCHAR[], control BOOLEAN := false, version INTEGER := 0) -> BOOLEAN"
    )
