"""Directories to work in beside the files that come of the work, and what is left of them after a kill.

Whoever works in one holds a lock on it, so that one without a lock is known to be abandoned, whatever became of the
process. The folder itself is locked for the moment in which a directory is made or taken away: nobody finds one that
has no lock yet.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = ".regrade-"
INDEX_PREFIX = ".index-"
"""Of the directory in which an index is built. No lock is held for it: whoever loses it builds again."""


@contextmanager
def scratch_in(folder: Path, prefix: str = PREFIX) -> Iterator[Path]:
    """A directory in `folder` for the length of a `with` block; those that others abandoned there are removed.

    Each kind of work has its own `prefix`. Raises `OSError` if it cannot be made.
    """
    with _locked(folder):
        _remove_abandoned(folder, prefix)
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
        handle = _open(path)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def remove_abandoned(folder: Path) -> list[Path]:
    """Remove what regrades left in `folder` whose process is gone; which they were. Raises `OSError` if it cannot."""
    if not any(folder.glob(f"{PREFIX}*")):
        return []
    with _locked(folder):
        return _remove_abandoned(folder, PREFIX)


def _remove_abandoned(folder: Path, prefix: str) -> list[Path]:
    removed = []
    for path in sorted(folder.glob(f"{prefix}*")):
        if _is_abandoned(path):
            shutil.rmtree(path)
            removed.append(path)
    return removed


def _is_abandoned(path: Path) -> bool:
    try:
        handle = _open(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return path.is_dir()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = _open(folder)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _open(directory: Path) -> int:
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
