"""The events of one log folded to the run that graders see.

Only the events that a verdict can rest on are decoded; the others are hashed and checked in order. A torn log folds to
a run whose `status` is None; a log that cannot be trusted, or whose events contradict each other, raises `LogError`
with the file and the reason. Nothing is returned before the whole log has been checked.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from replay.logref import LogRef, as_ref
from replay.reader import RunReader
from replay.sound import read_sound
from schemas.cases import (
    Rubric,
    rubric_digest,
    rubric_from_wire,
    stimulus_digest,
    stimulus_from_wire,
)
from schemas.errors import CaseError, LogError
from schemas.events import (
    Event,
    RunFinished,
    RunStarted,
    ScreenAction,
    ToolCall,
    ToolResult,
    TurnFinished,
    TurnStarted,
    Unknown,
)
from schemas.imported import Imported
from schemas.recorded import RecordedCall, RecordedRun, RecordedTurn
from schemas.words import counted

WANTED = frozenset(
    (b"run_started", b"turn_started", b"tool_call", b"tool_result", b"screen_action", b"turn_finished", b"run_finished")
)
"""The types of event that a fold rests on."""

_CASES_KEPT = 256
"""Distinct recorded cases whose digests are remembered; a campaign has some tens."""


class NothingRecorded(LogError):
    """A log that is torn before its first event ends: a run that was interrupted as it began."""


def fold(path: LogRef | Path) -> RecordedRun:
    """The run recorded in a log.

    Raises `LogError` naming the file if the log cannot be trusted, and `NothingRecorded` if it has no event.
    """
    log = as_ref(path)
    try:
        sound = read_sound(log, WANTED)
        if sound is not None:
            return _folded(log, _quick(sound.lines), sound.sha256, whole=True)
        return _slow(log)
    except LogError as error:
        if str(error).startswith(str(log)):
            raise
        raise type(error)(f"{log}: {error}") from None


def _slow(log: LogRef) -> RecordedRun:
    reader = RunReader(log, wanted=WANTED)
    events = [record.event for record in reader]
    end = reader.end
    assert end is not None
    if end.state == "corrupt":
        raise LogError(end.describe())
    if reader.started is None:
        raise NothingRecorded("the log is torn before its first event ends; set it aside with korvid-replay recover")
    return _folded(log, events, end.sha256, whole=end.state == "complete")


class _Start(msgspec.Struct, frozen=True, kw_only=True):
    """What a fold needs of `run_started`."""

    campaign_id: str
    run_id: str
    case_id: str
    case_kind: Literal["scenario", "journey"]
    repetition: int
    attempt: int
    arm: str
    agent: str
    model: str
    stimulus_sha256: str
    rubric_sha256: str
    rubric: Rubric
    tools: tuple[str, ...]
    not_recorded: tuple[str, ...]
    imported: Imported | None


class _Policy(msgspec.Struct, frozen=True):
    tools: tuple[str, ...]


class _RawStart(msgspec.Struct, frozen=True, kw_only=True):
    """`run_started` with its case left as it lies: the same case stands in every repetition."""

    campaign_id: str
    run_id: str
    case_id: str
    case_kind: str
    repetition: int
    attempt: int
    arm: str
    agent: str
    model: str
    stimulus_sha256: str
    rubric_sha256: str
    stimulus: msgspec.Raw
    rubric: msgspec.Raw
    policy: _Policy
    not_recorded: tuple[str, ...] = ()
    imported: Imported | None = None


_DECODERS: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"run_started": msgspec.json.Decoder(_RawStart),
    b"turn_started": msgspec.json.Decoder(TurnStarted),
    b"tool_call": msgspec.json.Decoder(ToolCall),
    b"tool_result": msgspec.json.Decoder(ToolResult),
    b"screen_action": msgspec.json.Decoder(ScreenAction),
    b"turn_finished": msgspec.json.Decoder(TurnFinished),
    b"run_finished": msgspec.json.Decoder(RunFinished),
}


def _quick(lines: Iterable[tuple[bytes, bytes]]) -> "Iterator[Event | _Start]":
    for kind, line in lines:
        try:
            event = _DECODERS[kind].decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise LogError(f"not a valid {kind.decode()}: {error}; nothing in it can be trusted") from None
        if isinstance(event, _RawStart):
            _check_stimulus(bytes(event.stimulus), event.stimulus_sha256)
            rubric = _checked_rubric(bytes(event.rubric), event.rubric_sha256)
            yield _start(event, rubric, event.policy.tools)
        else:
            yield event


def _start(event: "_RawStart | RunStarted", rubric: Rubric, tools: tuple[str, ...]) -> _Start:
    if event.case_kind not in ("scenario", "journey"):
        raise LogError(f"event 0: this build cannot grade a case of kind {event.case_kind!r}; install a newer one")
    return _Start(
        campaign_id=event.campaign_id,
        run_id=event.run_id,
        case_id=event.case_id,
        case_kind="scenario" if event.case_kind == "scenario" else "journey",
        repetition=event.repetition,
        attempt=event.attempt,
        arm=event.arm,
        agent=event.agent,
        model=event.model,
        stimulus_sha256=event.stimulus_sha256,
        rubric_sha256=event.rubric_sha256,
        rubric=rubric,
        tools=tools,
        not_recorded=event.not_recorded,
        imported=event.imported,
    )


@lru_cache(maxsize=_CASES_KEPT)
def _check_stimulus(wire: bytes, recorded: str) -> None:
    _check_digest("stimulus", _stimulus_digest(_plain("stimulus", wire)), recorded)


@lru_cache(maxsize=_CASES_KEPT)
def _checked_rubric(wire: bytes, recorded: str) -> Rubric:
    rubric = _rubric(_plain("rubric", wire))
    _check_digest("rubric", rubric_digest(rubric), recorded)
    return rubric


def _plain(name: str, wire: bytes) -> Any:
    """The value of a part that was left as it lies, and of which only the shape has been looked at so far."""
    try:
        return msgspec.json.decode(wire)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogError(f"event 0: the recorded {name} does not read: {error}") from None


def _stimulus_digest(wire: dict[str, Any]) -> str:
    try:
        return stimulus_digest(stimulus_from_wire(wire))
    except (msgspec.ValidationError, CaseError, ValueError) as error:
        raise LogError(f"event 0: the recorded stimulus does not read: {error}") from None


def _rubric(wire: dict[str, Any]) -> Rubric:
    try:
        return rubric_from_wire(wire)
    except (msgspec.ValidationError, CaseError, ValueError) as error:
        raise LogError(f"event 0: the recorded rubric does not read: {error}") from None


def _check_digest(name: str, derived: str, recorded: str) -> None:
    if derived != recorded:
        raise LogError(f"event 0: the {name} has SHA-256 {derived}, run_started says {recorded}")


class _Turn:
    """A turn as far as its events have been seen."""

    def __init__(self, started: TurnStarted) -> None:
        self.started = started
        self.calls: list[ToolCall] = []
        self.finished: TurnFinished | None = None


def _folded(log: LogRef, events: "Iterable[Event | Unknown | _Start]", sha256: str, *, whole: bool) -> RecordedRun:
    start: _Start | None = None
    finished: RunFinished | None = None
    turns: dict[int, _Turn] = {}
    results: dict[int, ToolResult] = {}
    screen: set[int] = set()
    last = 0.0
    for event in events:
        match event:
            case _Start():
                start = event
            case RunStarted():
                _check_digest("stimulus", _stimulus_digest(event.stimulus), event.stimulus_sha256)
                rubric = _rubric(event.rubric)
                _check_digest("rubric", rubric_digest(rubric), event.rubric_sha256)
                start = _start(event, rubric, event.policy.tools)
            case TurnStarted():
                _expect(event.turn not in turns, event, f"turn {event.turn} starts a second time")
                turns[event.turn] = _Turn(event)
            case ToolCall():
                _expect(event.turn in turns, event, f"call {event.call} belongs to turn {event.turn}, never started")
                turns[event.turn].calls.append(event)
            case ToolResult():
                _expect(event.call not in results, event, f"a second result of call {event.call}")
                results[event.call] = event
            case ScreenAction():
                screen.add(event.call)
            case TurnFinished():
                _expect(event.turn in turns, event, f"turn {event.turn} finishes and was never started")
                turns[event.turn].finished = event
                last = event.t
            case RunFinished():
                finished = event
    assert start is not None
    _check_identity(log, start)
    _check_calls(turns, results, start, whole)
    if whole and finished is not None and finished.status == "completed":
        _check_turns(turns, start, finished)
    return RecordedRun(
        campaign_id=start.campaign_id,
        run_id=start.run_id,
        case_id=start.case_id,
        case_kind=start.case_kind,
        repetition=start.repetition,
        arm=start.arm,
        agent=start.agent,
        model=start.model,
        status=finished.status if finished is not None and whole else None,
        stimulus_sha256=start.stimulus_sha256,
        rubric_sha256=start.rubric_sha256,
        log_sha256=sha256,
        rubric=start.rubric,
        armed_tools=start.tools,
        turns=tuple(_turn(turn, results, screen) for turn in turns.values()),
        attempt=start.attempt,
        status_reason=finished.reason if finished is not None else None,
        not_recorded=start.not_recorded,
        duration_s=finished.duration_s if finished is not None else last,
        published=start.imported.published if start.imported is not None else None,
    )


def _check_identity(log: LogRef, start: _Start) -> None:
    if start.run_id != log.run_id:
        raise LogError(f"event 0: this is the log of run {start.run_id}, not of {log.name}")


def _check_calls(turns: dict[int, _Turn], results: dict[int, ToolResult], start: _Start, whole: bool) -> None:
    """In a whole log each call has its result and each result its call, unless the import had no results."""
    started = {call.call for turn in turns.values() for call in turn.calls}
    for number, result in results.items():
        _expect(number in started, result, f"a result of call {number}, which was never started")
    if not whole or "tool_results" in start.not_recorded:
        return
    for turn in turns.values():
        # A run that ended early (stopped, or failed by its provider) may leave its last turn open.
        if turn.finished is None or turn.finished.outcome == "interrupted":
            continue
        count = turn.finished.tool_calls
        _expect(
            count == len(turn.calls),
            turn.finished,
            f"turn {turn.finished.turn} counts {counted(count, 'call')}, the log has {len(turn.calls)}: "
            "an event is missing",
        )
        for call in turn.calls:
            _expect(call.call in results, call, f"call {call.call} has no tool_result: the event is missing")


def _check_turns(turns: dict[int, _Turn], start: _Start, finished: RunFinished) -> None:
    """A completed run has every turn of its rubric (where one is recorded), started and finished."""
    asked = len(start.rubric.turns) or len(turns)
    for number in range(1, max(asked, *turns, 0) + 1):
        turn = turns.get(number)
        _expect(
            turn is not None and turn.finished is not None,
            finished,
            f"the run is completed and turn {number} has no {'turn_started' if turn is None else 'turn_finished'}: "
            "the event is missing",
        )


def _expect(holds: bool, event: Event, problem: str) -> None:
    if not holds:
        raise LogError(f"event {event.seq}: {problem}")


def _turn(turn: _Turn, results: dict[int, ToolResult], screen: set[int]) -> RecordedTurn:
    finished = turn.finished
    calls = tuple(_call(call, results.get(call.call), call.call in screen) for call in turn.calls)
    if finished is None:
        return RecordedTurn(turn=turn.started.turn, user=turn.started.user, answer="", outcome=None, calls=calls)
    return RecordedTurn(
        turn=turn.started.turn,
        user=turn.started.user,
        answer=finished.answer,
        outcome=finished.outcome,
        calls=calls,
        iterations=finished.iterations,
        tool_calls=finished.tool_calls,
        duration_s=finished.duration_s,
        usage=finished.usage,
        usage_estimated=finished.usage_estimated,
        error=finished.error,
    )


def _call(call: ToolCall, result: ToolResult | None, on_screen: bool) -> RecordedCall:
    return RecordedCall(
        call=call.call,
        tool=call.tool,
        arguments=call.arguments,
        arguments_raw=call.arguments_raw,
        disposition=call.disposition,
        ok=result.ok if result else None,
        error_class=result.error_class if result else None,
        shown=(result.result if result.shown is None else result.shown) if result else "",
        problem=call.problem,
        origin=call.origin,
        screen_action=on_screen,
    )
