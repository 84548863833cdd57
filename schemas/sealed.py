"""The index of a sealed campaign: where each run lies, and the digests that a reader checks. Source: design.

A sealed campaign is `events.jsonl.zst`: zstd frames, one after the other without a gap, each holding the whole event
lines of one or more runs, byte for byte. The index lists the frames in order, and says nothing that follows from the
rest: where a frame or a run begins is the sum of what lies before it. It is one line of JSON, for anybody to read.

A chain of SHA-256 begins with the campaign id and the other members of the index and goes on over the entry of each
frame. Its last value is the index's `chain` and stands for the whole, so an entry that is edited, moved, dropped,
repeated or taken from another campaign breaks it. It guards against damage and careless edits: whoever rewrites
everything can also rewrite the chain, unless its last value was noted elsewhere.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from schemas.errors import LogError

SEALED_VERSION = 2
"""The format of the index. Version 1 wrote a null behind each ordinary run."""

EVENTS = "events.jsonl.zst"
INDEX = "events.index.json"
SUMS = "SHA256SUMS"

FILE_DIGITS = 16
"""How many digits of the SHA-256 of log files the index keeps."""

MAX_RUN_ID_BYTES = 240
"""A run id is a file name with `.jsonl.zst` (and `.torn`) behind it; file systems take 255 bytes."""

State = Literal["complete", "interrupted"]


class _Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class SealedRun(_Data, frozen=True):
    """One run in a frame. `offset` and `length` count raw bytes inside the decompressed frame.

    The bytes are covered by the digest of the frame, their place by the chain. The rest is left at its defaults for an
    ordinary run: a log with `run_finished` at its end (`state`), whose ended zstd stream (`closed`) is what the log
    writer's compression gives again (`repacks`). `tail` is what followed the last whole line in a torn file, as base64
    of the file's bytes. A run that is not ordinary has `file_sha256`, the first 16 digits of the SHA-256 of the file in
    `runs/` that was sealed; those of ordinary runs are in their frame's `files`.
    """

    run_id: str
    offset: int
    length: int
    state: State = "complete"
    repacks: bool = True
    closed: bool = True
    tail: str = ""
    file_sha256: str = ""

    @property
    def ordinary(self) -> bool:
        """Whether the file of the run is covered by its frame's `files`."""
        return not self.file_sha256

    def tail_bytes(self) -> bytes:
        """The bytes of the torn file after its last whole line."""
        return base64.b64decode(self.tail, validate=True)


class Frame(_Data, frozen=True):
    """One zstd frame: its place in the file, its raw size, the SHA-256 of its compressed bytes, and its runs.

    `files` is the `files_digest` of the log files of its ordinary runs: enough to tell whether they come back byte for
    byte.
    """

    offset: int
    size: int
    raw_size: int
    sha256: str
    runs: tuple[SealedRun, ...]
    files: str = ""


class SealedIndex(_Data, frozen=True):
    """The frame table of one campaign.

    `file_bytes` is the size of the log files that were sealed. `level` and `zstd` say how the frames were compressed.
    """

    campaign_id: str
    file_bytes: int
    chain: str
    level: int
    zstd: str
    frames: tuple[Frame, ...]
    schema_version: int = SEALED_VERSION

    @property
    def run_count(self) -> int:
        """How many runs are sealed."""
        return sum(len(frame.runs) for frame in self.frames)

    @property
    def bytes(self) -> int:
        """Bytes of `events.jsonl.zst`."""
        return sum(frame.size for frame in self.frames)

    @property
    def raw_bytes(self) -> int:
        """Bytes of the event lines."""
        return sum(frame.raw_size for frame in self.frames)

    def runs(self) -> Iterator[tuple[Frame, SealedRun]]:
        """Every run with its frame, in order of the file."""
        for frame in self.frames:
            for run in frame.runs:
                yield frame, run


class _Other(_Data, frozen=True, omit_defaults=True):
    """What of a run is not ordinary."""

    state: State = "complete"
    repacks: bool = True
    closed: bool = True
    tail: str = ""
    file_sha256: str = ""


class _RunRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    run_id: str
    length: int
    other: _Other | None = None


class _FrameRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    size: int
    sha256: str
    files: str
    runs: tuple[_RunRow, ...]


class _File(_Data, frozen=True):
    """The index as it is written."""

    schema_version: int
    campaign_id: str
    file_bytes: int
    level: int
    zstd: str
    chain: str
    frames: tuple[_FrameRow, ...]


class _Version(msgspec.Struct):
    schema_version: int


def files_digest(digests: Iterable[str]) -> str:
    """16 digits over the SHA-256 of log files, in order."""
    return hashlib.sha256(b"".join(map(bytes.fromhex, digests))).hexdigest()[:FILE_DIGITS]


def build_index(campaign_id: str, frames: Iterable[Frame], *, file_bytes: int, level: int, zstd: str) -> SealedIndex:
    """The index of these frames, chained."""
    index = SealedIndex(
        campaign_id=campaign_id, file_bytes=file_bytes, chain="", level=level, zstd=zstd, frames=tuple(frames)
    )
    return msgspec.structs.replace(index, chain=_chain(_written(index)))


