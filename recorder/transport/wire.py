"""Reading a response from its raw bytes: the wire is the truth, whatever a client library makes of it.

`WireReader` takes the body as it arrives (server-sent events, lines of JSON, or one JSON document) and puts the answer
together: visible content, thinking, tool calls, finish reason, the server's own counters. It never raises on what a
server sends; `problem` says what was wrong with it.
"""

from typing import Any, Literal

from recorder.transport.calls import CallAssembly
from recorder.transport.thinking import ThinkSplitter
from schemas.codec import parse_json, whole_characters
from schemas.events import Dialect

Framing = Literal["sse", "lines", "document"]

_OLLAMA_COUNTERS = (
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
)
_OPENAI_COUNTERS = ("usage", "timings")
_THINKING_KEYS = ("reasoning_content", "reasoning", "thinking")
_EXCERPT_CHARS = 120


def framing_of(dialect: Dialect, stream: bool, content_type: str) -> Framing:
    """How a response body is cut into JSON texts, by what was asked for and what the server says it sent."""
    if not stream or (dialect == "openai" and content_type.lower().startswith("application/json")):
        return "document"
    return "sse" if dialect == "openai" else "lines"


class WireReader:
    """One response. Times are seconds since the request was sent.

    `complete` is whether the server itself ended the answer. `error` is an error the server reported inside a
    successful response.
    """

    def __init__(self, dialect: Dialect, framing: Framing) -> None:
        self._dialect = dialect
        self._framing = framing
        self._held: list[bytes] = []
        self._data: list[bytes] = []
        self._content = ThinkSplitter()
        self._reasoning: list[str] = []
        self.calls = CallAssembly()
        self.finish_reason: str | None = None
        self.complete = False
        self.problem: str | None = None
        self.error: dict[str, Any] | None = None
        self.server_usage: dict[str, Any] = {}
        self.first_token_at: float | None = None
        self._begun = False

    @property
    def content(self) -> str:
        """The visible answer."""
        return whole_characters(self._content.visible)

    @property
    def reasoning(self) -> str | None:
        """The thinking, from its own field and from the content; None if there was none."""
        return whole_characters("".join(self._reasoning) + self._content.thinking) or None

    def feed(self, data: bytes, at: float) -> str:
        """Take raw bytes that arrived `at` and give the text that became visible."""
        self._held.append(data)
        if self._framing == "document" or b"\n" not in data:
            return ""
        *lines, rest = b"".join(self._held).split(b"\n")
        self._held = [rest]
        return "".join(self._line(line, at) for line in lines)

    def finish(self, at: float) -> str:
        """The body has ended: read what is left and give the text that became visible."""
        held, self._held = b"".join(self._held), []
        shown = ""
        if self._framing == "document":
            shown += self._document(held, at, whole=True)
        else:
            shown += self._line(held, at) if held else ""
            shown += self._dispatch(at)
        return shown + self._content.finish()

    def _line(self, line: bytes, at: float) -> str:
        line = line.removesuffix(b"\r")
        if self._framing == "lines":
            return self._document(line, at, whole=False) if line.strip() else ""
        if not line:
            return self._dispatch(at)
        field, _, value = line.partition(b":")
        if field in (b"data", b"error"):
            self._data.append(value.removeprefix(b" "))
        elif field not in (b"", b"event", b"id", b"retry"):
            self._complain(f"a line that is no server-sent event: {_excerpt(line)}")
        return ""

    def _dispatch(self, at: float) -> str:
        if not self._data:
            return ""
        data, self._data = b"\n".join(self._data), []
        bare = data.strip()
        if not bare:
            return ""
        if bare == b"[DONE]":
            if not self._begun:
                self._complain("the stream ended and held no answer")
            self.complete = True
            return ""
        return self._document(data, at, whole=False)

    def _document(self, data: bytes, at: float, *, whole: bool) -> str:
        try:
            value = self._parsed(data)
        except (ValueError, RecursionError):
            self._complain(f"not JSON: {_excerpt(data)}" if data.strip() else "an empty body")
            return ""
        if not isinstance(value, dict):
            self._complain(f"not a JSON object: {_excerpt(data)}")
            return ""
        if value.get("error"):
            error = value["error"]
            self.error = error if isinstance(error, dict) else {"message": str(error)}
            return ""
        return self._ollama(value, at) if self._dialect == "ollama" else self._openai(value, at, whole)

    def _ollama(self, value: dict[str, Any], at: float) -> str:
        message = value.get("message")
        shown = ""
        if isinstance(message, dict):
            self.calls.whole(message.get("tool_calls"))
            shown = self._message(message, at)
        if value.get("done") is True:
            self.complete = True
            reason = value.get("done_reason")
            self.finish_reason = reason if isinstance(reason, str) else None
            self.server_usage = {key: value[key] for key in _OLLAMA_COUNTERS if value.get(key) is not None}
        return shown

    def _openai(self, value: dict[str, Any], at: float, whole: bool) -> str:
        for key in _OPENAI_COUNTERS:
            if value.get(key):
                self.server_usage[key] = value[key]
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return ""
        self._begun = True
        message = choice.get("message") if whole else choice.get("delta")
        shown = ""
        if isinstance(message, dict):
            (self.calls.whole if whole else self.calls.fragments)(message.get("tool_calls"))
            shown = self._message(message, at)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish_reason = reason
            self.complete = True
        return shown

    def _message(self, message: dict[str, Any], at: float) -> str:
        """The texts of a message or delta, which both dialects have in common."""
        thinking = next((message[key] for key in _THINKING_KEYS if isinstance(message.get(key), str)), "")
        content = _text_of(message.get("content"))
        # A document says nothing of when its first token was made.
        streamed = self._framing != "document"
        if streamed and self.first_token_at is None and (thinking or content or message.get("tool_calls")):
            self.first_token_at = at
        if thinking:
            self._reasoning.append(thinking)
        return self._content.feed(content) if content else ""

    def _parsed(self, data: bytes) -> Any:
        """The value of a JSON text; bytes that are no UTF-8 are read as replacement characters. Raises `ValueError`."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            self._complain(f"not UTF-8: {_excerpt(data)}")
            text = data.decode("utf-8", "replace")
        return parse_json(text)

    def _complain(self, problem: str) -> None:
        self.problem = self.problem or problem


def _text_of(content: Any) -> str:
    """Content that is a string, or a list of parts of which the texts count."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _excerpt(data: bytes) -> str:
    text = data[: 4 * _EXCERPT_CHARS].decode("utf-8", "replace")
    return repr(text if len(text) <= _EXCERPT_CHARS else text[:_EXCERPT_CHARS] + "...")
