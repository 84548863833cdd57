"""Files that must be whole on disk before anything relies on them, and the lock that keeps others out."""

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.errors import UsageError, WorkError

_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold a campaign directory as a recorder does.

    Raises `UsageError` if somebody records, seals or recovers there; an `OSError` inside becomes a `WorkError`.
    """
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"{directory}: cannot be opened: {error.strerror}; give a campaign directory") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise UsageError(
            f"{directory}: another process records into it, seals it or recovers it; wait until it is done"
        ) from None
    except OSError as error:
        way_out = "make it writable" if error.errno in _FORBIDDEN else "free space"
        where = error.filename or directory
        raise WorkError(f"{where}: {error.strerror}; nothing that was recorded is lost, {way_out} and retry") from None
    finally:
        os.close(handle)


def write(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file durably, replacing one of that name. Its name is not durable before `sync`.

    An `OSError` names the file.
    """
    try:
        with path.open("wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def sync(directory: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def move(source: Path, target: Path) -> None:
    """Give a file its final name, replacing one of that name, durably."""
    os.replace(source, target)
    sync(target.parent)


def remove(paths: Iterable[Path]) -> None:
    """Remove files that are there."""
    for path in paths:
        path.unlink(missing_ok=True)


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def aside(path: Path, mark: str) -> Path:
    """A name beside `path` that is not taken: `<name>.<mark>`, or with a number behind it."""
    candidate = path.with_name(f"{path.name}.{mark}")
    number = 2
    while candidate.exists():
        candidate = path.with_name(f"{path.name}.{mark}{number}")
        number += 1
    return candidate
