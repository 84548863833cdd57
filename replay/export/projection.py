"""A log read as a conversation: turns, the requests of each, what came back, the calls that followed.

Every format of conversations is written from this. Corrupt logs are refused whole; a torn one gives what it has.
"""

from collections import Counter
from typing import Any

import msgspec

from replay.logref import LogRef
from replay.reader import RunReader
from schemas.errors import LogError
from schemas.events import (
    Message,
    ModelError,
    ModelRequest,
    ModelResponse,
    RunFinished,
    RunStarted,
    ToolCall,
    ToolResult,
    Toolset,
    TurnFinished,
    TurnStarted,
    Unknown,
)


class CallView(msgspec.Struct, kw_only=True):
    """A call and its result, each with its time; None where no result was recorded."""

    call: ToolCall
    t: float
    result: ToolResult | None = None
    result_t: float | None = None


class Exchange(msgspec.Struct, kw_only=True):
    """One request and what became of it; `messages` are what was sent, in order."""

    request: ModelRequest
    t: float
    messages: list[Any]
    tools: Any = None
    rest: dict[str, Any] = {}
    response: ModelResponse | None = None
    error: ModelError | None = None
    end_t: float | None = None
    calls: list[CallView] = []


class TurnView(msgspec.Struct, kw_only=True):
    """One turn: calls that belong to no recorded request (an imported run) are in `calls`."""

    started: TurnStarted
    t: float
    finished: TurnFinished | None = None
    end_t: float | None = None
    exchanges: list[Exchange] = []
    calls: list[CallView] = []

    def all_calls(self) -> list[CallView]:
        """Every call of the turn in order."""
        return sorted([*self.calls, *(call for each in self.exchanges for call in each.calls)], key=_number)


class RunView(msgspec.Struct, kw_only=True):
    """One run. `status` is `interrupted` for a torn log; `kinds` counts events by type; `sha256` is of all bytes."""

    started: RunStarted
    turns: list[TurnView]
    status: str
    reason: str | None
    duration_s: float
    sha256: str
    kinds: Counter[str]

    @property
    def system(self) -> str | None:
        """The system message as it was sent first, if one was recorded."""
        for turn in self.turns:
            for exchange in turn.exchanges:
                for message in exchange.messages:
                    if isinstance(message, dict) and message.get("role") == "system":
                        return text_of(message.get("content"))
        return None


def _number(view: CallView) -> int:
    return view.call.call


def view(log: LogRef) -> RunView:
    """The conversation of a log. Raises `LogError` if it cannot be trusted."""
    reader = RunReader(log)
    building = _Building()
    for record in reader:
        building.take(record.event)
    end = reader.end
    assert end is not None
    if end.state == "corrupt" or reader.started is None:
        raise LogError(f"{log}: {end.describe()}")
    finished = reader.finished if end.state == "complete" else None
    return RunView(
        started=reader.started,
        turns=list(building.turns.values()),
        status=finished.status if finished else "interrupted",
        reason=finished.reason if finished else None,
        duration_s=finished.duration_s if finished else building.last,
        sha256=end.sha256,
        kinds=building.kinds,
    )


def text_of(content: Any) -> str:
    """The text of a message's content, whatever form it has."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return ""


class _Building:
    """What has been seen of a log so far."""

    def __init__(self) -> None:
        self.turns: dict[int, TurnView] = {}
        self.kinds: Counter[str] = Counter()
        self.last = 0.0
        self._messages: dict[int, Any] = {}
        self._toolsets: dict[int, Any] = {}
        self._exchanges: dict[int, Exchange] = {}
        self._calls: dict[int, CallView] = {}

    def take(self, event: Any) -> None:
        """The next event."""
        self.kinds[event.type if isinstance(event, Unknown) else str(type(event).__struct_config__.tag)] += 1
        self.last = max(self.last, event.t)
        match event:
            case Message():
                self._messages[event.id] = msgspec.json.decode(event.message)
            case Toolset():
                self._toolsets[event.id] = msgspec.json.decode(event.tools)
            case TurnStarted():
                self.turns[event.turn] = TurnView(started=event, t=event.t)
            case ModelRequest():
                self._request(event)
            case ModelResponse() | ModelError():
                self._answer(event)
            case ToolCall():
                self._call(event)
            case ToolResult() if event.call in self._calls:
                self._calls[event.call].result, self._calls[event.call].result_t = event, event.t
            case TurnFinished() if event.turn in self.turns:
                self.turns[event.turn].finished, self.turns[event.turn].end_t = event, event.t
            case RunFinished() | _:
                pass

    def _request(self, event: ModelRequest) -> None:
        sent = [self._messages.get(number) for first, last in event.messages for number in range(first, last + 1)]
        exchange = Exchange(
            request=event,
            t=event.t,
            messages=[message for message in sent if message is not None],
            tools=self._toolsets.get(event.toolset) if event.toolset is not None else None,
            rest=_rest(event),
        )
        self._exchanges[event.request] = exchange
        if event.turn in self.turns:
            self.turns[event.turn].exchanges.append(exchange)

    def _answer(self, event: ModelResponse | ModelError) -> None:
        exchange = self._exchanges.get(event.request) if event.request is not None else None
        if exchange is None:
            return
        exchange.end_t = event.t
        if isinstance(event, ModelResponse):
            exchange.response = event
        else:
            exchange.error = event

    def _call(self, event: ToolCall) -> None:
        found = CallView(call=event, t=event.t)
        self._calls[event.call] = found
        exchange = self._exchanges.get(event.request)
        if exchange is not None:
            exchange.calls.append(found)
        elif event.turn in self.turns:
            self.turns[event.turn].calls.append(found)


def _rest(event: ModelRequest) -> dict[str, Any]:
    """The rest of a request's body (sampling options and the like), empty where it is kept in another form."""
    if event.rest is msgspec.UNSET:
        return {}
    value = msgspec.json.decode(event.rest)
    return {key: item for key, item in value.items() if key not in _PARTS} if isinstance(value, dict) else {}


_PARTS = ("messages", "tools")
