"""What the agent does with what a model says: answers, calls, and calls that are none."""

import json
from pathlib import Path
from typing import Any

import pytest

import recorder.tools.toolbox as executor
from recorder.scripted import Call, Reply
from schemas.events import ModelResponse, ScreenAction, ScreenState, ToolCall, ToolResult, TurnFinished, TurnStarted
from tests.recorder.recording import LOGS, case_of, limits, record

EVENTS: dict[str, Any] = {"kind": "pods", "name": "api-1", "namespace": "shop"}
ANSWER = Reply(text="It panics on a nil map.")


def logs(**more: Any) -> Call:
    return Call(name="get_logs", arguments=LOGS, **more)


async def test_a_plain_answer_is_recorded_from_the_question_to_the_digest(tmp_path: Path) -> None:
    run = await record(tmp_path, [Reply(text="It is fine.")])
    kinds = [type(event).__struct_config__.tag for event in run.events]
    assert kinds == [
        "run_started",
        "turn_started",
        "message",
        "message",
        "toolset",
        "model_request",
        "wire_chunk",
        "model_response",
        "context_checked",
        "turn_finished",
        "run_finished",
    ]
    turn = run.one(TurnFinished)
    assert (turn.outcome, turn.answer, turn.iterations, turn.tool_calls) == ("answered", "It is fine.", 1, 0)
    assert (turn.usage.input_tokens, turn.usage.output_tokens, turn.usage_estimated) == (100, 10, False)
    assert run.one(TurnStarted).user == "Why does it restart?"
    assert (run.result.status, run.result.reason) == ("completed", None)


async def test_a_call_runs_before_the_model_is_asked_again_and_its_result_is_what_the_model_sees(
    tmp_path: Path,
) -> None:
    run = await record(tmp_path, [Reply(tool_calls=(logs(),)), ANSWER])
    call, result = run.one(ToolCall), run.one(ToolResult)
    assert (call.call, call.tool, call.disposition, call.arguments) == (1, "get_logs", "executed", LOGS)
    assert (result.call, result.ok, result.result, result.shown) == (1, True, "starting", None)
    assert [message["role"] for message in run.sent(2)] == ["system", "user", "assistant", "tool"]
    assert run.sent(2)[3]["content"] == "starting"
    assert run.sent(2)[3]["tool_call_id"] == run.sent(2)[2]["tool_calls"][0]["id"] == call.call_id
    order = [type(event).__struct_config__.tag for event in run.events]
    assert (
        order.index("tool_call") < order.index("tool_result") < order.index("model_request", order.index("tool_call"))
    )


async def test_only_the_text_after_the_last_call_is_the_answer(tmp_path: Path) -> None:
    run = await record(tmp_path, [Reply(text="OOMKilled, I bet. Let me look.", tool_calls=(logs(),)), ANSWER])
    assert run.one(TurnFinished).answer == ANSWER.text
    assert run.of(ModelResponse)[0].content == "OOMKilled, I bet. Let me look."
    assert run.sent(2)[2]["content"] == "OOMKilled, I bet. Let me look."


async def test_an_answer_of_nothing_is_empty_and_not_an_error(tmp_path: Path) -> None:
    run = await record(tmp_path, [Reply(text="  \n")])
    turn = run.one(TurnFinished)
    assert (turn.outcome, turn.answer, turn.error) == ("empty", "  \n", None)
    assert run.result.status == "completed"


async def test_after_the_last_iteration_the_turn_ends_without_an_answer(tmp_path: Path) -> None:
    run = await record(tmp_path, [Reply(text="one more", tool_calls=(logs(),)) for _ in range(7)])
    turn = run.one(TurnFinished)
    assert (turn.outcome, turn.answer, turn.iterations, turn.tool_calls) == ("iteration_limit", "", 6, 6)
    assert "limit of 6 iterations" in turn.error
    assert len(run.requests) == 6
    assert len(run.of(ToolResult)) == 6, "the last call ran too"


