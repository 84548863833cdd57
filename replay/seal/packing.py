"""What a log file and a frame are made of: raw lines through the two compressions, and how to get either back.

`log_pieces` compresses lines exactly as the recorder's log writer does (level 3, checksum, a block flush after every
event), so that a log that was written by it comes back byte for byte under the same zstd library.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import zstandard

from replay.logref import LogRef
from replay.reader import whole_lines
from replay.seal.disk import file_sha256
from schemas.errors import LogError, WorkError
from schemas.sealed import FILE_DIGITS, Frame, SealedRun

LEVEL = 19
"""Measured on a campaign of 25 cases x 3: 7 % smaller than level 12. Long-distance matching gains nothing there."""
FRAME_BYTES = 8 << 20
"""Raw bytes of a frame, as wide as the window of level 19 reaches: with 4 MiB a campaign of 25 cases x 3 is 5 % larger,
with more nothing is gained and reading one run gets slower."""

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
    """A run to be packed: its log, its entry but for its place, the SHA-256 of its raw bytes, the size of its file."""

    log: LogRef
    entry: SealedRun
    sha256: str
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
    data = log.path.read_bytes()
    packer = Repacker()
    at, same, last = 0, True, b""
    for last in whole_lines(log):
        piece = packer.line(last)
        same = same and data.startswith(piece, at)
        at += len(piece)
    if not complete and last.startswith(_LAST_TYPE):
        raise WorkError(f"{log}: bytes follow the end of the log; set them aside with korvid-replay recover")
    rest = data[at:] if same else b""
    closed = rest == packer.finish() if same else _is_closed(data)
    if not same and not closed:
        raise WorkError(
            f"{log}: the log is torn and was written by another zstd library, so the torn bytes cannot be kept apart; "
            "set them aside with korvid-replay recover"
        )
    return Original(
        file_bytes=len(data),
        file_sha256=hashlib.sha256(data).hexdigest()[:FILE_DIGITS],
        repacks=same,
        closed=closed,
        tail="" if closed else base64.b64encode(rest).decode(),
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
    """Compresses groups of runs into frames, one after the other. `frames` are those that are finished."""

    def __init__(self, level: int) -> None:
        self._level = level
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
        self.frames.append(
            Frame(offset=self._offset, size=size, raw_size=raw_size, sha256=digest.hexdigest(), runs=entries)
        )
        self._offset += size

    def _compressed(self, group: list[Sizes], raw_size: int) -> Iterator[bytes]:
        parameters = zstandard.ZstdCompressionParameters.from_level(
            self._level, source_size=raw_size, write_content_size=True, write_checksum=True
        )
        stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj(size=raw_size)
        for run in group:
            digest, length = hashlib.sha256(), 0
            for line in whole_lines(run.log):
                digest.update(line)
                length += len(line)
                if length <= run.entry.length:
                    yield stream.compress(line)
            if digest.hexdigest() != run.sha256:
                raise WorkError(f"{run.log}: the log changed while it was sealed; seal again when nobody writes to it")
        yield stream.flush()


def _is_closed(data: bytes) -> bool:
    """Whether a file is whole zstd frames up to its last byte."""
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            frame.decompress(data)
        except zstandard.ZstdError:
            return False
        if not frame.eof:
            return False
        data = frame.unused_data
    return True


def is_original(path: Path, log: LogRef, run: SealedRun) -> bool:
    """Whether a log file is the very file that was sealed as `log`, rather than the same lines compressed anew.

    Raises `LogError` if it is another log.
    """
    if file_sha256(path).startswith(run.file_sha256):
        return True
    if raw_sha256(path) != raw_sha256(log):
        raise LogError(
            f"{path}: is not the log that was sealed as run {run.run_id}; compare the two and move this file away"
        )
    return False


def raw_sha256(log: LogRef | Path) -> str:
    """The SHA-256 of the whole raw lines of a log."""
    digest = hashlib.sha256()
    for line in whole_lines(log):
        digest.update(line)
    return digest.hexdigest()
