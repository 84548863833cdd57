"""`regrade --where`: one condition over the view `runs`, and an error of it is blamed on the condition alone."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from replay import output
from replay.campaigns import run_files
from replay.cli_grades import register
from replay.regrade import NoneSelected, select
from schemas.errors import UsageError


def chosen(campaign: Path, where: str) -> set[str]:
    return {log.run_id for log in select(campaign, run_files(campaign), where)}


def refusal(campaign: Path, where: str) -> str:
    with pytest.raises(UsageError) as raised:
        select(campaign, run_files(campaign), where)
    return str(raised.value)


@pytest.mark.parametrize(
    "where",
    [
        "case_id = 'all-well'",
        "runs.case_id = 'all-well' -- those that are well",
        "\n  case_id =\n 'all-well'\n",
        "run_id IN (SELECT run_id FROM runs WHERE case_id = 'all-well')",
        "EXISTS (FROM turns WHERE turns.run_id = runs.run_id) AND case_id LIKE 'all;well' OR case_id = 'all-well'",
    ],
)
def test_a_condition_may_hold_comments_lines_quotes_and_subqueries(where: str, campaign: Path) -> None:
    found = chosen(campaign, where)
    assert found
    assert found == {log.run_id for log in run_files(campaign) if log.run_id.startswith("all-well")}


@pytest.mark.parametrize(
    "where",
    [
        "1 = 1) OR (1 = 1",
        "1 = 1) UNION SELECT run_id FROM runs WHERE (1 = 1",
        "SELECT true",
        "true; DROP TABLE runs",
        "true ORDER BY 1",
        "true LIMIT 1",
        "true FROM runs",
        "true, true",
        "",
        "  ",
        "-- nothing",
    ],
)
def test_what_is_not_one_condition_is_refused(where: str, campaign: Path) -> None:
    message = refusal(campaign, where)
    assert message.startswith("--where: ")
    assert "a condition is like case_id = 'oom-killed'" in message


@pytest.mark.parametrize("where", ["case_id =", "case_id = 'x' AND", "(", "case_id IN (", "case_id = 'x", "x /* y"])
def test_an_unfinished_condition_blames_nothing_but_itself(where: str, campaign: Path) -> None:
    message = refusal(campaign, where)
    assert message.startswith("--where: ")
    assert "line" not in message
    assert '")"' not in message


def test_a_column_that_runs_does_not_have_is_told_with_those_near_it(campaign: Path) -> None:
    assert refusal(campaign, "csae_id = 'x'").startswith(
        '--where: there is no column "csae_id", the nearest are case_id, case_kind'
    )


def test_a_line_that_is_told_is_a_line_of_the_condition(campaign: Path) -> None:
    message = refusal(campaign, "repetition = 1\nAND run_id IN (FROM no_such_view)")
    assert message.startswith("--where: ")
    assert "(line 2)" in message


@pytest.mark.parametrize("where", ["case_id", "repetition = 'x'", "case_id ~ '['", "read_text('/etc/hosts') = ''"])
def test_what_fails_while_it_runs_is_the_fault_of_the_condition(where: str, campaign: Path) -> None:
    message = refusal(campaign, where)
    assert message.startswith("--where: ")
    assert "(line" not in message


def test_a_condition_that_no_run_meets_is_told_as_such(campaign: Path) -> None:
    with pytest.raises(NoneSelected, match=r"--where: no run of .* meets \"case_id = 'it''s'\""):
        select(campaign, run_files(campaign), "case_id = 'it''s'")


@pytest.fixture
def two(campaign: Path, tmp_path: Path) -> list[Path]:
    """The campaign, and another that has only the runs of one case."""
    other = tmp_path / "other"
    (other / "runs").mkdir(parents=True)
    (other / "campaign.json").write_bytes((campaign / "campaign.json").read_bytes())
    for log in (campaign / "runs").glob("all-well-*"):
        (other / "runs" / log.name).write_bytes(log.read_bytes())
    return [other, campaign]


def invoke(*arguments: object) -> tuple[int, str, str]:
    application = output.app("test")
    register(application)
    done = CliRunner().invoke(application, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_of_several_campaigns_one_without_a_run_that_meets_the_condition_is_left_alone(two: list[Path]) -> None:
    code, out, err = invoke("regrade", *two, "--where", "case_id <> 'all-well'", "--json")
    assert code == 0, err
    assert [one["campaign"] for one in json.loads(out)] == [str(two[1])]
    assert f"no run of {two[0]} meets" in err
    assert not (two[0] / "grades").exists()


def test_a_condition_that_no_run_of_any_campaign_meets_is_an_error(two: list[Path]) -> None:
    with pytest.raises(NoneSelected, match="no run of these 2 campaigns meets"):
        invoke("regrade", *two, "--where", "case_id = 'none'")


def test_a_wrong_condition_stops_before_any_campaign_is_graded(two: list[Path]) -> None:
    with pytest.raises(UsageError, match="--where: there is no column"):
        invoke("regrade", *two, "--where", "csae_id = 'x'")
    assert not (two[0] / "grades").exists()