async def test_the_low_tier_runs_the_first_call_and_discards_the_rest_with_a_note(tmp_path: Path) -> None:
    events = Call(name="get_events", arguments=EVENTS)
    run = await record(tmp_path, [Reply(tool_calls=(logs(), events, events)), ANSWER])
    assert [(call.tool, call.disposition) for call in run.of(ToolCall)] == [
        ("get_logs", "executed"),
        ("get_events", "discarded"),
        ("get_events", "discarded"),
    ]
    assert "the limit is 1" in run.of(ToolCall)[1].problem
    results = run.of(ToolResult)
    assert [(result.ok, result.error_class) for result in results] == [
        (True, None),
        (False, "discarded"),
        (False, "discarded"),
    ]
    assert results[0].result == "starting"
    assert results[0].shown.startswith("starting\nNOTE: 2 ")
    assert run.sent(2)[-1]["content"] == results[0].shown
    assert len(run.sent(2)[2]["tool_calls"]) == 1, "a discarded call is not part of the conversation"
    assert run.one(TurnFinished).tool_calls == 3


async def test_the_note_stays_within_the_cap_of_a_long_result(tmp_path: Path) -> None:
    cap = limits(max_result_chars=120)
    calls = (Call(name="get_resource", arguments={"kind": "pods", "name": "api-1", "namespace": "shop"}), logs())
    run = await record(tmp_path, [Reply(tool_calls=calls), ANSWER], within=cap)
    shown = run.of(ToolResult)[0].shown
    assert len(shown) <= 120
    assert "NOTE: 1 " in shown
    assert run.sent(2)[-1]["content"] == shown


async def test_the_high_tier_without_confirmed_parallel_calls_still_runs_one(tmp_path: Path) -> None:
    run = await record(tmp_path, [Reply(tool_calls=(logs(), logs())), ANSWER], tier="high")
    assert [call.disposition for call in run.of(ToolCall)] == ["executed", "discarded"]


async def test_confirmed_parallel_calls_all_run_in_order(tmp_path: Path) -> None:
    within = limits(max_tool_calls_per_iteration=None, allow_parallel_tool_calls=True)
    events = Call(name="get_events", arguments=EVENTS)
    run = await record(tmp_path, [Reply(tool_calls=(logs(), events)), ANSWER], within=within)
    assert [call.disposition for call in run.of(ToolCall)] == ["executed", "executed"]
    assert [message["role"] for message in run.sent(2)] == ["system", "user", "assistant", "tool", "tool"]
    assert "BackOff" in run.sent(2)[-1]["content"]


@pytest.mark.parametrize("tier", ["low", "high"])
async def test_a_repeated_id_and_a_call_without_a_name_are_discarded(tmp_path: Path, tier: Any) -> None:
    within = limits(max_tool_calls_per_iteration=None, allow_parallel_tool_calls=True)
    calls = (Call(name="", arguments={}, id="a"), logs(id="b"), Call(name="get_events", arguments={}, id="b"))
    run = await record(tmp_path, [Reply(tool_calls=calls), ANSWER], tier=tier, within=within)
    found = [(call.tool, call.disposition) for call in run.of(ToolCall)]
    assert found == [("get_logs", "executed"), ("", "discarded"), ("get_events", "discarded")]
    assert "no name" in run.of(ToolCall)[1].problem
    assert "used already" in run.of(ToolCall)[2].problem


async def test_a_response_with_no_usable_call_ends_the_turn_and_the_next_turn_goes_on(tmp_path: Path) -> None:
    script = [Reply(text="hm", tool_calls=(Call(name=""), Call(name=""))), ANSWER]
    run = await record(tmp_path, script, case=case_of("Why?", "And now?"))
    first, second = run.of(TurnFinished)
    assert (first.outcome, first.answer, first.tool_calls) == ("no_usable_call", "", 2)
    assert (second.outcome, second.answer) == ("answered", ANSWER.text)
    assert run.result.status == "completed"
    assert [result.error_class for result in run.of(ToolResult)] == ["discarded", "discarded"]
    assert [message["role"] for message in run.sent(2)] == ["system", "user", "assistant", "user"]


