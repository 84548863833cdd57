"""`events.index.json`: where each run lies in a sealed campaign, and the digests that a reader checks. Source: design.

A sealed campaign is `events.jsonl.zst`: zstd frames, one after the other without a gap, each holding the whole event
lines of one or more runs, byte for byte. The index lists the frames in order. Each frame's `chain` is the SHA-256 over
the chain before it and the frame's own entry, and begins with the campaign id, so an entry that is edited, moved,
dropped, repeated or taken from another campaign breaks it; `chain` of the index is the last one and stands for the
whole. It guards against damage and careless edits: whoever rewrites everything can also rewrite the chain, unless its
last value was noted elsewhere.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterator
from typing import Literal

import msgspec

from schemas.errors import LogError

SEALED_VERSION = 1
"""The format of `events.index.json`."""

EVENTS = "events.jsonl.zst"
INDEX = "events.index.json"
SUMS = "SHA256SUMS"

FILE_DIGITS = 16
"""How many digits of a log file's SHA-256 the index keeps."""

MAX_RUN_ID_BYTES = 240
"""A run id is a file name with `.jsonl.zst` (and `.torn`) behind it; file systems take 255 bytes."""


class _Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class SealedRun(_Data, frozen=True, omit_defaults=True):
    """One run in a frame. `offset` and `length` count raw bytes inside the decompressed frame.

    The bytes are covered by the digest of the frame, their place by the chain. `file_sha256` is the first 16 digits of
    the SHA-256 of the file in `runs/` that was sealed: enough to tell whether it comes back byte for byte. `state` is
    `complete` for a log with `run_finished` at its end. `repacks` is whether the writer's compression gives that very
    file again from the raw bytes; `closed` whether its zstd stream was ended; `tail` is what followed the last whole
    line in a torn file, as base64 of the file's bytes.
    """

    run_id: str
    offset: int
    length: int
    file_sha256: str
    state: Literal["complete", "interrupted"] = "complete"
    repacks: bool = True
    closed: bool = True
    tail: str = ""

    def tail_bytes(self) -> bytes:
        """The bytes of the torn file after its last whole line."""
        return base64.b64decode(self.tail, validate=True)


class Frame(_Data, frozen=True):
    """One zstd frame: its place in the file, its raw size, the SHA-256 of its compressed bytes, and its runs."""

    offset: int
    size: int
    raw_size: int
    sha256: str
    runs: tuple[SealedRun, ...]
    chain: str = ""


class SealedIndex(_Data, frozen=True):
    """The frame table of one campaign.

    `bytes` and `raw_bytes` are of `events.jsonl.zst`, `file_bytes` of the log files that were sealed. `level` and
    `zstd` say how the frames were compressed.
    """

    campaign_id: str
    run_count: int
    bytes: int
    raw_bytes: int
    file_bytes: int
    chain: str
    level: int
    zstd: str
    frames: tuple[Frame, ...]
    schema_version: int = SEALED_VERSION

    def runs(self) -> Iterator[tuple[Frame, SealedRun]]:
        """Every run with its frame, in order of the file."""
        for frame in self.frames:
            for run in frame.runs:
                yield frame, run


class _Version(msgspec.Struct):
    schema_version: int


def build_index(campaign_id: str, frames: list[Frame], *, file_bytes: int, level: int, zstd: str) -> SealedIndex:
    """The index of these frames, chained."""
    chained = []
    chain = _seed(campaign_id)
    for frame in frames:
        chain = _next(chain, frame)
        chained.append(msgspec.structs.replace(frame, chain=chain))
    return SealedIndex(
        campaign_id=campaign_id,
        run_count=sum(len(frame.runs) for frame in frames),
        bytes=sum(frame.size for frame in frames),
        raw_bytes=sum(frame.raw_size for frame in frames),
        file_bytes=file_bytes,
        chain=chain,
        level=level,
        zstd=zstd,
        frames=tuple(chained),
    )


