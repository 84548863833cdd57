"""Sums of counts of which some are not known."""

from collections.abc import Iterable


def total(counts: Iterable[int | None]) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
