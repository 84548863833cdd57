"""Bring a damaged campaign back to a clean state, and say what was lost, by file and byte.

Nothing is thrown away: a log that is torn or cannot be trusted, and a sealed file that is damaged, is kept beside under
another name (`.torn`, `.corrupt`, `.damaged`). What is left afterwards reads without a complaint; runs that are missing
or interrupted can be recorded again with `korvid-rec run --resume`.
"""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from replay.campaigns import LOG_SUFFIX, MANIFEST, RUNS, is_campaign
from replay.logref import as_ref, sealed_ref
from replay.reader import whole_lines
from replay.scratch import INDEX_PREFIX, remove_abandoned
from replay.seal import disk
from replay.seal.leftovers import RECOVER_FILE, UNSEAL_FILE, run_logs
from replay.seal.packing import holds_lines, log_pieces
from replay.seal.salvage import Found, Gap, believed, gaps, runs_in, trusted_index
from replay.seal.sealing import SUMS_WAY_OUT, expect_run, finish
from replay.seal.sealing import TEMPORARY as SEAL_FILES
from replay.seal.sums import FOLDERS, check_sums
from replay.sealed import is_sealed, manifest_campaign_id
from replay.verify import RunCheck, verify_run
from schemas.errors import LogError, UsageError
from schemas.sealed import EVENTS, INDEX, SUMS, SealedIndex, decode_index
from schemas.words import counted

TORN, CORRUPT, DAMAGED = "torn", "corrupt", "damaged"
_NAMED = 8


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was not as it should be.

    `offset` and `bytes` say what of `file` could not be used (bytes of the file; None where that is all of it).
    `kept_as` is the name under which the original lies; `done` tells what became of it.
    """

    file: str
    kind: Literal["torn", "corrupt", "damaged", "unfinished"]
    done: str
    offset: int | None = None
    bytes: int | None = None
    runs: tuple[str, ...] = ()
    kept_as: str | None = None


class _Start(msgspec.Struct):
    campaign_id: str


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What a recovery came to: `losses` in the order in which they were met; empty if the campaign was clean."""

    campaign: str
    sealed: bool
    runs: int
    losses: tuple[Loss, ...]


def recover(directory: Path) -> Recovered:
    """Make the campaign in `directory` clean.

    Raises `UsageError` if there is none or somebody works on it, `LogError` if its manifest is damaged or another
    campaign's, `WorkError` if it cannot be written; a recovery that was killed can be started again.
    """
    if not is_campaign(directory):
        raise UsageError(f"{directory}: not a campaign; give the directory that holds {RUNS}/ or {EVENTS}")
    with disk.locked(directory):
        _expect_own_manifest(directory)
        losses = [*_temporaries(directory), *_sealed(directory)]
        if not is_sealed(directory):
            _expect_own_manifest(directory)
            for path in run_logs(directory):
                losses += _log(path)
        disk.sync(directory)
        index = trusted_index(directory)
        count = len(run_logs(directory)) if index is None else index.run_count
        return Recovered(campaign=str(directory), sealed=index is not None, runs=count, losses=tuple(losses))


def _expect_own_manifest(directory: Path) -> None:
    """Raises `LogError` if the manifest does not read or is of another campaign: all logs would look foreign then."""
    try:
        named = manifest_campaign_id(directory)
    except LogError as error:
        raise LogError(f"{error}, or move it away: recover does without one") from None
    found = set(_campaign_ids(directory)) if named is not None else set()
    if found and named not in found:
        raise LogError(
            f"{directory / MANIFEST}: is of campaign {named}, what is recorded here is of {', '.join(sorted(found))}; "
            "restore the right one from a copy, or move it away: recover does without one"
        )


