"""A sound log read in one go, for readers that want a few events of many logs.

Almost every log is small, whole and right. Such a log is decompressed at once, hashed at once, and cut into lines of
which only the wanted ones are decoded. Everything else (a torn or large file, several frames, an older schema version,
escaped text, a digest that does not hold) is left to `replay.reader`, which says what is wrong and where: a log is
either taken whole here or not at all, so the two never disagree on what can be trusted.
"""

import hashlib
from pathlib import Path

import msgspec
import zstandard

from schemas import upcast
from schemas.errors import LogError
from schemas.events import SCHEMA_VERSION

MAX_FILE_BYTES = 1 << 20
"""A larger file is streamed: regrading shall stay within a fixed memory whatever one run came to."""
_MAX_RAW_BYTES = 64 << 20
_MAX_WINDOW = 1 << 27
_ESCAPE = "\ufdd0".encode()
_HEAD = b'{"type":"'
_LAST_TYPE = b"run_finished"


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


def read_sound(path: Path, wanted: frozenset[bytes]) -> SoundLog | None:
    """The log at `path`, or None if it is not plainly sound. `wanted` must name `run_started` and `run_finished`."""
    data = _decompressed(path)
    if data is None or _ESCAPE in data:
        return None
    lines = data.split(b"\n")
    if len(lines) < 3 or lines.pop():
        return None
    kept = _in_order(lines, wanted)
    if kept is None:
        return None
    closing = len(data) - len(lines[-1]) - 1
    digest = hashlib.sha256(memoryview(data)[:closing])
    try:
        last = _last.decode(lines[-1])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if last.sha256 != digest.hexdigest() or last.events != len(lines) or not _is_current(lines[0]):
        return None
    digest.update(memoryview(data)[closing:])
    return SoundLog(lines=kept, sha256=digest.hexdigest(), events=len(lines), raw_bytes=len(data))


def _decompressed(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            packed = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None
    if len(packed) > MAX_FILE_BYTES:
        return None
    frame = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj()
    try:
        data = frame.decompress(packed)
    except zstandard.ZstdError:
        return None
    return data if frame.eof and not frame.unused_data and len(data) <= _MAX_RAW_BYTES else None


def _in_order(lines: list[bytes], wanted: frozenset[bytes]) -> list[tuple[bytes, bytes]] | None:
    """The wanted lines, or None if one line is not the event that comes next."""
    kept: list[tuple[bytes, bytes]] = []
    kind = b""
    for number, line in enumerate(lines):
        end = line.find(b'"', 9)
        if not line.startswith(_HEAD) or not line.startswith(b'","seq":%d,' % number, end) or not line.endswith(b"}"):
            return None
        kind = line[9:end]
        if (number == 0) != (kind == b"run_started") or (kind == _LAST_TYPE and number != len(lines) - 1):
            return None
        if kind in wanted:
            kept.append((kind, line))
    return kept if kind == _LAST_TYPE else None


def _is_current(first: bytes) -> bool:
    try:
        return upcast.version_of(first) == SCHEMA_VERSION
    except LogError:
        return False
