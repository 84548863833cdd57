"""Asking a served model for an answer, with every byte of it recorded.

The request goes out through LiteLLM; the answer is read from the tapped wire, because LiteLLM merges parallel calls,
replaces finish reasons and gives up on arguments it cannot parse. Its own token counts are kept beside the server's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from recorder.transport import library
from recorder.transport.attempt import Attempt
from recorder.transport.endpoint import Endpoint
from recorder.transport.ledger import RequestLedger
from recorder.transport.outgoing import clean_text, fit_to_send
from recorder.transport.tap import watching
from schemas.errors import WorkError
from schemas.events import ModelError, ModelResponse

OnText = Callable[[str], None]
Sleep = Callable[[float], Awaitable[None]]


class ModelFailure(WorkError):
    """A request came to nothing; `error` is the event, which has already been emitted."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(f"{error.error_class}: {error.message}")
        self.error = error


class _Connection:
    """The HTTP client and LiteLLM's client over it; both belong to one event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.loop = asyncio.get_running_loop()
        self.http = library.open_http(endpoint)
        self.client = library.client_over(endpoint, self.http)


class ModelClient:
    """A client of one endpoint. Use it as an async context manager, or call `close`.

    `sleep` is how it waits before a retry. It may serve several runs, one after the other or at the same time.
    """

    def __init__(self, endpoint: Endpoint, *, sleep: Sleep = asyncio.sleep) -> None:
        self.endpoint = endpoint
        self._sleep = sleep
        self._connection: _Connection | None = None

    async def __aenter__(self) -> "ModelClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        connection, self._connection = self._connection, None
        if connection is not None and connection.loop is asyncio.get_running_loop():
            await connection.http.aclose()

    async def complete(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]] | None,
        *,
        ledger: RequestLedger,
        turn: int,
        iteration: int,
        stream: bool = True,
        on_text: OnText | None = None,
    ) -> ModelResponse:
        """The model's answer to a conversation in OpenAI's message and tool format, as the event already emitted.

        `on_text` receives visible text as it arrives; a stream that turns out to have begun inside a thinking section
        has shown text that `content` leaves out. HTTP 429 and 503 are retried at most twice. Raises `ModelFailure` if
        no answer came, and whatever the ledger's `emit` raises. Cancellation passes at once, after the pieces that had
        arrived were written.
        """
        outgoing = fit_to_send(messages)
        clean_tools = clean_text(list(tools)) if tools else None
        number = 0
        while True:
            number += 1
            attempt = Attempt(self.endpoint, ledger, turn=turn, iteration=iteration, number=number, stream=stream)
            result = await self._run(attempt, outgoing, clean_tools, stream, on_text or _ignore)
            ledger.emit(result)
            if isinstance(result, ModelResponse):
                return result
            if not result.will_retry:
                raise ModelFailure(result)
            await self._sleep(result.retry_after_s or 0.0)

    async def _run(
        self,
        attempt: Attempt,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        stream: bool,
        on_text: OnText,
    ) -> ModelResponse | ModelError:
        try:
            with watching(attempt):
                usage, raised = await self._drive(attempt, messages, tools, stream, on_text)
                while attempt.broken is None and (text := await attempt.next_text()) is not None:
                    _show(text, on_text)
            if attempt.broken is not None:
                raise attempt.broken
            _show(attempt.finish(), on_text)
            return attempt.outcome(usage, raised)
        finally:
            await attempt.close()

    async def _drive(
        self,
        attempt: Attempt,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        stream: bool,
        on_text: OnText,
    ) -> tuple[object, Exception | None]:
        """Let LiteLLM send the request and read as far as it can; its usage, and its error if it raised one."""
        litellm = library.load()
        arguments = library.call_arguments(self.endpoint, self._connected().client, messages, tools, stream)
        try:
            answer = await litellm.acompletion(**arguments)
        except library.expected_errors() as error:
            return None, error
        if not stream:
            return getattr(answer, "usage", None), None
        usage: object = None
        chunks = aiter(answer)
        while True:
            try:
                chunk = await anext(chunks, None)
            except library.expected_errors() as error:
                return usage, error
            if chunk is None:
                return usage, None
            usage = _usage_of(chunk) or usage
            _show(attempt.take_text(), on_text)

    def _connected(self) -> _Connection:
        if self._connection is None or self._connection.loop is not asyncio.get_running_loop():
            self._connection = _Connection(self.endpoint)
        return self._connection


def _usage_of(chunk: Any) -> object:
    found = getattr(chunk, "usage", None)
    return found if found is not None else getattr(chunk, "_hidden_params", {}).get("usage")


def _show(text: str, on_text: OnText) -> None:
    if text:
        on_text(text)


def _ignore(text: str) -> None:
    """Nobody watches the answer as it arrives."""
