"""Fill the tables of a store from logs: scan each log, spool the wanted lines to a scratch directory, let DuckDB parse.

The spool is newline-delimited JSON with the run id put in front of each event, read with declared column types. Should
DuckDB refuse a line, all is read again with every event checked, and a value that does not fit its column becomes NULL:
one odd log costs time and not the answer.
"""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import duckdb
import msgspec

from replay.logref import LogRef
from replay.sql.quoting import quoted
from replay.sql.scan import Scanned, scan
from replay.sql.tables import columns_of, declaration
from replay.unicode import encode_json
from schemas.errors import WorkError

Progress = Callable[[int, int], None]

_MIN_OBJECT = 16 * 1024 * 1024


class Log(msgspec.Struct, frozen=True):
    """One log to read, and the campaign directory it belongs to as it was named."""

    directory: Path
    ref: LogRef


def create_store(connection: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> None:
    """Make the schema `store` with these tables, empty."""
    connection.execute("CREATE SCHEMA IF NOT EXISTS store")
    for table in tables:
        connection.execute(f"CREATE TABLE store.{table} ({declaration(columns_of(table))})")


def load(
    connection: duckdb.DuckDBPyConnection,
    logs: Sequence[Log],
    tables: Sequence[str],
    scratch: Path,
    progress: Progress | None = None,
) -> int:
    """Fill `tables` of the schema `store` from `logs`. Gives the number of corrupt logs.

    Raises `WorkError` if a log cannot be read or the scratch directory is full.
    """
    try:
        return _load(connection, logs, tables, scratch, progress, strict=False)
    except duckdb.Error:
        for table in tables:
            connection.execute(f"DELETE FROM store.{table}")
    return _load(connection, logs, tables, scratch, progress, strict=True)


def _load(
    connection: duckdb.DuckDBPyConnection,
    logs: Sequence[Log],
    tables: Sequence[str],
    scratch: Path,
    progress: Progress | None,
    *,
    strict: bool,
) -> int:
    spool = _Spool(scratch, tables, strict=strict)
    wanted = frozenset(tables) - {"runs"}
    corrupt = 0
    try:
        with spool:
            for number, log in enumerate(logs):
                scanned = scan(log.ref, wanted, strict=strict)
                scanned.facts.directory, scanned.facts.file = _place(log)
                corrupt += scanned.facts.status == "corrupt"
                spool.add(scanned)
                if progress is not None:
                    progress(number + 1, len(logs))
    except OSError as error:
        raise WorkError(f"{scratch}: cannot spool events: {error.strerror}; point TMPDIR at more room") from None
    for table in tables:
        spool.insert(connection, table)
        spool.path(table).unlink()
    return corrupt


class _Spool:
    """One file a table in the scratch directory."""

    def __init__(self, scratch: Path, tables: Sequence[str], *, strict: bool) -> None:
        self._scratch = scratch
        self._tables = tuple(tables)
        self._strict = strict
        self._files: dict[str, IO[bytes]] = {}
        self._longest = dict.fromkeys(tables, 0)
        self._stack = ExitStack()

    def __enter__(self) -> "_Spool":
        for table in self._tables:
            self._files[table] = self._stack.enter_context(self.path(table).open("wb"))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def path(self, table: str) -> Path:
        return self._scratch / f"{table}.ndjson"

    def add(self, scanned: Scanned) -> None:
        if "runs" in self._files:
            self._write("runs", encode_json(scanned.facts) + b"\n")
        identity = {"run_id": scanned.facts.run_id, "campaign_id": scanned.facts.campaign_id}
        head = encode_json(identity)[:-1] + b","
        for table, lines in scanned.lines.items():
            for line in lines:
                self._write(table, b"%b\n" % line if table == "run_started" else b"%b%b\n" % (head, line.lstrip()[1:]))

    def _write(self, table: str, line: bytes) -> None:
        self._files[table].write(line)
        self._longest[table] = max(self._longest[table], len(line))

    def insert(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        """Let DuckDB parse the file of a table."""
        if not self._longest[table]:
            return
        columns = columns_of(table)
        declared = ", ".join(f"{quoted(column.name)}: {quoted(column.type)}" for column in columns)
        names = ", ".join(f'"{column.name}"' for column in columns)
        connection.execute(
            f"INSERT INTO store.{table} SELECT {names} FROM read_json({quoted(self.path(table))}, "
            f"format = 'newline_delimited', compression = 'none', columns = {{{declared}}}, "
            f"ignore_errors = {str(self._strict).lower()}, "
            f"maximum_object_size = {max(_MIN_OBJECT, 2 * self._longest[table])})"
        )


def _place(log: Log) -> tuple[str, str]:
    """The campaign directory as it was named, and the file that holds a log below it."""
    directory = str(log.directory)
    return directory, f"{log.ref.folder}/{log.ref.file}".removeprefix(directory).lstrip("/")


def stderr_progress() -> Progress | None:
    """Progress of reading logs on a terminal's stderr, from the first second on; None where nobody watches."""
    if not sys.stderr.isatty():
        return None
    began = time.monotonic()
    shown: dict[str, Any] = {"at": 0.0}

    def show(done: int, total: int) -> None:
        now = time.monotonic()
        if done == total and shown["at"]:
            sys.stderr.write("\r\033[K")
        elif now - began > 1 and now - shown["at"] > 0.1:
            shown["at"] = now
            sys.stderr.write(f"\rreading logs {done}/{total}")
        sys.stderr.flush()

    return show
