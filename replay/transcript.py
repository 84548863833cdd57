"""One run as a person reads it: turns, requests, calls, results, timings, tokens."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from replay.logref import LogRef
from replay.output import printable
from replay.reader import End, Record, read_all
from replay.totals import total
from schemas import events
from schemas.errors import LogError
from schemas.words import counted

_CLIP_LINES = 24
_CLIP_FROM = 32
_CLIP_CHARS = 2_000
"""Of one line, which a model can make as long as it likes."""


class Transcript(msgspec.Struct, kw_only=True):
    """A run folded for reading. `steps` are plain objects in order of the log, each with a `step` that names it."""

    path: str
    state: str
    detail: str
    run: dict[str, Any]
    steps: list[dict[str, Any]]
    totals: dict[str, Any]


def transcript(path: LogRef | Path) -> Transcript:
    """The transcript of a log. Raises `LogError` if it is corrupt or has not even a first event."""
    records, end = read_all(path)
    if not records or not isinstance(records[0].event, events.RunStarted):
        raise LogError(f"{path}: the log was torn before its first event; there is nothing to show")
    return Transcript(
        path=str(path),
        state=end.state,
        detail=end.describe(),
        run=_identity(records[0].event),
        steps=[step for record in records if (step := _step(record))],
        totals=_totals(records, end),
    )


def _identity(start: events.RunStarted) -> dict[str, Any]:
    return {
        "run_id": start.run_id,
        "campaign_id": start.campaign_id,
        "case_id": start.case_id,
        "repetition": start.repetition,
        "attempt": start.attempt,
        "arm": start.arm,
        "agent": start.agent,
        "model": start.model,
        "tier": start.policy.tier,
        "seed": start.seed,
        "wall_time": start.wall_time,
        "stimulus_sha256": start.stimulus_sha256,
        "rubric_sha256": start.rubric_sha256,
    }


def _step(record: Record) -> dict[str, Any] | None:
    """The readable form of an event, or None for those that only carry the wire."""
    event = record.event
    match event:
        case events.TurnStarted():
            return _plain("turn", event)
        case events.ModelRequest():
            return {
                "step": "request",
                "t": event.t,
                "request": event.request,
                "turn": event.turn,
                "iteration": event.iteration,
                "attempt": event.attempt,
                "dialect": event.dialect,
                "url": event.url,
                "messages": sum(last - first + 1 for first, last in event.messages),
                "body_bytes": event.body_bytes,
            }
        case events.ModelResponse():
            return _plain("response", event)
        case events.ModelError():
            return _plain("error", event)
        case events.ToolCall():
            return _plain("call", event)
        case events.ToolResult():
            return _plain("result", event)
        case events.ScreenAction():
            return _plain("screen_action", event)
        case events.HistoryTrimmed():
            return _plain("history_trimmed", event)
        case events.ContextChecked():
            return _plain("context_checked", event) if event.verdict != "intact" else None
        case events.Interrupted():
            return _plain("interrupted", event)
        case events.TurnFinished():
            return _plain("turn_finished", event)
        case events.RunFinished():
            return _plain("run_finished", event)
        case events.Unknown():
            return {"step": "unknown", "t": event.t, "event": msgspec.json.decode(record.line)}
        case _:
            return None


def _plain(step: str, event: events.Event) -> dict[str, Any]:
    data = msgspec.to_builtins(event)
    return {"step": step, **{key: value for key, value in data.items() if key not in ("type", "seq")}}


def _totals(records: list[Record], end: End) -> dict[str, Any]:
    kinds = [record.event for record in records]
    turns = [event for event in kinds if isinstance(event, events.TurnFinished)]
    last = kinds[-1]
    return {
        "events": end.events,
        "raw_bytes": end.raw_bytes,
        "file_bytes": end.file_bytes,
        "status": last.status if isinstance(last, events.RunFinished) and end.state == "complete" else None,
        "requests": sum(isinstance(event, events.ModelRequest) for event in kinds),
        "tool_calls": sum(isinstance(event, events.ToolCall) for event in kinds),
        "input_tokens": total(turn.usage.input_tokens for turn in turns),
        "output_tokens": total(turn.usage.output_tokens for turn in turns),
        "duration_s": last.t if last.t >= 0 else None,
    }


def render(shown: Transcript, *, whole: bool = False) -> Iterator[str]:
    """The lines of a transcript for a terminal; long texts are clipped in the middle unless `whole`.

    Whatever a model or a server wrote stays within its line, and cannot pass for another one.
    """
    for line in _lines(shown, whole):
        yield printable(line if whole else _clipped(line))


def _lines(shown: Transcript, whole: bool) -> Iterator[str]:
    run, totals = shown.run, shown.totals
    attempt = f", attempt {run['attempt']}" if run["attempt"] > 1 else ""
    yield f"run {run['run_id']}  case {run['case_id']}, repetition {run['repetition']}{attempt}"
    tier = f", tier {run['tier']}" if run["tier"] else ""
    yield f"    agent {run['agent']}, model {run['model']}{tier}, recorded {run['wall_time']}"
    for step in shown.steps:
        yield from _render_step(step, whole)
    yield ""
    status = f"status {totals['status']}" if totals["status"] else f"no status: the log is {shown.detail}"
    yield (
        f"{status}; {counted(totals['requests'], 'request')}, {counted(totals['tool_calls'], 'tool call')}, "
        f"{_count(totals['input_tokens'])} in, {_tokens(totals['output_tokens'])} out, "
        f"{_seconds(totals['duration_s'])}, {counted(totals['events'], 'event')}, "
        f"{counted(totals['raw_bytes'], 'byte')} raw, {totals['file_bytes']} in the file"
    )


def _render_step(step: dict[str, Any], whole: bool) -> Iterator[str]:
    clock = f"{step['t']:8.2f}s"
    match step["step"]:
        case "turn":
            yield ""
            yield f"{clock}  turn {step['turn']}  user:"
            yield from _block(step["user"], whole)
        case "request":
            again = f", attempt {step['attempt']}" if step["attempt"] > 1 else ""
            yield (
                f"{clock}  request {step['request']} (iteration {step['iteration']}{again}, {step['dialect']}): "
                f"{counted(step['messages'], 'message')}, {counted(step['body_bytes'], 'byte')}"
            )
        case "response":
            yield f"{clock}  model: {_timing(step)}"
            yield from _block(step.get("reasoning") or "", whole, mark="    (thinks) ")
            yield from _block(step["content"], whole)
        case "call":
            why = f" ({step['problem']})" if step.get("problem") else ""
            origin = "" if step.get("origin", "native") == "native" else f", call found in {step['origin']}"
            called = f"{step['tool']} {step['arguments_raw']}"
            yield f"{clock}  call {step['call']} {called}  [{step['disposition']}{origin}]{why}"
        case "result":
            state = "ok" if step["ok"] else f"error: {step.get('error_class')}"
            yield f"{clock}  result {step['call']}  [{state}, {counted(len(step['result']), 'character')}]"
            yield from _block(step.get("shown") or step["result"], whole)
        case "error":
            retry = ", will retry" if step.get("will_retry") else ""
            yield f"{clock}  model error: {step['error_class']}{retry}: {step['message']}"
        case "screen_action":
            yield f"{clock}  screen: {step['message']}"
        case "turn_finished":
            error = f": {step['error']}" if step.get("error") else ""
            yield f"{clock}  turn {step['turn']} {step['outcome']}{error}"
        case "run_finished":
            reason = f": {step['reason']}" if step.get("reason") else ""
            yield f"{clock}  run {step['status']}{reason}"
        case other:
            details = ", ".join(f"{key} {value}" for key, value in step.items() if key not in ("step", "t"))
            yield f"{clock}  {other.replace('_', ' ')}: {details}"


def _timing(step: dict[str, Any]) -> str:
    usage = step.get("usage") or {}
    first = step.get("time_to_first_token_s")
    parts = [
        f"finish {step['finish_reason']}",
        f"{_count(usage.get('input_tokens'))} in, {_tokens(usage.get('output_tokens'))} out",
        f"first token {_seconds(first)}, all {_seconds(step['duration_s'])}",
    ]
    return "; ".join(parts)


def _count(tokens: int | None) -> str:
    return "unknown tokens" if tokens is None else counted(tokens, "token")


def _tokens(tokens: int | None) -> str:
    return "unknown" if tokens is None else str(tokens)


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f} s"


def _block(text: str, whole: bool, mark: str = "    ") -> Iterator[str]:
    if not text.strip():
        return
    lines = text.rstrip("\n").split("\n")
    if not whole and len(lines) > _CLIP_FROM:
        half = _CLIP_LINES // 2
        left_out = f"... {len(lines) - 2 * half} lines; --whole shows them ..."
        lines = [*lines[:half], left_out, *lines[-half:]]
    for line in lines:
        yield mark + line


def _clipped(line: str) -> str:
    if len(line) <= _CLIP_CHARS:
        return line
    half = _CLIP_CHARS // 2
    return f"{line[:half]} ... {len(line) - 2 * half} characters; --whole shows them ... {line[-half:]}"