def _campaign_ids(directory: Path) -> Iterator[str]:
    """The campaigns that a readable index and the logs in files say they are of."""
    if is_sealed(directory):
        with suppress(LogError):
            yield decode_index((directory / INDEX).read_bytes(), INDEX).campaign_id
    for path in run_logs(directory):
        with suppress(LogError, msgspec.DecodeError, StopIteration):
            yield msgspec.json.decode(next(whole_lines(path)), type=_Start).campaign_id


def _temporaries(directory: Path) -> Iterator[Loss]:
    """What a killed recorder, seal, recovery or regrade had not yet given its name."""
    names = [directory / name for name in SEAL_FILES]
    names += [directory / RUNS / name for name in (UNSEAL_FILE, RECOVER_FILE)]
    for path in [*names, *sorted(directory.glob(f".{MANIFEST}.*"))]:
        if path.is_file():
            path.unlink()
            name = path.relative_to(directory).as_posix()
            yield Loss(file=name, kind="unfinished", done="removed: a file that was being made when its process ended")
    for path in (path for folder in FOLDERS for path in remove_abandoned(directory / folder)):
        name = path.relative_to(directory).as_posix()
        yield Loss(file=name, kind="unfinished", done="removed: a regrade worked there when its process ended")
    for path in sorted(directory.glob(f"{INDEX_PREFIX}*")):
        shutil.rmtree(path)
        yield Loss(file=path.name, kind="unfinished", done="removed: an index was built there when its process ended")


def _sealed(directory: Path) -> Iterator[Loss]:
    if not is_sealed(directory) and not (directory / EVENTS).is_file():
        return
    if not (directory / EVENTS).is_file():
        kept = disk.aside(directory / INDEX, DAMAGED)
        disk.move(directory / INDEX, kept)
        yield Loss(file=EVENTS, kind="damaged", done="the file is gone, all its runs are lost", kept_as=kept.name)
        return
    events, index = directory / EVENTS, trusted_index(directory)
    if index is not None and _holds(events, index):
        yield from _unfinished(directory)
        return
    places = [found.place for found in believed(events, index) if found.place is not None]
    missing = gaps(events, places, index)
    if not is_sealed(directory) and not missing and _all_in_files(directory, believed(events, None)):
        events.unlink()
        yield Loss(file=EVENTS, kind="unfinished", done="removed: a seal ended before its index was there")
        return
    saved: list[str] = []
    yield from _save(directory, believed(events, index), saved)
    for gap in missing:
        yield Loss(
            file=EVENTS,
            kind="damaged",
            done=_told(gap, saved),
            offset=gap.offset,
            bytes=gap.size,
            runs=tuple(run for run in gap.runs if run not in saved),
        )
    for name in (INDEX, EVENTS):
        path = directory / name
        if path.is_file():
            kept = disk.aside(path, DAMAGED)
            disk.move(path, kept)
            what = "set aside" if name == INDEX else f"set aside; of it in {RUNS}/ now: {counted(len(saved), 'run')}"
            yield Loss(file=name, kind="damaged", done=what, kept_as=kept.name)
    disk.remove((directory / SUMS,))


def _holds(events: Path, index: SealedIndex) -> bool:
    """Whether the sealed file is what its index says: no byte more, and each run."""
    if events.stat().st_size != index.bytes:
        return False
    try:
        for frame, run in index.runs():
            expect_run(sealed_ref(events, frame, run), run)
    except LogError:
        return False
    return True


def _all_in_files(directory: Path, frames: Iterator[Found]) -> bool:
    """Whether every run of these frames lies in a file of its own with the same lines."""
    for frame in frames:
        for run in runs_in(frame):
            path = directory / RUNS / f"{run.run_id}{LOG_SUFFIX}"
            if not path.is_file() or not holds_lines(path, run.sha256):
                return False
    return True


def _told(gap: Gap, saved: list[str]) -> str:
    lost = [run for run in gap.runs if run not in saved]
    named = ", ".join(lost[:_NAMED]) + (f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else "")
    if not gap.runs:
        return "these bytes cannot be read; which runs lay there is not known"
    return "these bytes cannot be read" + (
        f"; lost: {counted(len(lost), 'run')}: {named}" if lost else "; no run is lost"
    )


