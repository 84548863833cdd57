"""What can still be read of a sealed campaign whose index or frames are damaged.

The frames are found by their own header and believed by their own checksum, so that the index is not needed: it only
helps to name what is lost. Where it reads, a frame must also have the digest that it gives.
"""

import hashlib
import itertools
import mmap
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

import msgspec
import zstandard

from replay.logref import MAX_WINDOW, unreadable
from replay.reader import MAX_LINE_BYTES, lines_of
from replay.sealed import is_sealed, read_index
from schemas.chain import LineChain
from schemas.errors import LogError
from schemas.sealed import SealedIndex, run_id_problem

_MAGIC = b"\x28\xb5\x2f\xfd"
_START = b'{"type":"run_started",'
_NEXT_START = b"\n" + _START
_CHUNK = 1 << 8
"""Small, because what stands before the damage is lost with the piece that holds it, and a piece comes to 8 MiB."""
_AGAIN = 8
"""How often over the bytes of a file may be read. What seems to begin inside a damaged frame is tried too, as damage
can hide where the next one begins; bytes made to begin a frame everywhere would take the square of their number."""


class Place(msgspec.Struct, frozen=True):
    """Where a whole frame lies in the file, and the digest of its bytes."""

    offset: int
    size: int
    sha256: str


class Found(msgspec.Struct, frozen=True):
    """A frame that begins at byte `offset` of `events`, and how many raw bytes it gives.

    `place` is None if it breaks off; `raw_size` counts what stands before that.
    """

    events: Path
    offset: int
    raw_size: int
    place: Place | None


class SavedRun(msgspec.Struct, frozen=True):
    """A run that can be trusted: whether it ends with `run_finished`, the SHA-256 of its raw lines, and these, once."""

    run_id: str
    complete: bool
    sha256: str
    lines: Iterator[bytes]


class Gap(msgspec.Struct, frozen=True):
    """A stretch of the sealed file that cannot be read, and the runs that lay in it as far as the index tells."""

    offset: int
    size: int
    runs: tuple[str, ...]


def frames_in(events: Path) -> Iterator[Found]:
    """Every zstd frame in a file that holds runs, wherever it lies, the broken ones too.

    Raises `LogError` if the file is gone, `WorkError` if it cannot be read.
    """
    spent = 0
    try:
        with events.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(_MAGIC)
            while at >= 0:
                found, read = _frame_at(events, data, at)
                if found is not None:
                    yield found
                if found is not None and found.place is not None:
                    at = data.find(_MAGIC, at + found.place.size)
                    continue
                spent += read
                at = data.find(_MAGIC, at + (max(read, 1) if spent > _AGAIN * len(data) else 1))
    except OSError as error:
        raise unreadable(f"{events}: cannot read the sealed campaign", error) from None
    except ValueError:
        return  # an empty file cannot be mapped, and holds nothing


def runs_in(found: Found) -> Iterator[SavedRun]:
    """The runs of a frame that can be trusted: their lines are in order and their closing digest holds.

    Without a closing digest a run is trusted only if the frame as a whole is. The frame is read once to tell them and
    once more for their lines, which are to be taken before the next run is.
    """
    spans = (_span(start, pieces) for start, pieces in _stretches(found))
    trusted = {span.start: span for span in spans if span and (span.complete or found.place is not None)}
    for start, pieces in _stretches(found) if trusted else ():
        if span := trusted.get(start):
            yield SavedRun(span.run_id, span.complete, span.sha256, lines_of(pieces))


def gaps(events: Path, places: list[Place], index: SealedIndex | None) -> list[Gap]:
    """What lies between the frames that read, with the names of the runs there."""
    frames = index.frames if index else ()
    end_of_file = max(events.stat().st_size, index.bytes if index else 0)
    edges = [(0, 0), *((place.offset, place.offset + place.size) for place in places), (end_of_file, end_of_file)]
    result = []
    for (_, end), (start, _) in itertools.pairwise(edges):
        if end < start:
            names = [run.run_id for frame in frames if end <= frame.offset < start for run in frame.runs]
            result.append(Gap(end, start - end, tuple(names)))
    return result


