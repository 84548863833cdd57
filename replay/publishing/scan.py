"""Search a directory that is to be published, byte for byte after decompression, for what must not leave.

Every file is searched as what it is: logs and the sealed campaign line by line, their torn ends, and the streams that
their pieces make together; every column of grade files; every other file as text. A file that cannot be searched is a
finding too.
"""

import base64
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import zstandard

from replay.campaigns import LOG_SUFFIX, logs_in
from replay.logref import LogRef, as_ref
from replay.publishing.needles import Needle, needles_of
from replay.publishing.patterns import MIN_NAME, Hit, Names, flat, hits, masked, user_of
from replay.publishing.streams import Streams
from replay.reader import lines_of, whole_lines
from replay.seal.packing import log_pieces
from replay.sql.quoting import literal
from schemas import codec
from schemas.events import ModelRequest
from schemas.sealed import EVENTS

_MAX_WINDOW = 1 << 27
_CHUNK = 1 << 16
NOT_SEARCHABLE = "not_searchable"
TORN_END = "torn end"
_BATCH_CHARS = 1 << 17
_SHORT = 200
"""Characters up to which a cell of a grade file is remembered as searched."""


class Finding(msgspec.Struct, frozen=True, order=True):
    """One private text: the file, the line in it (from 1; of the decompressed text for a log, 0 for its name), what it
    is, its masked form, and where else that is: the run of a sealed line, the column of a grade file."""

    file: str
    line: int
    kind: str
    masked: str
    where: str = ""

    def describe(self) -> str:
        """One line for a person."""
        where = f" ({self.where})" if self.where else ""
        return f"{self.file}:{self.line}{where}: {self.kind} {self.masked}"


class Scanned(msgspec.Struct, frozen=True):
    """What a search found: the findings in order, and what has to be replaced so that they are gone."""

    findings: tuple[Finding, ...]
    needles: frozenset[Needle]

    @property
    def searchable(self) -> bool:
        """Whether every file could be searched."""
        return all(finding.kind != NOT_SEARCHABLE for finding in self.findings)


class _Text(msgspec.Struct, frozen=True):
    """A flat text to search and where it stands."""

    file: str
    line: int
    text: str
    where: str = ""


def scan(directory: Path, files: Iterable[Path], names: Names) -> Scanned:
    """Search these files of `directory` for known forms and `names`.

    Users whose home paths are found are searched for by name as well. Raises `LogError` for a log that does not read.
    """
    files = sorted(files)
    findings, found = _search(directory, files, names)
    homes = {user for hit in found if hit.kind == "home_path" and (user := user_of(hit.value))} - names.users
    if homes:
        more, named = _search(directory, files, Names(users=frozenset(homes)), only_names=True)
        findings, found = findings + more, found + named
    return Scanned(tuple(sorted(set(findings))), frozenset(needles_of(found)))


def _search(
    directory: Path, files: list[Path], names: Names, *, only_names: bool = False
) -> tuple[list[Finding], list[Hit]]:
    findings, found = [], []
    for path in files:
        name = path.relative_to(directory).as_posix()
        try:
            for text in _suspects(_texts(path, name), names):
                for hit in hits(text.text, names):
                    if only_names and not hit.word:
                        continue
                    line = text.line + (0 if path.suffix == ".zst" else text.text.count("\n", 0, hit.start))
                    findings.append(Finding(text.file, line, hit.kind, masked(hit.value), text.where))
                    found.append(hit)
        except _NotSearchableError as error:
            findings.append(Finding(name, 0, NOT_SEARCHABLE, str(error)))
    return findings, found


def _suspects(texts: Iterable[_Text], names: Names) -> Iterator[_Text]:
    """The texts that may hold something: many are searched at once, and one by one only where that found something."""
    batch: list[_Text] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text.text)
        if size > _BATCH_CHARS:
            if next(hits("\n".join(held.text for held in batch), names), None) is not None:
                yield from batch
            batch, size = [], 0
    yield from batch


class _NotSearchableError(Exception):
    """A file of a form that cannot be read."""


def _texts(path: Path, name: str) -> Iterator[_Text]:
    yield _Text(name, 0, name)
    if path.name == EVENTS:
        line = 0
        for log in logs_in(path.parent):
            line = yield from _log_texts(log, name, line, f"run {log.run_id}")
    elif path.name.endswith(LOG_SUFFIX):
        yield from _log_texts(as_ref(path), name, 0, "")
    elif path.suffix == ".parquet":
        yield from _parquet_texts(path, name)
    else:
        yield from _plain_texts(path, name)


