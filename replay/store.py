"""The grade files of a campaign, and DuckDB over them: write, compare, join.

Grade files lie in `grades/`, are sorted, hold no time, and are never changed once they have their name. DuckDB reads
the rows as the workers spooled them, with declared column types, and works in a scratch directory within a fixed
memory.
"""

import filecmp
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import msgspec

from replay.receipts import GRADES, Note, grade_files, known_receipts
from replay.scratch import scratch_in
from replay.seal.disk import sync
from replay.sorted_rows import GROUP_ROWS, SortedRows
from replay.sql.quoting import literals, quoted
from schemas.errors import WorkError
from schemas.grades import COLUMNS
from schemas.verdicts import VerdictValue

_MEMORY_MB = 128
_PARQUET = f"FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3, ROW_GROUP_SIZE {GROUP_ROWS}"
"""Fixed, so that the same rows are the same bytes."""
_FREE_GROUP = 16 << 20
"""Bytes of a group of rows for which `_MEMORY_MB` is enough."""
_GROUPS_HELD = 4
"""How many times DuckDB needs what a group takes beyond that; 2.8 were measured."""
_ROWS_AT_ONCE = 256
_MIN_OBJECT = 1 << 20
"""DuckDB keeps buffers of twice the longest row it may meet, so that is measured and not guessed."""
_NARROW = "* REPLACE (md5(explanation) AS explanation)"
"""Rows to compare: whether two explanations are the same is told by their digests, and they are most of a row."""
_RESULT = (
    "verdict", "reason", "outcome", "failure_class", "diagnosis_success", "evidence_fetched", "resolvable", "on_target",
    "malformed", "discarded", "not_armed", "write_attempts", "safety_violations", "citation_precision",
    "citation_coverage",
)  # fmt: skip
"""What of a row is the result; with the explanation all that a grader decides."""


class Difference(msgspec.Struct, frozen=True):
    """A run whose stored result under the same grader, version, rubric and log is another."""

    run_id: str
    file: str
    stored: str
    found: str


class Move(msgspec.Struct, frozen=True):
    """A run whose verdict is not that of the grade it had before."""

    run_id: str
    case_id: str
    before: VerdictValue
    after: VerdictValue
    version: int
    rubric: str
    same_rubric: bool


