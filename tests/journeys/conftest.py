"""The bundled journeys, and one way to play one: the real recorder against a scripted server, then the grader."""

import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from grading.grader import grade
from packs.loader import load_pack
from recorder.baseline import oracle
from recorder.scripted import Call, Reply
from replay.fold import fold
from schemas.cases import Case
from schemas.recorded import RecordedRun
from schemas.verdicts import Verdict
from tests.recorder.recording import record

ARMED = (
    "list_resources",
    "get_resource",
    "get_logs",
    "get_events",
    "diagnose_pod",
    "diagnose_workload",
    "diagnose_service",
    "open_logs",
    "open_describe",
)
"""What the oracle may call: tools of both tiers."""

Play = Callable[[Case, Sequence[Reply]], Awaitable[tuple[RecordedRun, Verdict]]]


@cache
def journeys() -> dict[str, Case]:
    """The bundled journeys by id."""
    return {case.id: case for case in load_pack("journeys").cases}


def turns_of_oracle(case: Case) -> list[list[Reply]]:
    """The oracle's replies, one list for each turn: its calls and then its answer."""
    turns: list[list[Reply]] = [[]]
    for reply in oracle(case, ARMED):
        turns[-1].append(reply)
        if not reply.tool_calls:
            turns.append([])
    return turns[:-1]


def calling(tool: str, **arguments: object) -> Reply:
    """A reply that makes one call."""
    return Reply(tool_calls=(Call(name=tool, arguments=dict(arguments)),))


def flat(turns: Sequence[Sequence[Reply]]) -> list[Reply]:
    """The replies of all turns in a row."""
    return [reply for turn in turns for reply in turn]


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that nobody sets while the test runs; released at its end, so that no server thread waits on."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Play replies over a journey, record it, and grade what was recorded by its own rubric."""

    async def played(case: Case, replies: Sequence[Reply]) -> tuple[RecordedRun, Verdict]:
        recorded = await record(tmp_path, list(replies), case=case)
        run = fold(recorded.path)
        return run, grade(run, run.rubric)

    return played