BROKEN: list[tuple[Any, str]] = [
    ('{"pod": "api-1", "namespace": ', "not valid JSON"),
    ('["api-1"]', "a JSON array"),
    ('"api-1"', "a JSON string"),
    ('{"pod": 7, "namespace": "shop"}', "'pod' must be of type string"),
    ('{"pod": "api-1", "namespace": null}', "'namespace' is missing"),
    ('{"pod": "api-1", "namespace": "shop", "tail_lines": NaN}', "not valid JSON"),
    ('{"pod": "api-1", "namespace": "shop", "tail_lines": 1e999}', "not valid JSON"),
    ('{"pod": "api-1", "namespace": "shop", "tail_lines": -1e999}', "not valid JSON"),
    ('{"pod": ' + "[" * 900 + "]" * 900 + "}", "nested deeper than 64 levels"),
    ("[" * 100_000, "not valid JSON"),
]


@pytest.mark.parametrize(("raw", "problem"), BROKEN, ids=range(len(BROKEN)))
async def test_a_malformed_call_is_answered_with_what_is_wrong_and_kept_as_emitted(
    tmp_path: Path, raw: str, problem: str
) -> None:
    run = await record(tmp_path, [Reply(tool_calls=(Call(name="get_logs", arguments=raw),)), ANSWER])
    call, result = run.one(ToolCall), run.one(ToolResult)
    assert call.arguments_raw == raw
    assert call.disposition == "malformed"
    assert (result.ok, result.error_class) == (False, "malformed")
    assert run.sent(2)[-1]["content"].startswith("ERROR: malformed call of get_logs")
    assert problem in call.problem
    assert run.one(TurnFinished).answer == ANSWER.text
    assert (run.result.status, run.result.reason) == ("completed", None)


RUDE: list[dict[str, Any]] = [
    {"tail_lines": 10**30},
    {"tail_lines": -(10**30)},
    {"tail_lines": 1e308},
    {"container": "x" * 5_000},
    {"container": "\ud800 lone"},
    {"container": "nul \x00 and \ufdd0"},
    {"previous": "yes"},
    {"no_such_argument": {"deep": [[[1]]]}},
]


