"""The prompt, fed through a pipe and through a terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from replay.sql.shell import _is_closed, _parts
from tests.replay_sql.logs import whole_run

PROGRAM = "from replay import cli_sql, output; a = output.app('t'); cli_sql.register(a); output.run(a)"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    whole_run(tmp_path / "campaign", "case-r1-abc")
    return tmp_path / "campaign"


def piped(campaign: Path, script: str, *flags: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", PROGRAM, "sql", str(campaign), "--shell", *flags]
    return subprocess.run(command, input=script, capture_output=True, text=True, check=False, timeout=60)


def test_statements_and_commands_from_a_pipe_are_answered_in_order(campaign: Path) -> None:
    script = (
        ".format csv\nSELECT ';' AS a; -- no; end\nSELECT count(*) AS n\nFROM runs;\n.columns flips\n.quit\nSELECT 3;"
    )
    done = piped(campaign, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("a\n;\nn\n1\n")
    assert "from_version" in done.stdout
    assert "3" not in done.stdout.splitlines()


def test_the_first_error_in_a_pipe_ends_it(campaign: Path) -> None:
    done = piped(campaign, "SELECT 1 AS a; SELECT nope; SELECT 2 AS b;", "--format", "csv")
    assert done.returncode == 2
    assert done.stdout == "a\n1\n"
    assert done.stderr.startswith("error: SQL: Binder Error")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [".nonsense", ".columns nope", ".format parquet"])
def test_a_wrong_command_is_named(campaign: Path, command: str) -> None:
    done = piped(campaign, command + "\n")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def typed(campaign: Path, text: bytes, said: Path, *flags: str) -> "subprocess.CompletedProcess[bytes]":
    """What comes of a text typed at a terminal; stdout is written to `said`."""
    main, terminal = pty.openpty()
    command = [sys.executable, "-c", PROGRAM, "sql", str(campaign), "--shell", *flags]
    with said.open("wb") as out:
        process = subprocess.Popen(command, stdin=terminal, stdout=out, stderr=subprocess.PIPE)
        os.close(terminal)
        os.write(main, text)
        _, errors = process.communicate(timeout=60)
    os.close(main)
    return subprocess.CompletedProcess(command, process.returncode, stderr=errors)


def test_at_a_terminal_an_error_is_shown_and_the_prompt_comes_again(campaign: Path, tmp_path: Path) -> None:
    said, history = tmp_path / "stdout", tmp_path / "history"
    script = b"SELECT nope;\nSELECT 42 AS n\n;\n.help\n.views\n\n.quit\n"
    done = typed(campaign, script, said, "--history", str(history))
    errors = done.stderr
    assert done.returncode == 0
    assert b"error: SQL" in errors
    assert "42" in said.read_text()
    assert "SELECT 42 AS n" in history.read_text()


@pytest.mark.parametrize("leave", [b"exit", b"quit;", b"QUIT ;", b".quit"])
def test_at_a_terminal_the_words_of_other_shells_help_and_leave(campaign: Path, tmp_path: Path, leave: bytes) -> None:
    said = tmp_path / "stdout"
    done = typed(campaign, b"help\n" + leave + b"\nSELECT 42 AS n;\n\x04", said)
    assert done.returncode == 0
    assert b".quit or end of file leaves" in done.stderr
    assert b".columns VIEW" in done.stderr
    assert b"42" not in said.read_bytes()


def test_nothing_that_is_typed_is_kept_unless_asked(campaign: Path, tmp_path: Path) -> None:
    piped(campaign, "SELECT 1;")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["campaign"]


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("SELECT 1;", True),
        ("SELECT ';", False),
        ("SELECT 'it''s';", True),
        ('SELECT ";', False),
        ("SELECT 1 /* ;", False),
        ("SELECT 1 -- ';", True),
        ("SELECT $$ ; ", False),
        ("SELECT $$ ; $$;", True),
    ],
)
def test_a_semicolon_inside_a_quote_does_not_end_a_statement(text: str, closed: bool) -> None:
    assert _is_closed(text) is closed


def test_a_line_with_a_dot_inside_a_quote_is_no_command() -> None:
    assert list(_parts("SELECT '\n.quit\n';\n.help")) == ["SELECT '\n.quit\n';", ".help"]
