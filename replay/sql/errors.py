"""DuckDB's errors as ours: one clear line, and the right exit code."""

import re

import duckdb

from schemas.errors import KorvidError, UsageError, WorkError

_WORK = (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.FatalException, duckdb.InternalException)
_IN_FUNCTION = "Python exception occurred while executing the UDF: "
_NO_COLUMN = re.compile(
    r'Binder Error: Referenced column "(.*)" not found in FROM clause!(?: Candidate bindings: (.*))?'
)
_NO_SELECTION = "SELECT clause without selection list"
_EXAMPLE = "a condition is like case_id = 'oom-killed', text in single quotes"


def explain(error: duckdb.Error) -> KorvidError:
    """The error to raise for what DuckDB said of a person's statement."""
    text = _one_line(error)
    _, in_function, problem = text.partition(_IN_FUNCTION)
    if in_function:
        return UsageError(f"SQL: {problem.removeprefix('UsageError: ')}")
    if isinstance(error, duckdb.PermissionException):
        return UsageError(f"SQL: {text}; a query reads the views and nothing else")
    if isinstance(error, _WORK):
        return WorkError(f"SQL: {text}")
    views = " SHOW TABLES lists the views." if text.startswith("Catalog Error: Table with name") else ""
    return UsageError(f"SQL: {text}{_place(str(error))}{views}")


def check_condition(text: str) -> None:
    """Refuse what is not one condition: nothing, half of one, several, a statement, or a parenthesis that leads out.

    Raises `UsageError` that blames `--where`. Whether its columns exist is for the query to find.
    """
    try:
        duckdb.SQLExpression(text)
    except duckdb.Error as error:
        raise UsageError(f"--where: {_not_one(error)}; {_EXAMPLE}") from None


def _not_one(error: duckdb.Error) -> str:
    """Why a text is not one condition; DuckDB speaks of its own lists of expressions."""
    text = _one_line(error)
    if _NO_SELECTION in text:
        return "the condition is empty"
    if isinstance(error, duckdb.InvalidInputException):
        return "these are several conditions: join them with AND or OR"
    return text.replace("is not an expression list", "is not one condition")


def of_condition(error: UsageError) -> UsageError:
    """What a query said of its condition, as an error of `--where`."""
    text = str(error).removeprefix("SQL: ").removeprefix("--where: ")
    column = _NO_COLUMN.match(text)
    if column is None:
        return UsageError(f"--where: {text}")
    near = f", the nearest are {column[2].replace(chr(34), '')}" if column[2] else ""
    return UsageError(f'--where: there is no column "{column[1]}"{near}; {_EXAMPLE}')


def _one_line(error: duckdb.Error) -> str:
    return " ".join(str(error).split("\n\nLINE")[0].split())


def _place(text: str) -> str:
    """Where in a longer statement it went wrong, as a suffix."""
    _, found, shown = text.partition("\n\nLINE ")
    if not found:
        return ""
    number = shown.partition(":")[0]
    return f" (line {number})" if number.isdigit() and number != "1" else ""
