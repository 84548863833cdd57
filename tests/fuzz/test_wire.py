"""The wire parser takes any bytes a server can send, in any pieces, and says the same of them however they are cut."""

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.transport.calls import CallAssembly, calls_in_content
from recorder.transport.thinking import ThinkSplitter
from recorder.transport.wire import WireReader
from tests.fuzz.counting import CountedBytes, grows_evenly

FRAMINGS = st.sampled_from([("openai", "sse"), ("openai", "document"), ("ollama", "lines"), ("ollama", "document")])
WORDS = st.sampled_from(
    [
        "data: ",
        "\n",
        "\r\n",
        "\n\n",
        "[DONE]",
        "{",
        "}",
        '{"choices":[{"delta":{"content":"x"}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":{}}}]},"finish_reason":"stop"}]}',
        '{"message":{"content":"<think>","tool_calls":[{"function":{"name":1,"arguments":[]}}]},"done":true}',
        '{"error":{"message":null}}',
        '{"choices":[null]}',
        '{"usage":[1]}',
        "<think>",
        "</think>",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
        "\u2028",
        "1e999",
        "NaN",
        '"\\ud800"',
        "[" * 60,
    ]
)
BODIES = st.one_of(
    st.binary(max_size=400),
    st.lists(WORDS, max_size=20).map(lambda words: "".join(words).encode()),
    st.lists(WORDS, max_size=8).map(lambda words: "".join(f"data: {word}\n\n" for word in words).encode()),
)


def read(body: bytes, framing: tuple[str, str], cuts: list[int]) -> WireReader:
    """A reader that got the body in these pieces."""
    reader = WireReader(*framing)  # type: ignore[arg-type]
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    shown = "".join(reader.feed(body[a:b], 0.1) for a, b in pairwise(places)) + reader.finish(1.0)
    assert isinstance(shown, str)
    return reader


@settings(max_examples=150)
@given(BODIES, FRAMINGS, st.lists(st.integers(0, 1_000), max_size=6))
def test_no_body_raises_and_how_it_was_cut_does_not_matter(
    body: bytes, framing: tuple[str, str], cuts: list[int]
) -> None:
    whole, cut = read(body, framing, []), read(body, framing, cuts)
    for name in ("content", "reasoning", "finish_reason", "complete", "problem", "error", "server_usage"):
        assert getattr(whole, name) == getattr(cut, name), name
    assert whole.calls.emitted(1) == cut.calls.emitted(1)


def test_a_long_line_in_small_pieces_is_not_copied_with_every_piece() -> None:
    for framing in (("openai", "sse"), ("openai", "document"), ("ollama", "lines")):
        reader = WireReader(*framing)  # type: ignore[arg-type]
        CountedBytes.copied = 0
        for _ in range(2_000):
            reader.feed(CountedBytes(b"x" * 10), 0.1)
        reader.finish(1.0)
        assert CountedBytes.copied <= 2 * 20_000


def test_many_think_tags_in_one_piece_cost_no_more_than_their_number() -> None:
    assert grows_evenly(lambda size: ThinkSplitter().feed("<think>a</think>b" * size), 100)


def test_many_calls_in_a_stream_cost_no_more_than_their_number() -> None:
    def stream(size: int) -> None:
        calls = CallAssembly()
        for number in range(size):
            calls.fragments([{"index": 0, "id": f"id-{number}", "function": {"name": "f", "arguments": "{}"}}])
            calls.fragments([{"index": number, "function": {"name": "g", "arguments": "{"}}])

    assert grows_evenly(stream, 100)


def test_a_name_repeated_with_every_fragment_still_gives_one_call() -> None:
    calls = CallAssembly()
    text = json.dumps({"namespace": "shop", "names": ["a", "b"]})
    for character in text:
        calls.fragments([{"index": 0, "function": {"name": "f", "arguments": character}}])
    (call,) = calls.emitted(1)
    assert call.arguments == text


def test_a_whole_call_and_then_its_name_again_are_two_calls_blanks_or_not() -> None:
    calls = CallAssembly()
    for arguments in ('{"a":1}', " \n", '{"b":2}'):
        calls.fragments([{"index": 0, "function": {"name": "f", "arguments": arguments}}])
    assert [call.arguments for call in calls.emitted(1)] == ['{"a":1}', ' \n{"b":2}']


@settings(max_examples=60)
@given(st.text(alphabet='{}[]":, nameargutsx\n1', max_size=300))
def test_calls_in_any_prose_are_found_or_not_and_nothing_raises(text: str) -> None:
    for call in calls_in_content(text, {"name"}):
        assert call.name == "name"
