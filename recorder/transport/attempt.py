"""One attempt at a request: what the tap saw of it, and the event it came to."""

import asyncio
from typing import Any

import httpx
import msgspec

from recorder.transport.endpoint import Endpoint
from recorder.transport.failures import (
    bounded,
    class_of_fault,
    class_of_status,
    error_text,
    fault_text,
    message_in,
    retry_wait,
)
from recorder.transport.ledger import RequestLedger
from recorder.transport.secret import Scrubber
from recorder.transport.tap import Exchange
from recorder.transport.usage import normalised, server_counts
from recorder.transport.wire import WireReader, framing_of
from schemas.events import EmittedCall, ModelError, ModelErrorClass, ModelResponse

_LINGER_S = 1.0
"""How long a finished answer is listened to for the rest of its bytes."""
_ERROR_BODY_BYTES = 64 * 1024


class Attempt:
    """The `Watch` of one attempt. `number` counts from 1 within one call for an answer.

    `broken` is what the ledger raised (a log that cannot be written): the client library would take it for a network
    error, so whoever drives the attempt has to look at it.
    """

    def __init__(
        self, endpoint: Endpoint, ledger: RequestLedger, *, turn: int, iteration: int, number: int, stream: bool
    ) -> None:
        self._endpoint = endpoint
        self._ledger = ledger
        self._turn = turn
        self._iteration = iteration
        self._number = number
        self._stream = stream
        self._scrubber = endpoint.scrubber
        self._exchange: Exchange | None = None
        self._reader: WireReader | None = None
        self._error_body = b""
        self._shown: list[str] = []
        self.broken: BaseException | None = None

    def open(self, method: str, url: str, body: bytes) -> Exchange:
        """Record the request that is about to leave."""
        try:
            number = self._ledger.open(
                body,
                dialect=self._endpoint.dialect,
                method=method,
                url=url,
                stream=self._stream,
                turn=self._turn,
                iteration=self._iteration,
                attempt=self._number,
                scrubber=self._scrubber,
            )
        except BaseException as error:
            self.broken = error
            raise
        self._exchange = Exchange(number, self)
        self._reader = None
        return self._exchange

    def piece(self, exchange: Exchange, data: bytes) -> None:
        """Record a raw piece and read on in the answer."""
        at = exchange.elapsed()
        status = exchange.status or 0
        try:
            self._ledger.piece(exchange.number, status, at, data)
        except BaseException as error:
            self.broken = error
            raise
        if status == httpx.codes.OK:
            self._shown.append(self._reader_of(exchange).feed(data, at))
        elif len(self._error_body) < _ERROR_BODY_BYTES:
            self._error_body += data

    def take_text(self) -> str:
        """The text that became visible since the last time."""
        shown, self._shown = "".join(self._shown), []
        return self._scrubber.text(shown)

    async def next_text(self) -> str | None:
        """Read on where the client library stopped; None when there is no more. Never raises a network error."""
        exchange = self._exchange
        if exchange is None or exchange.ended or exchange.fault is not None:
            return None
        try:
            async with asyncio.timeout(_LINGER_S if self._is_complete() else None):
                data = await exchange.next_piece()
        except (TimeoutError, httpx.TransportError):
            # A transport error stays in `exchange.fault`; an answer that is complete may be left.
            return None
        return None if data is None else self.take_text()

    def finish(self) -> str:
        """The body has ended: give the text that became visible by that."""
        if self._reader is not None and self._exchange is not None:
            self._shown.append(self._reader.finish(self._exchange.elapsed()))
        return self.take_text()

    async def close(self) -> None:
        """Write what is held back and let the connection go, however the attempt ended."""
        if self._exchange is not None:
            try:
                if self.broken is None:
                    self._ledger.flush(self._exchange.number)
            finally:
                await self._exchange.close()

    def outcome(self, library_usage: object, raised: Exception | None) -> ModelResponse | ModelError:
        """What the attempt came to; `raised` is the client library's error, which decides only if nothing left."""
        exchange = self._exchange
        if exchange is None:
            return self._error("client", str(raised) or type(raised).__name__)
        if exchange.status is None:
            return self._error_of_fault(exchange, raised)
        if exchange.status != httpx.codes.OK:
            message = error_text(self._error_body) or f"HTTP {exchange.status} without a body"
            return self._error(class_of_status(exchange.status, message), message)
        reader = self._reader_of(exchange)
        if reader.error is not None:
            message = message_in(reader.error) or str(reader.error)
            return self._error(class_of_status(exchange.status, message), f"in the response body: {message}")
        if exchange.fault is not None and not reader.complete:
            # Before the reader's complaint: half a line is no JSON, and that is not what went wrong.
            return self._error_of_cut(exchange)
        if reader.problem is not None:
            return self._error("malformed_stream", reader.problem)
        if not reader.complete:
            return self._error_of_cut(exchange)
        return self._response(exchange, reader, library_usage)

    def _response(self, exchange: Exchange, reader: WireReader, library_usage: object) -> ModelResponse:
        clean = self._scrubber.text
        counts = server_counts(self._endpoint.dialect, reader.server_usage)
        return ModelResponse(
            request=exchange.number,
            status=exchange.status or 0,
            finish_reason=reader.finish_reason,
            content=clean(reader.content),
            reasoning=None if reader.reasoning is None else clean(reader.reasoning),
            tool_calls=tuple(_scrubbed(call, self._scrubber) for call in reader.calls.emitted(exchange.number)),
            usage=normalised(counts, library_usage),
            server_usage=reader.server_usage or None,
            duration_s=round(exchange.elapsed(), 6),
            time_to_first_token_s=None if reader.first_token_at is None else round(reader.first_token_at, 6),
        )

    def _error_of_fault(self, exchange: Exchange, raised: Exception | None) -> ModelError:
        if exchange.fault is None:
            return self._error("client", str(raised))
        return self._error(class_of_fault(exchange.fault, answered=False), fault_text(exchange.fault))

    def _error_of_cut(self, exchange: Exchange) -> ModelError:
        if exchange.fault is None:
            return self._error("malformed_stream", "the stream ended without a finish")
        return self._error(class_of_fault(exchange.fault, answered=True), f"stream cut: {fault_text(exchange.fault)}")

    def _error(self, error_class: ModelErrorClass, message: str) -> ModelError:
        exchange = self._exchange
        status = None if exchange is None else exchange.status
        wait = None if exchange is None else retry_wait(status, exchange.headers, self._number)
        return ModelError(
            request=None if exchange is None else exchange.number,
            turn=self._turn,
            error_class=error_class,
            message=bounded(self._scrubber.text(message)),
            status=status,
            content="" if self._reader is None else self._scrubber.text(self._reader.content),
            retry_after_s=wait,
            will_retry=wait is not None,
            duration_s=None if exchange is None else round(exchange.elapsed(), 6),
        )

    def _is_complete(self) -> bool:
        return self._reader is not None and self._reader.complete

    def _reader_of(self, exchange: Exchange) -> WireReader:
        if self._reader is None:
            dialect = self._endpoint.dialect
            kind = exchange.headers.get("content-type", "")
            self._reader = WireReader(dialect, framing_of(dialect, self._stream, kind))
        return self._reader


def _scrubbed(call: EmittedCall, scrubber: Scrubber) -> EmittedCall:
    changed: dict[str, Any] = {name: scrubber.text(getattr(call, name)) for name in ("id", "name", "arguments")}
    return msgspec.structs.replace(call, **changed)
