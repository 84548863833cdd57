"""What a statement gave: names and types of its columns, and its rows, once."""

from collections.abc import Iterator
from typing import Any

import duckdb

from replay.sql.errors import explain

_BATCH = 1000


class Answer:
    """The pending result of a connection. `names` and `types` (as DuckDB spells them) are in order of the columns."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        description = connection.description or []
        self.names = [str(column[0]) for column in description]
        self.types = [str(column[1]) for column in description]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, fetched in batches. Raises `UsageError` or `WorkError` where the statement fails while it runs."""
        try:
            while batch := self._connection.fetchmany(_BATCH):
                yield from batch
        except duckdb.Error as error:
            raise explain(error) from None

    def records(self) -> list[dict[str, Any]]:
        """All rows as objects."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows()]
