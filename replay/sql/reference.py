"""The reference part of docs/sql.md, made from the views and functions themselves so that it cannot drift.

`python -m replay.sql.reference docs/sql.md` writes it anew between its two marks.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from replay.sql.functions import FUNCTIONS, signature
from replay.sql.views import VIEWS
from schemas.errors import UsageError

BEGIN = "<!-- reference: made by python -m replay.sql.reference -->"
END = "<!-- end of reference -->"


def reference() -> str:
    """Every view with its columns and types, then every function, as Markdown."""
    return "\n".join((*_views(), *_functions()))


def with_reference(text: str, name: str) -> str:
    """A document with the reference between its marks made anew. Raises `UsageError` if it lacks the marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError(f"{name}: the marks {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n\n{reference()}\n{END}{after}"


def _views() -> Iterator[str]:
    for view in VIEWS:
        yield f"### {view.name}"
        yield ""
        yield f"A row is {view.row}."
        yield ""
        yield "| column | type | meaning |"
        yield "|---|---|---|"
        yield from (f"| `{column.name}` | {column.type} | {column.meaning} |" for column in view.columns)
        yield ""


def _functions() -> Iterator[str]:
    yield "### Functions"
    yield ""
    for function in FUNCTIONS:
        yield f"`{signature(function)}`"
        yield f": {function.meaning}"
        yield ""


def main(path: Path) -> None:
    """Write the reference into a document."""
    path.write_text(with_reference(path.read_text(encoding="utf-8"), str(path)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
