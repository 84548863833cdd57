"""Grade published logs again and compare: does every receipt still say what these logs give?

A grade file is compared row by row with what the same version of the grader gives here. Where this build's grading
source is another one, verdicts and numbers are compared and explanations are not. A receipt whose grader or pack is not
here is named, never passed over.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import msgspec

from replay.campaigns import MANIFEST
from replay.graders import LoadedGrader
from replay.publishing.redacting import pack_of, same_grader
from replay.receipts import GRADES
from replay.regrade import Options, Regraded, regrade
from replay.sql.quoting import literal
from schemas.errors import KorvidError
from schemas.grades import COLUMNS, StoredReceipt
from schemas.sealed import EVENTS, INDEX
from schemas.words import counted

_SOURCE_BOUND = ("grader_sha256", "explanation")
"""Columns in which two builds of the same version may differ."""


class ReceiptCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one receipt: how many rows were computed again and compared, or why none were.

    `problem` says what does not hold; `note` what could not be checked.
    """

    file: str
    grader: str
    rows: int
    problem: str | None = None
    note: str | None = None


def check_receipts(
    directory: Path, receipts: dict[str, StoredReceipt], digests: dict[str, str]
) -> Iterator[ReceiptCheck]:
    """Check each receipt (by file name) of the sealed campaign at `directory`, whose logs have these digests (by run).

    Nothing is written there.
    """
    done: dict[tuple[str, int, str, str | None], Regraded] = {}
    with tempfile.TemporaryDirectory(prefix="korvid-audit-") as scratch:
        for name, receipt in receipts.items():
            problem = _inputs_problem(receipt, digests)
            grader, why = same_grader(receipt)
            if problem is not None or grader is None:
                yield _check(name, receipt, 0, problem=problem, note=None if problem else f"not graded again: {why}")
                continue
            key = (receipt.grader, receipt.version, receipt.rubric, pack_of(receipt))
            try:
                if key not in done:
                    made = _linked(directory, Path(scratch) / str(len(done)))
                    done[key] = regrade(made, grader, Options(rubric=receipt.rubric, pack=pack_of(receipt)))
                yield _compared(directory, name, receipt, grader, done[key])
            except KorvidError as error:
                yield _check(name, receipt, 0, problem=f"cannot be graded again: {error}")


def _linked(directory: Path, made: Path) -> Path:
    """A campaign of the same logs, without grades."""
    made.mkdir()
    for name in (MANIFEST, EVENTS, INDEX):
        (made / name).symlink_to((directory / name).resolve())
    return made


def _inputs_problem(receipt: StoredReceipt, digests: dict[str, str]) -> str | None:
    for run_id, sha256 in receipt.inputs.items():
        if run_id not in digests:
            return f"names run {run_id}, which is not in {EVENTS}"
        if digests[run_id] != sha256:
            return f"says that run {run_id} has SHA-256 {sha256}, it has {digests[run_id]}"
    if receipt.model_calls:
        return f"says that grading made {receipt.model_calls} model calls"
    return None


def _compared(
    directory: Path, name: str, receipt: StoredReceipt, grader: LoadedGrader, again: Regraded
) -> ReceiptCheck:
    stored = directory / GRADES / receipt.grade_file
    same_source = receipt.grader_sha256 == grader.sha256
    difference, rows = _difference(stored, Path(again.campaign) / GRADES / again.receipt.grade_file, same_source)
    if difference is not None:
        return _check(name, receipt, rows, problem=f"{GRADES}/{receipt.grade_file}: {difference}")
    if rows != len(receipt.inputs):
        return _check(
            name, receipt, rows, problem=f"names {counted(len(receipt.inputs), 'run')}, its grade file has {rows}"
        )
    if receipt.where is None and receipt.coverage != again.receipt.coverage:
        return _check(name, receipt, rows, problem="its coverage is not that of these logs")
    if same_source and receipt.where is None and receipt.inputs_sha256 != again.receipt.inputs_sha256:
        return _check(name, receipt, rows, problem="its inputs_sha256 is not that of these logs")
    note = None if same_source else "graded again with another build of the grader: explanations were not compared"
    return _check(name, receipt, rows, note=note)


def _difference(stored: Path, again: Path, same_source: bool) -> tuple[str | None, int]:
    """The first row that is not what these logs give (None: all are), and the number of stored rows."""
    columns = ", ".join(name for name in COLUMNS if same_source or name not in _SOURCE_BOUND)
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
        try:
            connection.execute("CREATE TEMP TABLE stored AS FROM read_parquet(?)", [literal(stored)])
            connection.execute("CREATE TEMP TABLE again AS FROM read_parquet(?)", [literal(again)])
            rows = connection.execute("SELECT count(*), count(DISTINCT run_id) FROM stored").fetchall()[0]
            differing = connection.execute(
                f"SELECT run_id, verdict FROM (SELECT {columns} FROM stored EXCEPT ALL SELECT {columns} FROM again) "
                "ORDER BY ALL LIMIT 1"
            ).fetchall()
        except duckdb.Error as error:
            return f"does not read as grades: {str(error).splitlines()[0]}", 0
        if differing:
            run_id, verdict = differing[0]
            found = connection.execute("SELECT verdict, reason FROM again WHERE run_id = ?", [run_id]).fetchall()
            gives = ": ".join(found[0]) if found else "nothing"
            return f"run {run_id} is graded {verdict} there, and these logs give {gives}", rows[0]
        if rows[0] != rows[1]:
            return "holds a run twice", rows[0]
        return None, rows[0]


def _check(
    name: str, receipt: StoredReceipt, rows: int, *, problem: str | None = None, note: str | None = None
) -> ReceiptCheck:
    return ReceiptCheck(
        file=f"{GRADES}/{name}", grader=f"{receipt.grader}@{receipt.version}", rows=rows, problem=problem, note=note
    )
