"""The pinned cases of the grader's history: for each change, recorded runs that are wrong without it and right with it.

A pin is graded three ways in the tests: under all changes before its own (the verdict must differ from `right`), with
its own added, and under the newest version (both must be `right`).
"""

from functools import cache

from grading.pins.bound import BOUND
from grading.pins.build import Pin, read
from grading.pins.fixed import FIXED
from grading.pins.found import FOUND
from grading.pins.phrased import PHRASED
from grading.pins.second import SECOND

__all__ = ["Pin", "pins_of", "read"]


@cache
def _all() -> dict[str, tuple[Pin, ...]]:
    return {**FIXED, **FOUND, **BOUND, **PHRASED, **SECOND}


def pins_of(change: str) -> tuple[Pin, ...]:
    """The pins of a change. Raises `KeyError` for a change that has none."""
    return _all()[change]
