"""JSON of strangers: read within a depth, and taken for a table or a list only where it is one. Pure.

What a foreign file says in another shape than its format has counts as not said. Free-form values are copied into logs,
so nothing may be nested deeper than every reader of a log can follow.
"""

import math
from typing import Annotated, Any

import msgspec

from schemas.codec import parse_json

MAX_DEPTH = 200
"""Levels of lists and tables within each other; those of published results and of Inspect have about ten."""

MAX_COUNT = 2**53
"""A larger number is no count of anything, and not every reader of JSON keeps it as it is."""
MAX_SECONDS = 1e9
"""Some thirty years."""

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=MAX_SECONDS)]


def read_json(data: bytes | str) -> Any:
    """The value in `data`; lone surrogates stay as they are. Raises `ValueError` saying why it is none to import."""
    try:
        value = parse_json(data)
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels") from None
    level, depth = [value], 0
    while level := [item for part in level for item in _items(part)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    return value


def table(value: Any) -> dict[str, Any]:
    """`value` if it is a table, else an empty one."""
    return value if isinstance(value, dict) else {}


def tables(value: Any) -> list[dict[str, Any]]:
    """The tables of a list; none if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(value: Any) -> tuple[str, ...]:
    """The texts of a list; none if it is no list."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def count(value: Any) -> int | None:
    """`value` if it is a count, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT else None


def seconds(value: Any) -> float:
    """A duration; nothing or less than nothing is 0. Raises `ValueError` or `TypeError` if it is none."""
    try:
        found = float(value or 0.0)
    except OverflowError:
        found = math.inf
    if math.isnan(found) or found > MAX_SECONDS:
        raise ValueError(f"{found} is no duration in seconds")
    return max(0.0, found)


def _items(value: Any) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict | list)]
