"""What becomes of a run when the server, the fixture or a tool fails, and who is charged for it."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

import recorder.tools.toolbox as executor
from recorder.scripted import Call, Reply
from schemas.cases import Cluster
from schemas.events import (
    ContextChecked,
    ModelError,
    ModelRequest,
    ModelResponse,
    ServingChanged,
    ToolCall,
    ToolResult,
    TurnFinished,
)
from tests.recorder.recording import LOGS, Recorded, case_of, record

LOOK = Reply(tool_calls=(Call(name="get_logs", arguments=LOGS),))
ANSWER = Reply(text="It panics on a nil map.")


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


def assert_provider_error(run: Recorded, error_class: str) -> None:
    assert run.result.status == "provider_error"
    assert (run.result.reason or "").startswith(f"{error_class}: ")
    assert run.of(ModelError)[-1].error_class == error_class
    turn = run.of(TurnFinished)[-1]
    assert (turn.outcome, turn.answer) == ("provider_error", "")
    assert turn.error.startswith(f"{error_class}: ")


async def test_a_server_that_is_not_there_is_a_provider_error(tmp_path: Path) -> None:
    run = await record(tmp_path, [], base_url=f"http://127.0.0.1:{closed_port()}/v1")
    assert_provider_error(run, "unreachable")
    assert run.one(ModelRequest).request == 1, "the request is written before it leaves"


@pytest.mark.parametrize("api", ["native", "v1"])
async def test_a_server_error_is_a_provider_error_with_its_status(tmp_path: Path, api: str) -> None:
    run = await record(tmp_path, [LOOK, Reply(status=500, error="the runner crashed")], api=api)
    assert_provider_error(run, "http_status")
    assert (run.one(ModelError).status, run.one(ModelError).request) == (500, 2)
    assert "the runner crashed" in (run.result.reason or "")


@pytest.mark.parametrize("api", ["native", "v1"])
async def test_a_stream_that_is_cut_is_a_provider_error_and_keeps_what_had_come(tmp_path: Path, api: str) -> None:
    words = "one two three four five six seven eight nine ten eleven twelve"
    run = await record(tmp_path, [Reply(text=words, cut_after=900)], api=api)
    assert_provider_error(run, "malformed_stream")
    assert "stream cut" in run.one(ModelError).message
    assert run.one(ModelError).content
    assert words.startswith(run.one(ModelError).content.rstrip())
    assert run.of(ModelResponse) == []


@pytest.mark.parametrize("split", [False, True], ids=["between lines", "within a line"])
async def test_a_server_that_falls_silent_is_a_timeout(tmp_path: Path, never: threading.Event, split: bool) -> None:
    silent = Reply(text="one two three", hold=never, hold_at=250 if split else 2, split_utf8=split)
    run = await record(tmp_path, [silent], timeout_s=0.3)
    assert_provider_error(run, "timeout")


async def test_a_busy_server_is_asked_again_and_both_requests_are_recorded(tmp_path: Path) -> None:
    busy = Reply(status=429, error="busy", headers={"Retry-After": "0"})
    run = await record(tmp_path, [busy, ANSWER])
    assert [(request.request, request.attempt, request.iteration) for request in run.of(ModelRequest)] == [
        (1, 1, 1),
        (2, 2, 1),
    ]
    assert run.one(ModelError).will_retry
    assert (run.result.status, run.one(TurnFinished).outcome) == ("completed", "answered")


async def test_after_a_provider_error_no_further_turn_is_played(tmp_path: Path) -> None:
    run = await record(tmp_path, [Reply(status=500, error="down"), ANSWER], case=case_of("One?", "Two?"))
    assert len(run.of(TurnFinished)) == 1
    assert len(run.requests) == 1


async def test_a_prompt_that_the_server_refuses_as_too_long_is_the_harness_s_fault(tmp_path: Path) -> None:
    refusal = {"error": {"message": "the request exceeds the available context size", "type": "exceed_context_size"}}
    run = await record(tmp_path, [Reply(status=400, error=refusal)])
    assert run.result.status == "harness_invalid"
    assert (run.result.reason or "").startswith("context_overflow: ")
    assert run.one(ModelError).error_class == "context_overflow"


@pytest.mark.parametrize("api", ["native", "v1"])
async def test_a_500_over_the_model_s_own_call_is_a_malformed_call_of_a_completed_run(tmp_path: Path, api: str) -> None:
    error = 'error parsing tool call: raw=\'{"pod": "api-1\' err=unexpected end of JSON input'
    run = await record(tmp_path, [Reply(status=500, error=error)], api=api)
    assert run.one(ModelError).error_class == "malformed_call"
    call = run.one(ToolCall)
    assert (call.disposition, call.tool, call.arguments) == ("malformed", "", None)
    assert "unexpected end of JSON input" in call.problem
    assert (run.one(TurnFinished).outcome, run.one(TurnFinished).tool_calls) == ("no_usable_call", 1)
    assert (run.result.status, run.result.reason) == ("completed", None)


async def test_tokens_that_the_server_does_not_count_are_estimated_and_said_to_be(tmp_path: Path) -> None:
    run = await record(tmp_path, [Reply(text="x" * 400, prompt_tokens=None, output_tokens=None)])
    turn = run.one(TurnFinished)
    assert run.one(ModelResponse).usage is None
    assert turn.usage_estimated
    assert turn.usage.output_tokens == 100
    body = len(run.requests[0].body)
    assert 0.8 * body / 4 < turn.usage.input_tokens <= body / 4


async def test_a_request_that_left_and_came_to_nothing_is_charged_as_an_estimate(tmp_path: Path) -> None:
    run = await record(tmp_path, [LOOK, Reply(text="a" * 800, cut_after=1_200)])
    turn = run.one(TurnFinished)
    assert turn.usage_estimated
    assert turn.usage.input_tokens > 100 + len(run.requests[1].body) / 5
    assert turn.usage.output_tokens > 10


async def test_a_prompt_that_the_server_halved_invalidates_the_run(tmp_path: Path) -> None:
    run = await record(tmp_path, [Reply(text="It is fine.", prompt_tokens=2_050)], context_tokens=4_096)
    checked = run.one(ContextChecked)
    assert (checked.verdict, checked.rule) == ("truncated", "prompt_halved")
    assert (checked.prompt_tokens, checked.context_tokens) == (2_050, 4_096)
    assert (run.result.status, run.result.reason) == ("harness_invalid", "context_truncated")
    assert run.one(TurnFinished).answer == "It is fine.", "what was said is kept"


async def test_an_engine_that_changed_invalidates_the_run_and_says_what_changed(tmp_path: Path) -> None:
    async def changes() -> tuple[str, ...]:
        return ("context_length changed from 4096 to 2048",)

    run = await record(tmp_path, [ANSWER], serving_changes=changes)
    assert run.one(ServingChanged).changes == ("context_length changed from 4096 to 2048",)
    assert run.result.status == "harness_invalid"
    assert run.result.reason == "engine_changed: context_length changed from 4096 to 2048"


async def test_a_tool_that_crashes_is_answered_without_a_traceback_and_invalidates_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> Any:
        raise KeyError("a path that the model must not see")

    monkeypatch.setitem(executor._READS, "get_logs", crash)
    run = await record(tmp_path, [LOOK, ANSWER])
    assert (run.one(ToolResult).ok, run.one(ToolResult).error_class) == (False, "internal")
    assert run.sent(2)[-1]["content"] == "ERROR: the tool failed: KeyError"
    assert run.one(TurnFinished).answer == ANSWER.text
    assert run.result.status == "harness_invalid"
    assert run.result.reason == "tool_failed: get_logs: the tool failed: KeyError"


async def test_a_fixture_that_cannot_be_served_invalidates_the_run_before_the_model_is_asked(tmp_path: Path) -> None:
    broken = Cluster(objects=({"kind": "Pod", "metadata": {"name": "api-1"}},))
    run = await record(tmp_path, [ANSWER], case=case_of("Why?", cluster=broken))
    assert run.requests == []
    assert run.result.status == "harness_invalid"
    assert (run.result.reason or "").startswith("fixture_broken: ")


async def test_whatever_else_breaks_in_the_harness_closes_the_log_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> Any:
        raise EOFError("boom")

    monkeypatch.setitem(executor._READS, "get_logs", crash)
    run = await record(tmp_path, [LOOK, ANSWER])
    assert (run.result.status, run.result.reason) == ("harness_invalid", "harness_error: EOFError: boom")
