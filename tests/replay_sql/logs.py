"""Small campaigns written by the real log writer."""

import hashlib
from pathlib import Path

import msgspec

from recorder.log import RunLog
from schemas import requests
from schemas.events import (
    EmittedCall,
    Message,
    ModelError,
    ModelRequest,
    ModelResponse,
    ScreenAction,
    ToolCall,
    ToolResult,
    TurnFinished,
    TurnStarted,
    Usage,
)
from tests.builders import run_started

MESSAGE = b'{"role":"user","content":"why?"}'
REST = b'{"messages":null,"options":{"seed":1}}'


def open_run(campaign: Path, run_id: str, **identity: object) -> RunLog:
    """A log in `campaign` with its first event; `identity` changes members of it."""
    (campaign / "runs").mkdir(parents=True, exist_ok=True)
    log = RunLog(campaign / "runs" / f"{run_id}.jsonl.zst", durability="run", clock=lambda: 0.0)
    log.append(run_started(run_id, **identity))
    return log


def play_turn(log: RunLog, *, answer: str = "It ran out of memory.", result: str = "exit 137") -> None:
    """One turn of one request, one executed and one malformed call, and an answer."""
    log.append(TurnStarted(turn=1, user="why does it restart?"))
    log.append(Message(id=0, message=msgspec.Raw(MESSAGE)))
    log.append(_request(1))
    call = EmittedCall(id="c1", name="get_logs", arguments='{"pod": "a"}')
    log.append(
        ModelResponse(
            request=1,
            status=200,
            finish_reason="tool_calls",
            content="",
            duration_s=2.0,
            time_to_first_token_s=0.5,
            tool_calls=(call,),
            usage=Usage(input_tokens=100, output_tokens=7),
            server_usage={"prompt_eval_count": 100},
        )
    )
    log.append(_call(1, '{"pod": "a"}', {"pod": "a"}))
    log.append(ToolResult(call=1, tool="get_logs", ok=True, result=result, shown=result[:10], duration_s=0.1))
    log.append(_call(2, "{", None))
    log.append(ScreenAction(call=3, turn=1, tool="open_logs", arguments={"pod": "a"}, ok=True, message="opened"))
    log.append(
        ModelError(request=2, turn=1, error_class="timeout", message="no answer in 60 s", will_retry=True, status=None)
    )
    log.append(
        TurnFinished(
            turn=1,
            outcome="answered",
            answer=answer,
            iterations=2,
            tool_calls=2,
            duration_s=3.0,
            usage=Usage(input_tokens=300, output_tokens=20),
        )
    )


def whole_run(campaign: Path, run_id: str, **changes: object) -> Path:
    """A completed run of one turn. `answer` and `result` are its texts, the rest changes its identity."""
    texts = {name: str(changes.pop(name)) for name in ("answer", "result") if name in changes}
    log = open_run(campaign, run_id, **changes)
    play_turn(log, **texts)
    log.finish("completed")
    return log.path


def torn_run(campaign: Path, run_id: str, **changes: object) -> Path:
    """A run whose process was killed in the middle of writing an event."""
    log = open_run(campaign, run_id, **changes)
    play_turn(log)
    log.close()
    log.path.write_bytes(log.path.read_bytes()[:-9])
    return log.path


def damaged_run(campaign: Path, run_id: str, **changes: object) -> Path:
    """A completed run with one flipped bit."""
    path = whole_run(campaign, run_id, **changes)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(bytes(data))
    return path


def _request(number: int) -> ModelRequest:
    body = requests.rebuild(REST, (MESSAGE,), None, b",")
    return ModelRequest(
        request=number,
        turn=1,
        iteration=1,
        attempt=1,
        dialect="ollama",
        method="POST",
        url="http://localhost/api/chat",
        stream=True,
        body_sha256=hashlib.sha256(body).hexdigest(),
        body_bytes=len(body),
        messages=((0, 0),),
        rest=msgspec.Raw(REST),
    )


def _call(number: int, raw: str, arguments: dict[str, object] | None) -> ToolCall:
    return ToolCall(
        call=number,
        turn=1,
        iteration=1,
        request=1,
        call_id=f"c{number}",
        tool="get_logs",
        arguments_raw=raw,
        arguments=arguments,
        disposition="executed" if arguments else "malformed",
        problem=None if arguments else "not JSON",
    )
