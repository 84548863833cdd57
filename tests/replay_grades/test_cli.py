"""The commands about grades, as a person or a script runs them."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from replay import output
from replay.cli_grades import register
from replay.graders import load
from schemas.errors import UsageError
from tests.replay_grades.tools import FAIL_ALL, PASS_ALL


@pytest.fixture
def cli() -> typer.Typer:
    application = output.app("test")
    register(application)
    return application


def invoke(cli: typer.Typer, *arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_regrade_tells_coverage_and_then_what_moved(cli: typer.Typer, campaign: Path) -> None:
    code, first, _ = invoke(cli, "regrade", campaign, "--grader", "claims@1")
    assert code == 0
    assert "planned 48, recorded " in first
    assert "model calls 0" in first
    assert "nothing moved: no earlier grade differs" in first
    code, second, _ = invoke(cli, "regrade", campaign)
    assert "moved since claims@1" in second
    assert "A-06" in second
    assert f"  A-06: {next(change.title for change in load('claims').changes if change.id == 'A-06')}\n" in second
    code, third, _ = invoke(cli, "regrade", campaign)
    assert "nothing new: the same grades were stored before" in third


def test_regrade_json_is_one_array_with_the_receipts(cli: typer.Typer, campaign: Path) -> None:
    _, stdout, _ = invoke(cli, "regrade", campaign, "--json")
    (one,) = json.loads(stdout)
    assert one["written"] is True
    assert one["receipt"]["model_calls"] == 0
    assert one["receipt"]["coverage"]["recorded"] == len(list(campaign.glob("runs/*")))


def test_regrade_exits_1_and_names_a_corrupt_log(cli: typer.Typer, campaign: Path) -> None:
    log = next(iter(sorted(campaign.glob("runs/*"))))
    log.write_bytes(b"xx" + log.read_bytes())
    code, _, stderr = invoke(cli, "regrade", campaign)
    assert code == 1
    assert f"refused {log.name}" in stderr


def test_regrade_exits_1_where_a_grader_fails_and_says_where(
    cli: typer.Typer, campaign: Path, grader_file: Callable[[str], str]
) -> None:
    code, _, stderr = invoke(cli, "regrade", campaign, "--grader", grader_file("def mine(run, rubric):\n    1 / 0\n"))
    assert code == 1
    assert "mine failed on " in stderr
    assert "(graders.py:3): ZeroDivisionError" in stderr
    assert "more runs" in stderr


@pytest.mark.parametrize(
    ("words", "blamed"),
    [
        (("graders", "nope"), "NAME: there is no grader 'nope'"),
        (("regrade", "HERE", "--grader", "boom.py"), "--grader: there is no grader 'boom.py'; write boom.py:function"),
        (("regrade", "HERE", "--rubric", "current", "--pack", "nope"), "--pack: there is no pack and no directory"),
        (("graders", "claims@999"), "NAME: claims@999: there is no such version"),
        (("regrade", "HERE", "--grader", "nope"), "--grader: there is no grader"),
        (("diff", "HERE", "--from", "nope"), "--from: there is no grader"),
        (("bisect", "HERE", "--to", "claims@999"), "--to: claims@999: there is no such version"),
        (("diff", "HERE", "--from", "korvid-published-x"), "--to: korvid-published-x@1 has no other versions"),
    ],
)
def test_a_wrong_grader_is_blamed_on_the_flag_that_named_it(
    cli: typer.Typer, pristine: Path, words: tuple[str, ...], blamed: str
) -> None:
    with pytest.raises(UsageError) as refused:
        invoke(cli, *(pristine if word == "HERE" else word for word in words))
    assert str(refused.value).startswith(blamed)


@pytest.mark.parametrize("number", ["1_0", "٣", "0x1", "1.0", "", "0", "-1"])
def test_a_number_of_processes_is_plain_digits_from_one(cli: typer.Typer, pristine: Path, number: str) -> None:
    code, stdout, stderr = invoke(cli, "diff", pristine, "--jobs", number)
    assert (code, stdout) == (2, "")
    assert "--jobs" in stderr


def test_a_wrong_grader_is_refused_before_anything_is_made(cli: typer.Typer, campaign: Path) -> None:
    with pytest.raises(UsageError, match="there is no grader 'nope'"):
        invoke(cli, "regrade", campaign, "--grader", "nope")
    assert not (campaign / "grades").exists()


def test_an_external_grader_gets_the_same_treatment(
    cli: typer.Typer, campaign: Path, grader_file: Callable[[str], str]
) -> None:
    invoke(cli, "regrade", campaign, "--grader", grader_file(PASS_ALL))
    code, stdout, _ = invoke(cli, "regrade", campaign, "--grader", grader_file(FAIL_ALL.format(version=2)), "--json")
    (one,) = json.loads(stdout)
    assert code == 0
    assert {flip["from_grader"] for flip in one["receipt"]["flips"]} == {"mine@1"}
    assert {tuple(flip["cause"]["changes"]) for flip in one["receipt"]["flips"]} == {("grader",)}


def test_the_grader_of_the_documentation_runs(cli: typer.Typer, campaign: Path, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "graders.md").read_text()
    source = page.split("```python\n", 1)[1].split("```", 1)[0]
    (tmp_path / "brief.py").write_text(source)
    code, stdout, stderr = invoke(cli, "regrade", campaign, "--grader", f"{tmp_path / 'brief.py'}:brief")
    assert (code, stderr) == (0, "")
    assert "brief@1" in stdout
    assert "  pass 0," not in stdout


@pytest.mark.parametrize("command", ["diff", "bisect"])
def test_diff_and_bisect_print_lines_or_json(command: str, cli: typer.Typer, pristine: Path) -> None:
    code, text, _ = invoke(cli, command, pristine, "--from", "claims@1")
    assert code == 0
    assert "runs moved" in text
    _, stdout, _ = invoke(cli, command, pristine, "--from", "claims@1", "--json")
    found = json.loads(stdout)
    moved = found["moved" if command == "diff" else "flips"]
    assert all(one["run_id"] in text for one in moved)


def test_graders_lists_names_versions_changes_and_digests(cli: typer.Typer) -> None:
    _, text, _ = invoke(cli, "graders")
    assert text.startswith("claims@")
    assert text.count("A-06") == 1
    assert re.search(r"^claims-only@(\d+)  .*\n  the changes of claims@\1$", text, re.MULTILINE)
    _, stdout, _ = invoke(cli, "graders", "claims@2", "--json")
    (one,) = json.loads(stdout)
    assert (one["version"], [change["id"] for change in one["changes"]]) == (2, ["A-01"])
    assert len(one["sha256"]) == 64
