"""What a person asks of the scoreboard, checked, and the board in the form that was asked for."""

from pathlib import Path
from typing import Literal, get_args

import msgspec

from replay import output
from replay.scoreboard.gather import Choice
from replay.scoreboard.model import Board
from replay.sql.output import replacing
from schemas.errors import UsageError
from schemas.grades import RubricChoice
from schemas.words import counted

Format = Literal["md", "json", "html"]


def form_of(name: str) -> Format:
    """The format a person named. Raises `UsageError` for an unknown one."""
    if name not in get_args(Format):
        raise UsageError(f"--format {name}: not a format; one of {', '.join(get_args(Format))}")
    form: Format = msgspec.convert(name, Format)
    return form


def choice_of(grader: str | None, rubric: str | None) -> Choice:
    """The verdicts that count, from `NAME[@VERSION]` and `recorded` or `current`. Raises `UsageError`."""
    if rubric is not None and rubric not in get_args(RubricChoice):
        raise UsageError(f"--rubric {rubric}: one of {', '.join(get_args(RubricChoice))}")
    name, at, version = (grader or "").partition("@")
    if at and not (version.isascii() and version.isdecimal()):
        raise UsageError(f"--grader {grader}: the version is a number, as in claims@4")
    return Choice(grader=name or None, version=int(version) if at else None, rubric=rubric)


def render(board: Board, form: Format) -> bytes:
    """The board as bytes."""
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(board), indent=2) + b"\n"
    if form == "html":
        from replay.scoreboard.page import page

        return page(board).encode()
    from replay.scoreboard.markdown import markdown

    return markdown(board).encode()


def deliver(board: Board, form: Format, out: Path | None) -> None:
    """Write the board to stdout, or whole and under its final name to `out`. Raises as `replacing` does."""
    data = render(board, form)
    if out is None:
        output.print_bytes(data)
        return
    with replacing(out) as part:
        part.write_bytes(data)
    output.print_note(f"{out}: {counted(len(board.rows), 'row')}, {counted(len(data), 'byte')}")
