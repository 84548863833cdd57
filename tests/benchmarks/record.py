"""What recording costs: ours and Inspect's, of the same mock conversations of five tool calls and an answer.

`python -m tests.benchmarks.record --size 300 [--save]`. Neither side speaks HTTP: a mock model answers inside the
process, the agent loop runs, tools answer with about 3,000 characters of unique text, everything is recorded. The
model's answers and the tools' texts are made before the clock runs here; Inspect's side makes them as it goes, so the
CPU of making them is measured apart and taken off there. Start-up is left out of both. Ours writes one log a run with
fsync at the end of each turn, Inspect its `.eval` at its defaults.
"""

import argparse
import asyncio
import gc
import gzip
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from packs.prompts import user_message
from recorder.agent import Agent
from recorder.cluster import FakeCluster
from recorder.conversation import Conversation
from recorder.log import RunLog
from recorder.tools import schemas_for
from recorder.transport import RequestLedger
from recorder.workspace import Workspace
from schemas import codec
from schemas.cases import rubric_digest, stimulus_digest, to_wire
from schemas.events import SCHEMA_VERSION, Event, RunStarted
from schemas.policy import LIMITS, Policy, PromptInfo
from tests.benchmarks import measure, workload
from tests.benchmarks.mock_model import MockClient, MockToolbox, Script, scripts

CAMPAIGN = "bench"


def record(conversations: Sequence[Script], directory: Path, *, stream: bool, cases: int = 0) -> list[Path]:
    """Record the conversations as a campaign below `directory`; the logs.

    `stream` is how they were made. `cases` is how many the workload was loaded for, 0 if every conversation is
    a case of its own.
    """
    (directory / "runs").mkdir(parents=True, exist_ok=True)
    return asyncio.run(_all(conversations, directory / "runs", stream, cases or len(conversations)))


async def _all(conversations: Sequence[Script], runs: Path, stream: bool, cases: int) -> list[Path]:
    policy = Policy(
        provider="openai",
        model="mock",
        dialect="openai",
        tier="high",
        route_source="user",
        limits=LIMITS["high"],
        tools=tuple(spec.name for spec in conversations[0].tools),
        prompt=PromptInfo(pack="bench"),
        stream=stream,
    )
    paths = []
    for number, script in enumerate(conversations):
        case, repetition = f"case-{number % cases:06d}", number // cases + 1
        paths.append(runs / f"{case}-r{repetition}-{CAMPAIGN}.jsonl.zst")
        await _one(script, paths[-1], policy, case, repetition)
    return paths


async def _one(script: Script, path: Path, policy: Policy, case_id: str, repetition: int) -> None:
    case = msgspec.structs.replace(script.case, id=case_id)
    log = RunLog(path)
    log.append(
        RunStarted(
            schema_version=SCHEMA_VERSION,
            wall_time="2026-08-01T00:00:00.000Z",
            campaign_id=CAMPAIGN,
            run_id=path.name.removesuffix(".jsonl.zst"),
            case_id=case.id,
            case_kind=case.kind,
            repetition=repetition,
            attempt=1,
            arm="",
            agent="model",
            model="openai/mock",
            seed=None,
            stimulus_sha256=stimulus_digest(case.stimulus),
            rubric_sha256=rubric_digest(case.rubric),
            stimulus=to_wire(case.stimulus),
            rubric=to_wire(case.rubric),
            policy=policy,
        )
    )

    def emit(event: Event) -> None:
        log.append(event)

    cluster = FakeCluster(case.stimulus.cluster)
    workspace = Workspace(case.stimulus.interaction, cluster)
    schemas = schemas_for(script.tools, "high")
    client: Any = MockClient(script, stream=policy.stream)
    agent = Agent(
        client=client,
        ledger=RequestLedger(emit),
        toolbox=MockToolbox(script, cluster, workspace, script.tools, policy.limits),
        workspace=workspace,
        tool_schemas=schemas,
        conversation=Conversation(
            system=script.system,
            limits=policy.limits,
            tool_schema_chars=len(msgspec.json.encode(schemas)),
        ),
        policy=policy,
        emit=emit,
        stream=policy.stream,
    )
    user = case.stimulus.turns[0].user
    await agent.run_turn(1, user, user_message(user, workspace.interaction), workspace.interaction)
    log.finish("completed")


def _record_op(runs: int, cases: int, directory: Path, *, stream: bool) -> dict[str, Any]:
    conversations = scripts(workload.load(cases), runs, stream=stream)
    # What stands for the server lies in another process otherwise, where no collection of ours goes through it.
    gc.collect()
    gc.freeze()
    began = time.process_time()
    paths = record(conversations, directory, stream=stream, cases=cases)
    return {"cpu_inside_s": time.process_time() - began, "bytes": sum(path.stat().st_size for path in paths)}


