"""A DuckDB connection over recorded campaigns, with the documented views and nothing else within reach.

Views are lazy: a statement reads only the kinds of event it uses, from the index of a campaign where a fresh one lies
beside it and from the logs where not, and grades only if it uses them. The database is in memory and disposable. Before
any statement of a person runs, access to files (but the grades and our own scratch directory), network, extensions and
settings is closed for good.
"""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import duckdb

from replay.receipts import grade_files
from replay.sql import index
from replay.sql.answer import Answer
from replay.sql.errors import explain
from replay.sql.functions import mentions_function, register_functions
from replay.sql.grades_source import create_base_grades, receipt_rows
from replay.sql.load import Progress, create_store, load
from replay.sql.manifests import campaign_rows
from replay.sql.quoting import literal, quoted
from replay.sql.sources import campaigns_at, logs_of, shared_runs
from replay.sql.tables import declaration, log_tables
from replay.sql.views import VIEWS, View, tables_of
from schemas.errors import UsageError
from schemas.words import counted

Note = Callable[[str], None]

_READ_ONLY = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_NO_EXTENSIONS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_SEVERAL = duckdb.StatementType.MULTI
"""What DuckDB makes of PIVOT: several statements of its own."""
_GRADES = "grades"


class Session:
    """Ask questions of campaigns. Use it as a context manager, or `close` it.

    `paths` are campaign directories or directories of campaigns. `writable` are files that `write_parquet` may make.
    Raises `UsageError` if a path holds no campaign.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        writable: Sequence[Path] = (),
        note: Note = lambda _: None,
        progress: Progress | None = None,
        use_index: bool = True,
    ) -> None:
        self.campaigns = campaigns_at(paths)
        self._note = note
        self._progress = progress
        self._indexed = [path for path in self.campaigns if use_index and index.is_fresh(path)]
        self._raw = [path for path in self.campaigns if path not in self._indexed]
        self._grades = [file for path in self.campaigns for file in grade_files(path)]
        self._scratch = tempfile.TemporaryDirectory(prefix="korvid-replay-")
        self._connection = duckdb.connect(config=_NO_EXTENSIONS)
        self._names = duckdb.connect(config={**_NO_EXTENSIONS, "enable_external_access": "false", "threads": 1})
        """An empty database with the same views, which tells what a statement refers to."""
        self._loaded: set[str] = set()
        self._told_corrupt = False
        self._told_copies = False
        self._has_functions = False
        self._has_grades = False
        with ExitStack() as undo:
            undo.callback(self.close)
            self._prepare(writable)
            undo.pop_all()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and remove the scratch directory."""
        self._connection.close()
        self._names.close()
        self._scratch.cleanup()

    def query(self, statement: str) -> Answer:
        """The answer to one reading statement (SELECT, FROM, WITH, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN, PIVOT).

        Raises `UsageError` for anything else, and with DuckDB's own words for a wrong one.
        """
        try:
            self._ready(statement)
            return Answer(self._connection.cursor().execute(statement))
        except duckdb.Error as error:
            raise explain(error) from None

    def write_parquet(self, statement: str, path: Path) -> int:
        """Write the answer to `path`, one of the `writable` ones, as Parquet. Gives the number of rows.

        Raises as `query` does, and `WorkError` if the file cannot be written.
        """
        try:
            self._ready(statement)
            result = self._connection.sql(statement)
            result.write_parquet(str(path))
            ((count,),) = self._connection.execute("SELECT count(*) FROM read_parquet(?)", [literal(path)]).fetchall()
        except duckdb.Error as error:
            raise explain(error) from None
        return int(count)

    def statements(self, text: str) -> list[str]:
        """The statements in a text, apart. Raises `UsageError` if it does not parse."""
        try:
            return [found.query for found in self._connection.extract_statements(text)]
        except duckdb.Error as error:
            raise explain(error) from None

    def _ready(self, statement: str) -> None:
        """Refuse what does not read, and have at hand what a statement asks for."""
        found = self._connection.extract_statements(statement)
        if len(found) != 1:
            raise UsageError(f"SQL: expected one statement, found {len(found)}; --shell takes several")
        if found[0].type not in (*_READ_ONLY, _SEVERAL):
            raise UsageError(
                f"SQL: a {found[0].type.name} statement is refused; the record is read only, start with SELECT"
            )
        if not self._has_functions and mentions_function(statement):
            register_functions(self._connection)
            register_functions(self._names)
            self._has_functions = True
        tables = self._tables_in(statement, found[0])
        self._warn_of_copies(tables)
        self._load(tables)
        self._load_grades(tables)

    def _tables_in(self, statement: str, found: duckdb.Statement) -> set[str]:
        """The tables that a statement reads, through whatever views; all of them where DuckDB cannot tell."""
        if found.type == _SEVERAL:
            return {*log_tables(), _GRADES}
        return {table for view in self._names.get_table_names(statement) for table in tables_of(view)}

    def _warn_of_copies(self, tables: set[str]) -> None:
        if tables - {"runs", _GRADES} and not self._told_copies:
            self._told_copies = True
            shared = len(shared_runs(self.campaigns))
            if shared:
                ids = f"{counted(shared, 'run id')} {'is' if shared == 1 else 'are'}"
                self._note(f"{ids} in several of these campaigns; a join by run_id alone mixes them")

    def _load(self, tables: set[str]) -> None:
        missing = [table for table in log_tables() if table in tables - self._loaded]
        if not missing or not self._raw:
            return
        corrupt = load(self._connection, logs_of(self._raw), missing, Path(self._scratch.name), self._progress)
        self._loaded |= set(missing)
        if corrupt and not self._told_corrupt:
            self._told_corrupt = True
            have = "has" if corrupt == 1 else "have"
            self._note(
                f"{counted(corrupt, 'corrupt log')} {have} a row in runs and no other; korvid-replay verify says why"
            )

    def _load_grades(self, tables: set[str]) -> None:
        if _GRADES in tables and not self._has_grades:
            rows = receipt_rows(self._grades, self._note)
            create_base_grades(self._connection, self._grades)
            _insert(self._connection, "store.receipts", rows)
            self._has_grades = True

    def _prepare(self, writable: Sequence[Path]) -> None:
        connection = self._connection
        scratch = self._scratch.name
        connection.execute("SET python_enable_replacements = false")
        connection.execute(f"SET temp_directory = {quoted(scratch + '/spill')}")
        create_store(connection, (*log_tables(), "campaigns", "receipts"))
        attached = [index.attach(connection, path, number) for number, path in enumerate(self._indexed)]
        connection.execute("CREATE SCHEMA base")
        for table in log_tables():
            connection.execute(f"CREATE VIEW base.{table} AS {self._union(table, attached)}")
        _insert(connection, "store.campaigns", campaign_rows(self.campaigns))
        create_base_grades(connection, [])
        for view in VIEWS:
            columns = ", ".join(f'"{column.name}"' for column in view.columns)
            connection.execute(f"CREATE VIEW main.{view.name} AS SELECT {columns} FROM ({view.sql})")
            _shadow(self._names, view)
        # What reads a file is allowed by the name it is given, what writes one by its own.
        readable = {form(path): None for path in (*self._grades, *writable) for form in (str, literal)}
        connection.execute(f"SET allowed_directories = [{quoted(scratch + '/')}]")
        connection.execute(f"SET allowed_paths = [{', '.join(map(quoted, readable))}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")

    def _union(self, table: str, attached: Sequence[str]) -> str:
        parts = [f"SELECT * FROM store.{table}"]
        for name, path in zip(attached, self._indexed, strict=True):
            where = f" REPLACE ({quoted(path)} AS directory)" if table == "runs" else ""
            parts.append(f"SELECT *{where} FROM {name}.store.{table}")
        return " UNION ALL ".join(parts)


def _shadow(names: duckdb.DuckDBPyConnection, view: View) -> None:
    """The name and the columns of a view over an empty table of the same name.

    DuckDB tells the tables of a statement without knowing their columns, but it knows those that a view spells out.
    """
    names.execute("CREATE SCHEMA IF NOT EXISTS shadow")
    names.execute(f"CREATE TABLE shadow.{view.name} ({declaration(view.columns)})")
    columns = ", ".join(f'"{column.name}"::{column.type} AS "{column.name}"' for column in view.columns)
    names.execute(f"CREATE VIEW main.{view.name} AS SELECT {columns} FROM shadow.{view.name}")


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", [list(row) for row in rows])
