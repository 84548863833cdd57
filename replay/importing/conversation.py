"""The messages of an Inspect sample as turns, calls and results of ours. Pure.

A user message begins a turn. Text after the last tool result of a turn is its answer, as in our own runs. Results say
whether they failed; the class of a failure is that of our own export, or the nearest to Inspect's.
"""

from typing import Any

import msgspec

from replay.importing.shapes import Count, Seconds, count, read_json, seconds, table, tables
from replay.importing.writing import Timed
from schemas.events import (
    Disposition,
    Event,
    ToolCall,
    ToolErrorClass,
    ToolResult,
    TurnFinished,
    TurnOutcome,
    TurnStarted,
    Usage,
)

_CLASSES: dict[str, ToolErrorClass] = {
    "permission": "forbidden",
    "approval": "write_refused",
    "parsing": "malformed",
    "file_not_found": "not_found",
}
_ATTACHMENT = "attachment://"


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """What the user said in each turn, and the events of all turns in order."""

    turns: tuple[str, ...]
    events: tuple[Timed, ...]
    duration_s: float


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """What our own export says of a turn."""

    outcome: TurnOutcome
    answer: str
    iterations: Count
    tool_calls: Count
    duration_s: Seconds
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    usage_estimated: bool = False
    error: str | None = None


class _Said(msgspec.Struct, frozen=True):
    disposition: Disposition


class _Failed(msgspec.Struct, frozen=True):
    error_class: ToolErrorClass


