"""The index of a sealed campaign: where each run lies, and the digests that a reader checks. Source: design.

A sealed campaign is `events.jsonl.zst`: zstd frames, one after the other without a gap, each holding the whole event
lines of one or more runs, byte for byte. The index lists the frames in order, and says nothing that follows from the
rest: where a frame or a run begins is the sum of what lies before it. It is one line of JSON, for anybody to read.

A chain of SHA-256 begins with the campaign id and the other members of the index and goes on over the entry of each
frame. Its last value is the index's `chain` and stands for the whole, so an entry that is edited, moved, dropped,
repeated or taken from another campaign breaks it. It guards against damage and careless edits: whoever rewrites
everything can also rewrite the chain, unless its last value was noted elsewhere.

All formats are read into one form, and each can be written again from it. An index is believed only if that gives the
bytes of the file: there is one way to write what it says.
"""

import base64
import binascii
import hashlib
import itertools
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import msgspec

from schemas.errors import LogError

SEALED_VERSION = 3
"""The format of the index. 1 and 2 had a row for each run in place of columns, with its whole id; 1 wrote a null into
that of an ordinary run."""

EVENTS = "events.jsonl.zst"
INDEX = "events.index.json"
SUMS = "SHA256SUMS"

FILE_DIGITS = 16
"""How many digits of the SHA-256 of log files the index keeps."""

MAX_FILE_BYTES = (1 << 63) - 1
"""No file has more, and no place in one can be given that lies behind it."""

MAX_RUN_ID_BYTES = 240
"""A run id is a file name with `.jsonl.zst` (and `.torn`) behind it; file systems take 255 bytes."""

State = Literal["complete", "interrupted"]
_Bytes = Annotated[int, msgspec.Meta(ge=0, le=MAX_FILE_BYTES)]
_Level = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]


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

    @property
    def id_suffix(self) -> str:
        """The common end of all run ids, which format 3 writes once."""
        return common_suffix(run.run_id for _, run in self.runs())

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


class _FrameRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A frame in format 3: columns of its runs, and what is not ordinary by run id. The ids lack the common suffix."""

    size: _Bytes
    sha256: str
    files: str
    ids: tuple[str, ...]
    lengths: tuple[_Bytes, ...]
    others: dict[str, _Other] = {}


class _RunRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A run in formats 1 and 2."""

    run_id: str
    length: _Bytes
    other: _Other | None = None


