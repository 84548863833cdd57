"""What a log says was sent is what was sent, byte for byte, and it grows with the turns and not with their square."""

from pathlib import Path

import pytest

from recorder.scripted import Call, Reply
from schemas.events import Message, ModelRequest, Toolset
from tests.recorder.recording import LOGS, Recorded, bodies, case_of, limits, record

LOOK = Reply(text="Ich schaue — “nach” 😀", tool_calls=(Call(name="get_logs", arguments=LOGS),))


@pytest.mark.parametrize("api", ["native", "v1"])
@pytest.mark.parametrize("stream", [True, False])
async def test_every_request_body_is_rebuilt_from_the_log(tmp_path: Path, api: str, stream: bool) -> None:
    broken = Reply(tool_calls=(Call(name="get_logs", arguments='{"pod": '),)) if api == "v1" else LOOK
    script = [LOOK, Reply(status=429, error="busy", headers={"Retry-After": "0"}), broken, Reply(text="a"), LOOK]
    case = case_of('Why “so” slow\u2028?\n\tüñí \\ " 😀', "And now?")
    run = await record(tmp_path, [*script, Reply(text="b")], case=case, api=api, stream=stream)
    assert run.result.status == "completed"
    received = [request.body for request in run.requests]
    assert len(received) == 6
    assert bodies(run.path) == received
    assert all(request.body is None and request.body_base64 is None for request in run.of(ModelRequest)), "in parts"
    assert all(request.stream is stream for request in run.of(ModelRequest))


async def test_a_message_is_stored_once_however_often_it_is_sent(tmp_path: Path) -> None:
    run = await fifty(tmp_path, 10)
    assert len(run.of(Toolset)) == 1
    sent = sum(last - first + 1 for request in run.of(ModelRequest) for first, last in request.messages)
    assert sent > 100
    # System, question, and for each of ten iterations a call and a result.
    assert len(run.of(Message)) <= 2 + 2 * 10


async def test_fifty_iterations_take_twice_the_bytes_of_twenty_five_and_not_four_times(tmp_path: Path) -> None:
    base = await fifty(tmp_path / "none", 0)
    half, whole = await fifty(tmp_path / "half", 25), await fifty(tmp_path / "whole", 50)
    growth = (whole.result.raw_bytes - base.result.raw_bytes) / (half.result.raw_bytes - base.result.raw_bytes)
    assert 1.9 < growth < 2.1
    assert len(whole.requests) == 51
    sent = sum(len(request.body) for request in whole.requests)
    assert whole.result.raw_bytes < sent / 2, "what was sent again was not written again"
    assert bodies(whole.path) == [request.body for request in whole.requests]


async def fifty(directory: Path, iterations: int) -> Recorded:
    within = limits(max_iterations=100, max_history_chars=1_000_000)
    script = [
        Reply(text=f"look {number:02d}", tool_calls=(Call(name="get_logs", arguments=LOGS, id=f"c{number:02d}"),))
        for number in range(iterations)
    ]
    run = await record(directory, [*script, Reply(text="done")], within=within)
    assert run.result.status == "completed"
    return run
