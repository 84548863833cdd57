"""The history of the claims grader: an ordered list of named changes, told in `changes_fixed` and `changes_found`.

Version 1 applies none of them: it is the grammar before the first recorded fix. Version N applies the first N - 1, so
the newest version is one more than there are changes. A new change is appended, never inserted; a change that was
released is never edited, because a verdict under an old version must stay what it was. Each change has pinned cases in
`grading.pins` that are wrong without it and right with it.
"""

from collections.abc import Sequence
from functools import lru_cache

from grading.change import Change
from grading.changes_fixed import FIXED
from grading.changes_found import FOUND
from grading.rules import Rules
from schemas.errors import UsageError

__all__ = ["CHANGES", "LATEST", "Change", "changes_of", "in_order", "rules_of"]

CHANGES: tuple[Change, ...] = (*FIXED, *FOUND)

LATEST = len(CHANGES) + 1
"""The newest version."""

_BY_ID = {change.id: change for change in CHANGES}


def changes_of(version: int) -> tuple[str, ...]:
    """The ids of the changes that a version applies, in order. Raises `UsageError` if there is no such version."""
    if not 1 <= version <= LATEST:
        raise UsageError(f"claims@{version}: there is no such version; give one from 1 to {LATEST}")
    return tuple(change.id for change in CHANGES[: version - 1])


def rules_of(version: int | None = None, changes: frozenset[str] | None = None) -> Rules:
    """The rules of a version (the newest by default) or of exactly the named changes. Raises `UsageError`."""
    if version is not None and changes is not None:
        raise UsageError("give a version of the claims grader or a set of changes, not both")
    return _rules(changes) if changes is not None else _rules_at(LATEST if version is None else version)


def in_order(changes: frozenset[str]) -> tuple[Change, ...]:
    """The named changes in the order of the history. Raises `UsageError` for an unknown one."""
    _refuse_unknown(changes)
    return tuple(change for change in CHANGES if change.id in changes)


def _refuse_unknown(changes: frozenset[str]) -> None:
    unknown: Sequence[str] = sorted(changes - _BY_ID.keys())
    if unknown:
        raise UsageError(f"no such change of the claims grader: {', '.join(unknown)}; known are {', '.join(_BY_ID)}")


@lru_cache(maxsize=256)
def _rules_at(version: int) -> Rules:
    return _rules(frozenset(changes_of(version)))


@lru_cache(maxsize=256)
def _rules(changes: frozenset[str]) -> Rules:
    _refuse_unknown(changes)
    return Rules(**{_BY_ID[name].switch: True for name in changes})