class _FrameRowOfRuns(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A frame in formats 1 and 2."""

    size: _Bytes
    sha256: str
    files: str
    runs: tuple[_RunRow, ...]


class _Head(_Data, frozen=True):
    schema_version: int
    campaign_id: str
    file_bytes: _Bytes
    level: _Level
    zstd: str
    chain: str


class _File(_Head, frozen=True):
    id_suffix: str
    frames: tuple[_FrameRow, ...]


class _FileOfRuns(_Head, frozen=True):
    frames: tuple[_FrameRowOfRuns, ...]


class _Version(msgspec.Struct):
    schema_version: Annotated[int, msgspec.Meta(ge=1)]


def files_digest(digests: Iterable[str]) -> str:
    """16 digits over the SHA-256 of log files, in order."""
    return hashlib.sha256(b"".join(map(bytes.fromhex, digests))).hexdigest()[:FILE_DIGITS]


def common_suffix(run_ids: Iterable[str]) -> str:
    """The longest common end of the ids that leaves none of them empty; "" where there is one id or none."""
    ids = list(run_ids)
    if len(ids) < 2:
        return ""
    # What the first and the last in order begin with, all between them do.
    backwards = sorted(run_id[::-1] for run_id in ids)
    pairs = zip(backwards[0], backwards[-1], strict=False)
    suffix = "".join(first for first, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))[::-1]
    return suffix[1:] if suffix in ids else suffix


def build_index(campaign_id: str, frames: Iterable[Frame], *, file_bytes: int, level: int, zstd: str) -> SealedIndex:
    """The index of these frames, chained."""
    index = SealedIndex(
        campaign_id=campaign_id, file_bytes=file_bytes, chain="", level=level, zstd=zstd, frames=tuple(frames)
    )
    return msgspec.structs.replace(index, chain=_chain(_head(index), _rows(index)))


def encode_index(index: SealedIndex) -> bytes:
    """The index as JSON in the format of its `schema_version`: one line, one newline at its end."""
    return _file(_head(index), index.chain, _rows(index))


def decode_index(data: bytes, name: str = INDEX) -> SealedIndex:
    """The index in the JSON `data`; `name` is used in messages.

    Raises `LogError` if it is none, of an unknown format, or contradicts itself: nothing of it can be used then.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SEALED_VERSION:
            raise LogError(
                f"{name} has schema_version {version} and this build reads up to {SEALED_VERSION}: "
                f"install a korvid-rec that reads version {version}"
            )
        written = msgspec.json.decode(data, type=_File if version > _LAST_OF_RUNS else _FileOfRuns)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogError(f"{name}: not the index of a sealed campaign: {error}; {WAY_OUT}") from None
    problem = next(_column_problems(written), None) if isinstance(written, _File) else None
    if problem is None:
        index = _read(written)
        problem = next(_problems(index, written, data), None)
    if problem is not None:
        raise LogError(f"{name}: {problem}; {WAY_OUT}")
    return index


_LAST_OF_RUNS = 2
"""The last format that had a row for each run."""

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


_ORDINARY = _Other()


def _head(index: SealedIndex) -> dict[str, Any]:
    """What the chain begins with: all members but the frames and the chain itself."""
    head = {name: getattr(index, name) for name in ("schema_version", "campaign_id", "file_bytes", "level", "zstd")}
    return head if index.schema_version <= _LAST_OF_RUNS else head | {"id_suffix": index.id_suffix}


def _rows(index: SealedIndex) -> list[msgspec.Raw]:
    """The row of each frame as the format of the index writes it."""
    if index.schema_version <= _LAST_OF_RUNS:
        rows = [_row_of_runs(frame, nulls=index.schema_version == 1) for frame in index.frames]
    else:
        suffix = len(index.id_suffix)
        rows = [_row(frame, suffix) for frame in index.frames]
    return [msgspec.Raw(msgspec.json.encode(row)) for row in rows]


def _row(frame: Frame, suffix: int) -> list[Any]:
    ids = [run.run_id[: len(run.run_id) - suffix] for run in frame.runs]
    others = {name: other for name, run in zip(ids, frame.runs, strict=True) if (other := _other(run)) != _ORDINARY}
    row = [frame.size, frame.sha256, frame.files, ids, [run.length for run in frame.runs]]
    return [*row, others] if others else row


def _row_of_runs(frame: Frame, *, nulls: bool) -> list[Any]:
    runs: list[list[Any]] = []
    for run in frame.runs:
        other = _other(run)
        last = [other] if other != _ORDINARY else [None] if nulls else []
        runs.append([run.run_id, run.length, *last])
    return [frame.size, frame.sha256, frame.files, runs]


def _other(run: SealedRun) -> _Other:
    return _Other(state=run.state, repacks=run.repacks, closed=run.closed, tail=run.tail, file_sha256=run.file_sha256)


def _chain(head: dict[str, Any], rows: list[msgspec.Raw]) -> str:
    chain = hashlib.sha256(b"korvid sealed campaign\n" + msgspec.json.encode(list(head.values()))).hexdigest()
    for row in rows:
        chain = hashlib.sha256(chain.encode() + bytes(row)).hexdigest()
    return chain


def _file(head: dict[str, Any], chain: str, rows: list[msgspec.Raw]) -> bytes:
    return msgspec.json.encode(head | {"chain": chain, "frames": rows}) + b"\n"


def _read(written: _File | _FileOfRuns) -> SealedIndex:
    """The index with the place of every frame and run: each begins where the one before it ends."""
    suffix = written.id_suffix if isinstance(written, _File) else ""
    frames, at = [], 0
    for row in written.frames:
        runs, inside = [], 0
        for run_id, length, other in _runs(row, suffix):
            runs.append(SealedRun(run_id=run_id, offset=inside, length=length, **msgspec.structs.asdict(other)))
            inside += length
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


def _runs(row: _FrameRow | _FrameRowOfRuns, suffix: str) -> Iterator[tuple[str, int, _Other]]:
    """Id, length and what is not ordinary of each run of a frame."""
    if isinstance(row, _FrameRowOfRuns):
        for run in row.runs:
            yield run.run_id, run.length, run.other or _ORDINARY
        return
    for name, length in zip(row.ids, row.lengths, strict=True):
        yield name + suffix, length, row.others.get(name, _ORDINARY)


def _column_problems(written: _File) -> Iterator[str]:
    """What keeps the columns of a frame from being read as runs."""
    suffix = len(written.id_suffix)
    if suffix > MAX_RUN_ID_BYTES:
        # Behind each of many ids it would come to more than memory holds.
        yield f"id_suffix is longer than {MAX_RUN_ID_BYTES} bytes"
    for number, row in enumerate(written.frames):
        if len(row.ids) != len(row.lengths):
            yield f"frame {number} has {len(row.ids)} ids and {len(row.lengths)} lengths"
        ids = set(row.ids)
        for name, other in row.others.items():
            if name not in ids:
                yield f"frame {number}: others names {name[:80]!r}, which is no run of the frame"
            if other == _ORDINARY:
                yield f"frame {number}: others holds nothing of {name[:80]!r} that is not ordinary"


def _problems(index: SealedIndex, written: _File | _FileOfRuns, data: bytes) -> Iterator[str]:
    """What of an index does not hold, worst first."""
    head, rows = _head(index), _rows(index)
    if index.bytes > MAX_FILE_BYTES:
        yield f"the frames come to {index.bytes} bytes, more than a file can have"
    if isinstance(written, _File) and written.id_suffix != index.id_suffix:
        yield f"id_suffix is {written.id_suffix[:80]!r}, and the run ids have {index.id_suffix[:80]!r} in common"
    chain = _chain(head, rows)
    if index.chain != chain:
        yield f"the chain of {len(index.frames)} frames ends in {chain[:16]}, not in {index.chain[:16]}: it was edited"
    seen: set[str] = set()
    for number, frame in enumerate(index.frames):
        if frame.size < 1 or not frame.runs:
            yield f"frame {number} is empty"
        yield from _run_problems(number, frame, seen)
    if data != _file(head, index.chain, rows):
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
