"""A sound log read in one go, for readers that want a few events of many logs.

Almost every log is small, whole and right. Such a log is decompressed at once, hashed at once, and cut into lines of
which only the wanted ones are decoded. Everything else (a torn or large file, several frames, an older schema version,
escaped text, a digest that does not hold) is left to `replay.reader`, which says what is wrong and where: a log is
either taken whole here or not at all, so the two never disagree on what can be trusted.
"""

import hashlib
import os
import stat
from functools import partial
from io import BytesIO
from itertools import chain, count
from pathlib import Path

import msgspec
import zstandard

from replay.logref import MAX_WINDOW, PIECE, LogRef, as_ref, sealed_bytes
from schemas import upcast
from schemas.errors import LogError
from schemas.events import SCHEMA_VERSION

MAX_FILE_BYTES = 1 << 20
"""A larger file is streamed: regrading shall stay within a fixed memory whatever one run came to."""
_MAX_RAW_BYTES = 64 << 20
_ESCAPE = "\ufdd0".encode()
_HEAD = b'{"type":"'
_FIRST_TYPE = b"run_started"
_LAST_TYPE = b"run_finished"
_BRACE = ord("}")
_DIGITS = frozenset(b"0123456789")


def _follow(number: int) -> bytes:
    """How the line of event `number` goes on after its type."""
    return b'","seq":%d,"t":' % number


_FOLLOWS = tuple(map(_follow, range(512)))
"""More than most runs have events."""


class SoundLog(msgspec.Struct, frozen=True):
    """The wanted lines of a sound log in order, as `(type, line)`; `sha256` is over all its raw bytes."""

    lines: list[tuple[bytes, bytes]]
    sha256: str
    events: int
    raw_bytes: int


class _Last(msgspec.Struct):
    sha256: str
    events: int


_last = msgspec.json.Decoder(_Last)


def read_sound(log: LogRef | Path, wanted: frozenset[bytes]) -> SoundLog | None:
    """The log, or None if it is not plainly sound. `wanted` must name `run_started` and `run_finished`."""
    log = as_ref(log)
    data = _decompressed(log.path) if log.sealed is None else _sealed(log)
    # The escape begins with the only 0xEF of most logs: looking for one byte is twenty times as fast.
    if data is None or (_ESCAPE[0] in data and _ESCAPE in data) or not data.endswith(b"}\n"):
        return None
    kept = _in_order(data, wanted)
    if kept is None:
        return None
    lines, closing, events = kept
    view = memoryview(data)
    digest = hashlib.sha256(view[:closing])
    try:
        last = _last.decode(view[closing:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if last.sha256 != digest.hexdigest() or last.events != events or not _is_current(lines[0][1]):
        return None
    digest.update(view[closing:])
    return SoundLog(lines=lines, sha256=digest.hexdigest(), events=events, raw_bytes=len(data))


def _decompressed(path: Path) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            # A link to a device has no size and may have no end.
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
                return None
            packed = file.readall()
    except OSError:
        return None
    # One a log: two threads must not share one, and zstd ends the process if they do.
    frame = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()
    pieces: list[bytes] = []
    size = 0
    try:
        for piece in map(frame.decompress, iter(partial(BytesIO(packed).read, PIECE), b"")):
            pieces.append(piece)
            size += len(piece)
            if size > _MAX_RAW_BYTES:
                return None
    except zstandard.ZstdError:
        return None  # damage, or a second frame: a finished one takes no more
    return b"".join(pieces) if frame.eof and not frame.unused_data else None


def _sealed(log: LogRef) -> bytes | None:
    try:
        return sealed_bytes(log)
    except LogError:
        return None


def _in_order(data: bytes, wanted: frozenset[bytes]) -> tuple[list[tuple[bytes, bytes]], int, int] | None:
    """The wanted lines, where the last line begins, and how many lines there are.

    None if a line is not the event that comes next, or the first and the last are not those of a whole log.
    """
    kept: list[tuple[bytes, bytes]] = []
    kind = b""
    at = start = number = 0
    size = len(data)
    for number, follows in enumerate(chain(_FOLLOWS, map(_follow, count(len(_FOLLOWS))))):
        if at == size:
            break
        start = at
        end = data.find(b'"', start + len(_HEAD))
        at = data.find(b"\n", start) + 1
        if not data.startswith(_HEAD, start) or not data.startswith(follows, end):
            return None
        if data[at - 2] != _BRACE or end > at or data[end + len(follows)] not in _DIGITS:
            return None
        kind = data[start + len(_HEAD) : end]
        if kind in wanted:
            kept.append((kind, data[start : at - 1]))
            if (kind == _FIRST_TYPE) != (number == 0) or (kind == _LAST_TYPE and at != size):
                return None
    return (kept, start, number) if kind == _LAST_TYPE and kept[0][0] == _FIRST_TYPE else None


def _is_current(first: bytes) -> bool:
    try:
        return upcast.version_of(first) == SCHEMA_VERSION
    except LogError:
        return False
