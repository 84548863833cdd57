"""One log to read, wherever it lies: a file of its own below `runs/`, or a stretch of a frame of a sealed campaign.

A `LogRef` is plain data that can be sent to another process, and carries all that a read is checked against. The bytes
of a frame are used only after their SHA-256 held; the stretch of a run is checked by its reader.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import msgspec
import zstandard

from schemas.errors import LogError, WorkError
from schemas.sealed import EVENTS, Frame, SealedRun

LOG_SUFFIX = ".jsonl.zst"

PIECE = 1 << 10
"""Bytes that are decompressed at once. Of three or four zstd can make 128 KiB, so that any PIECE comes to 32 MiB or
less, and a few crafted bytes to no more."""
MAX_WINDOW = 1 << 27
"""128 MiB: the largest window a zstd level can ask for, so that a damaged header cannot ask for more."""

_CHUNK = 1 << 16
_WHOLE_FRAME = 32 << 20
"""Raw bytes up to which a frame is decompressed at once and remembered. A larger one holds a single large run."""


class Slice(msgspec.Struct, frozen=True):
    """Where a sealed run lies: its frame (without the other runs) and its own entry."""

    frame: Frame
    run: SealedRun


class LogRef(msgspec.Struct, frozen=True):
    """A log: the file called `file` in `folder`, or with `sealed` a stretch of it.

    A campaign has tens of thousands, of which each holds no more than it has to.
    """

    folder: Path
    file: str
    sealed: Slice | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / self.file

    @property
    def run_id(self) -> str:
        """The run id that the file's name or the index claims."""
        return self.file.removesuffix(LOG_SUFFIX) if self.sealed is None else self.sealed.run.run_id

    @property
    def name(self) -> str:
        """The log within its campaign, for people: a file name, or `events.jsonl.zst#<run id>`."""
        return self.file if self.sealed is None else f"{EVENTS}#{self.run_id}"

    @property
    def directory(self) -> Path:
        """The campaign directory."""
        return self.folder.parent if self.sealed is None else self.folder

    @property
    def file_bytes(self) -> int:
        """Bytes on disk; of a sealed run its share of the frame. Raises as `unreadable` if the file is gone."""
        if self.sealed is not None:
            frame, run = self.sealed.frame, self.sealed.run
            return round(frame.size * run.length / frame.raw_size)
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise unreadable(f"{self}: cannot read the log", error) from None

    def __str__(self) -> str:
        return str(self.path) if self.sealed is None else f"{self.path}#{self.run_id}"


def unreadable(what: str, error: OSError) -> WorkError:
    """The error of a file that cannot be read; `what` names it.

    A `LogError` where there is no such file, which is lost then. Else no more is known than that it cannot be read now:
    a plain `WorkError`, for which nothing takes the log to be corrupt.
    """
    if isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError)):
        return LogError(f"{what}: {error.strerror}")
    return WorkError(f"{what}: {error.strerror}; make it readable, or copy it from a disk that reads")


def as_ref(log: "LogRef | Path") -> LogRef:
    """The reference of a log, given one or the path of its own file."""
    return log if isinstance(log, LogRef) else LogRef(log.parent, log.name)


def sealed_ref(events: Path, frame: Frame, run: SealedRun) -> LogRef:
    """The reference of a run in the sealed file `events`."""
    (log,) = sealed_refs(events, frame, (run,))
    return log


def sealed_refs(events: Path, frame: Frame, runs: Iterable[SealedRun]) -> list[LogRef]:
    """The references of runs in one frame of the sealed file `events`."""
    alone = msgspec.structs.replace(frame, runs=())
    return [LogRef(events.parent, events.name, Slice(alone, run)) for run in runs]


def sealed_bytes(log: LogRef) -> bytes | None:
    """The raw bytes of a sealed run, or None if its frame is too large to be held whole. Raises as `sealed_chunks`."""
    assert log.sealed is not None
    frame, run = log.sealed.frame, log.sealed.run
    if frame.raw_size > _WHOLE_FRAME:
        return None
    return _whole_frame(log.path, _mark(log.path), frame)[run.offset : run.offset + run.length]


def sealed_chunks(log: LogRef) -> Iterator[bytes]:
    """The raw bytes of a sealed run in pieces.

    Raises `LogError` naming file and byte if the frame is not the one that was sealed, `WorkError` if the file cannot
    be read.
    """
    assert log.sealed is not None
    whole = sealed_bytes(log)
    if whole is not None:
        yield whole
        return
    run = log.sealed.run
    at, left = 0, run.length
    for data in _streamed(log.path, log.sealed.frame):
        piece = data[max(0, run.offset - at) :][:left] if at + len(data) > run.offset else b""
        at += len(data)
        left -= len(piece)
        if piece:
            yield piece


def _mark(path: Path) -> tuple[int, int, int]:
    """What tells that a file is another one than before."""
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(f"{path}: cannot read the sealed campaign", error) from None
    return status.st_ino, status.st_size, status.st_mtime_ns


@lru_cache(maxsize=1)
def _whole_frame(path: Path, mark: tuple[int, int, int], frame: Frame) -> bytes:
    packed = b"".join(_packed(path, frame))
    _check_digest(path, frame, hashlib.sha256(packed).hexdigest())
    _check_header(path, frame, packed)
    try:
        return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompress(packed, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise LogError(f"{frame_at(path, frame.offset)} does not decompress: {error}") from None


def _streamed(path: Path, frame: Frame) -> Iterator[bytes]:
    digest = hashlib.sha256()
    for chunk in _packed(path, frame):
        digest.update(chunk)
    _check_digest(path, frame, digest.hexdigest())
    stream = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()
    for number, chunk in enumerate(_packed(path, frame)):
        if number == 0:
            _check_header(path, frame, chunk)
        try:
            for at in range(0, len(chunk), PIECE):
                yield stream.decompress(chunk[at : at + PIECE])
        except zstandard.ZstdError as error:
            raise LogError(f"{frame_at(path, frame.offset)} does not decompress: {error}") from None
    if not stream.eof or stream.unused_data:
        raise LogError(f"{frame_at(path, frame.offset)} is not one whole zstd frame")


def _packed(path: Path, frame: Frame) -> Iterator[bytes]:
    """The compressed bytes of a frame."""
    left = frame.size
    try:
        with path.open("rb") as file:
            file.seek(frame.offset)
            while left and (chunk := file.read(min(left, _CHUNK))):
                left -= len(chunk)
                yield chunk
    except OSError as error:
        raise unreadable(f"{path}: cannot read the sealed campaign", error) from None
    if left:
        raise LogError(f"{frame_at(path, frame.offset)} is torn: {left} of its {frame.size} bytes are missing")


def _check_header(path: Path, frame: Frame, packed: bytes) -> None:
    """The size that a frame itself gives, before anything is made room for."""
    try:
        size = zstandard.get_frame_parameters(packed).content_size
    except zstandard.ZstdError as error:
        raise LogError(f"{frame_at(path, frame.offset)} is not a zstd frame: {error}") from None
    if size != frame.raw_size:
        raise LogError(f"{frame_at(path, frame.offset)} holds {size} raw bytes, the index says {frame.raw_size}")


def _check_digest(path: Path, frame: Frame, found: str) -> None:
    if found != frame.sha256:
        raise LogError(f"{frame_at(path, frame.offset)} has SHA-256 {found}, the index says {frame.sha256}")


def frame_at(path: Path, offset: int) -> str:
    """How messages name a frame."""
    return f"{path}: the frame at byte {offset}"
