"""What every command line has in common: its list of commands, and options that take a number or one of a few words."""

import re
import sys
from collections.abc import Callable

import pytest
import typer

import recorder.cli
import replay.cli
from recorder.transport import endpoint
from replay import output


@pytest.mark.parametrize("main", [recorder.cli.main, replay.cli.main], ids=["korvid-rec", "korvid-replay"])
def test_the_list_of_commands_cuts_no_sentence(
    main: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["korvid", "--help"])
    with pytest.raises(SystemExit):
        main()
    listed = capsys.readouterr().out.partition("Commands:")[2]
    summaries = re.split(r"\n  (?=\S)", listed.rstrip())[1:]
    assert len(summaries) >= 4
    assert [summary for summary in summaries if not summary.endswith(".") or "..." in summary] == []


@pytest.mark.parametrize("command", ["run", "probe"])
def test_the_help_of_what_asks_a_model_names_every_variable_that_says_how(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["korvid-rec", command, "--help"])
    with pytest.raises(SystemExit):
        recorder.cli.main()
    told = capsys.readouterr().out
    variables = {
        endpoint.BASE_URL,
        endpoint.MODEL,
        endpoint.API_KEY_ENV,
        endpoint.OPTIONS,
        endpoint.CA_BUNDLE,
        endpoint.TIMEOUT,
    }
    assert {variable for variable in variables if variable not in told} == set()


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("12", 12), ("007", 7), ("-3", -3)])
def test_a_whole_number_is_plain_digits(text: str, number: int) -> None:
    assert output.whole()(text) == number


@pytest.mark.parametrize("text", ["", "1_0", "1.0", "1e3", "٣", "+1", " 1", "1\n", "0x1", "--1", "9" * 30])
def test_anything_else_is_not(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not a whole number"):
        output.whole()(text)


@pytest.mark.parametrize(("low", "high", "way_out"), [(1, None, "give 1 or more"), (1, 22, "give 1 to 22")])
def test_a_number_out_of_range_is_told_the_range(low: int, high: int | None, way_out: str) -> None:
    assert output.whole(low, high)("1") == 1
    for text in ("0", "-1", *([] if high is None else [str(high + 1)])):
        with pytest.raises(typer.BadParameter, match=way_out):
            output.whole(low, high)(text)


def test_a_word_is_one_of_those_that_are_known() -> None:
    parse = output.one_of("md", "json")
    assert parse("json") == "json"
    with pytest.raises(typer.BadParameter, match="'JSON' is none of md, json"):
        parse("JSON")
