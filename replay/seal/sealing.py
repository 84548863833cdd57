"""Seal a campaign: check every log, pack whole runs into frames, and let the index decide.

The order of the steps is what makes it safe to be killed at any moment:

1. `.seal.*` files are written, made durable and read back; nothing else has changed.
2. `events.jsonl.zst` gets its name. Without an index nobody reads it: `runs/` counts.
3. `events.index.json` gets its name. From here on the sealed runs count; the files in `runs/` are left over.
4. SHA256SUMS gets its name, and the files in `runs/` that were sealed are removed.

A seal that finds step 3 done finishes step 4.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import zstandard

from replay.campaigns import RUNS, is_campaign, logs_in
from replay.logref import LogRef, as_ref, sealed_ref
from replay.reader import whole_lines
from replay.seal import disk
from replay.seal.leftovers import RECOVER_FILE, UNSEAL_FILE, leftovers, run_logs
from replay.seal.packing import LEVEL, FrameWriter, Sizes, entry_of, grouped, original_of, raw_sha256
from replay.seal.sums import check_sums, write_sums
from replay.sealed import is_sealed, manifest_campaign_id, read_index
from replay.verify import RunCheck, verify_run
from schemas.errors import LogError, UsageError, WorkError
from schemas.sealed import EVENTS, INDEX, SUMS, SealedIndex, SealedRun, build_index, encode_index, run_id_problem

TEMPORARY = tuple(f".seal.{name}" for name in (EVENTS, INDEX, SUMS))
CHECKING, PACKING, COMPARING = "checking", "packing", "comparing"
"""What a seal does, in this order: each once over all runs."""
Progress = Callable[[str, int], None]

SUMS_WAY_OUT = f"restore it from a copy, or remove {SUMS} to take everything as it is"
_NAMED = 8
"""How many refused runs a message names."""


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """What a seal came to. `already` is whether the campaign had been sealed before.

    `interrupted` counts runs without their end, `torn_bytes` the bytes after their last whole line (kept in the
    index). `left` are files in `runs/` that are no logs and stay there. `chain` stands for the whole campaign.
    """

    campaign: str
    campaign_id: str
    already: bool
    runs: int
    interrupted: int
    frames: int
    raw_bytes: int
    file_bytes: int
    sealed_bytes: int
    torn_bytes: int
    left: tuple[str, ...]
    chain: str


class _Start(msgspec.Struct):
    campaign_id: str
    case_id: str
    repetition: int
    attempt: int


def seal(directory: Path, *, level: int = LEVEL, progress: Progress = lambda *_: None) -> Sealed:
    """Seal the campaign in `directory`. `progress` is told what is being done and for how many runs it is.

    Raises `UsageError` if there is no campaign or somebody works on it, `LogError` naming the logs that cannot be
    trusted, `WorkError` if it cannot be written; the campaign is then as it was.
    """
    if not is_campaign(directory):
        raise UsageError(f"{directory}: not a campaign; give the directory that holds {RUNS}/")
    with disk.locked(directory):
        if is_sealed(directory):
            index = read_index(directory)
            _refuse_unsealed(directory, index)
            for problem in check_sums(directory):
                raise LogError(f"{directory / problem.file}: {problem.reason}; {SUMS_WAY_OUT}")
            return _finish(directory, index, already=True)
        runs = _checked(directory, progress)
        try:
            index = _write(directory, runs, level, progress)
        except (OSError, WorkError):
            disk.remove(directory / name for name in TEMPORARY)
            raise
        disk.move(directory / TEMPORARY[0], directory / EVENTS)
        disk.move(directory / TEMPORARY[1], directory / INDEX)
        return _finish(directory, index, already=False)


def finish(directory: Path) -> Sealed:
    """The last step alone, for a sealed campaign whose lock the caller holds."""
    return _finish(directory, read_index(directory), already=True)


def _checked(directory: Path, progress: Progress) -> list[Sizes]:
    """The runs in the order of the sealed file. Of each no more is kept than its place and its digests."""
    logs = logs_in(directory)
    if not logs:
        raise UsageError(f"{directory}: nothing is recorded there; there is nothing to seal")
    for log in logs:
        problem = run_id_problem(log.run_id)
        if problem is not None:
            raise LogError(f"{directory / RUNS}: the file name {log.name[:80]!r} {problem}; rename it")
    corrupt: list[str] = []
    found: list[tuple[tuple[str, int, int, str], Sizes]] = []
    ids: set[str] = set()
    for done, log in enumerate(logs, 1):
        check = verify_run(log)
        if check.state == "corrupt":
            corrupt.append(f"{check.path}: {check.detail}" if len(corrupt) < _NAMED else "")
        elif not corrupt:
            start, sizes = _sizes(log, check)
            ids.add(start.campaign_id)
            found.append(((start.case_id, start.repetition, start.attempt, log.run_id), sizes))
        progress(CHECKING, done)
    if corrupt:
        named = "; ".join(filter(None, corrupt))
        more = f"; and {len(corrupt) - _NAMED} more" if len(corrupt) > _NAMED else ""
        raise LogError(
            f"{named}{more}: {len(corrupt)} of {len(logs)} logs cannot be trusted and nothing was sealed; restore them "
            "from a copy, or set them aside with korvid-replay recover"
        )
    if len(ids) > 1:
        raise LogError(f"{directory}: the logs belong to several campaigns ({', '.join(sorted(ids))}); move them apart")
    found.sort(key=lambda pair: pair[0])
    return [sizes for _, sizes in found]


def _sizes(log: LogRef, check: RunCheck) -> tuple[_Start, Sizes]:
    if check.events == 0:
        raise LogError(f"{log}: the log is torn before its first event ends; set it aside with korvid-replay recover")
    start = msgspec.json.decode(next(whole_lines(log)), type=_Start)
    complete = check.status is not None
    original = original_of(log, complete=complete)
    entry = entry_of(log.run_id, check.raw_bytes, original, complete=complete)
    return start, Sizes(log, entry, check.sha256, original.file_sha256, original.file_bytes)


def expect_run(log: LogRef, run: SealedRun) -> None:
    """Raises `LogError` if a sealed run does not verify as what the index says of it."""
    check = verify_run(log)
    if check.state == "corrupt":
        raise LogError(f"{log}: {check.detail}; look at all of them with korvid-replay verify")
    if check.raw_bytes != run.length or (check.status is not None) != (run.state == "complete"):
        raise LogError(
            f"{log}: is {check.state} after {check.raw_bytes} bytes, {INDEX} says {run.state} after {run.length}; "
            "set the index aside with korvid-replay recover"
        )


def _write(directory: Path, runs: list[Sizes], level: int, progress: Progress) -> SealedIndex:
    events, index_file, sums = (directory / name for name in TEMPORARY)
    campaign_id = (
        manifest_campaign_id(directory) or msgspec.json.decode(next(whole_lines(runs[0].log)), type=_Start).campaign_id
    )
    writer = FrameWriter(level, lambda done: progress(PACKING, done))
    disk.write(events, (piece for group in grouped(runs) for piece in writer.pieces(group)))
    zstd = ".".join(str(part) for part in zstandard.ZSTD_VERSION)
    index = build_index(
        campaign_id, writer.frames, file_bytes=sum(run.file_bytes for run in runs), level=level, zstd=zstd
    )
    _read_back(events, index, runs, progress)
    disk.write(index_file, (encode_index(index),))
    write_sums(directory, sums, renamed={directory / EVENTS: events, directory / INDEX: index_file})
    return index


def _read_back(events: Path, index: SealedIndex, runs: list[Sizes], progress: Progress) -> None:
    """Read what was written, before anything depends on it."""
    for done, ((frame, run), expected) in enumerate(zip(index.runs(), runs, strict=True), 1):
        if run.run_id != expected.entry.run_id or raw_sha256(sealed_ref(events, frame, run)) != expected.sha256:
            raise WorkError(f"{events}: run {run.run_id} does not read back as it was written; nothing was sealed")
        progress(COMPARING, done)


def _refuse_unsealed(directory: Path, index: SealedIndex) -> None:
    sealed = {run.run_id for _, run in index.runs()}
    extra = [log.run_id for log in map(as_ref, run_logs(directory)) if log.run_id not in sealed]
    if extra:
        raise UsageError(
            f"{directory}: sealed already, and {RUNS}/ holds runs that are not sealed ({', '.join(extra[:_NAMED])}); "
            "unseal it, then seal it again"
        )


def _finish(directory: Path, index: SealedIndex, *, already: bool) -> Sealed:
    """Step 4. Raises `LogError` if a file in `runs/` is another log than the sealed one of its run."""
    leftover = list(leftovers(directory))
    wrong = [str(path) for path, same in leftover if not same]
    if wrong:
        raise LogError(f"{wrong[0]}: is not the log that was sealed as this run; compare the two and move it away")
    runs = [run for _, run in index.runs()]
    sums = directory / TEMPORARY[2]
    write_sums(directory, sums, renamed={})
    disk.move(sums, directory / SUMS)
    disk.remove(path for path, _ in leftover)
    disk.remove(directory / name for name in TEMPORARY)
    disk.remove(directory / RUNS / name for name in (UNSEAL_FILE, RECOVER_FILE))
    left = _remove_empty(directory / RUNS)
    disk.sync(directory)
    return Sealed(
        campaign=str(directory),
        campaign_id=index.campaign_id,
        already=already,
        runs=index.run_count,
        interrupted=sum(run.state == "interrupted" for run in runs),
        frames=len(index.frames),
        raw_bytes=index.raw_bytes,
        file_bytes=index.file_bytes,
        sealed_bytes=index.bytes + (directory / INDEX).stat().st_size,
        torn_bytes=sum(len(run.tail_bytes()) for run in runs),
        left=left,
        chain=index.chain,
    )


def _remove_empty(runs: Path) -> tuple[str, ...]:
    """Remove the directory of the logs if nothing is left in it; else the names of what is. A link to one stays."""
    if not runs.is_dir():
        return ()
    left = tuple(sorted(path.name for path in runs.iterdir()))
    if not left and not runs.is_symlink():
        runs.rmdir()
    return left