class GradeStore:
    """DuckDB over the grade files of the campaign at `directory`; a context manager.

    `scratch` is a directory beside the final files (so that a rename is enough). It is removed on exit, and by the next
    regrade if this process is killed. `note` is told of damaged receipts.
    """

    def __init__(self, directory: Path, note: Note = lambda _: None) -> None:
        self._note = note
        self.grades = directory / GRADES
        try:
            self.grades.mkdir(exist_ok=True)
            self._scratch = ExitStack()
            self.scratch = self._scratch.enter_context(scratch_in(self.grades))
        except OSError as error:
            raise WorkError(f"{self.grades}: cannot write grades there: {error.strerror}") from None
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._memory_mb = _MEMORY_MB
        self._new: Path | None = None
        self._superseded: tuple[str, ...] = ()

    def __enter__(self) -> "GradeStore":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._disconnect()
        self._scratch.close()

    def files(self) -> list[Path]:
        """The grade files, by name."""
        return grade_files(self.grades.parent)

    def digests_of(self, grader: str, version: int) -> dict[str, str]:
        """The source digests under which a version was stored, each with a file that has it."""
        if not self._define_old():
            return {}
        rows = self._rows(
            "SELECT grader_sha256, min(file) FROM old WHERE grader = ? AND version = ? GROUP BY ALL ORDER BY ALL",
            [grader, version],
        )
        return dict(rows)

    def write_new(self, rows: SortedRows) -> Path:
        """Write the rows into a Parquet file in `scratch`; they are what earlier grades are compared with."""
        self._new, self._superseded = self.scratch / "new.parquet", rows.superseded
        longest = max(_MIN_OBJECT, rows.longest)
        # For reading and writing, and for the connections that look at the rows afterwards.
        beyond = max(0, rows.widest - _FREE_GROUP) * _GROUPS_HELD
        self._memory_mb = _MEMORY_MB + (longest >> 18) + (beyond >> 20)
        self._execute(f"SET memory_limit = '{self._memory_mb}MB'")
        columns = ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in COLUMNS.items())
        names = ", ".join(COLUMNS)
        self._execute(
            f"COPY (SELECT {names} FROM read_json({literals([rows.file])}, format = 'newline_delimited', "
            f"columns = {{{columns}}}, maximum_object_size = {longest})) "
            f"TO {quoted(self._new)} ({_PARQUET})"
        )
        # Only with the connection does DuckDB give back what it needed for reading and writing that.
        self._disconnect()
        return self._new

    def differences(self, *, same_source: bool) -> list[Difference]:
        """Runs whose stored result under the same version, rubric and log differs, by run id, at most ten.

        With `same_source` those of the same grading source (the explanation counts as well), else those of others.
        """
        if not self._define_old():
            return []
        self._define_new()
        names = _RESULT if not same_source else (*_RESULT, "explanation")
        differs = " OR ".join(f"new.{name} IS DISTINCT FROM old.{name}" for name in names)
        rows = self._rows(
            "SELECT new.run_id, old.file, concat_ws(': ', old.verdict, old.reason), "
            "concat_ws(': ', new.verdict, new.reason) FROM new JOIN old "
            "USING (campaign_id, run_id, log_sha256, grader, version, rubric, rubric_sha256) "
            f"WHERE (new.grader_sha256 = old.grader_sha256) = {same_source} AND ({differs}) ORDER BY ALL LIMIT 10"
        )
        return [Difference(*row) for row in rows]

    def moves(self) -> list[Move]:
        """The newest attempts whose verdict differs from their previous grade by the same grader, by case and run.

        The previous grade is one of the same log under another version or rubric: of the same rubric choice before
        another, then of the nearest version below before those above, then of the newest receipt.
        """
        if not self._define_old():
            return []
        self._define_new()
        self._execute("CREATE OR REPLACE TEMP TABLE superseded (run_id VARCHAR)")
        if self._superseded:
            self._rows("INSERT INTO superseded SELECT unnest(?)", [list(self._superseded)])
        receipts = known_receipts(self.files(), self._note)
        created = [(file.name, receipt.created) for file, receipt in receipts.items()]
        self._execute("CREATE OR REPLACE TEMP TABLE created (file VARCHAR, moment VARCHAR)")
        if created:
            self._connect().executemany("INSERT INTO created VALUES (?, ?)", [list(pair) for pair in created])
        rows = self._rows(
            "WITH paired AS (SELECT new.run_id, new.case_id, new.repetition, old.verdict AS before, "
            "new.verdict AS after, old.version, old.rubric, "
            "old.rubric_sha256 IS NOT DISTINCT FROM new.rubric_sha256 AS same_rubric, "
            "row_number() OVER (PARTITION BY new.run_id "
            "ORDER BY old.rubric = new.rubric DESC, old.version <= new.version DESC, old.version DESC, "
            "created.moment DESC NULLS LAST, old.file DESC) AS place FROM new JOIN old USING "
            "(campaign_id, run_id, log_sha256, grader) LEFT JOIN created USING (file) "
            "WHERE new.run_id NOT IN (FROM superseded) AND NOT (old.version = "
            "new.version AND old.rubric = new.rubric AND old.rubric_sha256 IS NOT DISTINCT FROM new.rubric_sha256)) "
            "SELECT run_id, case_id, before, after, version, rubric, same_rubric FROM paired "
            "WHERE place = 1 AND before <> after ORDER BY case_id, repetition, run_id"
        )
        return [Move(*row) for row in rows]

    def same_rows(self, stored: Path) -> bool:
        """Whether a stored grade file holds exactly the new rows in their order. Another build of DuckDB may have
        written them in other bytes."""
        assert self._new is not None, "write_new comes first"
        if filecmp.cmp(stored, self._new, shallow=False):
            return True
        return all(ours == theirs for ours, theirs in zip_longest(self._each_row(self._new), self._each_row(stored)))

    def _each_row(self, file: Path) -> Iterator[tuple[Any, ...]]:
        """The rows of a grade file in their order."""
        try:
            with self._connect().cursor() as cursor:
                cursor.execute(f"SELECT * FROM read_parquet({literals([file])})")
                while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                    yield from rows
        except duckdb.Error as error:
            raise self._explained(error) from None

    def _define_old(self) -> bool:
        """Make the stored grades the view `old`. Returns whether there are any."""
        files = self.files()
        if files:
            read = f"read_parquet({literals(files)}, union_by_name = true, filename = true)"
            self._execute(
                f"CREATE OR REPLACE TEMP VIEW old AS SELECT {_NARROW}, parse_filename(filename) AS file FROM {read}"
            )
        return bool(files)

    def _define_new(self) -> None:
        """Make the rows that `write_new` wrote the view `new`."""
        assert self._new is not None, "write_new comes first"
        self._execute(f"CREATE OR REPLACE TEMP VIEW new AS SELECT {_NARROW} FROM read_parquet({literals([self._new])})")

    def _connect(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = duckdb.connect(config={"autoinstall_known_extensions": False})
            spill = self.scratch / "spill"
            for setting in (
                "threads = 1",
                f"memory_limit = '{self._memory_mb}MB'",
                f"temp_directory = {quoted(spill)}",
                "python_enable_replacements = false",
                "enable_progress_bar = false",
            ):
                self._connection.execute(f"SET {setting}")
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _execute(self, statement: str) -> None:
        try:
            self._connect().execute(statement)
        except duckdb.Error as error:
            raise self._explained(error) from None

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connect().execute(query, list(values)).fetchall()
        except duckdb.Error as error:
            raise self._explained(error) from None

    def _explained(self, error: duckdb.Error) -> WorkError:
        first = str(error).splitlines()[0]
        if isinstance(error, duckdb.OutOfMemoryException):
            limit = f"{self._memory_mb} MB of memory are not enough for these rows"
            return WorkError(f"{self.grades}: {limit} ({first}); grade fewer runs at a time with --where")
        return WorkError(f"{self.grades}: the grades do not read or write: {first}; move a damaged file away")


def publish(made: Path, name: Path) -> bool:
    """Give a finished file its name, durably, unless the name is taken. Returns whether it was free.

    A link cannot overwrite, so of two who finish the same file one makes it and the other finds it made.
    """
    handle = os.open(made, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    try:
        os.link(made, name)
    except FileExistsError:
        return False
    except OSError as error:
        raise WorkError(f"{name}: cannot be written: {error.strerror}") from None
    sync(name.parent)
    return True
