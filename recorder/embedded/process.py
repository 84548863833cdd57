"""An embedded model server as a context manager: a child process with a URL.

The child ends with the `with` block, with an exception, with Ctrl-C, and with this process however it dies, because it
lives only as long as the pipe to its standard input. Nothing here imports the engine.
"""

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from recorder.embedded.catalogue import DEFAULT_CONTEXT_TOKENS, Choice
from recorder.embedded.facts import LocalFacts
from recorder.embedded.weights import Progress, ensure_weights
from schemas.errors import UsageError, WorkError

START_TIMEOUT_S = 180.0
_STOP_TIMEOUT_S = 10.0
_TICK_S = 0.25
_TAIL_LINES = 15


class EmbeddedServer:
    """A running embedded model. Use it with `with`, around `asyncio.run` in asyncio code: starting blocks for seconds.

    `base_url` (ends in `/v1`), `model` (`openai/TAG`), `sha256` (of the weights), `pid` and `local_facts` (for the
    serving probe) hold while it runs. Starting raises `UsageError` if the extra is not installed, the weights are not
    the published ones or the port is taken, and `WorkError` with the end of the log if the child dies or is not ready
    in `start_timeout_s` seconds.
    """

    def __init__(
        self,
        choice: Choice,
        *,
        port: int = 0,
        context_tokens: int = DEFAULT_CONTEXT_TOKENS,
        threads: int = 0,
        progress: Progress | None = None,
        cache: Path | None = None,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        self.choice = choice
        self.context_tokens = context_tokens
        self._port = port
        self._threads = threads
        self._progress: Progress = progress or (lambda stage, done: None)
        self._cache = cache
        self._start_timeout_s = start_timeout_s
        self._child: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._weights: Path | None = None
        self._ready: dict[str, Any] = {}

    @property
    def model(self) -> str:
        """The reference `openai/TAG` under which the model transport reaches it."""
        return f"openai/{self.choice.model}"

    @property
    def root_url(self) -> str:
        """The server's root, without `/v1`."""
        return str(self._running()["url"])

    @property
    def base_url(self) -> str:
        """The root of its OpenAI-compatible endpoints."""
        return f"{self.root_url}/v1"

    @property
    def sha256(self) -> str:
        """The SHA-256 of the weights, verified when it started."""
        return self.choice.sha256

    @property
    def pid(self) -> int:
        """The process id of the child."""
        self._running()
        assert self._child is not None
        return self._child.pid

    @property
    def local_facts(self) -> LocalFacts:
        """What is known of it without asking: engine, weights file and digest."""
        ready = self._running()
        assert self._weights is not None
        return LocalFacts(
            engine_name=f"llama.cpp ({ready['engine']})",
            engine_version=str(ready["version"]),
            weights=str(self._weights),
            digest=self.sha256,
        )

    def start(self) -> Self:
        """Start and wait until it answers; on any error, Ctrl-C included, nothing is left running."""
        if self._child is not None:
            raise WorkError("the embedded model server is already running")
        _refuse_taken(self._port)
        try:
            self._weights = ensure_weights(self.choice, self._cache, self._progress)
            self._launch(self._weights)
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        self._progress("ready", 1.0)
        return self

    def stop(self) -> None:
        """Stop the child and wait for its end. Harmless if it is not running."""
        child, self._child = self._child, None
        self._ready = {}
        if child is not None:
            _end(child)
        if self._log is not None:
            self._log.close()
            self._log = None

    def check(self) -> None:
        """Raise `WorkError` with the end of the log if the child is no longer alive."""
        child = self._child
        if child is None:
            raise WorkError("the embedded model server is not running; start it first")
        code = child.poll()
        if code is not None:
            raise WorkError(f"the embedded model server ended ({_how(code)}); its last lines:\n{self.log_tail()}")

    def log_tail(self) -> str:
        """The last lines of the child's log."""
        if self._log is None:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        window = min(size, 64 * 1024)
        text = os.pread(self._log.fileno(), window, size - window).decode("utf-8", "replace")
        return "\n".join(text.splitlines()[-_TAIL_LINES:])

    def wait(self, timeout_s: float) -> bool:
        """Whether the child ended within `timeout_s` seconds."""
        if self._child is None:
            return True
        try:
            self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _running(self) -> dict[str, Any]:
        if not self._ready:
            raise WorkError("the embedded model server is not running; start it first")
        return self._ready

    def _launch(self, weights: Path) -> None:
        self._log = tempfile.TemporaryFile(prefix="korvid-embedded-")  # noqa: SIM115 - closed by stop
        # -P: no module of the working directory may take the place of ours.
        command = [sys.executable, "-P", "-m", "recorder.embedded.server"]
        command += ["--weights", str(weights), "--model", self.choice.model, "--context", str(self.context_tokens)]
        command += ["--port", str(self._port), "--threads", str(self._threads)]
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "OMP_WAIT_POLICY": "passive", "PYTHONUNBUFFERED": "1"},
            # A session of its own: Ctrl-C reaches this process, which stops the child in good order.
            start_new_session=True,
        )

    def _wait_until_ready(self) -> None:
        assert self._child is not None
        assert self._child.stdout is not None
        started = time.monotonic()
        line = b""
        while not line.endswith(b"\n"):
            self._progress("starting", None)
            readable, _, _ = select.select([self._child.stdout], [], [], _TICK_S)
            piece = os.read(self._child.stdout.fileno(), 4096) if readable else b""
            line += piece
            if readable and not piece:
                self._child.wait(_STOP_TIMEOUT_S)
            self.check()
            self._refuse_late(started)
        ready = json.loads(line)
        while not _healthy(int(ready["port"])) and not self.wait(_TICK_S):
            self._refuse_late(started)
        self.check()
        self._ready = ready

    def _refuse_late(self, started: float) -> None:
        if time.monotonic() - started > self._start_timeout_s:
            raise WorkError(
                f"the embedded model server was not ready after {self._start_timeout_s:g} s; its last lines:\n"
                f"{self.log_tail()}"
            )


def _healthy(port: int) -> bool:
    # No proxy from the environment may stand in between, so neither httpx nor urllib.
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _refuse_taken(port: int) -> None:
    """Before the weights are loaded for nothing."""
    if not 0 <= port <= 65_535:
        raise UsageError(f"port {port} is none; give 1 to 65535, or 0 for a free one")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be used ({error.strerror}); give another, or 0 for a free one"
            ) from None


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()


def _how(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
