"""The events of a run: one struct each. `docs/events.md` shows them as a reader meets them.

Envelope: `type`, `seq` (0-based, gapless within a run), `t` (seconds since the run started, monotonic). The log writer
sets `seq` and `t`; until then they are -1. Fields equal to their default are left out of the file. A field may be added
with a default at any time; a changed meaning needs a new `SCHEMA_VERSION` and an upcaster.
"""

from typing import Any, Literal

import msgspec

from schemas.cases import Interaction
from schemas.imported import Imported
from schemas.policy import Policy

SCHEMA_VERSION = 1

RunStatus = Literal["completed", "interrupted", "provider_error", "harness_invalid"]
Dialect = Literal["ollama", "openai"]
Disposition = Literal["executed", "malformed", "not_armed", "discarded", "write_attempt"]
CallOrigin = Literal["native", "content"]
ModelErrorClass = Literal[
    "unreachable", "timeout", "http_status", "malformed_stream", "malformed_call", "context_overflow", "client"
]
ToolErrorClass = Literal[
    "not_found",
    "forbidden",
    "bad_request",
    "unknown_kind",
    "unknown_tool",
    "missing_argument",
    "malformed",
    "not_armed",
    "discarded",
    "write_refused",
    "screen",
    "internal",
]
TurnOutcome = Literal[
    "answered", "empty", "iteration_limit", "history_budget", "no_usable_call", "provider_error", "interrupted"
]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """The envelope."""

    seq: int = -1
    t: float = -1.0


class RunStarted(Event, frozen=True, tag="run_started"):
    """The first event: enough to grade the run with nothing else at hand.

    `wall_time` is RFC 3339 in UTC. `stimulus` and `rubric` are the wire forms of `schemas.cases`; `agent` is `model`
    for a served model, else the name of a baseline agent. `attempt` counts recordings of the same case and repetition.
    `not_recorded` names what an imported run never had (`tool_results`, `tool_arguments`), `imported` where it came
    from; both are absent from a run that was recorded here.
    """

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
    stimulus: dict[str, Any]
    rubric: dict[str, Any]
    policy: Policy
    not_recorded: tuple[str, ...] = ()
    imported: Imported | None = None


class TurnStarted(Event, frozen=True, tag="turn_started"):
    """A user turn (1-based) and the screen as it is shown to the model."""

    turn: int
    user: str
    interaction: Interaction | None = None


class Message(Event, frozen=True, tag="message"):
    """One distinct message, its JSON byte for byte as it left the process. `id` counts from 0 within the run."""

    id: int
    message: msgspec.Raw


class Toolset(Event, frozen=True, tag="toolset"):
    """One distinct `tools` value, its JSON byte for byte as it left the process. `id` counts from 0 within the run."""

    id: int
    tools: msgspec.Raw


class ModelRequest(Event, frozen=True, tag="model_request"):
    """One HTTP request that left the process; a retry is a request of its own.

    `messages` are inclusive ranges of message ids in order. `rest` is the body with `messages` and `tools` set to null,
    otherwise byte for byte; `separator` stands between messages. `schemas.requests.rebuild` gives the body back, whose
    SHA-256 is `body_sha256`; where the parts cannot give it back, `body` keeps it whole. A body that carried a secret
    is stored with the secret replaced, and `redacted` says so: its digest is that of the bytes that really left.
    """

    request: int
    turn: int
    iteration: int
    attempt: int
    dialect: Dialect
    method: str
    url: str
    stream: bool
    body_sha256: str
    body_bytes: int
    messages: tuple[tuple[int, int], ...] = ()
    separator: str = ","
    toolset: int | None = None
    rest: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    body: str | None = None
    body_base64: str | None = None
    redacted: bool = False


