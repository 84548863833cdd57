"""One pass over a log: what `runs` says of the run, and the lines of the event types that a query needs.

A log that is whole (its zstd frames with their checksums, every line an event, the last one `run_finished` with the
right SHA-256) is taken apart without decoding what nobody asked for. Anything else, and any older
schema version, goes through `replay.reader`, which brings it up to date and says whether it is interrupted or corrupt:
an interrupted run keeps what can be trusted, a corrupt one keeps a row in `runs` and nothing else.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from replay.logref import LogRef, as_ref, sealed_bytes
from replay.reader import RunReader
from schemas import upcast
from schemas.errors import LogError
from schemas.events import SCHEMA_VERSION, ModelError, ModelRequest, RunFinished, RunStarted, ToolCall, TurnFinished

_MAX_WINDOW = 1 << 27
_PIECE = 1 << 18
"""Bytes that are decompressed at a time: most logs fit in one piece, which spares joining them."""
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
    """What one log gave: its facts, and the raw lines of each wanted event type, newline included."""

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
    raw = None if strict else _raw(log)
    scanned = None if raw is None else _scan_whole(raw, frozenset(name.encode() for name in wanted))
    if scanned is None:
        scanned = _scan_checked(log, wanted)
    scanned.facts.file_bytes = log.file_bytes
    return scanned


def _raw(log: LogRef) -> bytes | None:
    """All raw bytes of a log that is whole, or None."""
    if log.sealed is None:
        try:
            return _decompress(log.path.read_bytes())
        except OSError as error:
            raise LogError(f"{log}: cannot read the log: {error.strerror}") from None
    try:
        return sealed_bytes(log)
    except LogError:
        return None


def _scan_whole(raw: bytes, wanted: frozenset[bytes]) -> Scanned | None:
    """The quick way, or None if the log is not whole or not of today's schema."""
    kinds = wanted | _FACTS
    kept: dict[bytes, list[bytes]] = {kind: [] for kind in kinds}
    end = 0
    for match in _lines_of(kinds).finditer(raw):
        if match.start() != end:
            return None
        end = match.end()
        kept[match[2]].append(match[1])
    if end != len(raw):
        return None
    try:
        facts = _facts_of(raw, kept)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return None if facts is None else Scanned(facts, {kind.decode(): kept[kind] for kind in wanted})


@cache
def _lines_of(kinds: frozenset[bytes]) -> re.Pattern[bytes]:
    """Matches one line of these types (group 1 the line, group 2 its type) after any number of others."""
    names = b"|".join(sorted(kinds))
    skipped = rb'(?:\{"type":"(?!(?:%b)")[a-z_]+",.*+\n)*+' % names
    return re.compile(rb'%b(\{"type":"(%b)",.*+\n)' % (skipped, names))


def _decompress(data: bytes) -> bytes | None:
    """All frames of a file, or None if one of them is torn or damaged."""
    parts: list[bytes] = []
    while data:
        frame = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj(write_size=_PIECE)
        try:
            parts.append(frame.decompress(data))
        except zstandard.ZstdError:
            return None
        if not frame.eof:
            return None
        data = frame.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _facts_of(raw: bytes, kept: dict[bytes, list[bytes]]) -> RunFacts | None:
    """The facts of a log whose last line closes it with the right digest, or None."""
    if len(kept[b"run_started"]) != 1 or len(kept[b"run_finished"]) != 1:
        return None
    last = kept[b"run_finished"][0]
    start, finish = _started.decode(kept[b"run_started"][0]), _finished.decode(last)
    if start.schema_version != SCHEMA_VERSION or not finish.seq + 1 == finish.events == raw.count(b"\n"):
        return None
    if hashlib.sha256(memoryview(raw)[: len(raw) - len(last)]).hexdigest() != finish.sha256:
        return None
    facts = _identity(start)
    facts.status, facts.status_reason = finish.status, finish.reason
    facts.duration_s = finish.t
    facts.events = finish.events
    facts.raw_bytes = len(raw)
    facts.requests = len(kept[b"model_request"])
    facts.tool_calls = len(kept[b"tool_call"])
    facts.model_errors = len(kept[b"model_error"])
    _add_turns(facts, (_turn.decode(line) for line in kept[b"turn_finished"]))
    return facts


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
            lines[kind].append(current(record.line))
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
