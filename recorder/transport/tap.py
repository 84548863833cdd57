"""The HTTP layer under the client library: it sees what really leaves and what really arrives.

`TapTransport` stands between httpx and the sockets. It hands every request of a recorded call to that call's `Watch`
and refuses any other, so a library that would fetch something of its own accord cannot. It alone sets the credential,
and only towards the endpoint's own host. Bodies are asked for uncompressed, so that pieces can be read as they came.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import httpx

from recorder.transport.secret import Secret


class Exchange:
    """One HTTP request and its response as they happened.

    `fault` is the network error that ended it, `status` None until response headers came, `ended` true once the body
    was read to its end.
    """

    def __init__(self, number: int, watch: "Watch") -> None:
        self.number = number
        self.started = time.monotonic()
        self.status: int | None = None
        self.headers = httpx.Headers()
        self.fault: httpx.TransportError | None = None
        self.ended = False
        self._watch = watch
        self._body: httpx.AsyncByteStream | None = None
        self._pieces: AsyncIterator[bytes] | None = None

    def elapsed(self) -> float:
        """Seconds since the request was sent."""
        return time.monotonic() - self.started

    def answered(self, response: httpx.Response) -> None:
        """Take over a response whose headers have arrived."""
        self.status = response.status_code
        self.headers = response.headers
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self._body = response.stream
        self._pieces = aiter(response.stream)

    async def next_piece(self) -> bytes | None:
        """The next piece, or None at the end; whoever asks goes on where the last one stopped.

        Raises `httpx.TransportError` if the connection fails.
        """
        if self._pieces is None:
            return None
        try:
            data = await anext(self._pieces, None)
        except httpx.TransportError as error:
            self.fault = error
            self._pieces = None
            raise _unretried(error) from error
        if data is None:
            self.ended = True
            self._pieces = None
        else:
            self._watch.piece(self, data)
        return data

    async def close(self) -> None:
        """Give the connection back (or drop it, if the body was not read to its end)."""
        body, self._body = self._body, None
        pieces, self._pieces = self._pieces, None
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
        if body is not None:
            await body.aclose()


class Watch(Protocol):
    """Who is told about the requests of one call."""

    def open(self, method: str, url: str, body: bytes) -> Exchange:
        """A request is about to leave."""

    def piece(self, exchange: Exchange, data: bytes) -> None:
        """Raw bytes of the response body arrived."""


_watch: ContextVar[Watch | None] = ContextVar("korvid_watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Within the block, requests of this task are told to `watch`."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


class _TappedBody(httpx.AsyncByteStream):
    """A response body read through its exchange. Closing it is left to the owner of the call, who may read on after
    the client library has given up."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        data = await self._exchange.next_piece()
        if data is None:
            raise StopAsyncIteration
        return data


class TapTransport(httpx.AsyncBaseTransport):
    """httpx's transport with a tap. `inner` does the work; `host` is the only one to receive `key`."""

    def __init__(self, inner: httpx.AsyncBaseTransport, *, host: str, key: Secret | None) -> None:
        self._inner = inner
        self._host = host
        self._key = key

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request and tell about it. Raises `httpx.TransportError`."""
        watch = _watch.get()
        if watch is None:
            raise httpx.NetworkError("a request outside of a recorded call was refused", request=request)
        body = await request.aread()
        self._set_headers(request)
        exchange = watch.open(request.method, _bare_url(request.url), body)
        try:
            response = await self._inner.handle_async_request(request)
        except httpx.TransportError as error:
            exchange.fault = error
            raise _unretried(error) from error
        exchange.answered(response)
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_TappedBody(exchange),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    def _set_headers(self, request: httpx.Request) -> None:
        request.headers["accept-encoding"] = "identity"
        request.headers.pop("authorization", None)
        if self._key is not None and request.url.host == self._host:
            request.headers["authorization"] = f"Bearer {self._key.reveal()}"


def _unretried(error: httpx.TransportError) -> httpx.TransportError:
    """The same failure as a type that LiteLLM does not answer by a second, unrecorded attempt of its own."""
    return error if isinstance(error, httpx.TimeoutException) else httpx.ReadError(str(error))


def _bare_url(url: httpx.URL) -> str:
    return str(url.copy_with(username=None, password=None))
