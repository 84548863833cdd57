"""Whatever text a model gives as arguments, its call can be written down and read back."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from recorder.tools import READS, check_call
from schemas import codec
from schemas.events import ToolCall

texts = st.text(st.characters(exclude_categories=()))
numbers = st.from_regex(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(texts | numbers | values.map(json.dumps) | st.dictionaries(texts, values, max_size=5).map(json.dumps))
@example('{"tail_lines": 1e999}')
@example('{"tail_lines": -' + "9" * 4_300 + "}")
@example('{"tail_lines": ' + "9" * 4_300 + "}")
@example('{"tail_lines": ' + "9" * 5_000 + "}")
@example('{"a": ' + "[" * 977 + "]" * 977 + "}")
def test_any_text_as_arguments_is_written_and_read_back(raw: str) -> None:
    checked = check_call(READS, "get_logs", raw)
    call = ToolCall(
        call=1,
        turn=1,
        iteration=1,
        request=1,
        call_id="",
        tool="get_logs",
        arguments_raw=raw,
        arguments=checked.arguments,
        disposition=checked.disposition,
        problem=checked.problem,
    )
    read: Any = codec.decode(codec.encode(call, 0, 0.0))
    assert read.arguments_raw == raw
    assert same(read.arguments, checked.arguments)
    assert (checked.problem is None) == (checked.disposition == "executed")


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same JSON types."""
    return bool(left == right) and json.dumps(left) == json.dumps(right)
