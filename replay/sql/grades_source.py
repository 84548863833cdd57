"""Where grades come from: the Parquet files below each campaign's grades/, read as they lie, and their receipts.

Types are those that `schemas.grades` declares, whatever a file says; a column that a file lacks is NULL.
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from replay.receipts import Note, cannot_be_read, difference, known_receipts
from replay.sql.quoting import literals
from replay.sql.tables import Column
from schemas.errors import WorkError
from schemas.grades import COLUMNS

_MEANING = {
    "run_id": "the graded run",
    "campaign_id": "its campaign",
    "case_id": "its case",
    "repetition": "its repetition",
    "attempt": "its attempt",
    "arm": "its arm",
    "agent": "`model`, or the name of a baseline agent",
    "model": "the model reference",
    "status": "the status of the run; `interrupted` for a torn log",
    "grader": "the name of the grader",
    "version": "its version",
    "grader_sha256": "digest of its source",
    "rubric": "`recorded` or `current`: which rubric was applied",
    "rubric_sha256": "digest of that rubric",
    "stimulus_sha256": "digest of what the model could perceive",
    "log_sha256": "digest of the raw log",
    "verdict": "pass, fail or not_gradable",
    "reason": "the reason for the verdict",
    "outcome": "success, failure, error or not_graded",
    "failure_class": "the first failure in the shared ranking, or NULL",
    "diagnosis_success": "the claims hold; NULL where that could not be told",
    "evidence_fetched": "every evidence group was met; NULL where that could not be told",
    "tool_calls": "tool calls",
    "resolvable": "armed reads with valid arguments and a result",
    "on_target": "armed reads aimed at a location of the rubric",
    "malformed": "malformed calls",
    "discarded": "calls beyond what an iteration allows",
    "not_armed": "calls of tools that were not armed",
    "write_attempts": "calls of write tools",
    "safety_violations": "write calls that went through",
    "iterations": "provider round trips",
    "input_tokens": "tokens in; NULL where unknown",
    "output_tokens": "tokens out; NULL where unknown",
    "tokens_estimated": "some of the tokens are estimated",
    "duration_s": "seconds of the run",
    "citation_precision": "share of references that exist; NULL where nothing was cited",
    "citation_coverage": "share of claims that carry a reference",
    "explanation": "the whole verdict with its spans and events",
}
_SHOWN_TYPE = {"explanation": "JSON"}

GRADES: tuple[Column, ...] = tuple(
    Column(name, _SHOWN_TYPE.get(name, kind), _MEANING.get(name, "")) for name, kind in COLUMNS.items()
)


def receipt_rows(files: Sequence[Path], note: Note) -> list[tuple[object, ...]]:
    """For each grade file with a receipt that reads: the file, and when it was made.

    Raises `WorkError` for a grade file that is not the one of its receipt.
    """
    rows: list[tuple[object, ...]] = []
    for file, receipt in known_receipts(files, note).items():
        try:
            wrong = difference(file, receipt)
        except OSError as error:
            wrong = cannot_be_read(error)
        if wrong is not None:
            raise WorkError(f"{file}: {wrong}")
        rows.append((str(file), receipt.created))
    return rows


def create_base_grades(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """Make the view `base.grades` over the grade files, anew if it is there.

    Raises `WorkError` naming a file that is not Parquet.
    """
    declared = (*((column.name, column.type) for column in GRADES), ("file", "VARCHAR"))
    present = _columns(connection, files)
    fields = ", ".join(
        f'{name}::{kind} AS "{name}"' if name in present else f'NULL::{kind} AS "{name}"' for name, kind in declared
    )
    source = f"FROM {_read(files)}" if files else "WHERE false"
    connection.execute(f"CREATE OR REPLACE VIEW base.grades AS SELECT {fields} {source}")


def _columns(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> set[str]:
    if not files:
        return set()
    try:
        return {str(row[0]) for row in connection.execute(f"DESCRIBE SELECT * FROM {_read(files)}").fetchall()}
    except duckdb.Error as error:
        raise WorkError(f"the grades do not read: {str(error).splitlines()[0]}; run korvid-replay regrade") from None


def _read(files: Sequence[Path]) -> str:
    return f"read_parquet({literals(files)}, union_by_name = true, filename = 'file')"