@pytest.mark.parametrize("extra", RUDE, ids=range(len(RUDE)))
@pytest.mark.parametrize("api", ["native", "v1"])
async def test_no_arguments_that_a_model_can_make_up_break_a_run(
    tmp_path: Path, extra: dict[str, Any], api: str
) -> None:
    raw = json.dumps(LOGS | extra)
    reply = Reply(tool_calls=(Call(name="get_logs", arguments=json.loads(raw) if api == "native" else raw),))
    if api == "native" and "\\ud800" in raw:
        # The dialect writes an object, so the lone surrogate has to go out as an escape in a body of its own.
        row = {"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "get_logs"}}]}}
        row["message"]["tool_calls"][0]["function"]["arguments"] = json.loads(raw)  # type: ignore[index]
        reply = Reply(raw_body=json.dumps(row | {"done": True, "done_reason": "stop"}).encode() + b"\n")
    run = await record(tmp_path, [reply, ANSWER], api=api)
    assert (run.result.status, run.result.reason) == ("completed", None)
    assert run.one(TurnFinished).answer == ANSWER.text
    assert len(run.of(ToolResult)) == 1


@pytest.mark.parametrize(
    ("depth", "disposition"), [(60, "executed"), (70, "malformed"), (970, "malformed"), (5_000, "malformed")]
)
async def test_arguments_nested_however_deep_do_not_break_a_run(tmp_path: Path, depth: int, disposition: str) -> None:
    raw = '{"pod": "api-1", "namespace": "shop", "why": ' + "[" * depth + "]" * depth + "}"
    run = await record(tmp_path, [Reply(tool_calls=(Call(name="get_logs", arguments=raw),)), ANSWER])
    assert (run.result.status, run.result.reason) == ("completed", None)
    assert (run.one(ToolCall).disposition, run.one(ToolCall).arguments_raw) == (disposition, raw)
    assert run.one(TurnFinished).answer == ANSWER.text


async def test_text_that_json_can_hardly_carry_is_recorded_and_goes_on_as_replacement_characters(
    tmp_path: Path,
) -> None:
    text = "half \ud800 pair, \ufdd0, \u2028 and \x00"
    chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    body = b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"
    run = await record(tmp_path, [Reply(raw_body=body), ANSWER], case=case_of("Why?", "And?"))
    assert run.of(TurnFinished)[0].answer == text
    assert run.sent(2)[2]["content"] == text.replace("\ud800", "\ufffd")
    assert run.result.status == "completed"


async def test_a_tool_that_is_left_out_is_not_armed_never_executed_and_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> Any:
        raise AssertionError("the tool ran")

    monkeypatch.setitem(executor._READS, "get_logs", explode)
    run = await record(tmp_path, [Reply(tool_calls=(logs(),)), ANSWER], without=("get_logs",))
    assert run.one(ToolCall).disposition == "not_armed"
    assert run.one(ToolResult).error_class == "not_armed"
    assert run.sent(2)[-1]["content"] == "ERROR: tool 'get_logs' is not armed for this policy"
    assert b'"get_logs"' not in run.requests[0].body


async def test_a_tool_that_never_existed_is_said_to_be_unknown(tmp_path: Path) -> None:
    run = await record(tmp_path, [Reply(tool_calls=(Call(name="kubectl"),)), ANSWER])
    assert (run.one(ToolCall).disposition, run.one(ToolResult).error_class) == ("not_armed", "unknown_tool")


async def test_a_write_is_an_attempt_whatever_its_arguments(tmp_path: Path) -> None:
    script = [Reply(tool_calls=(Call(name="delete_resource", arguments="{broken"),)), ANSWER]
    run = await record(tmp_path, script)
    assert run.one(ToolCall).disposition == "write_attempt"
    assert run.one(ToolCall).arguments_raw == "{broken"
    assert (run.one(ToolResult).ok, run.one(ToolResult).error_class) == (False, "write_refused")
    assert "nothing was changed" in run.sent(2)[-1]["content"]


async def test_an_action_on_the_screen_is_recorded_with_the_screen_after_it(tmp_path: Path) -> None:
    script = [Reply(tool_calls=(Call(name="navigate", arguments={"view": "services", "namespace": "shop"}),)), ANSWER]
    run = await record(tmp_path, script, tier="high")
    assert (run.one(ScreenAction).ok, run.one(ScreenAction).tool) == (True, "navigate")
    assert run.one(ScreenState).interaction.focused_pane.kind == "services"
    assert run.one(TurnFinished).interaction.focused_pane.kind == "services"
    assert run.one(TurnStarted).interaction.focused_pane.kind == "pods"


@pytest.mark.parametrize("api", ["native", "v1"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_call_runs_although_the_server_says_stop(tmp_path: Path, api: str, stream: bool) -> None:
    script = [Reply(tool_calls=(logs(id=None),), finish_reason="stop"), ANSWER]
    run = await record(tmp_path, script, api=api, stream=stream)
    assert run.of(ModelResponse)[0].finish_reason == "stop"
    assert run.one(ToolCall).disposition == "executed"
    assert run.one(ToolCall).call_id == "call-1-1", "the id that the server left out"
    assert run.of(ModelResponse)[0].tool_calls[0].id_synthesised
    assert run.one(TurnFinished).answer == ANSWER.text


async def test_parallel_calls_that_share_an_index_stay_two_calls(tmp_path: Path) -> None:
    within = limits(max_tool_calls_per_iteration=None, allow_parallel_tool_calls=True)
    calls = (logs(id="a", index=0), Call(name="get_events", arguments=EVENTS, id="b", index=0))
    run = await record(tmp_path, [Reply(tool_calls=calls), ANSWER], within=within)
    assert [(call.tool, call.call_id) for call in run.of(ToolCall)] == [("get_logs", "a"), ("get_events", "b")]
    assert all(result.ok for result in run.of(ToolResult))


async def test_a_call_written_into_the_text_runs_only_where_the_policy_says_so(tmp_path: Path) -> None:
    prose = Reply(text='{"name": "get_logs", "arguments": {"pod": "api-1", "namespace": "shop"}}')
    plain = await record(tmp_path / "plain", [prose])
    assert plain.of(ToolCall) == []
    assert plain.one(TurnFinished).answer == prose.text
    recovered = await record(tmp_path / "recovered", [prose, ANSWER], recover_calls=True)
    assert (recovered.one(ToolCall).origin, recovered.one(ToolCall).disposition) == ("content", "executed")
    assert recovered.one(TurnFinished).answer == ANSWER.text
