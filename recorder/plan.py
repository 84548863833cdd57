"""Which runs a campaign consists of, and which of them are still to be recorded."""

import secrets
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
import zstandard

from schemas.cases import Case
from schemas.chain import LineChain
from schemas.errors import LogError, UsageError
from schemas.sealed import INDEX as SEALED_INDEX

RUNS = "runs"
LOG_SUFFIX = ".jsonl.zst"
_CHUNK = 1 << 20


class PlannedRun(msgspec.Struct, frozen=True):
    """One run to record: the case, its repetition (from 1) and the attempt (from 1) at that repetition."""

    case: Case
    repetition: int
    attempt: int = 1

    def run_id(self, campaign_id: str) -> str:
        """The id of the run, unique across campaigns by the campaign's random suffix; also the log's file name."""
        again = f"a{self.attempt}" if self.attempt > 1 else ""
        return f"{self.case.id}-r{self.repetition}{again}-{campaign_id.rsplit('-', 1)[-1]}"


def new_campaign_id(now: datetime) -> str:
    """A fresh campaign id: the UTC time to the second and a random suffix."""
    return f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def plan(cases: tuple[Case, ...], repetitions: int) -> list[PlannedRun]:
    """Every run, repetition by repetition, so that a campaign stopped half-way has covered all cases evenly."""
    return [PlannedRun(case, repetition) for repetition in range(1, repetitions + 1) for case in cases]


def remaining(runs: list[PlannedRun], directory: Path, campaign_id: str) -> list[PlannedRun]:
    """The runs that are missing or interrupted, each with its next attempt; earlier attempts stay where they are.

    Raises `LogError` naming a log that is damaged: recording over damage would hide it, and `UsageError` if the
    campaign is sealed.
    """
    refuse_sealed(directory)
    left = []
    for run in runs:
        attempt = run
        while (path := directory / RUNS / f"{attempt.run_id(campaign_id)}{LOG_SUFFIX}").exists():
            if is_recorded(path):
                break
            attempt = PlannedRun(run.case, run.repetition, attempt.attempt + 1)
        else:
            left.append(attempt)
    return left


def refuse_sealed(directory: Path) -> None:
    """Raises `UsageError` if the campaign is sealed: what it holds would be recorded a second time."""
    if (directory / SEALED_INDEX).exists():
        raise UsageError(f"{directory}: the campaign is sealed; korvid-replay unseal it first, and seal it again after")


def is_recorded(path: Path) -> bool:
    """Whether a log is closed by `run_finished` with a status other than `interrupted`.

    Raises `LogError` if the log is damaged rather than torn.
    """
    chain = LineChain()
    try:
        whole = False
        for line in _lines(path):
            whole = line is None
            if line is not None:
                chain.accept(line)
    except (LogError, zstandard.ZstdError) as error:
        raise LogError(
            f"{path}: the log is damaged ({error}); move it away to record this run again, "
            "or look at it with `korvid-replay verify`"
        ) from None
    return whole and chain.finished is not None and chain.finished.status != "interrupted"


def _lines(path: Path) -> Iterator[bytes | None]:
    """The whole lines of a log, then None if its zstd frame was closed properly."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    pending = b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            *lines, pending = (pending + stream.decompress(chunk)).split(b"\n")
            yield from (line + b"\n" for line in lines)
            if stream.eof:
                break
    if stream.eof:
        if stream.unused_data:
            raise LogError("bytes follow the end of the log")
        yield None


def check_free(directory: Path) -> None:
    """Raises `UsageError` unless `directory` can become a new campaign: absent, or empty."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: already there; give --out a new directory, or --resume {directory} to go on")
