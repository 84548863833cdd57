"""The runs of a campaign, one row each, and what is missing from its plan."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from replay.campaigns import run_files
from replay.logref import LogRef, as_ref
from replay.reader import RunReader
from replay.totals import total
from schemas.events import ModelError, RunFinished, RunStarted, ToolCall, TurnFinished

_WANTED = frozenset((b"run_started", b"tool_call", b"model_error", b"turn_finished", b"run_finished"))


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run as `ls` shows it. `status` is `interrupted` for a torn log and `corrupt` for one not to be trusted.

    Tokens are None where no turn knows.
    """

    run_id: str
    campaign_id: str | None
    case_id: str | None
    repetition: int | None
    attempt: int | None
    arm: str | None
    agent: str | None
    model: str | None
    status: str
    outcome: str | None
    turns: int
    tool_calls: int
    model_errors: int
    input_tokens: int | None
    output_tokens: int | None
    duration_s: float
    events: int
    raw_bytes: int
    file_bytes: int
    path: str


def rows(path: Path) -> Iterator[RunRow]:
    """One row a log at `path`, in the order of `run_files`. Raises `UsageError` if nothing is there."""
    for log in run_files(path):
        yield row(log)


def row(log: LogRef | Path) -> RunRow:
    """The row of one log."""
    log = as_ref(log)
    reader = RunReader(log, wanted=_WANTED)
    found = [record.event for record in reader]
    end = reader.end
    assert end is not None
    start = reader.started
    turns = [event for event in found if isinstance(event, TurnFinished)]
    finished = found[-1] if found and isinstance(found[-1], RunFinished) else None
    status = finished.status if finished and end.state == "complete" else end.state
    return RunRow(
        run_id=start.run_id if isinstance(start, RunStarted) else log.run_id,
        campaign_id=start.campaign_id if start else None,
        case_id=start.case_id if start else None,
        repetition=start.repetition if start else None,
        attempt=start.attempt if start else None,
        arm=start.arm if start else None,
        agent=start.agent if start else None,
        model=start.model if start else None,
        status=status,
        outcome=turns[-1].outcome if turns else None,
        turns=len(turns),
        tool_calls=sum(isinstance(event, ToolCall) for event in found),
        model_errors=sum(isinstance(event, ModelError) for event in found),
        input_tokens=total(turn.usage.input_tokens for turn in turns),
        output_tokens=total(turn.usage.output_tokens for turn in turns),
        duration_s=found[-1].t if found else 0.0,
        events=end.events,
        raw_bytes=end.raw_bytes,
        file_bytes=log.file_bytes,
        path=str(log),
    )
