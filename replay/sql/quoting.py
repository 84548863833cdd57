"""Values of ours inside the text of a statement, where it takes no parameters."""

from collections.abc import Iterable
from pathlib import Path


def quoted(value: object) -> str:
    """The text of a value as a string in SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def literal(path: Path) -> str:
    """The path as what reads files takes it, with the characters of a pattern for themselves."""
    return "".join(f"[{character}]" if character in "[*?" else character for character in str(path))


def literals(paths: Iterable[Path]) -> str:
    """The same of several files, as a list in SQL."""
    return "[" + ", ".join(quoted(literal(path)) for path in paths) + "]"
