"""From tapped traffic to events: what left is stored in parts, what arrived in batches of raw pieces.

A message or a toolset becomes an event the first time it is seen and a number ever after, so a log grows linearly with
the turns. Pieces are written together after at most `FLUSH_S` seconds of arrivals or `FLUSH_BYTES`, so that a stream of
single tokens does not cost an event each. Nothing is emitted that holds the endpoint's key.
"""

import base64
from collections.abc import Callable
from typing import Any

import msgspec

from recorder.transport.secret import Scrubber
from schemas.digest import sha256_hex
from schemas.events import Dialect, Event, Message, ModelRequest, Toolset, WireChunk, WirePiece
from schemas.requests import Parts, split

Emit = Callable[[Event], None]

FLUSH_S = 0.5
FLUSH_BYTES = 32 * 1024


class _Batch(msgspec.Struct):
    """Pieces of one request that were not yet written: `(seconds since it was sent, bytes)`."""

    status: int
    pieces: list[tuple[float, bytes]] = []
    size: int = 0


class RequestLedger:
    """The requests of one run. `requests` is how many have been opened; they are numbered from 1.

    `emit` receives each event as soon as it is complete; what it raises passes through. One ledger serves one run and
    one request at a time.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._messages: dict[bytes, int] = {}
        self._toolsets: dict[bytes, int] = {}
        self._seen: set[bytes] = set()
        self._batches: dict[int, _Batch] = {}
        self._scrubbers: dict[int, Scrubber] = {}
        self.requests = 0

    def emit(self, event: Event) -> None:
        """Write an event that belongs to a request (its response or its error)."""
        self._emit(event)

    def open(
        self,
        body: bytes,
        *,
        dialect: Dialect,
        method: str,
        url: str,
        stream: bool,
        turn: int,
        iteration: int,
        attempt: int,
        scrubber: Scrubber,
    ) -> int:
        """Record a request as it leaves and give its number."""
        self.requests += 1
        number = self.requests
        self._scrubbers[number] = scrubber
        clean = scrubber.data(body)
        stored = self._store(clean)
        self._emit(
            ModelRequest(
                request=number,
                turn=turn,
                iteration=iteration,
                attempt=attempt,
                dialect=dialect,
                method=method,
                url=scrubber.text(url),
                stream=stream,
                body_sha256=sha256_hex(body),
                body_bytes=len(body),
                redacted=clean != body,
                **stored,
            )
        )
        return number

    def piece(self, request: int, status: int, at: float, data: bytes) -> None:
        """Record raw bytes of a response that arrived `at` seconds after the request was sent."""
        if not data:
            return
        batch = self._batches.setdefault(request, _Batch(status))
        batch.pieces.append((at, data))
        batch.size += len(data)
        due = batch.size >= FLUSH_BYTES or at - batch.pieces[0][0] >= FLUSH_S
        if due and not self._scrubbers[request].may_continue(data):
            self.flush(request)

    def flush(self, request: int) -> None:
        """Write the pieces that are still held back."""
        batch = self._batches.pop(request, None)
        if batch is not None:
            pieces = _scrubbed(batch.pieces, self._scrubbers[request])
            self._emit(WireChunk(request=request, status=batch.status, pieces=tuple(_piece(*p) for p in pieces)))

    def _store(self, body: bytes) -> dict[str, Any]:
        parts = split(body, self._seen)
        if parts is None:
            try:
                return {"body": body.decode("utf-8")}
            except UnicodeDecodeError:
                return {"body_base64": base64.b64encode(body).decode()}
        return {
            "messages": ranges([self._message_id(message) for message in parts.messages]),
            "separator": parts.separator.decode(),
            "toolset": self._toolset_id(parts),
            "rest": msgspec.Raw(parts.rest),
        }

    def _message_id(self, message: bytes) -> int:
        known = self._messages.get(message)
        if known is None:
            known = self._messages[message] = len(self._messages)
            self._seen.add(message)
            self._emit(Message(id=known, message=msgspec.Raw(message)))
        return known

    def _toolset_id(self, parts: Parts) -> int | None:
        if parts.tools is None:
            return None
        if parts.tools not in self._toolsets:
            self._toolsets[parts.tools] = len(self._toolsets)
            self._seen.add(parts.tools)
            self._emit(Toolset(id=self._toolsets[parts.tools], tools=msgspec.Raw(parts.tools)))
        return self._toolsets[parts.tools]


def ranges(ids: list[int]) -> tuple[tuple[int, int], ...]:
    """Ids in order as inclusive ranges of consecutive ones: `[0, 1, 2, 5]` gives `((0, 2), (5, 5))`."""
    found: list[tuple[int, int]] = []
    for number in ids:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


def _piece(at: float, data: bytes) -> WirePiece:
    try:
        return WirePiece(at=round(at, 6), text=data.decode("utf-8"))
    except UnicodeDecodeError:
        return WirePiece(at=round(at, 6), base64=base64.b64encode(data).decode())


def _scrubbed(pieces: list[tuple[float, bytes]], scrubber: Scrubber) -> list[tuple[float, bytes]]:
    """Pieces without the key. A key that spans pieces joins the whole batch into one, timed as its first piece."""
    whole = b"".join(data for _, data in pieces)
    if not scrubber.holds(whole):
        return pieces
    clean = [(at, scrubber.data(data)) for at, data in pieces]
    if scrubber.holds(b"".join(data for _, data in clean)):
        return [(pieces[0][0], scrubber.data(whole))]
    return clean