def _append_op(runs: int) -> dict[str, Any]:
    """The log writer alone: the events of one run of the workload, appended again and again."""
    from replay.reader import read_all

    conversation = scripts(workload.load(), 1, stream=True)
    with tempfile.TemporaryDirectory() as scratch:
        (path,) = record(conversation, Path(scratch), stream=True)
        events: list[Event] = [
            msgspec.structs.replace(found.event, seq=-1, t=-1.0)  # type: ignore[misc]
            for found in read_all(path)[0]
        ]
        began = time.process_time()
        for number in range(runs):
            log = RunLog(Path(scratch) / f"{number}.jsonl.zst")
            for event in events[:-1]:
                log.append(event)
            log.finish("completed")
        spent = time.process_time() - began
        documents = [_readable(event) for event in events]
        began = time.process_time()
        for number in range(runs):
            with gzip.open(Path(scratch) / f"{number}.jsonl.gz", "wt", compresslevel=6) as file:
                for document in documents:
                    file.write(json.dumps(document) + "\n")
        plain = time.process_time() - began
    return {"cpu_inside_s": spent, "plain_cpu_s": plain, "events_a_run": len(events), "events": len(events) * runs}


def _readable(event: Event) -> Any:
    """An event as plain data, the raw JSON in it read."""
    return json.loads(codec.encode(event, 0, 0.0))


def _ours(op: str, runs: int) -> measure.Cost:
    with tempfile.TemporaryDirectory() as scratch:
        return measure.operation("record", op, "--size", runs, "--directory", scratch)


def inspect(op: str, *arguments: object) -> measure.Cost:
    """One operation of Inspect's side under its own interpreter. Raises `workload.Missing`."""
    environment = {"INSPECT_LOG_LEVEL": "error", "NO_COLOR": "1"}
    argv = [str(workload.inspect_python()), "-m", "tests.benchmarks.inspect_side", "--op", op, *map(str, arguments)]
    return measure.process(argv, env=environment)


def _theirs(runs: int) -> measure.Cost:
    with tempfile.TemporaryDirectory() as scratch:
        return inspect("run", "--runs", runs, "--log-dir", scratch)


def run(size: int, their_size: int, repeats: int) -> dict[str, Any]:
    """The figures; sizes are runs. Raises `workload.Missing`."""
    # One after the other and again, so that a busy minute falls on all of them alike.
    rounds = [
        (
            _ours("append", size),
            _ours("document", size),
            _ours("stream", size),
            _theirs(their_size),
            inspect("workload", "--runs", their_size),
        )
        for _ in range(repeats)
    ]
    costs = [tuple(cost.printed for cost in costs) for costs in rounds]
    figures = [_figures(*printed, size=size, their_size=their_size) for printed in costs]
    return {
        "runs": size,
        "inspect_runs": their_size,
        "repeats": repeats,
        "events_a_run": costs[0][0]["events_a_run"],
        **{name: statistics.median(each[name] for each in figures) for name in figures[0]},
        "least_ratio_asked": 30,
    }


def _figures(
    log: dict[str, Any],
    document: dict[str, Any],
    stream: dict[str, Any],
    whole: dict[str, Any],
    texts: dict[str, Any],
    *,
    size: int,
    their_size: int,
) -> dict[str, float]:
    """The figures of one round, from what its processes printed."""
    append, ours, streamed = (found["cpu_inside_s"] / size for found in (log, document, stream))
    theirs = (whole["cpu_inside_s"] - texts["cpu_inside_s"]) / their_size
    return {
        "append_us_an_event": append / log["events_a_run"] * 1e6,
        "append_ms_a_run": append * 1e3,
        "plain_ms_a_run": log["plain_cpu_s"] / size * 1e3,
        "ours_document_ms_a_run": ours * 1e3,
        "ours_stream_ms_a_run": streamed * 1e3,
        "inspect_ms_a_run": theirs * 1e3,
        "inspect_over_append": theirs / append,
        "inspect_over_ours_document": theirs / ours,
        "inspect_over_ours_stream": theirs / streamed,
    }


def main() -> None:
    """Measure, or do one operation that is measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.record", description=__doc__)
    parser.add_argument("--op", choices=("append", "document", "stream"))
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--inspect-size", type=int, default=200)
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--directory", type=Path)
    args = parser.parse_args()
    if args.op is None:
        measure.save("record", run(args.size, args.inspect_size, args.repeats))
        return
    if args.op == "append":
        found = _append_op(args.size)
    else:
        found = _record_op(args.size, args.cases, args.directory, stream=args.op == "stream")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
