"""JSON documents changed by a list of numbers: what a fuzzer draws decides where and how, so that both kinds of fuzzer
share the changes.

Three numbers are one change: the place, the kind of change, and what is put there. Sound documents are made hostile in
one spot or in several and stay documents of nearly the right shape, which random text never is.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

Place = tuple[Any, Any]
"""A container and the key or index of one of its items."""

_DEEP = "<nested without end>"
_DEEP_JSON = json.dumps(_DEEP).encode()

HOSTILE: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    1.5,
    10**18,
    10**30,
    -(10**30),
    10**4200,
    1e308,
    -1e308,
    5e-324,
    float("inf"),
    float("nan"),
    "",
    " ",
    "x" * 300,
    "../../etc/passwd",
    "/etc/passwd",
    "a\nb",
    "a\0b",
    "\x1b[31m",
    "'; DROP TABLE runs; --",
    '"',
    "|`<script>*",
    "half \ud83d",
    "\ufdd0",
    "\ufdd0zzzz",
    "漢" * 90,
    "nan",
    "inf",
    "1e999",
    "9" * 5_000,
    "C",
    "I",
    "attachment://abc",
    "2026-08-01T10:00:00",
    "9999-12-31T23:59:59-14:00",
    "iteration limit reached",
    _DEEP,
    [],
    {},
    [[]],
    [None],
    ["x"],
    [1, 2],
    {"": {}},
    {"type": "text", "text": [{"type": "text", "text": "x"}]},
    {"korvid": {"turns": [{}]}},
    [0] * 2_000,
)


def mutated(document: Any, numbers: Sequence[int]) -> bytes:
    """`document` as JSON after the changes that `numbers` say; NaN and infinities as Python writes them."""
    changed = [copy.deepcopy(document)]
    for where, how, what in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=False):
        places = list(_places(changed))
        _change(places, places[where % len(places)], how, what)
    return json.dumps(changed[0]).encode().replace(_DEEP_JSON, b"[" * 3_000 + b"]" * 3_000)


def _places(value: Any) -> Iterator[Place]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from _places(item)


def _change(places: list[Place], place: Place, how: int, what: int) -> None:
    container, key = place
    hostile = copy.deepcopy(HOSTILE[what % len(HOSTILE)])
    match how % 8:
        case 0 if len(places) > 1 and place is not places[0]:
            del container[key]
        case 1:
            container[key] = [container[key]]
        case 2 if isinstance(container, dict):
            container[hostile if isinstance(hostile, str) else f"new {what}"] = container.pop(key)
        case 2 | 3 if isinstance(container, list) and place is not places[0]:
            container.insert(key, copy.deepcopy(container[key]))
        case 4:
            other, other_key = places[what % len(places)]
            container[key] = copy.deepcopy(other[other_key])
        case _:
            container[key] = hostile