def encode_index(index: SealedIndex) -> bytes:
    """`events.index.json`: JSON with a line for each run, one newline at the end."""
    data = msgspec.json.encode(index)
    # A quote inside a text is escaped, so these can only be the beginnings of entries.
    for entry in (b'{"offset":', b'{"run_id":'):
        data = data.replace(entry, b"\n" + entry)
    return data + b"\n"


def decode_index(data: bytes, name: str = INDEX) -> SealedIndex:
    """The index in `data`; `name` is used in messages.

    Raises `LogError` if it is none, of a newer format, or contradicts itself: nothing of it can be used then.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SEALED_VERSION:
            raise LogError(
                f"{name} has schema_version {version} and this build reads up to {SEALED_VERSION}: "
                f"install a korvid-rec that reads version {version}"
            )
        index = msgspec.json.decode(data, type=SealedIndex)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LogError(f"{name}: not the index of a sealed campaign: {error}; {_WAY_OUT}") from None
    problem = next(_problems(index, data), None)
    if problem is not None:
        raise LogError(f"{name}: {problem}; {_WAY_OUT}")
    return index


_WAY_OUT = "restore it from a copy, or let korvid-replay recover read the frames without it"


def run_id_problem(run_id: str) -> str | None:
    """Why a run id must not become a file name, or None. Sealed campaigns come from strangers too."""
    if not run_id or run_id.startswith("."):
        return "is empty or begins with a dot"
    if any(character in "/\\" or not character.isprintable() for character in run_id):
        return "holds a slash, a backslash or a character that does not print"
    if len(run_id.encode("utf-8", "surrogatepass")) > MAX_RUN_ID_BYTES:
        return f"is longer than {MAX_RUN_ID_BYTES} bytes"
    return None


def _seed(campaign_id: str) -> str:
    return hashlib.sha256(b"korvid sealed campaign\n" + campaign_id.encode("utf-8", "surrogatepass")).hexdigest()


def _next(chain: str, frame: Frame) -> str:
    entry = msgspec.json.encode(msgspec.structs.replace(frame, chain=""))
    return hashlib.sha256(chain.encode() + entry).hexdigest()


def _problems(index: SealedIndex, data: bytes) -> Iterator[str]:
    """What of an index does not hold, worst first."""
    chain = _seed(index.campaign_id)
    offset = 0
    seen: set[str] = set()
    for number, frame in enumerate(index.frames):
        chain = _next(chain, frame)
        if frame.chain != chain:
            yield f"the chain breaks at frame {number} (byte {frame.offset} of {EVENTS}): its entry was changed"
        if frame.offset != offset or frame.size < 1:
            yield f"frame {number} begins at byte {frame.offset} of {EVENTS}, the one before it ends at {offset}"
        offset = frame.offset + frame.size
        yield from _run_problems(number, frame, seen)
    if index.chain != chain:
        yield f"the chain of {len(index.frames)} frames ends in {chain[:16]}, not in {index.chain[:16]}: some miss"
    totals = (len(seen), offset, sum(frame.raw_size for frame in index.frames))
    if totals != (index.run_count, index.bytes, index.raw_bytes):
        yield "the totals do not fit the frames"
    if data != encode_index(index):
        yield "the file is not as it was written: it was edited"


def _run_problems(number: int, frame: Frame, seen: set[str]) -> Iterator[str]:
    at = 0
    for run in frame.runs:
        problem = run_id_problem(run.run_id)
        if problem is not None:
            yield f"frame {number}: the run id {run.run_id[:80]!r} {problem}"
        if run.run_id in seen:
            yield f"frame {number}: run {run.run_id} is there twice"
        seen.add(run.run_id)
        if run.offset != at or run.length < 1:
            yield f"frame {number}: run {run.run_id} begins at raw byte {run.offset}, the one before it ends at {at}"
        at = run.offset + run.length
        try:
            run.tail_bytes()
        except (binascii.Error, ValueError):
            yield f"frame {number}: the tail of run {run.run_id} is not base64"
    if at != frame.raw_size:
        yield f"frame {number} holds {frame.raw_size} raw bytes, its runs {at}"
