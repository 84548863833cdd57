"""How workers end: one that is killed ends the work at once, and Ctrl-C ends all of them without a word."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from replay import pool
from replay.logref import LogRef
from replay.pool import Emit, Handler, each_log, emitted
from schemas.errors import WorkError

LOGS = [LogRef(Path("c/runs"), f"case-r{number}-c.jsonl.zst") for number in range(200)]


class OneDies(msgspec.Struct, frozen=True):
    """The first process to come is killed; the others wait for what never happens."""

    mark: Path

    def open(self) -> Handler:
        """The handler of one log."""

        def handle(log: LogRef, emit: Emit) -> None:
            try:
                os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                signal.pause()
            os.kill(os.getpid(), signal.SIGKILL)

        return handle


class Waits(msgspec.Struct, frozen=True):
    """Says through a named pipe that it has begun, and waits for what never happens."""

    pipe: Path

    def open(self) -> Handler:
        """The handler of one log."""

        def handle(log: LogRef, emit: Emit) -> None:
            self.pipe.write_bytes(b".")
            signal.pause()

        return handle


class BeginsSlowly:
    """Says through a named pipe that a fresh process has begun to read its work, which never comes to an end."""

    def __init__(self, pipe: Path) -> None:
        self._pipe = pipe

    def __reduce__(self) -> tuple[object, ...]:
        return (never_read, (self._pipe,))

    def open(self) -> Handler:
        """Not reached."""
        raise AssertionError


def never_read(pipe: Path) -> None:
    pipe.write_bytes(b".")
    signal.pause()


def test_a_killed_worker_ends_the_work_although_the_others_wait_forever(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="ended with -9"):
        each_log(LOGS, OneDies(tmp_path / "first"), tmp_path, jobs=2)


class FailsSlowly(msgspec.Struct, frozen=True):
    """Fails, and notes down whether the parent could find that while half of it is written."""

    spool: Path

    def open(self) -> Handler:
        """The handler of one log."""
        write = Path.write_bytes

        def in_halves(path: Path, data: bytes) -> int:
            write(path, data[: len(data) // 2])
            found = str(path.with_suffix(".failure").exists())
            write(self.spool / f"{os.getpid()}.seen", found.encode())
            return write(path, data)

        def handle(log: LogRef, emit: Emit) -> None:
            pytest.MonkeyPatch().setattr(Path, "write_bytes", in_halves)
            raise WorkError("the disk is gone")

        return handle


def test_a_failure_is_there_for_the_parent_only_when_it_is_whole(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="the disk is gone"):
        each_log(LOGS, FailsSlowly(tmp_path), tmp_path, jobs=2)
    assert {file.read_text() for file in emitted(tmp_path, "seen")} == {"False"}


@pytest.mark.parametrize(("start", "work"), [("fork", "Waits"), ("spawn", "Waits"), ("spawn", "BeginsSlowly")])
def test_ctrl_c_ends_all_workers_and_none_prints_a_traceback(start: str, work: str, tmp_path: Path) -> None:
    # A shell that starts something in the background has Ctrl-C ignored there, and so may whatever runs the tests.
    script = f"""
import multiprocessing, signal, sys
from pathlib import Path
from replay import pool
from tests.replay_grades.test_pool_ends import LOGS, {work}
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pool._context = lambda: multiprocessing.get_context({start!r})
    spool = Path(sys.argv[1])
    try:
        pool.each_log(LOGS, {work}(spool / "begun"), spool, jobs=2)
    except KeyboardInterrupt:
        sys.exit(130)
"""
    os.mkfifo(tmp_path / "begun")
    begun = os.open(tmp_path / "begun", os.O_RDWR)
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as parent:
        assert os.read(begun, 1) + os.read(begun, 1) == b".."
        os.killpg(parent.pid, signal.SIGINT)
        _, said = parent.communicate(timeout=60)
    os.close(begun)
    assert (parent.returncode, said) == (130, b"")


def test_a_worker_whose_parent_was_gone_before_it_began_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = SimpleNamespace(pid=os.getppid() + 1)
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: gone)
    taken = multiprocessing.get_context("fork").Value(ctypes.c_long, 0)
    assert pool._Counter(taken, taken).take() == sys.maxsize
    assert taken.value == 0
