import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import codec, events
from schemas.errors import LogError

any_text = st.text(alphabet=st.characters(codec=None, categories=None) | st.characters(categories=["Cs"]), max_size=60)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


@given(any_text, st.integers(0, 10**6), st.floats(0, 1e6))
def test_every_text_survives_a_line_lone_surrogates_and_the_escape_itself_included(
    text: str, seq: int, t: float
) -> None:
    line = codec.encode(events.TurnStarted(turn=1, user=text), seq, t)
    event = codec.decode(line)
    assert isinstance(event, events.TurnStarted)
    assert (event.user, event.seq, event.t) == (text, seq, round(t, 6))


@given(any_text)
def test_a_line_is_strict_json_of_one_line_in_utf_8(text: str) -> None:
    line = codec.encode(events.TurnStarted(turn=1, user=text), 0, 0.0)
    assert line.count(b"\n") == 1
    assert not any("\ud800" <= char <= "\udfff" for char in json.loads(line.decode("utf-8"))["user"])


@given(st.dictionaries(any_text, json_values, max_size=4))
def test_arguments_of_any_shape_survive_a_line(arguments: dict[str, Any]) -> None:
    call = events.ToolCall(
        call=1, turn=1, iteration=1, request=1, call_id="a", tool="x", arguments_raw="", arguments=arguments,
        disposition="executed",
    )  # fmt: skip
    event = codec.decode(codec.encode(call, 3, 1.0))
    assert isinstance(event, events.ToolCall)
    assert event.arguments == arguments


def test_the_envelope_comes_first_and_in_order() -> None:
    line = codec.encode(events.TurnStarted(turn=1, user="hello"), 7, 1.25)
    assert list(json.loads(line)) == ["type", "seq", "t", "turn", "user"]
    assert line.startswith(b'{"type":"turn_started","seq":7,"t":1.25,')


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [1, x], lambda x: {"deep": {"er": [x]}}])
def test_a_number_that_json_has_not_is_refused_with_its_place(number: float, wrap: Any) -> None:
    event = events.ModelResponse(
        request=1, status=200, finish_reason="stop", content="", duration_s=0.1, server_usage={"rate": wrap(number)}
    )
    with pytest.raises(LogError, match=r"model_response\.server_usage\.rate"):
        codec.encode(event, 0, 0.0)


@given(
    st.dictionaries(st.text('a\\":,[]null ', max_size=6), st.none() | st.text('\\":,[null', max_size=9), max_size=3),
    st.text('a\\":', max_size=5),
    st.booleans(),
)
def test_no_key_or_text_beside_it_hides_a_number_that_json_has_not(
    beside: dict[str, Any], key: str, listed: bool
) -> None:
    value = [math.nan] if listed else math.nan
    event = events.ModelResponse(
        request=1,
        status=200,
        finish_reason="stop",
        content='":null',
        duration_s=0.1,
        server_usage={**beside, key: value},
    )
    with pytest.raises(LogError, match="JSON has no such number"):
        codec.encode(event, 0, 0.0)


def test_the_bytes_of_a_message_are_kept_as_they_left() -> None:
    raw = b'{"role": "user",  "content":"caf\\u00e9"}'
    line = codec.encode(events.Message(id=0, message=msgspec.Raw(raw)), 1, 0.0)
    event = codec.decode(line)
    assert isinstance(event, events.Message)
    assert bytes(event.message) == raw
    assert raw in line


def test_an_unknown_event_type_is_passed_on_and_a_broken_known_one_is_refused() -> None:
    assert codec.decode(b'{"type":"from_the_future","seq":4,"t":1.0,"x":1}') == events.Unknown(
        type="from_the_future", seq=4, t=1.0
    )
    with pytest.raises(LogError, match="not a valid turn_started"):
        codec.decode(b'{"type":"turn_started","seq":4,"t":1.0}')
    for line in (b"", b"{", b"[]", b'"x"', b'{"type":"message"', b'{"seq":1,"t":0}', b"\xff\xfe"):
        with pytest.raises(LogError):
            codec.decode(line)


def test_strict_parsing_refuses_nan_and_keeps_a_lone_surrogate() -> None:
    assert codec.parse_json('{"a":"\\ud800"}') == {"a": "\ud800"}
    for text in ("NaN", '{"a":NaN}', "[Infinity]", "", "{", "nope"):
        with pytest.raises(ValueError):  # noqa: PT011
            codec.parse_json(text)
