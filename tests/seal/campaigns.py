"""Small campaigns to seal: several cases and repetitions, attempts, a torn log."""

import hashlib
import itertools
import json
import random
from pathlib import Path

from recorder.log import RunLog
from replay.campaigns import logs_in
from replay.reader import whole_lines
from schemas.events import ToolCall, ToolResult, TurnFinished, TurnStarted
from tests.builders import run_started

CAMPAIGN_ID = "c-abc"


def record(
    directory: Path,
    case: str,
    repetition: int = 1,
    attempt: int = 1,
    *,
    results: tuple[str, ...] = ("one", "two"),
    finish: bool = True,
    run_id: str = "",
) -> Path:
    """One log written by the recorder's own writer; without `finish` it is left open as by a kill.

    Its clock counts events, so that the same arguments give the same bytes.
    """
    run_id = run_id or f"{case}-r{repetition}" + (f"a{attempt}" if attempt > 1 else "") + "-abc"
    (directory / "runs").mkdir(parents=True, exist_ok=True)
    log = RunLog(
        directory / "runs" / f"{run_id}.jsonl.zst", durability="run", clock=map(float, itertools.count()).__next__
    )
    log.append(run_started(run_id, CAMPAIGN_ID, case_id=case, repetition=repetition, attempt=attempt))
    log.append(TurnStarted(turn=1, user="why does it restart?"))
    for number, text in enumerate(results, 1):
        log.append(
            ToolCall(
                call=number,
                turn=1,
                iteration=number,
                request=number,
                call_id=f"call-{number}",
                tool="get_logs",
                arguments_raw="{}",
                arguments={},
                disposition="executed",
            )
        )
        log.append(ToolResult(call=number, tool="get_logs", ok=True, result=text))
    if finish:
        log.append(
            TurnFinished(turn=1, outcome="answered", answer="so", iterations=1, tool_calls=len(results), duration_s=0.5)
        )
        log.finish("completed")
    log.close()
    return log.path


def noise(seed: int, chars: int) -> str:
    """Text that hardly compresses."""
    block = (hashlib.sha256(f"{seed}-{number}".encode()).hexdigest() for number in range(chars // 64 + 1))
    return "".join(block)[:chars]


def pod_logs(seed: int, lines: int) -> str:
    """Lines as pods print them: few forms, and times, names and numbers that no other seed has."""
    draw = random.Random(seed)
    forms = ("liveness probe failed", "connection refused by", "back-off restarting", "pulled the image of", "evicted")
    return "\n".join(
        f"2026-11-{draw.randint(1, 30):02}T{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:{draw.uniform(9, 60):.3f}Z"
        f" {draw.choice(('INFO', 'WARN', 'ERROR'))} {draw.choice(forms)} pod-{draw.getrandbits(40):010x}"
        f" after {draw.randint(1, 9999)} ms"
        for _ in range(lines)
    )


def campaign(directory: Path, *, torn: bool = True, chars: int = 300) -> Path:
    """Three cases, two repetitions each; with `torn` an interrupted attempt of one, cut in the middle of an event."""
    directory.mkdir(parents=True)
    (directory / "campaign.json").write_text(json.dumps({"campaign_id": CAMPAIGN_ID}))
    for number, case in enumerate(("pod-down", "api-1", "api-10")):
        for repetition in (2, 1):
            record(directory, case, repetition, results=(noise(10 * number + repetition, chars), "shared text " * 20))
    if torn:
        path = record(directory, "api-1", 3, results=("kept", noise(99, 4000)), finish=False)
        path.write_bytes(path.read_bytes()[:-700])
        record(directory, "api-1", 3, 2)
    return directory


def files(directory: Path) -> dict[str, bytes]:
    """Every file of a directory by its path below it."""
    found = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in found}


def raw(directory: Path) -> dict[str, str]:
    """What a reader gets of each run: the digest of its raw lines, by run id."""
    return {log.run_id: hashlib.sha256(b"".join(whole_lines(log))).hexdigest() for log in logs_in(directory)}
