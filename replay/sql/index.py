"""A DuckDB file beside a campaign that holds what its logs say, for speed. Never needed, always rebuildable.

It is built under a temporary name and renamed, so a reader sees the old one, the new one or none. It is used only while
names, sizes and modification times of the logs are those it was built from, and the tables those of this build.
"""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb
import msgspec

from replay.scratch import INDEX_PREFIX
from replay.sealed import is_sealed
from replay.sql.load import Log, Progress, create_store, load
from replay.sql.quoting import quoted
from replay.sql.sources import logs_of
from replay.sql.tables import columns_of, declaration, log_tables
from schemas.errors import UsageError, WorkError
from schemas.sealed import INDEX as SEALED_INDEX

INDEX = "index.duckdb"


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """What `build` did for one campaign: the file, how many logs are in it, its size, and how many were corrupt."""

    path: str
    runs: int
    bytes: int
    corrupt: int
    rebuilt: bool


def build(campaign: Path, progress: Progress | None = None, *, again: bool = False) -> Built:
    """Build the index of one campaign, unless a fresh one is there (`again` builds it all the same).

    Raises `UsageError` where DuckDB cannot make a file, `WorkError` if it cannot be written or a log not be read.
    """
    target = campaign / INDEX
    if "?" in str(target.absolute()):
        raise UsageError(
            f"{target}: DuckDB makes no file below a directory with a question mark in its name; rename it, or ask "
            "without an index"
        )
    logs = logs_of([campaign])
    if not again and is_fresh(campaign):
        return Built(path=str(target), runs=len(logs), bytes=target.stat().st_size, corrupt=0, rebuilt=False)
    try:
        before = fingerprint(campaign)
        with tempfile.TemporaryDirectory(prefix=INDEX_PREFIX, dir=campaign) as scratch:
            made = Path(scratch) / INDEX
            corrupt = _build(made, logs_of([campaign]), Path(scratch), before, progress)
            os.replace(made, target)
    except (OSError, duckdb.Error) as error:
        raise WorkError(f"{target}: cannot build the index: {str(error).splitlines()[0]}") from None
    return Built(path=str(target), runs=len(logs), bytes=target.stat().st_size, corrupt=corrupt, rebuilt=True)


def _build(made: Path, logs: Sequence[Log], scratch: Path, mark: str, progress: Progress | None) -> int:
    with duckdb.connect(str(made)) as connection:
        create_store(connection, log_tables())
        corrupt = load(connection, logs, log_tables(), scratch, progress)
        connection.execute("CREATE TABLE store.index_of (fingerprint VARCHAR)")
        connection.execute("INSERT INTO store.index_of VALUES (?)", [mark])
        connection.execute("CHECKPOINT")
    return corrupt


def is_fresh(campaign: Path) -> bool:
    """Whether the campaign has an index that was built from its logs as they are now."""
    path = campaign / INDEX
    if not path.is_file():
        return False
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            rows = connection.execute("SELECT fingerprint FROM store.index_of").fetchall()
        return rows == [(fingerprint(campaign),)]
    except (duckdb.Error, OSError):
        return False


def fingerprint(campaign: Path) -> str:
    """SHA-256 over the tables of this build and over name, size and modification time of every file with logs."""
    digest = hashlib.sha256(_layout().encode())
    files = dict.fromkeys(log.ref.path for log in logs_of([campaign]))
    if is_sealed(campaign):
        files[campaign / SEALED_INDEX] = None
    for file in sorted(files):
        status = file.stat()
        digest.update(f"{file.name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def attach(connection: duckdb.DuckDBPyConnection, campaign: Path, number: int) -> str:
    """Attach the index of a campaign for reading. Gives the name of the attached database."""
    name = f"index_{number}"
    connection.execute(f"ATTACH {quoted(campaign / INDEX)} AS {name} (READ_ONLY)")
    return name


def _layout() -> str:
    return "\n".join(f"{table}: {declaration(columns_of(table))}" for table in log_tables())
