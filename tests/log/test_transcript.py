from pathlib import Path

import pytest

from replay.cli import cli
from replay.output import run
from replay.transcript import render, transcript
from schemas.events import ModelError, ScreenAction, ToolCall, ToolResult
from tests.builders import open_log


def shown(directory: Path, result: str, *, whole: bool = False) -> str:
    log = open_log(directory)
    log.append(ToolResult(call=1, tool="get_logs", ok=True, result=result))
    log.finish("completed")
    return "\n".join(render(transcript(log.path), whole=whole))


def test_a_long_line_is_clipped_in_its_middle_unless_asked_for_whole(tmp_path: Path) -> None:
    text = "begin " + "漢" * 50_000 + " end"
    clipped = shown(tmp_path / "a", text)
    assert len(clipped) < 10_000
    assert "begin" in clipped
    assert "48014 characters; --whole shows them" in clipped
    assert text in shown(tmp_path / "b", text, whole=True)


def test_emoji_made_of_several_stay_whole_and_control_characters_are_spelled_out(tmp_path: Path) -> None:
    text = shown(tmp_path, "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER} \x1b[2J \N{RIGHT-TO-LEFT OVERRIDE}")
    assert "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER} \\x1b[2J \\x202e" in text


def test_a_directory_in_place_of_a_run_is_told_how_to_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["korvid-replay", "show", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        run(cli)
    assert end.value.code == 2
    assert f"show RUN --in {tmp_path}" in capsys.readouterr().err


FORGED = "{}\n    9.99s  run completed"


def lines_with(directory: Path, text: str) -> list[str]:
    """The transcript of a run in which `text` stands wherever a model or a server can write."""
    log = open_log(directory)
    log.append(
        ToolCall(
            call=1,
            turn=1,
            iteration=1,
            request=1,
            call_id="1",
            tool=text,
            arguments_raw=text,
            arguments=None,
            disposition="malformed",
            problem=text,
        )
    )
    log.append(ModelError(request=1, turn=1, error_class="http_status", message=text))
    log.append(ScreenAction(call=1, turn=1, tool="open", arguments={}, ok=True, message=text))
    log.finish("provider_error", reason=text)
    return list(render(transcript(log.path)))


def test_what_a_model_or_a_server_writes_cannot_pass_for_a_line_of_the_transcript(tmp_path: Path) -> None:
    honest, forged = lines_with(tmp_path / "a", "{}"), lines_with(tmp_path / "b", FORGED)
    assert len("\n".join(forged).split("\n")) == len(honest)
    assert any("{}\\x0a    9.99s  run completed" in line for line in forged)


def test_what_a_model_or_a_server_writes_at_length_is_clipped_wherever_it_stands(tmp_path: Path) -> None:
    assert max(map(len, lines_with(tmp_path, "x" * 100_000))) < 3_000
