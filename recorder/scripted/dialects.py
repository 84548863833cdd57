"""Replies as the two dialects write them: documents, lines of JSON, server-sent events."""

import json
from typing import Any

from recorder.scripted.replies import Call, Reply, content_pieces, own_thinking

_CREATED = 1_785_139_200
_CREATED_TEXT = "2026-07-27T08:00:00Z"
_GARBAGE = "{this is no JSON"


def ollama_stream(reply: Reply, model: str) -> list[bytes]:
    """The lines of a streamed `/api/chat`."""
    rows = [_ollama_row(model, content="", thinking=own_thinking(reply))] if own_thinking(reply) else []
    rows += [_ollama_row(model, content=piece) for piece in content_pieces(reply)]
    rows += [_ollama_row(model, content="", tool_calls=[_ollama_call(call)]) for call in reply.tool_calls]
    lines = [_line(row) for row in rows]
    if reply.garbage_line:
        lines.append(f"{_GARBAGE}\n".encode())
    if reply.error is not None:
        lines.append(_line(_error_body(reply.error, native=True)))
    elif not reply.no_finish:
        lines.append(_line({**_ollama_row(model, content=""), **_ollama_end(reply)}))
    return lines


def ollama_document(reply: Reply, model: str) -> bytes:
    """The body of an `/api/chat` that does not stream."""
    row = _ollama_row(
        model,
        content="".join(content_pieces(reply)),
        thinking=own_thinking(reply),
        tool_calls=[_ollama_call(call) for call in reply.tool_calls],
    )
    return json.dumps({**row, **_ollama_end(reply)}, ensure_ascii=False).encode()


def openai_stream(reply: Reply, model: str, number: int) -> list[bytes]:
    """The server-sent events of a streamed `/v1/chat/completions`."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if own_thinking(reply):
        deltas.append({"reasoning_content": own_thinking(reply)})
    deltas += [{"content": piece} for piece in content_pieces(reply)]
    for place, call in enumerate(reply.tool_calls):
        deltas += _openai_call_deltas(call, place, reply.call_in_fragments)
    events = [_event(_openai_chunk(model, number, [_choice(delta=delta, finish=None)])) for delta in deltas]
    if reply.garbage_line:
        events.append(f"data: {_GARBAGE}\n\n".encode())
    if reply.error is not None:
        return [*events, _event(_error_body(reply.error, native=False))]
    if reply.no_finish:
        return events
    events.append(_event(_openai_chunk(model, number, [_choice(delta={}, finish=_openai_finish(reply))])))
    counters = _openai_counters(reply)
    if counters:
        events.append(_event({**_openai_chunk(model, number, []), **counters}))
    return [*events, b"data: [DONE]\n\n"]


def openai_document(reply: Reply, model: str, number: int) -> bytes:
    """The body of a `/v1/chat/completions` that does not stream."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(content_pieces(reply))}
    if own_thinking(reply):
        message["reasoning_content"] = own_thinking(reply)
    if reply.tool_calls:
        message["tool_calls"] = [_openai_call(call, place) for place, call in enumerate(reply.tool_calls)]
    choice = {"index": 0, "message": message, "finish_reason": _openai_finish(reply)}
    document = {**_openai_chunk(model, number, [choice]), "object": "chat.completion", **_openai_counters(reply)}
    return json.dumps(document, ensure_ascii=False).encode()


def error_document(reply: Reply, *, native: bool) -> bytes:
    """The body of an error status."""
    return json.dumps(_error_body(reply.error or "scripted error", native=native), ensure_ascii=False).encode()


def _error_body(error: str | dict[str, Any], *, native: bool) -> dict[str, Any]:
    if isinstance(error, dict):
        return error
    return {"error": error} if native else {"error": {"message": error, "type": "server_error", "code": None}}


def _ollama_row(
    model: str, *, content: str, thinking: str = "", tool_calls: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if thinking:
        message["thinking"] = thinking
    if tool_calls:
        message["tool_calls"] = tool_calls
    return {"model": model, "created_at": _CREATED_TEXT, "message": message, "done": False}


def _ollama_end(reply: Reply) -> dict[str, Any]:
    end: dict[str, Any] = {"done": True, "done_reason": reply.finish_reason or "stop", "total_duration": 2_000_000}
    if reply.prompt_tokens is not None:
        end |= {"prompt_eval_count": reply.prompt_tokens, "prompt_eval_duration": 1_000_000}
    if reply.output_tokens is not None:
        end |= {"eval_count": reply.output_tokens, "eval_duration": 900_000}
    return end


def _ollama_call(call: Call) -> dict[str, Any]:
    function: dict[str, Any] = {"name": call.name, "arguments": call.arguments}
    if call.index is not None:
        function["index"] = call.index
    return {"function": function} if call.id in (None, "auto") else {"id": call.id, "function": function}


def _openai_call(call: Call, place: int) -> dict[str, Any]:
    function = {"name": call.name, "arguments": _openai_arguments(call)}
    entry: dict[str, Any] = {"index": place if call.index is None else call.index, "type": "function"}
    if call.id is not None:
        entry["id"] = f"call_{place + 1}" if call.id == "auto" else call.id
    return {**entry, "function": function}


def _openai_arguments(call: Call) -> Any:
    if isinstance(call.arguments, dict) and not call.arguments_as_object:
        return json.dumps(call.arguments, ensure_ascii=False)
    return call.arguments


def _openai_call_deltas(call: Call, place: int, in_fragments: bool) -> list[dict[str, Any]]:
    whole = _openai_call(call, place)
    arguments = whole["function"]["arguments"]
    if not in_fragments or not isinstance(arguments, str):
        return [{"tool_calls": [whole]}]
    half = len(arguments) // 2
    head = {**whole, "function": {"name": call.name, "arguments": ""}}
    rest = [{"index": whole["index"], "function": {"arguments": part}} for part in (arguments[:half], arguments[half:])]
    return [{"tool_calls": [entry]} for entry in (head, *rest)]


def _openai_finish(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")


def _openai_counters(reply: Reply) -> dict[str, Any]:
    counters: dict[str, Any] = {}
    if reply.prompt_tokens is not None or reply.output_tokens is not None:
        usage: dict[str, Any] = {}
        if reply.prompt_tokens is not None:
            usage["prompt_tokens"] = reply.prompt_tokens
        if reply.output_tokens is not None:
            usage["completion_tokens"] = reply.output_tokens
        usage["total_tokens"] = (reply.prompt_tokens or 0) + (reply.output_tokens or 0)
        if reply.cached_tokens is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": reply.cached_tokens}
        counters["usage"] = usage
    if reply.timings is not None:
        counters["timings"] = reply.timings
    return counters


def _openai_chunk(model: str, number: int, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": _CREATED,
        "model": model,
        "choices": choices,
    }


def _choice(*, delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"
