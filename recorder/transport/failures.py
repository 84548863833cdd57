"""What a request that came to nothing is called, decided by what happened on the wire.

Servers word the same failure differently; the patterns name the wordings of Ollama, llama.cpp, vLLM and OpenAI.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from schemas.codec import parse_json
from schemas.events import ModelErrorClass

MESSAGE_CHARS = 500
RETRY_STATUSES = (429, 503)
MAX_RETRIES = 2
MAX_WAIT_S = 30.0

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|prompt (is )?too long|input (is )?too long"
    r"|(exceed|maximum|larger|longer|greater|fit)\w*.{0,80}context[ _]?(length|size|window)"
    r"|context[ _]?(length|size|window).{0,80}(exceed|too (small|large|long)|shift)"
    r"|context shift is disabled",
    re.IGNORECASE | re.DOTALL,
)
_MALFORMED_CALL = re.compile(
    r"(pars|unmarshal|decod|invalid|malformed)\w*.{0,40}(tool|function)[ _-]?call"
    r"|(tool|function)[ _-]?call.{0,80}(pars|unmarshal|decod|invalid|malformed|not valid)"
    r"|failed to parse input at pos",
    re.IGNORECASE | re.DOTALL,
)


def class_of_status(status: int, message: str) -> ModelErrorClass:
    """The class of an error that a server reported with `status`, by what it says."""
    if _OVERFLOW.search(message):
        return "context_overflow"
    # The server could not read what the model wrote: the model's slip, not the provider's.
    if (status >= 500 or status == 200) and _MALFORMED_CALL.search(message):
        return "malformed_call"
    return "http_status"


def class_of_fault(fault: httpx.TransportError, answered: bool) -> ModelErrorClass:
    """The class of a network error; `answered` is whether response headers had arrived."""
    if isinstance(fault, httpx.ConnectTimeout):
        return "unreachable"
    if isinstance(fault, httpx.TimeoutException):
        return "timeout"
    return "malformed_stream" if answered else "unreachable"


def fault_text(fault: httpx.TransportError) -> str:
    """A network error in words; httpx leaves some without any."""
    return f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__


def error_text(body: bytes) -> str:
    """What an error body says: its `error`, `error.message` or `message`, else the text as it is."""
    text = body.decode("utf-8", "replace").strip()
    try:
        value = parse_json(text)
    except (ValueError, RecursionError):
        return text
    return message_in(value) or text


def message_in(value: Any) -> str:
    """The message in a decoded error, wherever servers put it; empty if there is none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    for key in ("error", "message", "detail"):
        if found := message_in(value.get(key)):
            # The code is often what tells an overflow from another bad request.
            labels = [str(value[name]) for name in ("code", "type") if value.get(name)]
            return f"{found} ({', '.join(labels)})" if key == "message" and labels else found
    return ""


def bounded(text: str) -> str:
    """At most `MESSAGE_CHARS` characters of a message."""
    return text if len(text) <= MESSAGE_CHARS else text[:MESSAGE_CHARS] + "..."


def retry_wait(status: int | None, headers: httpx.Headers, attempt: int) -> float | None:
    """Seconds to wait before the next attempt, or None where there is to be none. `attempt` counts from 1.

    `Retry-After` is honoured up to `MAX_WAIT_S`; without it the wait is 1 s, then 2 s.
    """
    if status not in RETRY_STATUSES or attempt > MAX_RETRIES:
        return None
    asked = _retry_after(headers.get("retry-after", ""))
    return min(max(asked, 0.0), MAX_WAIT_S) if asked is not None else float(2 ** (attempt - 1))


def _retry_after(text: str) -> float | None:
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text.strip()):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None
