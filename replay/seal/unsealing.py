"""Unseal a campaign: write every log into its own file again, then let the index go.

Until the index is removed, the sealed runs count and the files in `runs/` are the same logs; after it, `runs/` counts.
So a kill at any moment leaves a campaign that reads the same, sealed or unsealed.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from replay.campaigns import LOG_SUFFIX, RUNS
from replay.logref import LogRef, sealed_ref
from replay.reader import whole_lines
from replay.seal import disk
from replay.seal.leftovers import UNSEAL_FILE
from replay.seal.packing import expect_same_lines, log_pieces
from replay.seal.sealing import expect_run
from replay.sealed import is_sealed, read_index
from schemas.errors import UsageError
from schemas.sealed import EVENTS, INDEX, SUMS, Frame, SealedRun, files_digest

TAIL_MARK = "tail"
Progress = Callable[[int], None]


class Unsealed(msgspec.Struct, frozen=True, kw_only=True):
    """What an unseal came to.

    `identical` logs are byte for byte the files that were sealed; of `recompressed` ones only the raw lines surely are,
    because another zstd library wrote or writes them (the ordinary runs of a frame are told together: one digest stands
    for their files). `tails` are torn ends that could only be laid beside their log.
    """

    campaign: str
    campaign_id: str
    runs: int
    identical: int
    recompressed: tuple[str, ...]
    tails: tuple[str, ...]


def unseal(directory: Path, *, progress: Progress = lambda _: None) -> Unsealed:
    """Give the campaign in `directory` its log files back. `progress` is told how many runs are written.

    Raises `UsageError` if it is not sealed or somebody works on it, `LogError` if a run is not what the index says or a
    file in `runs/` is another log of a sealed run; the campaign stays sealed then.
    """
    if not is_sealed(directory):
        raise UsageError(f"{directory}: not a sealed campaign: it has no {INDEX}")
    with disk.locked(directory):
        index = read_index(directory)
        runs = directory / RUNS
        runs.mkdir(exist_ok=True)
        recompressed: list[str] = []
        tails: list[str] = []
        written = (run for frame in index.frames for run in _restored(directory, frame, recompressed, tails))
        for done, _ in enumerate(written, 1):
            progress(done)
        disk.sync(runs)
        disk.sync(directory)
        (directory / INDEX).unlink()
        disk.sync(directory)
        disk.remove((directory / EVENTS, directory / SUMS))
        return Unsealed(
            campaign=str(directory),
            campaign_id=index.campaign_id,
            runs=index.run_count,
            identical=index.run_count - len(recompressed),
            recompressed=tuple(recompressed),
            tails=tuple(tails),
        )


def _restored(directory: Path, frame: Frame, recompressed: list[str], tails: list[str]) -> Iterator[str]:
    """Write the logs of one frame, id by id; add to `recompressed` and `tails` those that are not what was sealed."""
    ordinary: dict[str, str] = {}
    for run in frame.runs:
        path = directory / RUNS / f"{run.run_id}{LOG_SUFFIX}"
        log = sealed_ref(directory / EVENTS, frame, run)
        expect_run(log, run)
        made = _restore(log, run, path)
        if run.ordinary:
            ordinary[run.run_id] = made
        elif not made.startswith(run.file_sha256):
            recompressed.append(run.run_id)
            if run.tail:
                tails.append(_lay_beside(path, run))
        yield run.run_id
    if files_digest(ordinary.values()) != frame.files:
        recompressed += ordinary


def _restore(log: LogRef, run: SealedRun, path: Path) -> str:
    """Write the log file of a sealed run to `path`, unless it is there; the SHA-256 of what lies there then.

    The name is not durable before the directory is synced. Raises `LogError` if the sealed run does not hold, or
    `path` is another log.
    """
    if path.exists():
        expect_same_lines(path, log)
        return disk.file_sha256(path)
    temporary = path.with_name(UNSEAL_FILE)
    disk.write(temporary, _original_pieces(log, run, with_tail=run.repacks))
    made = disk.file_sha256(temporary)
    if run.tail and not made.startswith(run.file_sha256):
        # Torn bytes continue a stream of another zstd library: behind this one they would be noise.
        disk.write(temporary, _original_pieces(log, run, with_tail=False))
        made = disk.file_sha256(temporary)
    temporary.replace(path)
    return made


def _original_pieces(log: LogRef, run: SealedRun, *, with_tail: bool) -> Iterator[bytes]:
    yield from log_pieces(whole_lines(log), closed=run.closed)
    if with_tail:
        yield run.tail_bytes()


def _lay_beside(path: Path, run: SealedRun) -> str:
    beside = path.with_name(f"{path.name}.{TAIL_MARK}")
    disk.write(beside, (run.tail_bytes(),))
    return beside.name
