"""The rows of an answer as a table, JSON, CSV or Parquet.

JSON is an array of objects; columns of type JSON are nested as JSON; what JSON cannot say (NaN, infinities) is null.
In CSV NULL is empty and nested values are JSON text; texts are as recorded, also one that a spreadsheet takes for a
formula. A table is for eyes: long cells are clipped, control characters
escaped. The other three are whole. Rows are fetched in batches, except for the table, which needs its widths.
"""

import base64
import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import UUID

import msgspec

from replay import output
from replay.sql.answer import Answer
from replay.sql.session import Session
from schemas.errors import UsageError, WorkError

Format = Literal["table", "json", "csv", "parquet"]
FORMATS: tuple[str, ...] = get_args(Format)

_CLIP = 100


def check_format(name: str, out: Path | None) -> Format:
    """The format a person named. Raises `UsageError` for an unknown one, or for Parquet without a file."""
    for known in get_args(Format):
        if name == known:
            if known == "parquet" and out is None:
                raise UsageError("--format parquet writes a file: give --out FILE")
            if known == "table" and out is not None:
                raise UsageError("--out takes --format json, csv or parquet; a table is for the terminal")
            return known  # type: ignore[no-any-return]
    raise UsageError(f"--format {name}: not a format; one of {', '.join(FORMATS)}")


def write(session: Session, statement: str, form: Format, out: Path | None = None) -> int:
    """Answer a statement on stdout, or whole and under its final name in `out`. Gives the number of rows.

    Raises what `Session.query` raises, and `WorkError` if `out` cannot be written.
    """
    if out is None:
        answer = session.query(statement)
        if form == "table":
            rows = [[_clipped(value) for value in row] for row in answer.rows()]
            output.print_table(unique(answer.names), rows)
            return len(rows)
        return _copy(answer, form, output.print_bytes)
    with replacing(out) as part:
        if form == "parquet":
            return session.write_parquet(statement, part)
        answer = session.query(statement)
        with part.open("wb") as file:
            return _copy(answer, form, file.write)


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """The file to write in a `with` block, which is `out` once the block has ended well, and else is gone.

    Raises `UsageError` if `out` has no place, and `WorkError` for an `OSError` in the block.
    """
    part = staging(out)
    try:
        try:
            yield part
            os.replace(part, out)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise WorkError(f"--out {out}: cannot write it: {error.strerror}") from None


def staging(out: Path) -> Path:
    """The temporary name next to `out` that is renamed to it at the end. Raises `UsageError` if `out` has no place."""
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: no directory {out.parent}; make it first")
    return out.parent.resolve() / f".{out.name}.{os.getpid()}.part"


def unique(names: Sequence[str]) -> list[str]:
    """Column names with a suffix where one comes twice, so that no member of an object is lost."""
    found: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in found:
            number += 1
            chosen = f"{name}_{number}"
        found.append(chosen)
    return found


def _copy(answer: Answer, form: Format, put: Callable[[bytes], object]) -> int:
    count = 0
    for piece in _csv(answer) if form == "csv" else _json(answer):
        put(piece)
        count += 1
    return count - 1


def _json(answer: Answer) -> Iterator[bytes]:
    """The array: one piece a row, and one that closes it."""
    names = unique(answer.names)
    nested = [kind == "JSON" for kind in answer.types]
    lead = b"["
    for row in answer.rows():
        values = {
            name: _nested(value) if is_json else jsonable(value)
            for name, value, is_json in zip(names, row, nested, strict=True)
        }
        yield lead + msgspec.json.encode(values)
        lead = b",\n "
    yield b"[]\n" if lead == b"[" else b"]\n"


def _nested(value: Any) -> Any:
    return None if value is None else msgspec.Raw(value.encode())


def _csv(answer: Answer) -> Iterator[bytes]:
    """The heading, then one piece a row."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(unique(answer.names))
    yield _drain(buffer)
    for row in answer.rows():
        writer.writerow([_csv_cell(value) for value in row])
        yield _drain(buffer)


def _drain(buffer: io.StringIO) -> bytes:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text.encode()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = jsonable(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def jsonable(value: Any) -> Any:
    """A value of DuckDB as JSON can carry it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return float(value) if value.is_finite() else None
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(bytes(value)).decode()
        case UUID():
            return str(value)
        case dict():
            return {str(key): jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [jsonable(item) for item in value]
        case _:
            return str(value)


def _clipped(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else str(jsonable(value))
    text = text if len(text) <= _CLIP else text[: _CLIP - 1] + "…"
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\x{ord(char):02x}")