class WirePiece(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One piece as it came off the wire; `at` is seconds since the request was sent. Bytes that are not UTF-8 by
    themselves (a character split between pieces) are in `base64`."""

    at: float
    text: str | None = None
    base64: str | None = None


class WireChunk(Event, frozen=True, tag="wire_chunk"):
    """Raw pieces of a response body in order of arrival, with the response's HTTP status."""

    request: int
    status: int
    pieces: tuple[WirePiece, ...]


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Token counts; None is unknown, never 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None


class EmittedCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call as the model emitted it: `arguments` is the raw string; an id the server left out is synthesised."""

    id: str
    name: str
    arguments: str
    id_synthesised: bool = False
    origin: CallOrigin = "native"


class ModelResponse(Event, frozen=True, tag="model_response"):
    """What one request came to.

    `usage` is the client library's count; `server_usage` holds the server's own counters and timings exactly as it sent
    them, or None. Times are seconds since the request was sent.
    """

    request: int
    status: int
    finish_reason: str | None
    content: str
    duration_s: float
    time_to_first_token_s: float | None = None
    reasoning: str | None = None
    tool_calls: tuple[EmittedCall, ...] = ()
    usage: Usage | None = None
    server_usage: dict[str, Any] | None = None


class ModelError(Event, frozen=True, tag="model_error"):
    """A request that came to nothing. `content` is what had been streamed before it failed."""

    request: int | None
    turn: int
    error_class: ModelErrorClass
    message: str
    status: int | None = None
    content: str = ""
    retry_after_s: float | None = None
    will_retry: bool = False
    duration_s: float | None = None


class ToolCall(Event, frozen=True, tag="tool_call"):
    """A tool call and what became of it. `call` counts from 1 within the run and links the result.

    `arguments_raw` is as emitted; `arguments` is the parsed object or null; `problem` says why it is malformed.
    """

    call: int
    turn: int
    iteration: int
    request: int
    call_id: str
    tool: str
    arguments_raw: str
    arguments: dict[str, Any] | None
    disposition: Disposition
    problem: str | None = None
    origin: CallOrigin = "native"


class Redaction(msgspec.Struct, frozen=True, kw_only=True):
    """What was masked or elided in a tool result, and why."""

    path: str
    reason: str


class ToolResult(Event, frozen=True, tag="tool_result"):
    """The result of a call: `result` is whole; `shown` is the text that the model saw where that differs."""

    call: int
    tool: str
    ok: bool
    result: str
    error_class: ToolErrorClass | None = None
    shown: str | None = None
    redactions: tuple[Redaction, ...] = ()
    object_uid: str | None = None
    duration_s: float = 0.0


class ScreenAction(Event, frozen=True, tag="screen_action"):
    """An action on the screen asked for by the model; never evidence for a read."""

    call: int
    turn: int
    tool: str
    arguments: dict[str, Any]
    ok: bool
    message: str


class ScreenState(Event, frozen=True, tag="screen_state"):
    """The screen after an action or at the end of a turn."""

    turn: int
    interaction: Interaction


class HistoryTrimmed(Event, frozen=True, tag="history_trimmed"):
    """Whole turns dropped from the conversation before a request; characters before and after."""

    turn: int
    dropped_turns: int
    chars_before: int
    chars_after: int
    reason: str


class Interrupted(Event, frozen=True, tag="interrupted"):
    """The recording was stopped from outside during `turn`; `content` is what had been streamed of the answer."""

    turn: int
    iteration: int
    reason: str
    content: str = ""


class TurnFinished(Event, frozen=True, tag="turn_finished"):
    """How a turn ended. `answer` is the text streamed after the last tool call finished: only that is graded."""

    turn: int
    outcome: TurnOutcome
    answer: str
    iterations: int
    tool_calls: int
    duration_s: float
    usage: Usage = Usage()
    usage_estimated: bool = False
    interaction: Interaction | None = None
    error: str | None = None


class ContextChecked(Event, frozen=True, tag="context_checked"):
    """What is known of a silent truncation of one request's prompt by the server.

    `verdict` is `intact`, `truncated` or `unknown`; `rule` names what decided it; counts are tokens.
    """

    request: int
    verdict: Literal["intact", "truncated", "unknown"]
    rule: str
    prompt_tokens: int | None = None
    context_tokens: int | None = None


class ServingChanged(Event, frozen=True, tag="serving_changed"):
    """The serving engine is no longer what the campaign began with: one line a fact, `name: before -> after`."""

    changes: tuple[str, ...]


class RunFinished(Event, frozen=True, tag="run_finished"):
    """The last event. `sha256` is over all raw bytes of the log before this line; `events` counts this one too."""

    status: RunStatus
    sha256: str
    events: int
    duration_s: float
    reason: str | None = None
    harness_cpu_s: float | None = None


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a type that this build does not know: kept, passed on, never guessed at."""

    type: str
    seq: int
    t: float


KINDS: tuple[type[Event], ...] = (
    RunStarted,
    TurnStarted,
    Message,
    Toolset,
    ModelRequest,
    WireChunk,
    ModelResponse,
    ModelError,
    ToolCall,
    ToolResult,
    ScreenAction,
    ScreenState,
    HistoryTrimmed,
    Interrupted,
    TurnFinished,
    ContextChecked,
    ServingChanged,
    RunFinished,
)
