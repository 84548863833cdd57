"""Which change moved a verdict. Pure: a run, two states of a grader, and the verdict under any state between.

A state is a set of changes, and `rubric` if the newer of two rubrics is used. Of the changes in which two states differ
the one is responsible that moves the verdict by itself; where none does, the smallest set that does.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

from schemas.grades import Cause
from schemas.verdicts import VerdictValue

RUBRIC = "rubric"
"""The pseudo-change that stands for the use of another rubric."""
GRADER = "grader"
"""The pseudo-change that stands for a grader without a history."""

_EXHAUSTIVE_SIZE = 3
"""Sets up to this size are tried exhaustively; of thirty changes some 4,500. Larger ones are found by taking away."""

Grade = Callable[[frozenset[str]], VerdictValue]


def responsible(differing: Sequence[str], base: frozenset[str], wanted: VerdictValue, grade: Grade) -> Cause:
    """The smallest part of `differing` that, switched on top of `base`, gives the verdict `wanted`.

    `differing` is in the order of the history; switching an element means adding or taking it away. All of them
    together must give `wanted`. Among single changes that suffice, the first whose absence at the end also undoes the
    flip is named, and the others are alternatives.
    """
    alone = [change for change in differing if grade(_switched(base, (change,))) == wanted]
    if alone:
        return _single(alone, differing, base, wanted, grade)
    for size in range(2, min(_EXHAUSTIVE_SIZE, len(differing) - 1) + 1):
        for group in combinations(differing, size):
            if grade(_switched(base, group)) == wanted:
                return Cause(changes=group)
    return Cause(changes=_minimal(tuple(differing), base, wanted, grade))


def _single(
    alone: list[str], differing: Sequence[str], base: frozenset[str], wanted: VerdictValue, grade: Grade
) -> Cause:
    chosen = alone[0]
    if len(alone) > 1:
        needed = (
            change
            for change in alone
            if grade(_switched(base, tuple(other for other in differing if other != change))) != wanted
        )
        chosen = next(needed, alone[0])
    return Cause(changes=(chosen,), alternatives=tuple(change for change in alone if change != chosen))


def _minimal(group: tuple[str, ...], base: frozenset[str], wanted: VerdictValue, grade: Grade) -> tuple[str, ...]:
    """A part of `group` from which nothing can be taken away; the newest changes are tried first."""
    for change in reversed(group):
        fewer = tuple(other for other in group if other != change)
        if fewer and grade(_switched(base, fewer)) == wanted:
            group = fewer
    return group


def _switched(base: frozenset[str], group: Sequence[str]) -> frozenset[str]:
    return base ^ frozenset(group)
