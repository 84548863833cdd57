"""What a log file and a frame are made of: raw lines through the two compressions, and how to get either back.

`log_pieces` compresses lines exactly as the recorder's log writer does (level 3, checksum, a block flush after every
event), so that a log that was written by it comes back byte for byte under the same zstd library.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import zstandard

from replay.logref import LogRef
from replay.reader import whole_lines
from replay.seal.disk import file_sha256
from schemas.errors import LogError, WorkError
from schemas.sealed import FILE_DIGITS, Frame, SealedRun, files_digest

LEVEL = 22
"""Measured: 0.1 to 0.5 % smaller than level 19, for twice its time, which is about a second a MB."""
FRAME_BYTES = 32 << 20
"""Raw bytes of a frame. It bounds what reading one run costs. Each frame learns anew what all runs have in common, 7 KB
where texts are unique: with frames of 16 MiB a campaign of several took more than `tar | zstd -19`."""

_WINDOW_BYTES = 8 << 20
"""A frame that holds one larger run gets no larger window: neither sealing nor reading needs more memory for it."""
_BLOCK_BYTES = (1 << 17) - 1
"""One byte less than zstd's largest block. At that size zstd 1.5.7 begins to choose the ends of blocks by a guess that
costs 0.4 to 0.7 % where many texts are unique."""
_CHUNK = 1 << 16
_WRITER_LEVEL = 3
_LAST_TYPE = b'{"type":"run_finished"'


class Original(msgspec.Struct, frozen=True, kw_only=True):
    """A log file as it was before sealing; see `schemas.sealed.SealedRun` for the fields."""

    file_bytes: int
    file_sha256: str
    repacks: bool
    closed: bool
    tail: str


class Sizes(msgspec.Struct, frozen=True):
    """A run to be packed: its log, its entry but for its place, the SHA-256 of its raw bytes and of its file."""

    log: LogRef
    entry: SealedRun
    sha256: str
    file_sha256: str
    file_bytes: int


class Repacker:
    """The compression of the log writer, line by line."""

    def __init__(self) -> None:
        self._stream = zstandard.ZstdCompressor(level=_WRITER_LEVEL, write_checksum=True).compressobj()

    def line(self, line: bytes) -> bytes:
        """What the writer puts into the file for one line."""
        return self._stream.compress(line) + self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def finish(self) -> bytes:
        """What the writer puts into the file at its end."""
        return self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH)


def log_pieces(lines: Iterable[bytes], *, closed: bool) -> Iterator[bytes]:
    """The bytes of a log file with these lines, its zstd stream ended or not."""
    packer = Repacker()
    for line in lines:
        yield packer.line(line)
    if closed:
        yield packer.finish()


def original_of(log: LogRef, *, complete: bool) -> Original:
    """What has to be kept so that the file of a log can be made again.

    Raises `WorkError` where part of the file would be lost: its tear is in bytes of another zstd library, or bytes
    follow its end.
    """
    packer = Repacker()
    same, last = True, b""
    with log.path.open("rb") as file:
        for last in whole_lines(log):
            piece = packer.line(last)
            same = same and file.read(len(piece)) == piece
        rest = file.read() if same else b""
    if not complete and last.startswith(_LAST_TYPE):
        raise WorkError(f"{log}: bytes follow the end of the log; set them aside with korvid-replay recover")
    closed = rest == packer.finish() if same else _is_closed(log.path)
    if not same and not closed:
        raise WorkError(
            f"{log}: the log is torn and was written by another zstd library, so the torn bytes cannot be kept apart; "
            "set them aside with korvid-replay recover"
        )
    return Original(
        file_bytes=log.file_bytes,
        file_sha256=file_sha256(log.path),
        repacks=same,
        closed=closed,
        tail="" if closed else base64.b64encode(rest).decode(),
    )


def entry_of(run_id: str, length: int, original: Original, *, complete: bool) -> SealedRun:
    """The entry of a run, but for its place."""
    ordinary = complete and original.repacks and original.closed
    return SealedRun(
        run_id=run_id,
        offset=0,
        length=length,
        state="complete" if complete else "interrupted",
        repacks=original.repacks,
        closed=original.closed,
        tail=original.tail,
        file_sha256="" if ordinary else original.file_sha256[:FILE_DIGITS],
    )


def grouped(runs: Iterable[Sizes]) -> Iterator[list[Sizes]]:
    """Runs in order, so many together as fit into a frame. A run that is larger has one of its own."""
    group: list[Sizes] = []
    size = 0
    for run in runs:
        if group and size + run.entry.length > FRAME_BYTES:
            yield group
            group, size = [], 0
        group.append(run)
        size += run.entry.length
    if group:
        yield group


def placed(group: list[Sizes]) -> tuple[SealedRun, ...]:
    """The entries of a group of runs, each with its place in the frame."""
    entries, at = [], 0
    for run in group:
        entries.append(msgspec.structs.replace(run.entry, offset=at))
        at += run.entry.length
    return tuple(entries)


class FrameWriter:
    """Compresses groups of runs into frames, one after the other. `frames` are those that are finished.

    `packed` is told how many runs have been read.
    """

    def __init__(self, level: int, packed: Callable[[int], None] = lambda _: None) -> None:
        self._level = level
        self._packed = packed
        self._runs = 0
        self.frames: list[Frame] = []
        self._offset = 0

    def pieces(self, group: list[Sizes]) -> Iterator[bytes]:
        """The bytes of one frame. Raises `WorkError` if a log is no longer what it was when it was checked."""
        entries = placed(group)
        raw_size = sum(entry.length for entry in entries)
        digest, size = hashlib.sha256(), 0
        for piece in self._compressed(group, raw_size):
            digest.update(piece)
            size += len(piece)
            yield piece
        files = files_digest(run.file_sha256 for run in group if run.entry.ordinary)
        self.frames.append(
            Frame(
                offset=self._offset,
                size=size,
                raw_size=raw_size,
                sha256=digest.hexdigest(),
                runs=entries,
                files=files,
            )
        )
        self._offset += size

    def _compressed(self, group: list[Sizes], raw_size: int) -> Iterator[bytes]:
        parameters = zstandard.ZstdCompressionParameters.from_level(
            self._level, source_size=min(raw_size, _WINDOW_BYTES), write_content_size=True, write_checksum=True
        )
        stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj(size=raw_size)
        for number, block in enumerate(_blocks(self._lines(group))):
            if number:
                yield stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
            yield stream.compress(block)
        yield stream.flush()

    def _lines(self, group: list[Sizes]) -> Iterator[bytes]:
        for run in group:
            digest, length = hashlib.sha256(), 0
            for line in whole_lines(run.log):
                digest.update(line)
                length += len(line)
                if length <= run.entry.length:
                    yield line
            if digest.hexdigest() != run.sha256:
                raise WorkError(f"{run.log}: the log changed while it was sealed; seal again when nobody writes to it")
            self._runs += 1
            self._packed(self._runs)


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of `_BLOCK_BYTES`, the last one shorter."""
    pending = bytearray()
    for line in lines:
        pending += line
        while len(pending) > _BLOCK_BYTES:
            yield bytes(pending[:_BLOCK_BYTES])
            del pending[:_BLOCK_BYTES]
    yield bytes(pending)


def _is_closed(path: Path) -> bool:
    """Whether a file is whole zstd frames up to its last byte."""
    frame = None
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            while chunk:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                try:
                    frame.decompress(chunk)
                except zstandard.ZstdError:
                    return False
                chunk, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    return frame is None


def expect_same_lines(path: Path, log: LogRef) -> None:
    """Raises `LogError` if a log file does not hold the lines that were sealed as `log`."""
    sealed = raw_sha256(log)
    if not holds_lines(path, sealed):
        raise LogError(
            f"{path}: is not the log that was sealed as run {log.run_id}; compare the two and move this file away"
        )


def holds_lines(path: Path, sha256: str) -> bool:
    """Whether the whole raw lines of a log file have this SHA-256; not if it does not decompress."""
    try:
        return raw_sha256(path) == sha256
    except LogError:
        return False


def raw_sha256(log: LogRef | Path) -> str:
    """The SHA-256 of the whole raw lines of a log. Raises `LogError` as `whole_lines` does."""
    digest = hashlib.sha256()
    for line in whole_lines(log):
        digest.update(line)
    return digest.hexdigest()
