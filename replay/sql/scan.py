"""One pass over a log: what `runs` says of the run, and the lines of the event types that a query needs.

A sound log (`replay.sound`) is taken apart without decoding what nobody asked for. Anything else goes through
`replay.reader`, which brings an older schema version up to date and says whether the log is interrupted or corrupt: an
interrupted run keeps what can be trusted, a corrupt one keeps a row in `runs` and nothing else.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from replay.logref import LogRef, as_ref
from replay.reader import RunReader
from replay.sound import SoundLog, read_sound
from schemas import upcast
from schemas.events import ModelError, ModelRequest, RunFinished, RunStarted, ToolCall, TurnFinished

_FACTS = frozenset((b"run_started", b"model_request", b"model_error", b"tool_call", b"turn_finished", b"run_finished"))
"""The types of event that the row of a run rests on."""


class RunFacts(msgspec.Struct, kw_only=True):
    """The row of one run as it is spooled for the table `runs`; see `tables.RUNS` for the meanings."""

    run_id: str
    campaign_id: str | None = None
    case_id: str | None = None
    case_kind: str | None = None
    root_cause: str | None = None
    repetition: int | None = None
    attempt: int | None = None
    arm: str | None = None
    agent: str | None = None
    model: str | None = None
    provider: str | None = None
    tier: str | None = None
    seed: int | None = None
    wall_time: str | None = None
    stimulus_sha256: str | None = None
    rubric_sha256: str | None = None
    status: str = "interrupted"
    status_reason: str | None = None
    outcome: str | None = None
    turns: int = 0
    iterations: int = 0
    requests: int = 0
    tool_calls: int = 0
    model_errors: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    tokens_estimated: bool = False
    duration_s: float | None = None
    events: int = 0
    raw_bytes: int = 0
    file_bytes: int = 0
    directory: str = ""
    file: str = ""


class Scanned(msgspec.Struct, frozen=True):
    """What one log gave: its facts, and the raw lines of each wanted event type, without their newlines."""

    facts: RunFacts
    lines: dict[str, list[bytes]]


class _Policy(msgspec.Struct):
    provider: str | None = None
    tier: str | None = None


class _Rubric(msgspec.Struct):
    root_cause: str | None = None


class _Started(msgspec.Struct):
    """The members of `run_started` that `runs` shows; the case itself is skipped over."""

    schema_version: int
    wall_time: str
    campaign_id: str
    run_id: str
    case_id: str
    case_kind: str
    repetition: int
    attempt: int
    arm: str
    agent: str
    model: str
    seed: int | None
    stimulus_sha256: str
    rubric_sha256: str
    rubric: _Rubric
    policy: _Policy


_started = msgspec.json.Decoder(_Started)
_turn = msgspec.json.Decoder(TurnFinished)
_finished = msgspec.json.Decoder(RunFinished)


def scan(log: LogRef | Path, wanted: frozenset[str], *, strict: bool = False) -> Scanned:
    """Read a log. With `strict`, every event is decoded and checked however whole the file looks.

    Raises `LogError` if the file cannot be read at all.
    """
    log = as_ref(log)
    sound = None if strict else read_sound(log, _FACTS.union(name.encode() for name in wanted))
    scanned = None if sound is None else _taken_apart(sound, wanted)
    if scanned is None:
        scanned = _scan_checked(log, wanted)
    scanned.facts.file_bytes = log.file_bytes
    return scanned


def _taken_apart(sound: SoundLog, wanted: frozenset[str]) -> Scanned | None:
    """The quick way, or None if an event is not what its type says."""
    facts = None
    lines: dict[str, list[bytes]] = {kind: [] for kind in wanted}
    counts = dict.fromkeys(_FACTS, 0)
    turns = []
    try:
        for kind, line in sound.lines:
            if kind in _FACTS:
                counts[kind] += 1
            if kind == b"run_started":
                facts = _identity(_started.decode(line))
            elif kind == b"turn_finished":
                turns.append(_turn.decode(line))
            if (name := kind.decode()) in lines:
                lines[name].append(line)
        finish = _finished.decode(sound.lines[-1][1])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    assert facts is not None
    facts.status, facts.status_reason = finish.status, finish.reason
    facts.duration_s = finish.t
    facts.events, facts.raw_bytes = sound.events, sound.raw_bytes
    facts.requests = counts[b"model_request"]
    facts.tool_calls = counts[b"tool_call"]
    facts.model_errors = counts[b"model_error"]
    _add_turns(facts, turns)
    return Scanned(facts, lines)


def _identity(start: _Started) -> RunFacts:
    return RunFacts(
        run_id=start.run_id,
        campaign_id=start.campaign_id,
        case_id=start.case_id,
        case_kind=start.case_kind,
        root_cause=start.rubric.root_cause,
        repetition=start.repetition,
        attempt=start.attempt,
        arm=start.arm,
        agent=start.agent,
        model=start.model,
        provider=start.policy.provider,
        tier=start.policy.tier,
        seed=start.seed,
        wall_time=start.wall_time,
        stimulus_sha256=start.stimulus_sha256,
        rubric_sha256=start.rubric_sha256,
    )


def _add_turns(facts: RunFacts, turns: Iterable[TurnFinished]) -> None:
    for turn in turns:
        facts.turns += 1
        facts.outcome = turn.outcome
        facts.iterations += turn.iterations
        facts.tokens_estimated = facts.tokens_estimated or turn.usage_estimated
        facts.input_tokens = _plus(facts.input_tokens, turn.usage.input_tokens)
        facts.output_tokens = _plus(facts.output_tokens, turn.usage.output_tokens)


def _plus(total: int | None, more: int | None) -> int | None:
    """Unknown and unknown is unknown, never 0."""
    return more if total is None else total + (more or 0)


def _scan_checked(log: LogRef, wanted: frozenset[str]) -> Scanned:
    """The careful way: every event through the reader."""
    reader = RunReader(log)
    lines: dict[str, list[bytes]] = {kind: [] for kind in wanted}
    turns: list[TurnFinished] = []
    facts = RunFacts(run_id=log.run_id)
    current: upcast.Upcast | None = None
    for record in reader:
        current = current or upcast.for_version(upcast.version_of(record.line))
        event: Any = record.event
        kind = str(getattr(event, "type", None) or type(event).__struct_config__.tag)
        if kind in wanted:
            lines[kind].append(current(record.line).removesuffix(b"\n"))
        facts.requests += isinstance(event, ModelRequest)
        facts.tool_calls += isinstance(event, ToolCall)
        facts.model_errors += isinstance(event, ModelError)
        facts.duration_s = event.t
        if isinstance(event, TurnFinished):
            turns.append(event)
    end = reader.end
    assert end is not None
    if reader.started is not None:
        identity = _identity(msgspec.convert(_plain(reader.started), _Started))
        identity.requests, identity.tool_calls = facts.requests, facts.tool_calls
        identity.model_errors, identity.duration_s = facts.model_errors, facts.duration_s
        facts = identity
    _add_turns(facts, turns)
    facts.events, facts.raw_bytes = end.events, end.raw_bytes
    if end.state == "complete" and reader.finished is not None:
        facts.status, facts.status_reason = reader.finished.status, reader.finished.reason
    elif end.state == "corrupt":
        facts.status, facts.status_reason = "corrupt", end.reason
        lines = {kind: [] for kind in wanted}
    return Scanned(facts, lines)


def _plain(start: RunStarted) -> dict[str, Any]:
    plain = {name: getattr(start, name) for name in _Started.__struct_fields__}
    return {**plain, "policy": {"provider": start.policy.provider, "tier": start.policy.tier}}
