"""What is to be said of runs that lie in more than one of the campaigns asked of: a board counts each of them once."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from replay.logref import LogRef
from replay.seal.packing import raw_sha256
from replay.sql.load import Log
from replay.sql.sources import shared_runs
from schemas.errors import LogError
from schemas.words import counted


def copies(campaigns: Sequence[Path]) -> Iterator[str]:
    """A line for each set of directories that hold the same runs, and one for each that hold others of the same ids.

    Raises `WorkError` if a log cannot be read.
    """
    same: Counter[tuple[Path, ...]] = Counter()
    other: Counter[tuple[Path, ...]] = Counter()
    for logs in shared_runs(campaigns).values():
        (same if _are_one(logs) else other)[tuple(log.directory for log in logs)] += 1
    for directories, runs in same.items():
        yield f"{counted(runs, 'run')} {'lies' if runs == 1 else 'lie'} in {_all(directories)}: counted once"
    for directories, runs in other.items():
        yield (
            f"{counted(runs, 'run id')} {'is' if runs == 1 else 'are'} in {_all(directories)} with different logs, of "
            "which one counts for each campaign id; leave out all but one directory"
        )


def _are_one(logs: Sequence[Log]) -> bool:
    digests = {_sha256(log.ref) for log in logs}
    return len(digests) == 1 and None not in digests


def _sha256(log: LogRef) -> str | None:
    """The digest of the raw log; None of one that is damaged, which is like no other."""
    try:
        return raw_sha256(log)
    except LogError:
        return None


def _all(directories: Sequence[Path]) -> str:
    return " and in ".join(map(str, directories))
