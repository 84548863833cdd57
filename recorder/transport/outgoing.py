"""A conversation made fit to send, without touching the conversation itself.

Lone surrogates become U+FFFD: they cannot be sent as UTF-8. Arguments of earlier tool calls that are no JSON object
become `{}`: native Ollama takes nothing but objects and llama.cpp's templates fail on anything else, so a model's slip
would otherwise end the run as a server error. The error text that answered the call is still in the conversation.
"""

import re
from collections.abc import Sequence
from typing import Any

from schemas.codec import parse_json

_SURROGATE = re.compile("[\ud800-\udfff]")


def fit_to_send(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Copies of the messages that every server can read."""
    return [_with_object_arguments(clean_text(message)) for message in messages]


def clean_text(value: Any) -> Any:
    """Plain data with each lone surrogate replaced by U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {clean_text(key): clean_text(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_text(item) for item in value]
    return value


def _with_object_arguments(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if not calls:
        return message
    return {**message, "tool_calls": [_fit_call(call) for call in calls]}


def _fit_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function") or {}
    arguments = function.get("arguments")
    if isinstance(arguments, str) and _is_object(arguments):
        return call
    return {**call, "function": {**function, "arguments": "{}"}}


def _is_object(text: str) -> bool:
    try:
        return isinstance(parse_json(text), dict)
    except (ValueError, RecursionError):
        return False
