"""A board as Markdown."""

from collections.abc import Iterator

from replay.markdown import escaped
from replay.scoreboard.model import Board
from replay.scoreboard.tables import Table, headline, tables


def markdown(board: Board) -> str:
    """The whole board: a sentence, what to know before comparing, and every table."""
    lines = ["# Scoreboard", "", headline(board), ""]
    lines += [f"- {escaped(note)}" for note in board.notes]
    lines += [""] if board.notes else []
    for table in tables(board):
        lines += [f"## {table.title}", "", *_rows(table), "", escaped(table.caption), ""]
    return "\n".join(lines)


def _rows(table: Table) -> Iterator[str]:
    yield _line(table.headings)
    yield "|" + "|".join("---:" if at in table.numeric else "---" for at in range(len(table.headings))) + "|"
    for row in table.rows:
        yield _line(row)


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(escaped(cell) or " " for cell in cells) + " |"
