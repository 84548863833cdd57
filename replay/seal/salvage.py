"""What can still be read of a sealed campaign whose index or frames are damaged.

The frames are found by their own header and believed by their own checksum, so that the index is not needed: it only
helps to name what is lost. Where it reads, a frame must also have the digest that it gives.
"""

import hashlib
import itertools
import mmap
from collections.abc import Iterator
from pathlib import Path

import msgspec
import zstandard

from replay.reader import lines_of
from replay.sealed import is_sealed, read_index
from schemas.chain import LineChain
from schemas.errors import LogError
from schemas.sealed import SealedIndex, run_id_problem

_MAGIC = b"\x28\xb5\x2f\xfd"
_START = b'{"type":"run_started",'
_MAX_WINDOW = 1 << 27
_CHUNK = 1 << 10
"""Small, because what stands before the damage is lost with the piece that holds it."""
_MAX_RAW = 1 << 30
"""A frame that claims more is taken for noise."""


class Place(msgspec.Struct, frozen=True):
    """Where a whole frame lies in the file, and the digest of its bytes."""

    offset: int
    size: int
    sha256: str


class Found(msgspec.Struct, frozen=True):
    """A frame: its place and its raw bytes. `place` is None if it breaks off, and `raw` is then its beginning."""

    place: Place | None
    raw: bytes


class SavedRun(msgspec.Struct, frozen=True):
    """A run that can be trusted: the raw lines, and whether it ends with `run_finished`."""

    run_id: str
    raw: bytes
    complete: bool


class Gap(msgspec.Struct, frozen=True):
    """A stretch of the sealed file that cannot be read, and the runs that lay in it as far as the index tells."""

    offset: int
    size: int
    runs: tuple[str, ...]


def frames_in(events: Path) -> Iterator[Found]:
    """Every zstd frame in a file that holds runs, wherever it lies, the broken ones too.

    Raises `LogError` if the file cannot be opened.
    """
    try:
        with events.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(_MAGIC)
            while at >= 0:
                found = _frame_at(data, at)
                if found is not None:
                    yield found
                at = data.find(_MAGIC, at + (found.place.size if found and found.place else 1))
    except OSError as error:
        raise LogError(f"{events}: cannot read the sealed campaign: {error.strerror}") from None
    except ValueError:
        return  # an empty file cannot be mapped, and holds nothing


def runs_in(found: Found) -> Iterator[SavedRun]:
    """The runs of a frame that can be trusted: their lines are in order and their closing digest holds.

    Without a closing digest a run is trusted only if the frame as a whole is.
    """
    cuts = [0]
    while (cut := found.raw.find(b"\n" + _START, cuts[-1])) >= 0:
        cuts.append(cut + 1)
    for start, end in zip(cuts, [*cuts[1:], len(found.raw)], strict=True):
        run = _trusted(found.raw[start:end])
        if run is not None and (run.complete or found.place is not None):
            yield run


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
        yield found if known else Found(None, found.raw)


def as_indexed(places: list[Place], index: SealedIndex) -> bool:
    """Whether the frames lie exactly as the index says."""
    return places == [Place(frame.offset, frame.size, frame.sha256) for frame in index.frames]


def trusted_index(directory: Path) -> SealedIndex | None:
    """The index of a sealed campaign, or None if there is none to be trusted."""
    if not is_sealed(directory):
        return None
    try:
        return read_index(directory)
    except LogError:
        return None


def _frame_at(data: mmap.mmap, at: int) -> Found | None:
    try:
        header = zstandard.get_frame_parameters(data[at : at + 18])
    except zstandard.ZstdError:
        return None
    if not header.has_checksum or header.content_size > _MAX_RAW:
        return None
    stream = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj()
    pieces, end = [], at
    while not stream.eof and (chunk := data[end : end + _CHUNK]):
        try:
            pieces.append(stream.decompress(chunk))
        except zstandard.ZstdError:
            break
        end += len(chunk) - len(stream.unused_data)
    raw = b"".join(pieces)
    if not raw.startswith(_START):
        return None
    if not stream.eof or len(raw) != header.content_size:
        return Found(None, raw)
    return Found(Place(at, end - at, hashlib.sha256(data[at:end]).hexdigest()), raw)


def _trusted(raw: bytes) -> SavedRun | None:
    chain = LineChain()
    try:
        for line in lines_of((raw,)):
            chain.accept(line)
    except LogError:
        return None
    if chain.started is None or run_id_problem(chain.started.run_id) is not None:
        return None
    return SavedRun(chain.started.run_id, raw, chain.finished is not None)
