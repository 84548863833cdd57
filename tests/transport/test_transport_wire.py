import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.scripted import Call, Reply, dialects
from recorder.transport import calls_in_content
from recorder.transport.calls import CallAssembly
from recorder.transport.thinking import ThinkSplitter
from recorder.transport.wire import WireReader, framing_of

replies = st.builds(
    Reply,
    text=st.text(st.characters(codec="utf-8"), max_size=40).map(lambda text: text.replace("<", "(")),
    thinking=st.text(st.characters(codec="utf-8"), max_size=20),
    tool_calls=st.lists(
        st.builds(
            Call,
            name=st.sampled_from(["get_logs", "get_events"]),
            arguments=st.sampled_from([{}, {"a": "ü"}, "", "{broken", '{"a": 1}']),
            id=st.none() | st.sampled_from(["auto"]),
            index=st.none(),
        ),
        max_size=3,
    ).map(tuple),
)


def read(dialect, body, cuts, framing=None):
    reader = WireReader(dialect, framing or ("sse" if dialect == "openai" else "lines"))
    edges = [0, *sorted(cuts), len(body)]
    shown = "".join(reader.feed(body[a:b], 0.1) for a, b in pairwise(edges))
    return reader, shown + reader.finish(0.2)


@given(replies, st.lists(st.integers(0, 400), max_size=8), st.sampled_from(["ollama", "openai"]))
def test_an_answer_does_not_depend_on_how_its_bytes_were_cut(reply, cuts, dialect):
    lines = dialects.ollama_stream(reply, "m") if dialect == "ollama" else dialects.openai_stream(reply, "m", 1)
    body = b"".join(lines)
    reader, shown = read(dialect, body, [cut for cut in cuts if cut <= len(body)])
    assert reader.problem is None
    assert reader.complete
    assert reader.content == shown == reply.text
    assert (reader.reasoning or "") == reply.thinking
    emitted = reader.calls.emitted(1)
    assert [call.name for call in emitted] == [call.name for call in reply.tool_calls]
    for call, said in zip(emitted, reply.tool_calls, strict=True):
        sent = said.arguments
        assert call.arguments == sent or json.loads(call.arguments) == sent


def openai_stream(*deltas):
    """The deltas of one choice, in escapes of ASCII as some servers write them, without a finish reason."""
    lines = (json.dumps({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas)
    return "".join(f"data: {line}\n\n" for line in lines).encode() + b"data: [DONE]\n\n"


def test_the_halves_of_a_character_in_two_pieces_are_one_character():
    def called(arguments, **more):
        return {"tool_calls": [{"index": 0, "function": {"arguments": arguments, **more}}]}

    crab = "\N{CRAB}".encode("utf-16-be", "surrogatepass")
    high, low = (crab[at : at + 2].decode("utf-16-be", "surrogatepass") for at in (0, 2))
    pieces = (
        {"content": f"a{high}"},
        {"content": f"{low}b{high}"},
        called(f'{{"pod": "{high}', name="get_logs"),
        called(f'{low}"}}'),
    )
    reader, _ = read("openai", openai_stream(*pieces), [])
    assert reader.content == f"a\N{CRAB}b{high}"
    assert reader.calls.emitted(1)[0].arguments == '{"pod": "\N{CRAB}"}'


@pytest.mark.parametrize("before", [b"", b'data: {"choices":null}\n\n', b'data: {"choices":[],"usage":{}}\n\n'])
def test_a_stream_that_holds_no_answer_is_no_empty_answer(before):
    reader, _ = read("openai", before + b"data: [DONE]\n\n", [])
    assert reader.problem == "the stream ended and held no answer"
    assert read("openai", openai_stream({"content": ""}), [])[0].problem is None


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "</", "a", " b", "\n", "think>"]), max_size=12))
def test_thinking_is_told_apart_the_same_way_however_the_text_is_cut(pieces):
    text = "".join(pieces)
    results = []
    for cut in (pieces, list(text), [text]):
        splitter = ThinkSplitter()
        for piece in cut:
            splitter.feed(piece)
        splitter.finish()
        results.append((splitter.visible, splitter.thinking))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    ("text", "visible", "thinking"),
    [
        ("<think>because</think>\n\nOOMKilled", "OOMKilled", "because"),
        ("because</think>OOMKilled", "OOMKilled", "because"),
        ("<think>never closed", "", "never closed"),
        ("a < b and </ c", "a < b and </ c", ""),
        ("first <think>x</think>second", "first second", "x"),
    ],
)
def test_only_text_outside_of_think_tags_is_visible(text, visible, thinking):
    splitter = ThinkSplitter()
    shown = "".join(splitter.feed(character) for character in text) + splitter.finish()
    assert (splitter.visible, splitter.thinking) == (visible, thinking)
    assert shown.endswith(visible)


