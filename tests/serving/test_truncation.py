"""The verdict on a silently cut prompt, and what must not be mistaken for one."""

import pytest

from recorder.truncation import Observation, check, observe
from schemas.events import ModelRequest, ModelResponse, Usage


def seen(
    messages: int = 2,
    chars: int = 8_000,
    prompt: int | None = 2_600,
    *,
    first: int = 0,
    output: int | None = 40,
    cached: int | None = None,
    toolset: int = 0,
) -> Observation:
    return Observation(
        request=7,
        messages=tuple(range(first, first + messages)),
        chars=chars,
        body_bytes=chars + 200,
        prompt_tokens=prompt,
        output_tokens=output,
        cached_tokens=cached,
        toolset=toolset,
    )


@pytest.mark.parametrize(
    ("observation", "context", "previous", "verdict", "rule"),
    [
        (seen(chars=20_000, prompt=2_050), 4_096, [], "truncated", "prompt_halved"),
        (seen(chars=70_000, prompt=8_194), 16_384, [], "truncated", "prompt_halved"),
        (seen(chars=900, prompt=2_050), 4_096, [], "truncated", "prompt_halved"),
        (seen(chars=20_000, prompt=4_096), 4_096, [], "truncated", "prompt_fills_context"),
        (seen(chars=20_000, prompt=4_000, output=400), 4_096, [], "truncated", "shifted_while_answering"),
        (seen(chars=60_000, prompt=3_900), 4_096, [], "truncated", "too_few_tokens"),
        (seen(4, chars=16_000, prompt=2_300), 4_096, [seen(2, 11_000, 3_700)], "truncated", "prompt_shrank"),
        (seen(4, chars=16_000, prompt=2_300), None, [seen(2, 11_000, 3_700)], "truncated", "prompt_shrank"),
        (seen(4, chars=16_000, prompt=900, cached=0), None, [seen(2, 11_000, 3_700)], "truncated", "prompt_shrank"),
        (seen(), 4_096, [], "intact", "below_context"),
        (seen(4, chars=9_000, prompt=2_900), 4_096, [seen(2, 8_000, 2_600)], "intact", "below_context"),
        (seen(4, chars=6_400, prompt=2_050), 4_096, [seen(2, 6_000, 1_900)], "intact", "grew_to_half"),
        (seen(prompt=3_000, output=1_097), 4_096, [], "intact", "below_context"),
        (seen(prompt=None), 4_096, [], "unknown", "no_prompt_count"),
        (seen(prompt=0), 4_096, [], "unknown", "no_prompt_count"),
        (seen(), None, [], "unknown", "context_not_known"),
        (seen(chars=22_000, prompt=3_900), 4_096, [], "unknown", "few_tokens"),
        (seen(chars=22_000, prompt=60), 16_384, [], "unknown", "count_without_cache"),
        (seen(4, chars=9_000, prompt=300), 16_384, [seen(2, 8_000, 2_600)], "unknown", "count_without_cache"),
        (seen(4, chars=9_000, prompt=300), None, [seen(2, 8_000, 2_600)], "unknown", "count_without_cache"),
    ],
)
def test_a_count_gives_the_verdict_that_its_evidence_allows(
    observation: Observation, context: int | None, previous: list[Observation], verdict: str, rule: str
) -> None:
    checked = check(observation, context, previous)
    assert (checked.verdict, checked.rule) == (verdict, rule)
    assert (checked.request, checked.prompt_tokens, checked.context_tokens) == (7, observation.prompt_tokens, context)


def test_a_history_that_was_trimmed_by_us_is_not_a_shrunken_prompt() -> None:
    before = seen(messages=8, chars=13_000, prompt=3_900)
    trimmed = seen(messages=6, first=4, chars=9_000, prompt=2_700)
    assert check(trimmed, 4_096, [before]).verdict == "intact"


def test_other_tools_begin_another_conversation() -> None:
    before = seen(messages=2, chars=13_000, prompt=3_900, toolset=0)
    fewer_tools = seen(messages=4, chars=9_000, prompt=2_700, toolset=1)
    assert check(fewer_tools, 4_096, [before]).verdict == "intact"


def test_the_latest_request_that_is_continued_is_the_one_compared_with() -> None:
    first, unrelated = seen(messages=2, chars=11_000, prompt=3_700), seen(messages=2, first=50, prompt=100)
    assert check(seen(4, chars=16_000, prompt=2_300), 4_096, [first, unrelated]).rule == "prompt_shrank"


def event_pair(dialect: str, server_usage: dict[str, object] | None) -> tuple[ModelRequest, ModelResponse]:
    request = ModelRequest(
        request=3,
        turn=1,
        iteration=1,
        attempt=1,
        dialect="ollama" if dialect == "ollama" else "openai",
        method="POST",
        url="http://server",
        stream=True,
        body_sha256="",
        body_bytes=500,
        messages=((0, 1), (4, 4)),
        toolset=2,
    )
    response = ModelResponse(
        request=3,
        status=200,
        finish_reason="stop",
        content="",
        duration_s=1.0,
        usage=Usage(input_tokens=99, output_tokens=9),
        server_usage=server_usage,
    )
    return request, response


@pytest.mark.parametrize(
    ("dialect", "usage", "expected"),
    [
        ("ollama", {"prompt_eval_count": 2_050, "eval_count": 5}, (2_050, 5, None)),
        (
            "openai",
            {"usage": {"prompt_tokens": 70, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 60}}},
            (70, 3, 60),
        ),
        ("ollama", {"eval_count": 5}, (None, 5, None)),
        ("openai", None, (None, None, None)),
    ],
)
def test_only_the_servers_own_counts_are_observed(
    dialect: str, usage: dict[str, object] | None, expected: tuple[int | None, int | None, int | None]
) -> None:
    observation = observe(*event_pair(dialect, usage), chars=400)
    assert (observation.prompt_tokens, observation.output_tokens, observation.cached_tokens) == expected
    assert observation.messages == (0, 1, 4)
    assert (observation.toolset, observation.body_bytes, observation.chars) == (2, 500, 400)
