"""Sealers that are killed cheaply: a server process loads the code once and forks one for each request.

`Sealers` is the client. A step is a call that changes a name or makes something durable; a process dies by SIGKILL
before the given step (0: none), or after the given seconds.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

STEPS = ("replace", "unlink", "rmdir", "fsync", "mkdir", "link")
_FOREVER_S = 60.0


class Sealers:
    """The server process, for the length of a `with` block."""

    def __enter__(self) -> "Sealers":
        command = [sys.executable, "-m", "tests.seal.killed"]
        root = Path(__file__).parents[2]
        self._server = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.communicate(timeout=_FOREVER_S)

    def run(
        self, operation: str, directory: Path, *, step: int = 0, after_s: float = _FOREVER_S
    ) -> tuple[int, int, float]:
        """Its exit code (minus the number of the signal that ended it), its steps, and the seconds that it took."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{operation} {step} {after_s} {directory}\n")
        self._server.stdin.flush()
        code, steps, seconds = self._server.stdout.readline().split()
        return int(code), int(steps), float(seconds)


def serve() -> None:
    """Answer until stdin ends."""
    from replay.seal.recovering import recover
    from replay.seal.sealing import seal
    from replay.seal.unsealing import unseal

    operations: dict[str, Callable[[Path], Any]] = {"seal": seal, "unseal": unseal, "recover": recover}
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    for line in sys.stdin:
        name, step, after_s, directory = line.rstrip("\n").split(" ", 3)
        reading, writing = os.pipe()
        began = time.monotonic()
        pid = os.fork()
        if not pid:
            _die_at(operations[name], Path(directory), int(step), writing)
        os.close(writing)
        if signal.sigtimedwait({signal.SIGCHLD}, float(after_s)) is None:
            os.kill(pid, signal.SIGKILL)
            signal.sigtimedwait({signal.SIGCHLD}, _FOREVER_S)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with os.fdopen(reading) as answer:
            steps = answer.read() or "0"
        print(code, steps, time.monotonic() - began, flush=True)


def _die_at(operation: Callable[[Path], Any], directory: Path, last: int, answer: int) -> None:
    count = 0

    def counted(genuine: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return genuine(*arguments, **named)

        return step

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    code = 1
    try:
        operation(directory)
        os.write(answer, str(count).encode())
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve()