def delta(index=0, call_id=None, name=None, arguments=None):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    entry = {"index": index, "function": function}
    return entry if call_id is None else {**entry, "id": call_id}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([delta(0, "a", "f", "{}"), delta(0, "b", "g", "{}")], [("a", "f", "{}"), ("b", "g", "{}")]),
        ([delta(0, None, "f", "{}"), delta(0, None, "g", "{}")], [("", "f", "{}"), ("", "g", "{}")]),
        ([delta(0, None, "f", "{}"), delta(0, None, "f", "{}")], [("", "f", "{}"), ("", "f", "{}")]),
        ([delta(0, "a", "f", ""), delta(0, None, None, '{"x"'), delta(0, None, None, ":1}")], [("a", "f", '{"x":1}')]),
        ([delta(0, "a", "f", "{"), delta(0, "a", "f", "}")], [("a", "f", "{}")]),
        ([delta(0, "a"), delta(0, None, "f", "{}")], [("a", "f", "{}")]),
        (
            [delta(0, "a", "f", "{"), delta(1, "b", "g", "["), delta(0, None, None, "}"), delta(1, None, None, "]")],
            [("a", "f", "{}"), ("b", "g", "[]")],
        ),
        (
            [delta(0, "a", "f", "{"), delta(0, "b", "f", "["), delta(0, "a", None, "}")],
            [("a", "f", "{}"), ("b", "f", "[")],
        ),
        ([{"id": "a", "function": {"name": "f"}}, {"function": {"arguments": "{}"}}], [("a", "f", "{}")]),
        ([None, "x", {"index": 0}], [("", "", "")]),
    ],
)
def test_fragments_become_the_calls_that_were_meant(entries, expected):
    assembly = CallAssembly()
    for entry in entries:
        assembly.fragments([entry])
    found = [(call.id, call.name, call.arguments) for call in assembly.emitted(7)]
    assert found == [(call_id or f"call-7-{n}", *rest) for n, (call_id, *rest) in enumerate(expected, 1)]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [({"a": 1}, '{"a":1}'), ('{"a": 1}', '{"a": 1}'), ("", ""), (None, ""), ("{broken", "{broken"), ([1], "[1]")],
)
def test_arguments_are_kept_raw_in_every_form(sent, kept):
    assembly = CallAssembly()
    assembly.whole([{"function": {"name": "f", "arguments": sent}}])
    assert assembly.emitted(1)[0].arguments == kept


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'data: {"choices": [}\n\n', "not JSON"),
        (b"data: [1]\n\n", "not a JSON object"),
        (b"<html>\n\n", "no server-sent event"),
        (b'data: {"a": "\xff"}\n\n', "not UTF-8"),
    ],
)
def test_garbage_in_a_stream_is_a_problem_with_an_excerpt(body, problem):
    reader, _ = read("openai", body, [])
    assert problem in reader.problem


def test_comments_other_fields_and_carriage_returns_are_read_as_the_standard_says():
    body = b': ping\r\nevent: x\r\nid: 1\r\ndata: {"choices": [{"delta": {"content": "hi"},\r\n'
    body += b'data: "finish_reason": "stop"}]}\r\n\r\n'
    reader, shown = read("openai", body, [])
    assert (reader.problem, shown, reader.finish_reason) == (None, "hi", "stop")


def test_a_last_event_without_its_blank_line_is_read():
    reader, shown = read("openai", b'data: {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}', [])
    assert (shown, reader.complete) == ("hi", True)


def test_content_as_a_list_of_parts_is_read_as_its_texts():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    body = json.dumps({"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}).encode()
    assert read("openai", body, [], "document")[0].content == "ab"


def test_an_answer_in_one_document_is_read_though_a_stream_was_asked_for():
    assert framing_of("openai", True, "application/json; charset=utf-8") == "document"
    assert framing_of("openai", True, "text/event-stream") == "sse"
    assert framing_of("ollama", True, "application/x-ndjson") == "lines"
    assert framing_of("ollama", False, "application/json") == "document"


def test_calls_written_as_prose_are_found_only_as_objects_that_name_a_known_tool():
    text = (
        'I will call {"name": "get_logs", "arguments": {"pod": "a", "x": {"name": "get_logs", "arguments": {}}}} and '
        '<tool_call>{"function": {"name": "get_events", "parameters": {"n": 1}}}</tool_call> '
        'and {"name": "rm", "arguments": {}} and {"name": "get_logs"} and {broken {"arguments": 1}'
    )
    found = calls_in_content(text, {"get_logs", "get_events"}, request=3)
    assert [(call.id, call.name, json.loads(call.arguments)) for call in found] == [
        ("call-3-1", "get_logs", {"pod": "a", "x": {"name": "get_logs", "arguments": {}}}),
        ("call-3-2", "get_events", {"n": 1}),
    ]
    assert all(call.origin == "content" and call.id_synthesised for call in found)


def test_prose_without_a_call_gives_none():
    assert calls_in_content("Use get_logs with {namespace}.", {"get_logs"}) == ()
