"""Old logs read as new ones: one small pure function per schema version step, one table, one loop.

`schema_version` is independent of the release. A log names its own in `run_started`; every line of it then passes
through the steps from there to `SCHEMA_VERSION`. A newer version is refused.
"""

from collections.abc import Callable
from functools import reduce

import msgspec

from schemas.errors import LogError
from schemas.events import SCHEMA_VERSION

_FIRST = 1

Upcast = Callable[[bytes], bytes]

STEPS: dict[int, Upcast] = {}
"""`STEPS[n]` turns a line of version n into one of version n + 1. Version 1 is the first: no steps yet."""


class _Start(msgspec.Struct):
    type: str
    schema_version: int | None = None


def version_of(first_line: bytes) -> int:
    """The schema version that the first line of a log names. Raises `LogError` if it names none."""
    try:
        start = msgspec.json.decode(first_line, type=_Start)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogError(f"not an event: {error}") from None
    if start.type != "run_started":
        raise LogError("the first event is not run_started")
    if start.schema_version is None:
        raise LogError("run_started names no schema_version")
    return start.schema_version


def for_version(version: int) -> Upcast:
    """The function that brings a line of `version` up to date. Raises `LogError` for an unreadable version."""
    if version > SCHEMA_VERSION:
        raise LogError(
            f"the log has schema_version {version} and this build reads up to {SCHEMA_VERSION}: "
            f"install a korvid-rec that reads version {version}"
        )
    missing = [step for step in range(version, SCHEMA_VERSION) if step not in STEPS]
    if version < _FIRST or missing:
        raise LogError(f"schema_version {version} is not a version that was ever written")
    steps = [STEPS[step] for step in range(version, SCHEMA_VERSION)]
    return lambda line: reduce(lambda current, step: step(current), steps, line)
