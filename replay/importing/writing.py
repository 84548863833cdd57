"""Write imported runs as a campaign of ours: logs, manifest, and a receipt of the import.

A campaign is built aside and renamed, so it is there whole or not at all. Its name ends in the start of the SHA-256 of
the file it was made of, and its receipt carries that digest: the same bytes are imported once. Nothing in a log or in
the receipt says when or where the import happened, so the same bytes give the same files.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from replay.scratch import scratch_in
from replay.unicode import well_formed
from schemas import codec
from schemas.errors import WorkError
from schemas.events import Event, RunFinished, RunStarted, RunStatus
from schemas.provenance import Manifest, encode_manifest

RECEIPT = "import.json"
RECEIPT_VERSION = 1
RUNS = "runs"
PREFIX = ".import-"

_LEVEL = 3


class ImportReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What one campaign was made of.

    `passed` counts the published successes; `not_recorded` names what no run has; `unmapped` the source's keys that
    have no place in an event (their values are in `run_started.imported.unmapped`); `reports` the published reports
    with their differences; `metadata` is that of the source as it lay.
    """

    schema_version: int = RECEIPT_VERSION
    format: str
    campaign: str
    file: str
    sha256: str
    archive: str | None
    archive_sha256: str | None
    runs: int
    passed: int
    not_recorded: tuple[str, ...]
    unmapped: tuple[str, ...]
    reports: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}


class Timed(msgspec.Struct, frozen=True):
    """An event and its time in seconds since the run started."""

    t: float
    event: Event


class RunToWrite(msgspec.Struct, frozen=True, kw_only=True):
    """One run: its first event, the events after it in order, and how it ended."""

    started: RunStarted
    events: tuple[Timed, ...]
    status: RunStatus
    reason: str | None = None
    duration_s: float = 0.0


def already_imported(out: Path) -> dict[str, Path]:
    """The digests of the files whose runs lie in `out`, with the campaign made of each."""
    found: dict[str, Path] = {}
    for path in sorted(out.glob(f"*/{RECEIPT}")):
        try:
            receipt = msgspec.json.decode(path.read_bytes(), type=ImportReceipt)
        except (msgspec.DecodeError, OSError) as error:
            raise WorkError(f"{path}: not the receipt of an import ({error}); move its directory away") from None
        found[receipt.sha256] = path.parent
    return found


class Draft:
    """A campaign directory in the making at `path`, which becomes `final` with `finish`."""

    def __init__(self, path: Path, final: Path) -> None:
        self.path = path
        self.final = final

    def write(self, manifest: Manifest, receipt: ImportReceipt, runs: Sequence[RunToWrite]) -> None:
        """All files of the campaign but its grades. Raises `OSError` if they cannot be written."""
        (self.path / RUNS).mkdir(parents=True)
        (self.path / "campaign.json").write_bytes(encode_manifest(manifest))
        data = msgspec.json.encode(well_formed(msgspec.to_builtins(receipt)))
        (self.path / RECEIPT).write_bytes(msgspec.json.format(data, indent=1) + b"\n")
        for run in runs:
            path = self.path / RUNS / f"{run.started.run_id}.jsonl.zst"
            if path.exists():
                raise WorkError(f"{receipt.file}: two runs would be called {run.started.run_id}")
            path.write_bytes(packed(b"".join(lines(run))))

    def finish(self) -> Path:
        """Give the directory its name. Raises `WorkError` if it is taken."""
        try:
            os.rename(self.path, self.final)
        except OSError as error:
            raise WorkError(f"{self.final}: cannot be made: {error.strerror}; move what is there away") from None
        return self.final


@contextmanager
def draft(out: Path, name: str) -> Iterator[Draft]:
    """A draft of `out/<name>` for the length of a `with` block; what killed imports left in `out` is removed.

    Raises `WorkError` if it cannot be written, here or inside the block.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with scratch_in(out, PREFIX) as scratch:
            yield Draft(scratch / name, out / name)
    except OSError as error:
        where = error.filename or out
        raise WorkError(f"{where}: cannot be written: {error.strerror}; nothing of {name} was imported") from None


def lines(run: RunToWrite) -> Iterator[bytes]:
    """The raw lines of a run's log."""
    digest = hashlib.sha256()
    count = 0
    for timed in (Timed(0.0, run.started), *run.events):
        line = codec.encode(timed.event, count, timed.t)
        digest.update(line)
        count += 1
        yield line
    end = RunFinished(
        status=run.status,
        sha256=digest.hexdigest(),
        events=count + 1,
        duration_s=round(run.duration_s, 6),
        reason=run.reason,
    )
    yield codec.encode(end, count, run.duration_s)


def packed(raw: bytes) -> bytes:
    """A log's raw bytes as one zstd frame with its checksum."""
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(raw)


def keys_of(unmapped: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The names that occur in any of these, with list positions left out, sorted."""
    return tuple(sorted({_general(key) for part in unmapped for key in part}))


def _general(key: str) -> str:
    head, bracket, tail = key.partition("[")
    return head + "[]" + tail.partition("]")[2] if bracket else key
