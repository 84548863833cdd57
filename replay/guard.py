"""No network and no other process while grading.

A grader works on the record alone. While the guard is up, the interpreter's own audit events refuse every socket, every
name look-up and every child process, whichever module asks; a grader that swallows the refusal is found out by
`refused`. The hook cannot be removed once set, so it does nothing unless a guard is up.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from schemas.errors import WorkError

_REFUSED_EVENTS = frozenset(
    (
        "socket.__new__",
        "socket.bind",
        "socket.connect",
        "socket.sendto",
        "socket.getaddrinfo",
        "socket.getnameinfo",
        "socket.gethostbyname",
        "socket.gethostbyaddr",
        "subprocess.Popen",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.fork",
        "os.forkpty",
    )
)


class NetworkRefused(WorkError):
    """A grader tried to reach outside of the record (exit 1)."""


class _State:
    """How many guards are up, and what was refused since the first went up."""

    depth = 0
    installed = False
    refused: ClassVar[list[str]] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _State.depth and event in _REFUSED_EVENTS:
        _State.refused.append(event)
        raise NetworkRefused(f"{event} was refused: a grader works on the record alone")


@contextmanager
def no_network() -> Iterator[None]:
    """Within the block every socket, name look-up and child process is refused with `NetworkRefused`."""
    if not _State.installed:
        sys.addaudithook(_hook)
        _State.installed = True
    if not _State.depth:
        _State.refused = []
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1


@contextmanager
def lifted() -> Iterator[None]:
    """Within the block no guard is up: for the moment in which this project starts workers of its own."""
    depth = _State.depth
    _State.depth -= depth
    try:
        yield
    finally:
        _State.depth += depth


def refused() -> str | None:
    """The first thing that was refused under the guard that is or was up last, or None."""
    return _State.refused[0] if _State.refused else None
