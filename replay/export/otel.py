"""OpenTelemetry GenAI spans as OTLP JSON: `traces.jsonl`, one line a run, as OpenTelemetry's file exporter writes them.

A run is a trace: one span for the run, below it one for each turn (`invoke_agent`), and below that one for each request
(`chat`) and each call (`execute_tool`). Attribute names are those of the GenAI conventions. Context size, model digest
and quantization, which these do not have, and what identifies a run stand under `korvid.`. Ids follow from the log's
digest.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from replay.export.command import Campaign
from replay.export.projection import CallView, Exchange, RunView, TurnView, text_of
from replay.unicode import encode_json

VERSION = "OTLP JSON, GenAI semantic conventions 1.41"
SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0"
FILE = "traces.jsonl"

_INTERNAL, _CLIENT = 1, 3
_ERROR = 2
_OPTIONS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "max_tokens": "gen_ai.request.max_tokens",
    "seed": "gen_ai.request.seed",
}
_DOUBLES = frozenset(_OPTIONS.values()) - {"gen_ai.request.max_tokens", "gen_ai.request.seed"}


def write(campaign: Campaign, out: Path) -> str:
    """One line a run. Gives the version of the format."""
    with (out / FILE).open("wb") as file:
        for run in campaign.runs():
            file.write(encode_json(traces(run, campaign)) + b"\n")
    return VERSION


def traces(run: RunView, campaign: Campaign) -> dict[str, Any]:
    """The TracesData of one run."""
    scope = {"name": "korvid-rec", "version": distribution_version("korvid-rec")}
    spans = list(_Trace(run, campaign).spans())
    resource = {"attributes": _attributes({"service.name": "korvid-rec", "korvid.campaign.id": campaign.campaign_id})}
    scoped = {"scope": scope, "spans": spans, "schemaUrl": SCHEMA_URL}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}


class _Trace:
    """The spans of one run: they share a trace id and what identifies run and model."""

    def __init__(self, run: RunView, campaign: Campaign) -> None:
        self._run = run
        self._trace_id = hashlib.sha256(f"trace {run.sha256}".encode()).hexdigest()[:32]
        self._start = datetime.fromisoformat(run.started.wall_time)
        self._common = {
            "gen_ai.provider.name": run.started.policy.provider,
            "gen_ai.request.model": run.started.policy.model,
            "gen_ai.conversation.id": run.started.run_id,
            **_serving(campaign),
        }

    def spans(self) -> Iterator[dict[str, Any]]:
        """Every span, parents before children."""
        run, started = self._run, self._run.started
        status = None if run.status == "completed" else run.status
        yield self._span(
            "run",
            None,
            f"invoke_agent {started.case_id}",
            (0.0, run.duration_s),
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "korvid-rec" if started.agent == "model" else started.agent,
                "korvid.run.id": started.run_id,
                "korvid.run.status": run.status,
                "korvid.run.repetition": started.repetition,
                "korvid.run.attempt": started.attempt,
                "korvid.run.log_sha256": run.sha256,
                "korvid.case.id": started.case_id,
                "korvid.case.stimulus_sha256": started.stimulus_sha256,
                "korvid.case.rubric_sha256": started.rubric_sha256,
                "korvid.arm": started.arm,
                "korvid.tier": started.policy.tier,
                "korvid.not_recorded": list(started.not_recorded) or None,
            },
            error=status,
            message=run.reason,
        )
        for turn in run.turns:
            yield from self._turn(turn)

    def _turn(self, turn: TurnView) -> Iterator[dict[str, Any]]:
        key = f"turn {turn.started.turn}"
        finished = turn.finished
        usage = finished.usage if finished is not None else None
        failed = finished is None or finished.outcome != "answered"
        yield self._span(
            key,
            "run",
            f"invoke_agent {self._run.started.case_id} turn {turn.started.turn}",
            (turn.t, turn.end_t),
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "korvid-rec",
                "gen_ai.usage.input_tokens": usage.input_tokens if usage else None,
                "gen_ai.usage.output_tokens": usage.output_tokens if usage else None,
                "gen_ai.input.messages": _json([_message("user", turn.started.user)]),
                "gen_ai.output.messages": _json([_message("assistant", finished.answer)]) if finished else None,
                "korvid.turn": turn.started.turn,
                "korvid.turn.outcome": finished.outcome if finished else "interrupted",
                "korvid.usage.estimated": finished.usage_estimated if finished else None,
            },
            error=(finished.outcome if finished else "interrupted") if failed else None,
            message=finished.error if finished else None,
        )
        for exchange in turn.exchanges:
            yield self._chat(key, exchange)
        for call in turn.all_calls():
            yield self._tool(key, call)

    def _chat(self, parent: str, exchange: Exchange) -> dict[str, Any]:
        request, response, error = exchange.request, exchange.response, exchange.error
        usage = response.usage if response is not None else None
        address = urlsplit(request.url)
        options = {_OPTIONS[name]: value for name, value in exchange.rest.items() if name in _OPTIONS}
        return self._span(
            f"request {request.request}",
            parent,
            f"chat {self._run.started.policy.model}",
            (exchange.t, exchange.end_t),
            {
                "gen_ai.operation.name": "chat",
                **{name: float(value) if name in _DOUBLES else value for name, value in options.items()},
                "gen_ai.response.finish_reasons": [response.finish_reason]
                if response is not None and response.finish_reason
                else None,
                "gen_ai.usage.input_tokens": usage.input_tokens if usage else None,
                "gen_ai.usage.output_tokens": usage.output_tokens if usage else None,
                "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens if usage else None,
                "gen_ai.input.messages": _json([_sent(message) for message in exchange.messages]),
                "gen_ai.output.messages": _json([_received(response)]) if response is not None else None,
                "gen_ai.tool.definitions": _json(exchange.tools) if exchange.tools else None,
                "server.address": address.hostname,
                "server.port": address.port,
                "http.response.status_code": response.status if response is not None else None,
                "korvid.request": request.request,
                "korvid.request.attempt": request.attempt,
                "korvid.request.body_sha256": request.body_sha256,
                "korvid.response.time_to_first_token": response.time_to_first_token_s if response else None,
            },
            kind=_CLIENT,
            error=error.error_class if error is not None else None if response is not None else "interrupted",
            message=error.message if error is not None else None,
        )

    def _tool(self, parent: str, view: CallView) -> dict[str, Any]:
        call, result = view.call, view.result
        failed = result is not None and not result.ok
        return self._span(
            f"call {call.call}",
            parent,
            f"execute_tool {call.tool}",
            (view.t, view.result_t),
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.tool,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": call.call_id,
                "gen_ai.tool.call.arguments": call.arguments_raw,
                "gen_ai.tool.call.result": (result.result if result.shown is None else result.shown)
                if result is not None
                else None,
                "korvid.call": call.call,
                "korvid.call.disposition": call.disposition,
                "korvid.call.request": call.request,
            },
            error=((result.error_class or "internal") if result is not None and failed else None),
        )

    def _span(
        self,
        key: str,
        parent: str | None,
        name: str,
        times: tuple[float, float | None],
        attributes: dict[str, Any],
        *,
        kind: int = _INTERNAL,
        error: str | None = None,
        message: str | None = None,
    ) -> dict[str, Any]:
        start, end = times[0], times[0] if times[1] is None else times[1]
        span: dict[str, Any] = {"traceId": self._trace_id, "spanId": self._span_id(key)}
        if parent is not None:
            span["parentSpanId"] = self._span_id(parent)
        return span | {
            "name": name,
            "kind": kind,
            "startTimeUnixNano": self._nanoseconds(start),
            "endTimeUnixNano": self._nanoseconds(max(start, end)),
            "attributes": _attributes(self._common | attributes | {"error.type": error}),
            "status": {"code": _ERROR, "message": message or error} if error is not None else {},
        }

    def _span_id(self, key: str) -> str:
        return hashlib.sha256(f"{self._trace_id} {key}".encode()).hexdigest()[:16]

    def _nanoseconds(self, t: float) -> str:
        """Nanoseconds since 1970 as a text, which is how OTLP JSON writes 64-bit numbers."""
        since = self._start + timedelta(seconds=t) - datetime.fromisoformat("1970-01-01T00:00:00+00:00")
        return str((since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000)


def _serving(campaign: Campaign) -> dict[str, Any]:
    """What the GenAI conventions have no names for, under ours."""
    passport = campaign.manifest.serving_before if campaign.manifest is not None else None
    if passport is None:
        return {}
    return {
        "korvid.model.digest": passport.digest,
        "korvid.model.quantization": passport.quantization,
        "korvid.model.parameter_size": passport.parameter_size,
        "korvid.context.length": passport.context_length,
        "korvid.context.max_length": passport.max_context_length,
        "korvid.engine.name": passport.engine.name if passport.engine else None,
        "korvid.engine.version": passport.engine.version if passport.engine else None,
    }


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def _sent(message: Any) -> dict[str, Any]:
    """A message as it was sent, in the parts of the conventions."""
    if not isinstance(message, dict):
        return _message("user", "")
    role = str(message.get("role", "user"))
    content = text_of(message.get("content"))
    if role == "tool":
        part = {"type": "tool_call_response", "id": message.get("tool_call_id"), "response": content}
        return {"role": "tool", "parts": [part]}
    parts: list[dict[str, Any]] = [{"type": "text", "content": content}] if content else []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        parts.append(_call_part(call.get("id"), function.get("name"), function.get("arguments")))
    return {"role": role, "parts": parts}


def _received(response: Any) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if response.reasoning:
        parts.append({"type": "reasoning", "content": response.reasoning})
    if response.content:
        parts.append({"type": "text", "content": response.content})
    parts += [_call_part(call.id, call.name, call.arguments) for call in response.tool_calls]
    return {"role": "assistant", "parts": parts, "finish_reason": response.finish_reason or "unknown"}


def _call_part(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def _json(value: Any) -> str:
    """Structured content as JSON text: span attributes hold no nested values."""
    return encode_json(value).decode()


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": value if isinstance(value, str) else msgspec.json.encode(value).decode()}
