"""What the transport's tests share: a run's events, and bodies rebuilt from them."""

import base64
from typing import Any

import msgspec

from recorder.transport import Endpoint, ModelClient, RequestLedger, make_endpoint
from schemas import codec
from schemas.events import Event, Message, ModelRequest, ModelResponse, Toolset, WireChunk
from schemas.requests import rebuild

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} — reads the cluster",
            "parameters": {"type": "object", "properties": {"namespace": {"type": "string"}}},
        },
    }
    for name in ("get_logs", "get_events")
]
QUESTION = [{"role": "system", "content": "You read “clusters”. 😀"}, {"role": "user", "content": "Why?"}]
APIS = ("native", "v1")


def endpoint(url: str, api: str, **more: Any) -> Endpoint:
    return make_endpoint("ollama/scripted:1b", url if api == "native" else f"{url}/v1", **more)


class Run:
    """A ledger whose events go through the codec, as in a log file."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.lines: list[bytes] = []
        self.ledger = RequestLedger(self._emit)

    def _emit(self, event: Event) -> None:
        line = codec.encode(event, seq=len(self.lines), t=0.0)
        self.lines.append(line)
        self.events.append(codec.decode(line))

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def bodies(self) -> list[bytes]:
        """Each request's body, rebuilt from the events alone."""
        messages = {event.id: bytes(event.message) for event in self.of(Message)}
        toolsets = {event.id: bytes(event.tools) for event in self.of(Toolset)}
        return [_body(request, messages, toolsets) for request in self.of(ModelRequest)]

    def received(self, request: int) -> bytes:
        """The raw response body of a request."""
        pieces = [piece for chunk in self.of(WireChunk) if chunk.request == request for piece in chunk.pieces]
        return b"".join(base64.b64decode(p.base64) if p.base64 is not None else p.text.encode() for p in pieces)


def _body(request: ModelRequest, messages: dict[int, bytes], toolsets: dict[int, bytes]) -> bytes:
    assert isinstance(request.rest, msgspec.Raw)
    ids = [number for first, last in request.messages for number in range(first, last + 1)]
    tools = None if request.toolset is None else toolsets[request.toolset]
    return rebuild(bytes(request.rest), tuple(messages[i] for i in ids), tools, request.separator.encode())


async def ask(
    where: Endpoint,
    run: Run,
    *,
    messages: list[dict[str, Any]] | None = None,
    stream: bool = True,
    **more: Any,
) -> ModelResponse:
    """One question through a client of its own."""
    async with ModelClient(where, **{k: more.pop(k) for k in ("sleep",) if k in more}) as client:
        return await client.complete(
            messages or QUESTION, TOOLS, ledger=run.ledger, turn=1, iteration=1, stream=stream, **more
        )
