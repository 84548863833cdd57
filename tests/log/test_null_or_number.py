"""The quick look for nulls spares the search for numbers that JSON does not have, and never hides one."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import codec
from schemas.errors import LogError
from schemas.events import ToolCall

PIECES = [
    "",
    "null",
    ":null",
    '":null',
    '\\":null',
    '\\\\":null',
    '"',
    "\\",
    '\\"',
    "[null",
    ",null",
    "a",
    "\ufdd0",
    "\ud800",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
NUMBERS = st.sampled_from([1.5, 0.0, 10**30, math.nan, math.inf, -math.inf])
VALUES = st.recursive(
    TEXTS | NUMBERS | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def has_no_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(has_no_number, value.values()))
    if isinstance(value, list):
        return any(map(has_no_number, value))
    return isinstance(value, float) and not math.isfinite(value)


@given(arguments=st.dictionaries(TEXTS, VALUES, max_size=3), raw=TEXTS)
def test_an_event_is_refused_exactly_if_it_holds_a_number_that_json_has_not(
    arguments: dict[str, Any], raw: str
) -> None:
    event = ToolCall(
        call=1, turn=1, iteration=1, request=1, call_id=raw, tool="t", arguments_raw=raw, arguments=arguments,
        disposition="executed",
    )  # fmt: skip
    if has_no_number(arguments):
        with pytest.raises(LogError, match="JSON has no such number"):
            codec.encode(event, 0, 0.0)
    else:
        read = codec.decode(codec.encode(event, 0, 0.0))
        assert isinstance(read, ToolCall)
        assert read.arguments == arguments
