import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import LogError
from schemas.requests import Parts, rebuild, split

texts = st.text(st.characters(codec="utf-8", exclude_characters="\ufdd0")) | st.sampled_from(
    ['"messages":null', '"tools": null', '\\"messages\\":null', "😀", "\\ud83d", "null", "\u2028"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts | st.sampled_from(["messages", "tools"]), inner, max_size=3)
    ),
    max_leaves=8,
)
messages = st.lists(st.dictionaries(texts, values, max_size=3), max_size=4)
bodies = st.builds(
    lambda before, asked, tools, after: {**before, "messages": asked, **tools, **after},
    st.dictionaries(texts, values, max_size=2),
    messages,
    st.just({}) | st.builds(lambda t: {"tools": t}, st.none() | st.lists(values, max_size=2)),
    st.dictionaries(texts.filter(lambda key: key not in ("messages", "tools")), values, max_size=2),
)
# httpx and the OpenAI client; LiteLLM's own handlers; a server's usual spelling.
STYLES = [
    {"ensure_ascii": False, "separators": (",", ":")},
    {"ensure_ascii": True, "separators": (", ", ": ")},
    {"ensure_ascii": False, "separators": (", ", ": ")},
    {"ensure_ascii": True, "separators": (",", ":")},
]


@given(bodies, st.sampled_from(STYLES))
def test_a_body_taken_apart_is_put_together_byte_for_byte(body, style):
    raw = json.dumps(body, **style).encode()
    parts = split(raw)
    assert parts is not None
    assert [json.loads(message) for message in parts.messages] == body["messages"]
    assert rebuild(parts.rest, parts.messages, parts.tools, parts.separator) == raw
    rest = json.loads(parts.rest)
    assert rest["messages"] is None
    assert rest.get("tools") is None


@given(st.binary(max_size=200) | texts.map(lambda text: text.encode()))
def test_any_bytes_are_either_taken_apart_exactly_or_refused(raw):
    parts = split(raw)
    assert parts is None or rebuild(parts.rest, parts.messages, parts.tools, parts.separator) == raw


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[{"a":"\\ud83d"}]}',
        b'{"messages":[],"x":"\xef\xb7\x90"}',
        b'{"messages":[\n]}',
        b'{"messages":[],"messages":[]}',
        b'{"messages":[1 ,2]}',
        b'{"messages":[NaN]}',
        b'{"messages":null}',
        b'{"messages":{}}',
        b'{"model":"m"}',
        b'{"messages":[]} x',
        b'{"messages":[],}',
        b'{"messages":["\xff"]}',
        b"[]",
        b"",
        b"{",
        b'{"messages":' + b"[" * 100_000,
    ],
)
def test_a_body_that_could_not_stand_in_one_line_or_be_rebuilt_is_kept_whole(body):
    assert split(body) is None


def test_surrogate_pairs_and_escaped_backslashes_are_no_reason_to_keep_a_body_whole():
    for body in (b'{"messages": ["\\ud83d\\ude00"]}', b'{"messages": ["\\\\ud83d"]}'):
        parts = split(body)
        assert parts is not None
        assert rebuild(parts.rest, parts.messages, parts.tools, parts.separator) == body


def test_names_inside_other_values_are_left_alone():
    body = b'{"options":{"messages":null,"tools":null},"a\\"messages":null,"messages":[1],"tools":[2]}'
    assert split(body) == Parts(
        messages=(b"1",),
        tools=b"[2]",
        rest=b'{"options":{"messages":null,"tools":null},"a\\"messages":null,"messages":null,"tools":null}',
        separator=b",",
    )


def test_a_rest_without_a_place_for_the_parts_is_an_error_that_names_it():
    with pytest.raises(LogError, match="no empty member for messages"):
        rebuild(b'{"messages":[]}', (), None, b",")
    with pytest.raises(LogError, match="no empty member for tools"):
        rebuild(b'{"messages":null}', (), b"[]", b",")
    with pytest.raises(LogError, match="not a JSON object"):
        rebuild(b"nothing", (), None, b",")


@given(bodies, bodies, st.sampled_from(STYLES))
def test_parts_of_an_earlier_body_need_no_second_check_and_change_nothing(first, second, style):
    second = {**second, "messages": first["messages"] + second["messages"]}
    raw, after = (json.dumps(body, **style).encode() for body in (first, second))
    seen = split(raw)
    assert seen is not None
    assert split(after, {*seen.messages, seen.tools}) == split(after)


def test_a_new_part_that_is_no_good_json_keeps_the_body_whole_whatever_is_known():
    body = b'{"messages":[{"a":"x"},{"a":"\\ud83d"}],"tools":[1]}'
    assert split(body, {b'{"a":"x"}', b"[1]"}) is None


def test_the_same_text_at_the_beginning_of_two_members_is_told_apart():
    start = "x" * 100
    body = json.dumps({"prompt": start + "1", "messages": [{"content": start + "2"}], "note": start + "2"}).encode()
    parts = split(body)
    assert parts is not None
    assert rebuild(parts.rest, parts.messages, parts.tools, parts.separator) == body
