"""Workers: started as forks or fresh, they do the same work, and none outlives the process that waits for it."""

import errno
import os
import select
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from replay import pool
from replay.logref import LogRef
from replay.pool import Emit, Handler, each_log, emitted
from schemas.errors import WorkError

LOGS = [LogRef(Path("c/runs"), f"case-r{number}-c.jsonl.zst") for number in range(200)]


class Names(msgspec.Struct, frozen=True):
    """Emits the run id of each log and the number of the process."""

    def open(self) -> Handler:
        """The handler of one log."""

        def handle(log: LogRef, emit: Emit) -> None:
            emit("name", f"{log.run_id} {os.getpid()}\n".encode())

        return handle


class Reaching(msgspec.Struct, frozen=True):
    """Starts a process where it must not."""

    def open(self) -> Handler:
        """The handler of one log."""

        def handle(log: LogRef, emit: Emit) -> None:
            os.fork()

        return handle


def names(spool: Path) -> tuple[list[str], set[str]]:
    lines = [line.split() for file in emitted(spool, "name") for line in file.read_text().splitlines()]
    return sorted(run_id for run_id, _ in lines), {pid for _, pid in lines}


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_each_log_is_done_once_however_workers_start(start: str, tmp_path: Path) -> None:
    script = f"""
import multiprocessing, sys
from pathlib import Path
from replay import pool
from tests.replay_grades.test_pool import LOGS, Names
if __name__ == "__main__":
    found = pool._context().get_start_method()
    assert found == "fork", found
    if {start!r} == "spawn":
        pool._context = lambda: multiprocessing.get_context("spawn")
    pool.each_log(LOGS, Names(), Path(sys.argv[1]), jobs=2)
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)
    found, processes = names(tmp_path)
    assert found == sorted(log.run_id for log in LOGS)
    assert str(os.getpid()) not in processes


def test_a_worker_may_not_start_a_process_either(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match=r"os\.fork was refused"):
        each_log(LOGS, Reaching(), tmp_path, jobs=2)


class Full(msgspec.Struct, frozen=True):
    """Meets a disk without room."""

    def open(self) -> Handler:
        """The handler of one log."""

        def handle(log: LogRef, emit: Emit) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "spool/0.row")

        return handle


def test_a_worker_that_meets_a_full_disk_says_so_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WorkError, match=r"spool/0\.row: No space left on device"):
        each_log(LOGS, Full(), tmp_path, jobs=2)
    assert "Traceback" not in capfd.readouterr().err


def test_a_process_with_a_second_thread_is_not_forked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for thread in ("1", "2"):
        (tmp_path / thread).mkdir()
    monkeypatch.setattr(pool, "_THREADS", tmp_path)
    assert pool._context().get_start_method() == "spawn"
    monkeypatch.setattr(pool, "_THREADS", tmp_path / "missing")
    assert pool._context().get_start_method() == "spawn"


class Endless(msgspec.Struct, frozen=True):
    """Says through a pipe that it has begun; holds the pipe as long as it lives."""

    pipe: int

    def open(self) -> Handler:
        """The handler of one log."""
        os.write(self.pipe, b".")

        def handle(log: LogRef, emit: Emit) -> None:
            os.stat(".")

        return handle


def test_workers_end_when_the_process_that_waits_for_them_is_killed(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from replay import pool
from tests.replay_grades.test_pool import LOGS, Endless
if __name__ == "__main__":
    pool.each_log(LOGS * 100_000, Endless(int(sys.argv[2])), Path(sys.argv[1]), jobs=2)
"""
    alive, held = os.pipe()
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(held)], pass_fds=[held]) as parent:
        os.close(held)
        begun = os.read(alive, 1) + os.read(alive, 1)
        parent.kill()
    assert begun == b".."
    ready, _, _ = select.select([alive], [], [], 60)
    assert ready, "a worker is still at work"
    assert os.read(alive, 1) == b""
    os.close(alive)
