"""The chat template: one form of a call, and a prefix that never changes."""

from itertools import pairwise
from typing import Any

import jinja2
import jinja2.sandbox
import pytest

from recorder.embedded.catalogue import TEMPLATE

TOOLS = [{"type": "function", "function": {"name": "get_logs", "description": "Logs.", "parameters": {}}}]
SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Why?"}
ANSWER = {"role": "assistant", "content": "Because."}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "line 1\nline 2"}


def call(arguments: Any, content: str | None = None) -> dict[str, Any]:
    function = {"name": "get_logs", "arguments": arguments}
    return {"role": "assistant", "content": content, "tool_calls": [{"type": "function", "function": function}]}


def render(messages: list[dict[str, Any]], tools: Any = None, prompt: bool = False) -> str:
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(messages=messages, tools=tools, add_generation_prompt=prompt)


def test_turns_are_chatml_and_the_prompt_ends_where_the_model_goes_on() -> None:
    assert render([SYSTEM, USER, ANSWER, USER], prompt=True) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n"
        "<|im_start|>assistant\nBecause.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("arguments", ['{"pod": "a"}', {"pod": "a"}])
def test_an_earlier_call_has_the_form_that_the_instruction_shows(arguments: Any) -> None:
    text = render([SYSTEM, USER, call(arguments)], TOOLS)
    assert text.endswith(
        '<|im_start|>assistant\n<tools>\n{"name": "get_logs", "arguments": {"pod": "a"}}\n</tools><|im_end|>\n'
    )
    assert '<tools>\n{"name": "inspect_box", "arguments": {"name": "box-7", "room": "cellar"}}\n</tools>' in text


def test_words_before_a_call_stay_before_it() -> None:
    assert "<|im_start|>assistant\nI look.\n<tools>\n" in render([SYSTEM, USER, call("{}", "I look.")], TOOLS)


def test_results_that_follow_each_other_share_one_user_turn() -> None:
    text = render([SYSTEM, USER, call("{}"), RESULT, RESULT], TOOLS)
    turn = text.rsplit("<|im_start|>user\n", 1)[1]
    assert turn.startswith("<tool_response>\nline 1\nline 2\n</tool_response>\n<tool_response>\n")
    assert turn.count("</tool_response>") == 2


def test_each_tool_is_one_line_of_json_in_the_system_message() -> None:
    system = render([SYSTEM, USER], [*TOOLS, *TOOLS]).split("<|im_end|>")[0]
    lines = [line for line in system.splitlines() if line.startswith('{"type": "function"')]
    assert len(lines) == 2


def test_without_tools_nothing_is_said_of_them() -> None:
    assert "<tools>" not in render([SYSTEM, USER])


def test_a_longer_conversation_begins_with_the_shorter_one() -> None:
    whole = [SYSTEM, USER, call("{}"), RESULT, call('{"pod": "b"}'), RESULT, ANSWER, USER]
    texts = [render(whole[:size], TOOLS) for size in range(2, len(whole) + 1)]
    assert all(longer.startswith(shorter) for shorter, longer in pairwise(texts))
