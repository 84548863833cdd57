"""What recording costs: CPU for an event through the log, and CPU until the offline tool says what it can do.

Run with `-s` to see the figures. CPU time only: how long a busy machine takes says nothing.
"""

import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from recorder.log import RunLog
from schemas.events import (
    ContextChecked,
    EmittedCall,
    Event,
    Message,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolResult,
    TurnFinished,
    Usage,
    WireChunk,
    WirePiece,
)
from tests.builders import run_started

EVENT_BUDGET_S = 0.000_5
HELP_BUDGET_S = 0.25
ITERATIONS = 400
PER_ITERATION = 8

Thing = TypeVar("Thing")


def iteration(number: int) -> list[Event]:
    """The events of one iteration of an agent, with sizes as real runs have them; no text repeats."""
    words = " ".join(f"{word:x}" for word in range(number * 104_729, number * 104_729 + 400))
    arguments = {"pod": f"api-{number}", "namespace": "shop"}
    raw = json.dumps(arguments)
    pieces = tuple(
        WirePiece(
            at=place * 0.031, text=f'data: {{"choices": [{{"delta": {{"content": "{words[place * 9 :][:9]}"}}}}]}}\n\n'
        )
        for place in range(16)
    )
    return [
        Message(id=2 * number, message=msgspec.Raw(json.dumps({"role": "tool", "content": words}).encode())),
        ModelRequest(
            request=number,
            turn=1,
            iteration=1,
            attempt=1,
            dialect="ollama",
            method="POST",
            url="http://127.0.0.1:11434/api/chat",
            stream=True,
            body_sha256="0" * 64,
            body_bytes=20_000,
            messages=((0, 2 * number),),
            toolset=0,
            rest=msgspec.Raw(b'{"model":"tiny:1b","messages":null,"tools":null,"stream":true}'),
        ),
        WireChunk(request=number, status=200, pieces=pieces),
        ModelResponse(
            request=number,
            status=200,
            finish_reason="stop",
            content="",
            duration_s=1.5,
            tool_calls=(EmittedCall(id=f"call-{number}", name="get_logs", arguments=raw),),
            usage=Usage(input_tokens=5_000, output_tokens=40),
            server_usage={"prompt_eval_count": 5_000, "eval_count": 40, "total_duration": 1_500_000_000},
        ),
        ContextChecked(request=number, verdict="intact", rule="below_context", prompt_tokens=5_000),
        ToolCall(
            call=number,
            turn=1,
            iteration=1,
            request=number,
            call_id=f"call-{number}",
            tool="get_logs",
            arguments_raw=raw,
            arguments=arguments,
            disposition="executed",
        ),
        ToolResult(call=number, tool="get_logs", ok=True, result=words, duration_s=0.001),
        TurnFinished(turn=1, outcome="answered", answer=words[:400], iterations=2, tool_calls=1, duration_s=2.0),
    ]


def cpu_per_event(batches: Sequence[Sequence[Thing]], write: Callable[[Thing], object]) -> float:
    """The median over the batches of CPU seconds for one event."""
    costs = []
    for batch in batches:
        before = time.process_time()
        for event in batch:
            write(event)
        costs.append((time.process_time() - before) / len(batch))
    return statistics.median(costs)


def test_recording_costs_at_most_half_a_millisecond_of_cpu_for_an_event(tmp_path: Path) -> None:
    # Batches of several iterations: a single event is shorter than some clocks tick.
    batches = [
        [event for number in range(first, first + 10) for event in iteration(number)]
        for first in range(1, ITERATIONS, 10)
    ]
    log = RunLog(tmp_path / "case-r1-abc.jsonl.zst", durability="run")
    log.append(run_started())
    ours = cpu_per_event(batches, log.append)
    log.finish("completed")
    documents = [[msgspec.json.decode(msgspec.json.encode(event)) for event in batch] for batch in batches]
    with gzip.open(tmp_path / "plain.jsonl.gz", "wt", compresslevel=6) as plain:
        theirs = cpu_per_event(documents, lambda document: plain.write(json.dumps(document) + "\n"))
    sizes = [path.stat().st_size for path in (log.path, tmp_path / "plain.jsonl.gz")]
    print(
        f"\nrecording, {log.events} events of {log.raw_bytes / log.events:.0f} bytes: {1e6 * ours:.0f} us of CPU an "
        f"event; json.dumps and gzip, which flush nothing: {1e6 * theirs:.0f} us, ratio {ours / theirs:.2f}; "
        f"size {sizes[0]} against {sizes[1]} bytes, ratio {sizes[0] / sizes[1]:.2f}"
    )
    assert log.events == ITERATIONS * PER_ITERATION + 2
    assert ours <= EVENT_BUDGET_S


def cpu_of(command: Sequence[str]) -> float:
    """CPU seconds of a process, user and system together."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return usage.ru_utime + usage.ru_stime


def test_the_offline_tool_says_what_it_can_do_within_a_quarter_of_a_second_of_cpu() -> None:
    help_command = [str(Path(sys.executable).with_name("korvid-replay")), "--help"]
    helped = min(cpu_of(help_command) for _ in range(5))
    nothing = min(cpu_of([sys.executable, "-c", "pass"]) for _ in range(5))
    print(
        f"\nkorvid-replay --help: {helped:.3f} s of CPU; python -c pass: {nothing:.3f} s, ratio {helped / nothing:.1f}"
    )
    assert helped <= HELP_BUDGET_S
