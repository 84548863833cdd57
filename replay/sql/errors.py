"""DuckDB's errors as ours: one clear line, and the right exit code."""

import duckdb

from schemas.errors import KorvidError, UsageError, WorkError

_WORK = (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.FatalException, duckdb.InternalException)
_IN_FUNCTION = "Python exception occurred while executing the UDF: "


def explain(error: duckdb.Error) -> KorvidError:
    """The error to raise for what DuckDB said of a person's statement."""
    text = " ".join(str(error).split("\n\nLINE")[0].split())
    _, in_function, problem = text.partition(_IN_FUNCTION)
    if in_function:
        return UsageError(f"SQL: {problem.removeprefix('UsageError: ')}")
    if isinstance(error, duckdb.PermissionException):
        return UsageError(f"SQL: {text}; a query reads the views and nothing else")
    if isinstance(error, _WORK):
        return WorkError(f"SQL: {text}")
    views = " SHOW TABLES lists the views." if text.startswith("Catalog Error: Table with name") else ""
    return UsageError(f"SQL: {text}{_place(str(error))}{views}")


def _place(text: str) -> str:
    """Where in a longer statement it went wrong, as a suffix."""
    _, found, shown = text.partition("\n\nLINE ")
    if not found:
        return ""
    number = shown.partition(":")[0]
    return f" (line {number})" if number.isdigit() and number != "1" else ""