def _unfinished(directory: Path) -> Iterator[Loss]:
    """The last step of a seal, if that is missing: not over files that have changed, which it would take as right."""
    problems = list(check_sums(directory))
    for problem in problems:
        yield Loss(file=problem.file, kind="damaged", done=f"left as it is: {problem.reason}; {SUMS_WAY_OUT}")
    if problems:
        return
    left = [path.name for path in run_logs(directory)]
    if left or not (directory / SUMS).is_file():
        finish(directory)
        yield Loss(file=f"{RUNS}/", kind="unfinished", done=f"the seal was finished: {len(left)} sealed logs removed")


def _save(directory: Path, frames: Iterator[Found], saved: list[str]) -> Iterator[Loss]:
    """Write the runs of the frames that read into files of their own and add them to `saved`.

    A file there that does not hold these lines is set aside: the sealed ones were checked when they were sealed.
    """
    runs = directory / RUNS
    runs.mkdir(exist_ok=True)
    for frame in frames:
        for run in runs_in(frame):
            path = runs / f"{run.run_id}{LOG_SUFFIX}"
            there = path.exists()
            if not there or not holds_lines(path, run.sha256):
                if there:
                    kept = disk.aside(path, CORRUPT)
                    disk.move(path, kept)
                    done = "set aside: not the log that was sealed as this run, which lies here now"
                    yield Loss(file=f"{RUNS}/{path.name}", kind="corrupt", done=done, kept_as=kept.name)
                _replace(path, log_pieces(run.lines, closed=True))
            saved.append(run.run_id)
    disk.sync(runs)


def _log(path: Path) -> Iterator[Loss]:
    """A log in a file of its own: kept if it is whole or ends between two events, else set aside and written anew."""
    check = verify_run(path)
    name = f"{RUNS}/{path.name}"
    if check.state == "corrupt":
        kept = disk.aside(path, CORRUPT)
        disk.move(path, kept)
        yield Loss(file=name, kind="corrupt", done=f"set aside: {check.detail}", kept_as=kept.name)
    elif check.events == 0:
        kept = disk.aside(path, TORN)
        disk.move(path, kept)
        yield Loss(
            file=name,
            kind="torn",
            done="set aside: not one event is whole",
            offset=0,
            bytes=check.file_bytes,
            kept_as=kept.name,
        )
    elif check.status is None:
        yield from _torn(path, check, name)


def _torn(path: Path, check: RunCheck, name: str) -> Iterator[Loss]:
    """A log that was not closed: the same whole lines in a stream that is, so that every tool reads it."""
    log, size = as_ref(path), path.stat().st_size
    if _begins(path, log_pieces(whole_lines(log), closed=True)) == size:
        return
    at = _begins(path, log_pieces(whole_lines(log), closed=False))
    kept = disk.aside(path, TORN)
    # The original gets a second name before the clean one takes its first: neither is ever missing.
    kept.hardlink_to(path)
    _replace(path, log_pieces(whole_lines(log), closed=True))
    disk.sync(path.parent)
    yield Loss(
        file=name,
        kind="torn",
        done=f"{check.events} whole events kept ({check.raw_bytes} raw bytes), the stream closed",
        offset=at,
        bytes=None if at is None else size - at,
        kept_as=kept.name,
    )


def _begins(path: Path, pieces: Iterator[bytes]) -> int | None:
    """How many bytes the pieces come to, if the file begins with them; else None."""
    size = 0
    with path.open("rb") as file:
        for piece in pieces:
            if file.read(len(piece)) != piece:
                return None
            size += len(piece)
    return size


def _replace(path: Path, pieces: Iterator[bytes]) -> None:
    temporary = path.with_name(RECOVER_FILE)
    disk.write(temporary, pieces)
    temporary.replace(path)
