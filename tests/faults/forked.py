"""Commands that can be killed cheaply: a server process loads what they need once and forks one for each request.

    with Forks(outputs) as forks:
        child = forks.start("run", "--out", "c", cwd=..., env=...)
        child.kill(); child.wait()

Run as a program it is that server: one JSON request a line on stdin, one JSON answer a line on stdout. It has no
threads, so what it forks is as good as a fresh process.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Literal

from tests.faults.confined import confine, leave

REPLAY = (
    "replay.publishing.publish",
    "replay.regrade",
    "replay.seal.sealing",
    "replay.sql.index",
    "replay.importing.korvid",
    "replay.importing.inspect_logs",
    "packs.loader",
)
"""What the commands load when they are used, loaded once."""
Program = Literal["korvid-rec", "korvid-replay"]


class Child:
    """A forked command; its output is in files beside each other."""

    def __init__(self, forks: "Forks", pid: int, out: Path) -> None:
        self.pid = pid
        self._forks = forks
        self._out = out

    def kill(self) -> None:
        """kill -9. The server has not reaped it before `wait`, so the pid is still its own."""
        os.kill(self.pid, signal.SIGKILL)

    def kill_all(self) -> None:
        """kill -9 of the process and of those that it started."""
        os.killpg(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """The exit code; minus the signal's number if a signal ended it."""
        return int(self._forks.ask({"wait": self.pid})["code"])

    def ended(self) -> bool:
        """Whether it has ended."""
        return bool(self._forks.ask({"poll": self.pid})["ended"])

    @property
    def stdout(self) -> str:
        return self._out.with_suffix(".out").read_text()

    @property
    def stderr(self) -> str:
        return self._out.with_suffix(".err").read_text()


class Forks:
    """The server process, for the length of a `with` block. `outputs` is where its children's output goes."""

    def __init__(self, outputs: Path, program: Program = "korvid-rec") -> None:
        self._outputs = outputs
        self._program = program
        self._number = 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Forks":
        self._outputs.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "tests.faults.forked", self._program]
        self._process = subprocess.Popen(
            command, cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.communicate(timeout=60)

    def start(self, *arguments: str, cwd: Path, env: dict[str, str] | None = None, **confined: int | None) -> Child:
        """A command, confined as `confined.confine` can: `file_bytes` is the largest file that it may write,
        `spare_bytes` is left on its disk, `unprivileged` takes root's right to write where nobody may.
        """
        self._number += 1
        out = self._outputs / f"{self._number:03d}"
        environment = dict(os.environ) if env is None else env
        request = {"run": arguments, "cwd": str(cwd), "env": environment, "out": str(out)} | confined
        return Child(self, int(self.ask(request)["pid"]), out)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One question to the server."""
        assert self._process is not None
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline())
        return answer


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Answer until stdin ends."""
    ended: dict[int, int] = {}
    for line in requests:
        request = json.loads(line)
        if "run" in request:
            answer: dict[str, Any] = {"pid": _fork(request)}
        elif "wait" in request:
            pid = request["wait"]
            code = ended[pid] if pid in ended else os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            answer = {"code": code}
        else:
            pid = request["poll"]
            found, status = (pid, 0) if pid in ended else os.waitpid(pid, os.WNOHANG)
            if found and pid not in ended:
                ended[pid] = os.waitstatus_to_exitcode(status)
            answer = {"ended": bool(found)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _fork(request: dict[str, Any]) -> int:
    """The pid of a child that leads a process group of its own by now, so that `kill_all` finds the group."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        return pid
    code = 1
    try:
        os.setsid()
        os.close(reading)
        os.close(writing)
        for number, suffix in ((1, ".out"), (2, ".err")):
            os.dup2(os.open(request["out"] + suffix, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.clear()
        os.environ.update(request["env"])
        confine(request)
        code = _run(request["run"])
        leave(request)
    except Exception:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run(arguments: list[str]) -> int:
    import recorder.cli
    import replay.cli

    program = sys.argv[1]
    sys.argv = [program, *arguments]
    try:
        recorder.cli.main() if program == "korvid-rec" else replay.cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _load(program: str) -> None:
    import recorder.cli
    import replay.cli

    for package in (recorder, replay):
        assert package.cli.main
    if program == "korvid-rec":
        from recorder.transport.library import load

        load()
    else:
        for name in REPLAY:
            import_module(name)


if __name__ == "__main__":
    _load(sys.argv[1])
    serve(sys.stdin, sys.stdout)