class _Turn:
    """A turn while its messages come."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.answer = ""
        self.iterations = 0
        self.calls: list[tuple[dict[str, Any], dict[str, Any] | None]] = []


def conversation(sample: dict[str, Any], ours: dict[str, Any]) -> Conversation:
    """The conversation of a sample; `ours` is what an export from here left of it, or empty.

    Raises `KeyError`, `TypeError` or `ValueError` if the sample is none.
    """
    attachments = sample.get("attachments") or {}
    turns = _turns(sample["messages"], attachments)
    known = [msgspec.convert(part, _Known) for part in ours.get("turns", ())]
    total = seconds(sample.get("total_time"))
    events: list[Timed] = []
    at, call = 0.0, 0
    for number, turn in enumerate(turns, 1):
        told = known[number - 1] if number <= len(known) else None
        duration = told.duration_s if told else (total if number == len(turns) else 0.0)
        found: list[Event] = [TurnStarted(turn=number, user=turn.user)]
        for emitted, result in turn.calls:
            call += 1
            found += _call(call, number, turn, emitted, result, attachments)
        events += [Timed(at, event) for event in found]
        at += duration
        events.append(Timed(at, _finished(number, turn, told, sample, len(turns), duration)))
    return Conversation(turns=tuple(turn.user for turn in turns), events=tuple(events), duration_s=max(at, total))


def _turns(messages: list[dict[str, Any]], attachments: dict[str, str]) -> list[_Turn]:
    turns: list[_Turn] = []
    by_id: dict[str, int] = {}
    for message in messages:
        role, text = message["role"], _text(message.get("content"), attachments)
        if role == "user":
            turns.append(_Turn(text))
            by_id = {}
        elif role == "assistant":
            if not turns:
                turns.append(_Turn(""))
            turn = turns[-1]
            turn.iterations += 1
            turn.answer = text
            for emitted in message.get("tool_calls") or ():
                by_id[str(emitted["id"])] = len(turn.calls)
                turn.calls.append((emitted, None))
        elif role == "tool" and turns:
            index = by_id.get(str(message.get("tool_call_id")))
            turns[-1].answer = ""
            if index is not None:
                turns[-1].calls[index] = (turns[-1].calls[index][0], message)
    return turns


def _text(content: Any, attachments: dict[str, str]) -> str:
    """Visible text: reasoning is no part of an answer."""
    if isinstance(content, str):
        key = content.removeprefix(_ATTACHMENT)
        return str(attachments.get(key, content)) if content.startswith(_ATTACHMENT) else content
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "".join(_text(part.get("text"), attachments) for part in parts)
    return ""


def _call(
    number: int,
    turn_number: int,
    turn: _Turn,
    emitted: dict[str, Any],
    result: dict[str, Any] | None,
    attachments: dict[str, str],
) -> list[Event]:
    said = _korvid(result)
    raw = said.get("arguments_raw")
    malformed = emitted.get("parse_error")
    arguments = None if malformed else _object(emitted.get("arguments"))
    text = raw if isinstance(raw, str) else _raw(emitted.get("arguments"))
    call = ToolCall(
        call=number,
        turn=turn_number,
        iteration=0,
        request=0,
        call_id=str(emitted["id"]),
        tool=str(emitted["function"]),
        arguments_raw=text,
        arguments=arguments,
        disposition=_disposition(said, arguments, result),
        problem=str(malformed) if malformed else None,
    )
    if result is None:
        lost = ToolResult(call=number, tool=call.tool, ok=False, result="", error_class="discarded")
        return [call, lost]
    error = result.get("error")
    ok = said["ok"] if isinstance(said.get("ok"), bool) else error is None
    shown = _text(result.get("content"), attachments)
    if not shown and isinstance(error, dict):
        shown = str(error.get("message") or "")
    return [call, ToolResult(call=number, tool=call.tool, ok=ok, result=shown, error_class=_class(said, error, ok))]


def _korvid(result: dict[str, Any] | None) -> dict[str, Any]:
    metadata = (result or {}).get("metadata")
    found = metadata.get("korvid") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def _disposition(said: dict[str, Any], arguments: Any, result: dict[str, Any] | None) -> Disposition:
    try:
        return msgspec.convert(said, _Said).disposition
    except msgspec.ValidationError:
        return "discarded" if result is None else "malformed" if arguments is None else "executed"


def _class(said: dict[str, Any], error: Any, ok: bool) -> ToolErrorClass | None:
    if ok:
        return None
    try:
        return msgspec.convert(said, _Failed).error_class
    except msgspec.ValidationError:
        kind = error.get("type") if isinstance(error, dict) else None
        return _CLASSES.get(str(kind), "internal")


def _object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        try:
            value = read_json(value)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def _raw(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value or {}).decode()


def _finished(
    number: int, turn: _Turn, told: _Known | None, sample: dict[str, Any], turns: int, duration: float
) -> TurnFinished:
    if told is not None:
        return TurnFinished(
            turn=number,
            outcome=told.outcome,
            answer=told.answer,
            iterations=told.iterations,
            tool_calls=told.tool_calls,
            duration_s=told.duration_s,
            usage=Usage(input_tokens=told.input_tokens, output_tokens=told.output_tokens),
            usage_estimated=told.usage_estimated,
            error=told.error,
        )
    limit = sample.get("limit") if number == turns else None
    error = f"limit: {limit.get('type')} {limit.get('limit')}" if isinstance(limit, dict) else None
    outcome: TurnOutcome = "iteration_limit" if error else "answered" if turn.answer.strip() else "empty"
    return TurnFinished(
        turn=number,
        outcome=outcome,
        answer=turn.answer,
        iterations=turn.iterations,
        tool_calls=len(turn.calls),
        duration_s=duration,
        usage=_usage(sample) if turns == 1 else Usage(),
        error=error,
    )


def _usage(sample: dict[str, Any]) -> Usage:
    """The tokens of all models of a sample; unknown where it names none."""
    parts = tables(list(table(sample.get("model_usage")).values()))
    return Usage(input_tokens=_sum(parts, "input_tokens"), output_tokens=_sum(parts, "output_tokens"))


def _sum(parts: list[dict[str, Any]], name: str) -> int | None:
    counts = [found for part in parts if (found := count(part.get(name))) is not None]
    return count(sum(counts)) if counts else None
