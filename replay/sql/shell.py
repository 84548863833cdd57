"""A prompt over the views: statements end with a semicolon, commands begin with a dot.

At a terminal an error is shown and the prompt comes again. When statements are piped in, the first error ends it.
Nothing that is typed is written anywhere unless a history file is asked for.
"""

import readline
import sys
from collections.abc import Iterator
from pathlib import Path

from replay import output
from replay.sql.output import check_format, write
from replay.sql.session import Session
from replay.sql.views import VIEWS
from schemas.errors import KorvidError, UsageError
from schemas.words import counted

_PROMPT = "korvid> "
_MORE = "   ...> "
_BARE = ("help", "exit", "quit")
"""Commands that a person at a prompt may also type as they would elsewhere: no statement is one of these words."""
_HELP = """\
Statements end with a semicolon and may span lines. Commands:
  .views          the views and what a row of each is
  .columns VIEW   the columns of a view
  .format NAME    table, json or csv
  .help           this text
  .quit           leave (or end of file)"""


class _Quit(Exception):
    """The person wants to leave."""


class Shell:
    """A prompt over `session`; answers are written in `form` until `.format` changes it."""

    def __init__(self, session: Session, form: str) -> None:
        self._session = session
        self._form = check_format(form, None)

    def run(self, history: Path | None = None) -> None:
        """Read until the end of input. Raises what a statement raises if input is not a terminal."""
        if sys.stdin.isatty():
            self._interactive(history)
        else:
            self._piped(sys.stdin.read())

    def _piped(self, text: str) -> None:
        """Run a whole script: lines that begin with a dot between statements, and statements."""
        for part in _parts(text):
            try:
                self._run(part)
            except _Quit:
                return

    def _interactive(self, history: Path | None) -> None:
        _edit_lines(history)
        output.print_note("SQL over the record; .help for help, .quit or end of file leaves.")
        while (part := self._read()) is not None:
            try:
                self._run(part)
            except _Quit:
                break
            except KorvidError as error:
                output.print_note(f"error: {error}")
        _keep_history(history)

    def _read(self) -> str | None:
        """One command or one statement, or None at the end of input. Ctrl-C drops what was typed."""
        lines: list[str] = []
        while True:
            try:
                line = input(_MORE if lines else _PROMPT)
            except EOFError:
                output.print_note("")
                return None
            except KeyboardInterrupt:
                output.print_note("")
                lines = []
                continue
            if not lines and (bare := line.strip().rstrip(";").rstrip().lower()) in _BARE:
                return f".{bare}"
            if not lines and (line.startswith(".") or not line.strip()):
                return line
            lines.append(line)
            text = "\n".join(lines)
            if text.rstrip().endswith(";") and _is_closed(text):
                readline.add_history(" ".join(lines))
                return text

    def _run(self, part: str) -> None:
        if part.startswith("."):
            self._command(part.split())
            return
        for statement in self._session.statements(part):
            # What lies between two statements is no line of the second.
            count = write(self._session, statement.lstrip(), self._form)
            if self._form == "table":
                output.print_note(counted(count, "row"))

    def _command(self, words: list[str]) -> None:
        match words:
            case [".quit" | ".exit"]:
                raise _Quit
            case [".help"]:
                output.print_note(_HELP)
            case [".views"]:
                output.print_table(("view", "a row is"), ((view.name, view.row) for view in VIEWS))
            case [".columns", name]:
                self._columns(name)
            case [".format", name]:
                self._form = check_format(name, None)
            case _:
                raise UsageError(f"{' '.join(words)}: not a command; .help lists them")

    def _columns(self, name: str) -> None:
        for view in VIEWS:
            if view.name == name:
                columns = ((column.name, column.type, column.meaning) for column in view.columns)
                output.print_table(("column", "type", "meaning"), columns)
                return
        raise UsageError(f"{name}: no such view; .views lists them")


def _parts(text: str) -> Iterator[str]:
    """The commands and the stretches of SQL of a script, in order."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith(".") and _is_closed("\n".join(lines)):
            if "".join(lines).strip():
                yield "\n".join(lines)
            lines = []
            yield line
        else:
            lines.append(line)
    if "".join(lines).strip():
        yield "\n".join(lines)


def _is_closed(text: str) -> bool:
    """Whether no quote, no comment and no dollar quote is left open at the end of a text."""
    at = 0
    while at < len(text):
        closing = _closing(text, at)
        if closing is None:
            at += 1
            continue
        opener, mark = closing
        end = text.find(mark, at + opener)
        if end < 0:
            return mark == "\n"
        at = end + len(mark)
    return True


def _closing(text: str, at: int) -> tuple[int, str] | None:
    """The length of the quote or comment that opens at `at`, and what closes it; None if nothing opens there."""
    if text[at] in "'\"":
        return 1, text[at]
    for opener, mark in (("--", "\n"), ("/*", "*/"), ("$$", "$$")):
        if text.startswith(opener, at):
            return len(opener), mark
    return None


def _edit_lines(history: Path | None) -> None:
    """Line editing with whole statements as its history, and those of earlier shells where a file was named."""
    readline.set_auto_history(False)
    if history is not None and history.is_file():
        try:
            readline.read_history_file(history)
        except OSError as error:
            raise UsageError(f"--history {history}: cannot read it: {error.strerror}") from None


def _keep_history(history: Path | None) -> None:
    if history is not None:
        try:
            readline.write_history_file(history)
        except OSError as error:
            raise UsageError(f"--history {history}: cannot write it: {error.strerror}") from None
