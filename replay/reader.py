"""Read one run's log as a stream, and say how far it can be trusted.

`RunReader` yields each event with its raw line, then `end` says what the file is: `complete` (closed by `run_finished`
whose digest holds), `interrupted` (a clean prefix of a log) or `corrupt`. A digest stands only at the end, so a caller
that must not act on wrong bytes (a grader, a transcript) uses nothing before it has seen that `end` is not `corrupt`.
"""

import sys
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec
import zstandard

from replay.logref import MAX_WINDOW, PIECE, LogRef, as_ref, sealed_chunks, unreadable
from schemas.chain import LineChain
from schemas.errors import LogError
from schemas.events import Event, RunFinished, RunStarted, Unknown
from schemas.words import counted

_BUFFER_BYTES = 1 << 16
MAX_LINE_BYTES = 256 << 20
"""A longer line is not read on: it would have to be held in memory, and a small file can claim to hold one."""


class Record(msgspec.Struct, frozen=True):
    """One event and the raw line it was read from, newline included; `offset` counts raw bytes."""

    event: Event | Unknown
    line: bytes
    offset: int


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How a log ended. Offsets: `raw_bytes` of whole accepted lines, `file_bytes` of the file as far as it was read."""

    state: Literal["complete", "interrupted", "corrupt"]
    events: int
    raw_bytes: int
    file_bytes: int
    sha256: str
    reason: str = ""

    def describe(self) -> str:
        """One phrase for a person."""
        if self.state == "complete":
            return f"complete, {counted(self.events, 'event')}"
        if self.state == "interrupted":
            events = counted(self.events, "event")
            return f"interrupted at byte {self.raw_bytes} after {events} ({self.file_bytes} bytes of file)"
        return (
            f"corrupt at byte {self.raw_bytes} ({self.file_bytes} bytes of file): {self.reason}; "
            "nothing in it can be trusted"
        )


class RunReader:
    """Iterate over the records of a log, sealed or in a file of its own.

    `end`, `started` and `finished` are set as the reading goes on.

    `wanted` names the event types to decode and yield (see `LineChain.accept`); the others are only checked in order.
    Raises `WorkError` from the iteration if the file is there and cannot be read: nothing can be said of it then.
    """

    def __init__(self, log: LogRef | Path, *, wanted: frozenset[bytes] | None = None) -> None:
        self.log = as_ref(log)
        self._wanted = wanted
        self.end: End | None = None
        self._chain = LineChain()
        self._file_bytes = 0

    @property
    def started(self) -> RunStarted | None:
        """The first event, once read."""
        return self._chain.started

    @property
    def finished(self) -> RunFinished | None:
        """The last event, once read and its digest checked."""
        return self._chain.finished

    def __iter__(self) -> Iterator[Record]:
        try:
            for line in self._lines():
                offset = self._chain.raw_bytes
                event = self._chain.accept(line, self._wanted)
                if event is not None:
                    yield Record(event, line, offset)
        except _Torn:
            self._close_checked(torn=True)
        except LogError as error:
            self._close("corrupt", str(error))
        else:
            self._close_checked(torn=False)

    def _close_checked(self, *, torn: bool) -> None:
        """The end of a log whose lines are in order; a sealed one must also be what was sealed."""
        sealed = self.log.sealed
        if sealed is not None and (torn or self._chain.raw_bytes != sealed.run.length):
            self._close("corrupt", f"its stretch of {sealed.run.length} raw bytes in the frame is not whole lines")
        else:
            self._close("complete" if self._chain.finished and not torn else "interrupted")

    def _close(self, state: Literal["complete", "interrupted", "corrupt"], reason: str = "") -> None:
        self.end = End(
            state=state,
            events=self._chain.events,
            raw_bytes=self._chain.raw_bytes,
            file_bytes=self._file_bytes,
            sha256=self._chain.sha256,
            reason=reason,
        )

    def _lines(self) -> Iterator[bytes]:
        for line in lines_of(self._decompressed(), MAX_LINE_BYTES):
            if not line.endswith(b"\n"):
                raise _Torn
            yield line

    def _decompressed(self) -> Iterator[bytes]:
        if self.log.sealed is not None:
            yield from sealed_chunks(self.log)
            self._file_bytes = self.log.file_bytes
            return
        try:
            with self.log.path.open("rb", buffering=_BUFFER_BYTES) as file:
                yield from self._frames(file)
        except OSError as error:
            raise unreadable(f"{self.log}: cannot read the log", error) from None

    def _frames(self, file: BinaryIO) -> Iterator[bytes]:
        frame, frame_start = _new_frame(), 0
        while chunk := file.read(PIECE):
            while chunk:
                try:
                    data = frame.decompress(chunk)
                except zstandard.ZstdError:
                    yield from self._salvage(file, frame_start)
                    return
                self._file_bytes += len(chunk) - len(frame.unused_data)
                yield data
                chunk = frame.unused_data
                if frame.eof:
                    frame, frame_start = _new_frame(), self._file_bytes
        if self._file_bytes > frame_start:
            raise _Torn

    def _salvage(self, file: BinaryIO, frame_start: int) -> Iterator[bytes]:
        """The chunk at `_file_bytes` does not decompress: read it again byte by byte, to say where and lose nothing."""
        file.seek(frame_start)
        frame = _new_frame()
        for size in _sizes(self._file_bytes - frame_start):
            frame.decompress(file.read(size))
        while byte := file.read(1):
            try:
                data = frame.decompress(byte)
            except zstandard.ZstdError as error:
                raise LogError(f"the zstd stream breaks at byte {self._file_bytes} of the file: {error}") from None
            self._file_bytes += 1
            yield data


class _Torn(Exception):
    """The file ends in the middle of a frame or a line."""


def read_all(log: LogRef | Path) -> tuple[list[Record], End]:
    """Every record of a log that fits in memory, and how it ended. Raises `LogError` if it is corrupt."""
    reader = RunReader(log)
    records = list(reader)
    end = reader.end
    assert end is not None
    if end.state == "corrupt":
        raise LogError(f"{log}: {end.describe()}")
    return records, end


def lines_of(pieces: Iterable[bytes], longest: int = sys.maxsize) -> Iterator[bytes]:
    """Bytes in pieces as lines, newline included; what follows the last newline comes last, without one.

    Raises `LogError` once a line is longer than `longest` bytes, its newline among them.
    """
    pending: list[bytes] = []
    size = 0
    for data in pieces:
        # Line by line out of the piece: cut up at once it would come to a list of millions.
        for line in BytesIO(data):
            size += len(line)
            if size > longest:
                raise LogError(f"an event is longer than {longest >> 20} MiB, more than is read")
            pending.append(line)
            if line.endswith(b"\n"):
                yield b"".join(pending)
                pending, size = [], 0
    if pending:
        yield b"".join(pending)


def whole_lines(log: LogRef | Path) -> Iterator[bytes]:
    """The raw lines of a log up to its end or tear, unchecked but for zstd's own checks, newline included.

    Raises `LogError` if the file does not decompress, `WorkError` if it cannot be read.
    """
    reader = RunReader(log)
    try:
        yield from reader._lines()
    except _Torn:
        return


def _new_frame() -> "zstandard.ZstdDecompressionObj":
    return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()


def _sizes(total: int) -> Iterator[int]:
    while total > 0:
        yield min(total, PIECE)
        total -= PIECE
