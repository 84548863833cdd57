"""The HTTP server: captures every request byte for byte and answers from a script.

    with ScriptedServer([Reply(text="All is well.")]) as server:
        ...  # talk to server.url, natively, or to server.url + "/v1"

`/api/generate` is the warm-up: it loads the model and takes nothing from the script. A script that has run out answers
with status 500.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import msgspec

from recorder.scripted import dialects
from recorder.scripted.replies import ModelCard, Reply, Script

CHAT_PATHS = ("/api/chat", "/v1/chat/completions")


class CapturedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it arrived. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ScriptedServer:
    """A server on a free loopback port, running between `__enter__` and `__exit__`.

    `requests` are all requests in order of arrival. `disabled` holds paths that answer 404, `pages` further paths with
    their JSON documents (for example `/props`); both, and `card`, may be changed while it runs.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        card: ModelCard | None = None,
        disabled: Iterable[str] = (),
        pages: dict[str, Any] | None = None,
    ) -> None:
        self.card = card or ModelCard()
        self.disabled = set(disabled)
        self.pages = dict(pages or {})
        self.requests: list[CapturedRequest] = []
        self._script = script
        self._answered = 0
        self._lock = threading.Lock()
        self._http: _Http | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.scripted = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._http is not None
        assert self._thread is not None
        self._http.shutdown()
        self._thread.join()
        self._http.close_connections()
        self._http.server_close()

    @property
    def url(self) -> str:
        """The base URL of the native API; the OpenAI-compatible one is below `/v1`."""
        assert self._http is not None, "the server runs only inside its with block"
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def chats(self) -> list[CapturedRequest]:
        """The requests for an answer of the model."""
        return [request for request in self.requests if request.path in CHAT_PATHS]

    def set_context(self, tokens: int | None) -> None:
        """Change what `/api/ps` says is allocated; None unloads the model."""
        self.card = msgspec.structs.replace(self.card, runtime_context=tokens)

    def capture(self, request: CapturedRequest) -> None:
        """Keep a request that has arrived."""
        with self._lock:
            self.requests.append(request)

    def next_reply(self, body: dict[str, Any]) -> tuple[int, Reply]:
        """The number of an answer, from 1, and what the script has for it."""
        with self._lock:
            self._answered += 1
            number = self._answered
        if callable(self._script):
            return number, self._script(body)
        if number > len(self._script):
            return number, Reply(
                status=500, error=f"the script has {len(self._script)} replies, this is request {number}"
            )
        return number, self._script[number - 1]

    def load(self) -> None:
        """What a warm-up does: allocate a context if none is."""
        if self.card.runtime_context is None:
            self.set_context(4_096)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    scripted: ScriptedServer

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection in a thread and remember it."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that has ended."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """End the connections that clients have kept open, so that no thread waits for them."""
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                self._connections.discard(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; anything else is."""
        import sys

        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        """The captured requests are the log."""

    def _serve(self) -> None:
        scripted = self.server.scripted
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        scripted.capture(CapturedRequest(method=self.command, path=self.path, headers=headers, body=body))
        if self.path in scripted.disabled:
            self._document(HTTPStatus.NOT_FOUND, {"error": f"{self.path} not found"})
        elif self.path in CHAT_PATHS and self.command == "POST":
            self._chat(body)
        else:
            self._page(body)

    def _page(self, body: bytes) -> None:
        scripted = self.server.scripted
        if self.path in scripted.pages:
            self._document(HTTPStatus.OK, scripted.pages[self.path])
            return
        page = _PAGES.get((self.command, self.path))
        if page is None:
            self._document(HTTPStatus.NOT_FOUND, {"error": f"{self.path} not found"})
            return
        asked = _object(body).get("model", scripted.card.name)
        if self.command == "POST" and asked != scripted.card.name:
            self._document(HTTPStatus.NOT_FOUND, {"error": f"model '{asked}' not found"})
            return
        if self.path == "/api/generate":
            scripted.load()
        self._document(HTTPStatus.OK, page(scripted.card))

    def _chat(self, body: bytes) -> None:
        request = _object(body)
        if not isinstance(request.get("messages"), list):
            self._document(HTTPStatus.BAD_REQUEST, {"error": "the body is no chat request"})
            return
        number, reply = self.server.scripted.next_reply(request)
        if reply.hold_before is not None:
            reply.hold_before.wait()
        native = self.path == "/api/chat"
        stream = request.get("stream", native) is True
        model = str(request.get("model", ""))
        if reply.status != HTTPStatus.OK or (reply.error is not None and not stream):
            self._send(reply, "application/json", [dialects.error_document(reply, native=native)])
        elif native and stream:
            self._send(reply, "application/x-ndjson", dialects.ollama_stream(reply, model))
        elif native:
            self._send(reply, "application/json", [dialects.ollama_document(reply, model)])
        elif stream:
            self._send(reply, "text/event-stream", dialects.openai_stream(reply, model, number))
        else:
            self._send(reply, "application/json", [dialects.openai_document(reply, model, number)])

    def _document(self, status: int, document: Any) -> None:
        self._send(Reply(status=status), "application/json", [json.dumps(document).encode()])

    def _send(self, reply: Reply, content_type: str, pieces: list[bytes]) -> None:
        if reply.raw_body is not None:
            pieces = [reply.raw_body]
        if reply.split_utf8:
            pieces = [bytes([byte]) for byte in b"".join(pieces)]
        self.send_response(reply.status)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        left = reply.cut_after
        for place, piece in enumerate(pieces):
            if place == reply.hold_at and reply.hold is not None:
                reply.hold.wait()
            part = piece if left is None else piece[:left]
            if part:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            if left is not None:
                left -= len(part)
                if left == 0:
                    self.close_connection = True
                    return
        self.wfile.write(b"0\r\n\r\n")


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _details(card: ModelCard) -> dict[str, Any]:
    return {
        "format": "gguf",
        "family": card.architecture,
        "parameter_size": card.parameter_size,
        "quantization_level": card.quantization,
    }


def _tags(card: ModelCard) -> dict[str, Any]:
    entry = {"name": card.name, "model": card.name, "size": card.size_bytes, "digest": card.digest}
    return {"models": [{**entry, "details": _details(card)}]}


def _show(card: ModelCard) -> dict[str, Any]:
    info = {"general.architecture": card.architecture, f"{card.architecture}.context_length": card.context_length}
    return {"details": _details(card), "model_info": info, "capabilities": ["completion", "tools"]}


def _ps(card: ModelCard) -> dict[str, Any]:
    if card.runtime_context is None:
        return {"models": []}
    entry = {"name": card.name, "model": card.name, "size": card.size_bytes, "digest": card.digest}
    return {"models": [{**entry, "details": _details(card), "context_length": card.runtime_context}]}


def _generate(card: ModelCard) -> dict[str, Any]:
    return {"model": card.name, "response": "", "done": True, "done_reason": "load"}


def _models(card: ModelCard) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": card.name, "object": "model", "owned_by": "library"}]}


_PAGES: dict[tuple[str, str], Callable[[ModelCard], dict[str, Any]]] = {
    ("GET", "/api/version"): lambda card: {"version": card.version},
    ("GET", "/api/tags"): _tags,
    ("POST", "/api/show"): _show,
    ("GET", "/api/ps"): _ps,
    ("POST", "/api/generate"): _generate,
    ("GET", "/v1/models"): _models,
}