def believed(events: Path, index: SealedIndex | None) -> Iterator[Found]:
    """The frames that read and that the index knows, wherever they lie now; without an index, all that read.

    Of the others nothing but whole runs with their own digest is believed.
    """
    digests = {frame.sha256 for frame in index.frames} if index else None
    for found in frames_in(events):
        known = found.place is not None and (digests is None or found.place.sha256 in digests)
        yield found if known else msgspec.structs.replace(found, place=None)


def as_indexed(places: list[Place], index: SealedIndex) -> bool:
    """Whether the frames lie exactly as the index says."""
    return places == [Place(frame.offset, frame.size, frame.sha256) for frame in index.frames]


def trusted_index(directory: Path) -> SealedIndex | None:
    """The index of a sealed campaign, or None if there is none to be trusted.

    Raises `WorkError` if it cannot be read: it may be sound.
    """
    if not is_sealed(directory):
        return None
    try:
        return read_index(directory)
    except LogError:
        return None


def _frame_at(events: Path, data: mmap.mmap, at: int) -> tuple[Found | None, int]:
    """The frame that begins at byte `at`, if it holds runs, and how many bytes were read to tell."""
    try:
        header = zstandard.get_frame_parameters(data[at : at + 18])
    except zstandard.ZstdError:
        return None, 0
    if not header.has_checksum or header.content_size == zstandard.CONTENTSIZE_UNKNOWN:
        return None, 0
    stream, digest = _new_stream(), hashlib.sha256()
    begin, raw, read, end = b"", 0, 0, at
    while not stream.eof and raw <= header.content_size and (chunk := data[end : end + _CHUNK]):
        read += len(chunk)
        try:
            piece = stream.decompress(chunk)
        except zstandard.ZstdError:
            break
        used = chunk[: len(chunk) - len(stream.unused_data)]
        digest.update(used)
        end += len(used)
        raw += len(piece)
        begin += piece[: len(_START) - len(begin)]
        if not _START.startswith(begin):
            return None, read
    if begin != _START:
        return None, read
    place = Place(at, end - at, digest.hexdigest()) if stream.eof and raw == header.content_size else None
    return Found(events, at, raw, place), read


def _raw(found: Found) -> Iterator[bytes]:
    """The raw bytes of a frame once more, up to where it breaks off."""
    stream, left = _new_stream(), found.raw_size
    with found.events.open("rb") as file:
        file.seek(found.offset)
        while left > 0 and (chunk := file.read(_CHUNK)):
            piece = stream.decompress(chunk)
            left -= len(piece)
            yield piece


def _new_stream() -> "zstandard.ZstdDecompressionObj":
    return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()


class _Span(msgspec.Struct, frozen=True):
    """A run whose lines are in order, where it begins in the raw bytes of its frame, and its digest."""

    run_id: str
    start: int
    complete: bool
    sha256: str


def _stretches(found: Found) -> Iterator[tuple[int, Iterator[bytes]]]:
    """The raw bytes from each line that begins a run up to the next one, in pieces, with the place of the first.

    The pieces of one are to be taken before the next one is; what is left of them is passed over.
    """
    for start, pieces in itertools.groupby(_cut(_raw(found)), itemgetter(0)):
        yield start, map(itemgetter(1), pieces)


def _cut(pieces: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each piece, cut where a line begins a run, behind the place of the first byte of its stretch."""
    start = at = 0
    held = b""
    for piece in pieces:
        data, begin = held + piece, 0
        while (newline := data.find(_NEXT_START, begin)) >= 0:
            yield start, data[begin : newline + 1]
            begin = newline + 1
            start = at + begin
        # The next start may lie across two pieces.
        end = max(begin, len(data) - len(_NEXT_START) + 1)
        yield start, data[begin:end]
        held = data[end:]
        at += end
    yield start, held


def _span(start: int, pieces: Iterator[bytes]) -> _Span | None:
    chain = LineChain()
    try:
        for line in lines_of(pieces, MAX_LINE_BYTES):
            if not line.endswith(b"\n"):
                return None
            chain.accept(line)
    except LogError:
        return None
    if chain.started is None or run_id_problem(chain.started.run_id) is not None:
        return None
    return _Span(chain.started.run_id, start, chain.finished is not None, chain.sha256)
