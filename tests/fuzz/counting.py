"""Counting work instead of time: how many lines of Python a call runs, the same on every machine and at any load."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_run(call: Callable[[], object]) -> int:
    """How many lines of Python code were run."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


class CountedBytes(bytes):
    """Bytes that count how many of them are copied when they are joined with others; shared by what they become."""

    copied = 0

    def __add__(self, other: bytes) -> "CountedBytes":
        CountedBytes.copied += len(self) + len(other)
        return CountedBytes(bytes(self) + bytes(other))

    def __radd__(self, other: bytes) -> "CountedBytes":
        CountedBytes.copied += len(self) + len(other)
        return CountedBytes(bytes(other) + bytes(self))


def grows_evenly(work: Callable[[int], object], small: int, factor: int = 4) -> bool:
    """Whether `factor` times the input takes at most a third more than `factor` times the lines."""
    few, many = (lines_run(lambda size=size: work(size)) for size in (small, small * factor))  # type: ignore[misc]
    return many <= few * factor * 4 / 3 + 1_000