def encode_index(index: SealedIndex) -> bytes:
    """The index as JSON: one line, one newline at its end."""
    written = _written(index)
    fields = {name: getattr(written, name) for name in written.__struct_fields__}
    fields["frames"] = [_row(frame, written.schema_version) for frame in written.frames]
    return msgspec.json.encode(fields) + b"\n"


def decode_index(data: bytes, name: str = INDEX) -> SealedIndex:
    """The index in the JSON `data`; `name` is used in messages.

    Raises `LogError` if it is none, of a newer format, or contradicts itself: nothing of it can be used then.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SEALED_VERSION:
            raise LogError(
                f"{name} has schema_version {version} and this build reads up to {SEALED_VERSION}: "
                f"install a korvid-rec that reads version {version}"
            )
        written = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LogError(f"{name}: not the index of a sealed campaign: {error}; {WAY_OUT}") from None
    index = _placed(written)
    problem = next(_problems(index, written, data), None)
    if problem is not None:
        raise LogError(f"{name}: {problem}; {WAY_OUT}")
    return index


WAY_OUT = "restore it from a copy, or let korvid-replay recover read the frames without it"


def run_id_problem(run_id: str) -> str | None:
    """Why a run id must not become a file name, or None. Sealed campaigns come from strangers too."""
    if not run_id or run_id.startswith("."):
        return "is empty or begins with a dot"
    if any(character in "/\\" or not character.isprintable() for character in run_id):
        return "holds a slash, a backslash or a character that does not print"
    if len(run_id.encode("utf-8", "surrogatepass")) > MAX_RUN_ID_BYTES:
        return f"is longer than {MAX_RUN_ID_BYTES} bytes"
    return None


def _written(index: SealedIndex) -> _File:
    return _File(
        schema_version=index.schema_version,
        campaign_id=index.campaign_id,
        file_bytes=index.file_bytes,
        level=index.level,
        zstd=index.zstd,
        chain=index.chain,
        frames=tuple(
            _FrameRow(frame.size, frame.sha256, frame.files, tuple(_run_row(run) for run in frame.runs))
            for frame in index.frames
        ),
    )


def _run_row(run: SealedRun) -> _RunRow:
    other = _Other(state=run.state, repacks=run.repacks, closed=run.closed, tail=run.tail, file_sha256=run.file_sha256)
    return _RunRow(run.run_id, run.length, None if other == _ORDINARY else other)


_ORDINARY = _Other()


def _row(frame: _FrameRow, version: int) -> list[Any]:
    """The row of a frame as its version writes it."""
    runs = [
        [run.run_id, run.length] if version > 1 and run.other is None else [run.run_id, run.length, run.other]
        for run in frame.runs
    ]
    return [frame.size, frame.sha256, frame.files, runs]


def _placed(written: _File) -> SealedIndex:
    """The index with the place of every frame and run: each begins where the one before it ends."""
    frames, at = [], 0
    for row in written.frames:
        runs, inside = [], 0
        for run in row.runs:
            other = run.other or _ORDINARY
            runs.append(SealedRun(run_id=run.run_id, offset=inside, length=run.length, **msgspec.structs.asdict(other)))
            inside += run.length
        frames.append(
            Frame(offset=at, size=row.size, raw_size=inside, sha256=row.sha256, runs=tuple(runs), files=row.files)
        )
        at += row.size
    return SealedIndex(
        campaign_id=written.campaign_id,
        file_bytes=written.file_bytes,
        chain=written.chain,
        level=written.level,
        zstd=written.zstd,
        frames=tuple(frames),
        schema_version=written.schema_version,
    )


def _chain(written: _File) -> str:
    head = [written.schema_version, written.campaign_id, written.file_bytes, written.level, written.zstd]
    chain = hashlib.sha256(b"korvid sealed campaign\n" + msgspec.json.encode(head)).hexdigest()
    for row in written.frames:
        chain = hashlib.sha256(chain.encode() + msgspec.json.encode(_row(row, written.schema_version))).hexdigest()
    return chain


def _problems(index: SealedIndex, written: _File, data: bytes) -> Iterator[str]:
    """What of an index does not hold, worst first."""
    chain = _chain(written)
    if index.chain != chain:
        yield f"the chain of {len(index.frames)} frames ends in {chain[:16]}, not in {index.chain[:16]}: it was edited"
    seen: set[str] = set()
    for number, frame in enumerate(index.frames):
        if frame.size < 1 or not frame.runs:
            yield f"frame {number} is empty"
        yield from _run_problems(number, frame, seen)
    if data != encode_index(index):
        yield "the file is not as it was written: it was edited"


def _run_problems(number: int, frame: Frame, seen: set[str]) -> Iterator[str]:
    for run in frame.runs:
        problem = run_id_problem(run.run_id)
        if problem is not None:
            yield f"frame {number}: the run id {run.run_id[:80]!r} {problem}"
        if run.run_id in seen:
            yield f"frame {number}: run {run.run_id} is there twice"
        seen.add(run.run_id)
        if run.length < 1:
            yield f"frame {number}: run {run.run_id} has {run.length} raw bytes"
        try:
            run.tail_bytes()
        except (binascii.Error, ValueError):
            yield f"frame {number}: the tail of run {run.run_id} is not base64"