def _log_texts(log: LogRef, name: str, before: int, where: str) -> Generator[_Text, None, int]:
    """The texts of one log, whose first line is number `before` + 1 of the file; gives the number of its last."""
    streams = Streams()
    number = before
    for line in whole_lines(log):
        number += 1
        streams.feed(number, line)
        yield _Text(name, number, flat(line.decode("utf-8", "replace")), where)
        if b'"body_base64"' in line:
            yield _Text(name, number, flat(_encoded_body(line)), f"{where}, body" if where else "body")
    for response in streams.responses():
        for text in response.texts:
            spread = f"{where}, " if where else ""
            yield _Text(name, response.line, text, f"{spread}pieces of request {response.request} together")
    for text in torn_texts(log):
        yield _Text(name, number, flat(text), f"{where}, {TORN_END}" if where else TORN_END)
    return number


def _encoded_body(line: bytes) -> str:
    """The body of a request that is not text and is stored as base64; empty where the line is no such request."""
    event = codec.decode(line)
    if not isinstance(event, ModelRequest) or event.body_base64 is None:
        return ""
    return base64.b64decode(event.body_base64).decode("utf-8", "replace")


def torn_texts(log: LogRef) -> Iterator[str]:
    """What can be read of the torn end of a log: its decompressed part and its very bytes."""
    if log.sealed is None:
        pieces: Iterable[bytes] = _chunks(log.path)
        tail = b""
    else:
        tail = log.sealed.run.tail_bytes()
        if not tail:
            return
        pieces = (*log_pieces(whole_lines(log), closed=False), tail)
    last = deque(lines_of(_decompressed(pieces)), maxlen=1)
    if last and not last[0].endswith(b"\n"):
        yield last[0].decode("utf-8", "replace")
    if tail:
        yield tail.decode("latin-1")


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _decompressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """What zstd gives of a stream up to where it breaks."""
    frame = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj()
    for piece in pieces:
        while piece:
            try:
                yield frame.decompress(piece)
            except zstandard.ZstdError:
                return
            piece = frame.unused_data
            if frame.eof:
                frame = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj()


def _parquet_texts(path: Path, name: str) -> Iterator[_Text]:
    """Every value of every column, the names of columns, and the free metadata."""
    source = [literal(path)]
    try:
        with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
            columns = [str(row[0]) for row in connection.execute("DESCRIBE FROM read_parquet(?)", source).fetchall()]
            yield _Text(name, 0, flat("\n".join(columns)), "columns")
            meta = connection.execute("SELECT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata(?)", source)
            for key, value in meta.fetchall():
                yield _Text(name, 0, flat(f"{key}: {value}"), "metadata")
            found = connection.execute("SELECT COLUMNS(*)::VARCHAR FROM read_parquet(?)", source)
            number = 0
            known: set[str] = set()
            while rows := found.fetchmany(256):
                for row in rows:
                    number += 1
                    # Most cells repeat what a cell above says: each distinct text is searched once.
                    fresh = tuple(None if value in known else value for value in row)
                    known.update(value for value in fresh if value is not None and len(value) <= _SHORT)
                    yield from _row_texts(name, number, columns, fresh)
    except duckdb.Error as error:
        raise _NotSearchableError(f"does not read as Parquet: {str(error).splitlines()[0]}") from None


def _row_texts(name: str, number: int, columns: list[str], row: tuple[Any, ...]) -> Iterator[_Text]:
    for column, value in zip(columns, row, strict=True):
        if isinstance(value, str) and len(value) >= MIN_NAME:
            yield _Text(name, number, flat(value).replace("\n", " "), f"column {column}")


def _plain_texts(path: Path, name: str) -> Iterator[_Text]:
    data = path.read_bytes()
    try:
        if data.startswith(zstandard.FRAME_HEADER):
            data = b"".join(_decompressed(iter((data,))))
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _NotSearchableError("is neither text, nor a log, nor a grade file") from None
    for number, line in enumerate(text.split("\n"), 1):
        yield _Text(name, number, flat(line).replace("\n", " "))
    if "PRIVATE KEY" in text:
        yield _Text(name, 1, text)
    streams = Streams()
    for number, raw in enumerate(data.splitlines(keepends=True), 1):
        streams.feed(number, raw)
    for response in streams.responses():
        for together in response.texts:
            yield _Text(name, response.line, together, f"pieces of request {response.request} together")
