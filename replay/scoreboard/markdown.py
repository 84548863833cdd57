"""A board as Markdown."""

from collections.abc import Iterator

from replay.scoreboard.model import Board
from replay.scoreboard.tables import Table, headline, tables


def markdown(board: Board) -> str:
    """The whole board: a sentence, what to know before comparing, and every table."""
    lines = ["# Scoreboard", "", headline(board), ""]
    lines += [f"- {_text(note)}" for note in board.notes]
    lines += [""] if board.notes else []
    for table in tables(board):
        lines += [f"## {table.title}", "", *_rows(table), "", _text(table.caption), ""]
    return "\n".join(lines)


def _rows(table: Table) -> Iterator[str]:
    yield _line(table.headings)
    yield "|" + "|".join("---:" if at in table.numeric else "---" for at in range(len(table.headings))) + "|"
    for row in table.rows:
        yield _line(row)


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(_text(cell) or " " for cell in cells) + " |"


def _text(cell: str) -> str:
    """A cell that can neither end its row nor start markup of its own."""
    flat = " ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|")
    for mark in "`*_[]<>":
        flat = flat.replace(mark, "\\" + mark)
    return flat
