"""The same work on many logs, in this process or in several, with the results spooled to disk.

A `Work` is opened once a process and then handed one log after the other; what it emits goes to a file a process and
kind. Memory stays flat whatever the campaign holds, and the processes share nothing but a counter. All work is done
under `guard.no_network`, which each worker puts up for itself. What the work prints goes to stderr: stdout is for
results.
"""

import gc
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from ctypes import c_long
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec

from replay.guard import NetworkRefused, lifted, no_network, refused
from replay.logref import LogRef
from schemas.errors import KorvidError, UsageError, WorkError

Emit = Callable[[str, bytes], None]
Handler = Callable[[LogRef, Emit], None]
Progress = Callable[[int], None]

_BATCH = 32
_ALLOCATIONS_A_COLLECTION = 50_000
_POLL_S = 0.05
_THREADS = Path("/proc/self/task")


class Work(Protocol):
    """Work that can be sent to another process. `open` prepares it there and gives what handles one log."""

    def open(self) -> Handler: ...


def each_log(
    logs: Sequence[LogRef], work: Work, spool: Path, *, jobs: int = 1, progress: Progress | None = None
) -> None:
    """Do `work` on every log. What it emits as `kind` lies in `spool/*.<kind>`, in no order across processes.

    `progress` is told how many logs are done. Raises what the work raises of our own errors, and `WorkError` if a
    process dies or the work reaches for the network.
    """
    jobs = max(1, min(jobs, -(-len(logs) // _BATCH)))
    if jobs == 1:
        _serve(0, logs, work, spool, _Counter(), progress)
        return
    _in_processes(logs, work, spool, jobs, progress)


def emitted(spool: Path, kind: str) -> list[Path]:
    """The files that hold what was emitted as `kind`."""
    return sorted(spool.glob(f"*.{kind}"))


class _Counter:
    """Hands out positions and counts what is done: in one process plain numbers, across processes shared ones."""

    def __init__(self, taken: Any = None, done: Any = None) -> None:
        self._taken, self._done = taken, done
        self._parent = multiprocessing.parent_process()
        self._local = [0, 0]

    def take(self) -> int:
        """The next position; one beyond every log for a worker whose parent is gone, as nobody waits for it."""
        if self._taken is None:
            self._local[0] += _BATCH
            return self._local[0] - _BATCH
        if self._parent is not None and os.getppid() != self._parent.pid:
            return sys.maxsize
        with self._taken.get_lock():
            self._taken.value += _BATCH
            return int(self._taken.value) - _BATCH

    def add(self, count: int) -> int:
        if self._done is None:
            self._local[1] += count
            return self._local[1]
        with self._done.get_lock():
            self._done.value += count
            return int(self._done.value)


def _serve(
    number: int, logs: Sequence[LogRef], work: Work, spool: Path, counter: _Counter, progress: Progress | None
) -> None:
    with ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}

        def emit(kind: str, line: bytes) -> None:
            if kind not in files:
                files[kind] = stack.enter_context((spool / f"{number}.{kind}").open("wb"))
            files[kind].write(line)

        stack.enter_context(_rare_collections())
        stack.enter_context(redirect_stdout(sys.stderr))
        with no_network():
            handle = work.open()
            while (start := counter.take()) < len(logs):
                batch = logs[start : start + _BATCH]
                for log in batch:
                    handle(log, emit)
                if (what := refused()) is not None:
                    raise NetworkRefused(f"{what} was refused: a grader works on the record alone; nothing was stored")
                done = counter.add(len(batch))
                if progress is not None:
                    progress(done)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect cycles seldom: a graded run leaves none, and the collector costs a tenth of the time looking for them."""
    before = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS_A_COLLECTION, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Failure(msgspec.Struct):
    exit_code: int
    message: str


def _worker(number: int, logs: Sequence[LogRef], work: Work, spool: Path, taken: Any, done: Any) -> None:
    """The main function of a worker process: a failure of ours, or of the disk, is written down for the parent."""
    try:
        _serve(number, logs, work, spool, _Counter(taken, done), None)
    except KorvidError as error:
        _write_failure(spool, number, error.exit_code, str(error))
    except OSError as error:
        _write_failure(spool, number, WorkError.exit_code, f"{error.filename or spool}: {error.strerror or error}")


def _write_failure(spool: Path, number: int, exit_code: int, message: str) -> None:
    """On a full disk the message may not find room; that the worker failed is told by its exit code then."""
    draft = spool / f"{number}.failing"
    try:
        draft.write_bytes(msgspec.json.encode(_Failure(exit_code, message)))
        # The parent looks for this name meanwhile, and ends the worker that it finds.
        draft.replace(draft.with_suffix(".failure"))
    except OSError:
        draft.unlink(missing_ok=True)
        sys.exit(1)


def _in_processes(logs: Sequence[LogRef], work: Work, spool: Path, jobs: int, progress: Progress | None) -> None:
    context = _context()
    taken, done = context.Value(c_long, 0), context.Value(c_long, 0)
    workers = [
        context.Process(target=_worker, args=(number, logs, work, spool, taken, done), daemon=True)
        for number in range(jobs)
    ]
    try:
        with lifted(), _without_ctrl_c():
            for worker in workers:
                worker.start()
        _wait(workers, spool, done, progress)
    finally:
        for worker in (one for one in workers if one.pid is not None):
            if worker.is_alive():
                worker.terminate()
            worker.join()
            worker.close()
    _raise_failure(spool)


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Processes that begin within the block never see Ctrl-C, which reaches all of a terminal: the parent ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context() -> Any:
    """How workers start: as a fork, which has everything loaded already, where this process has a single thread and so
    nothing can be half done in another; else as a fresh interpreter."""
    alone = _THREADS.is_dir() and len(os.listdir(_THREADS)) == 1
    return multiprocessing.get_context("fork" if alone else "spawn")


def _wait(workers: Sequence[Any], spool: Path, done: Any, progress: Progress | None) -> None:
    while any(worker.is_alive() for worker in workers):
        if progress is not None:
            progress(int(done.value))
        # What a killed worker held is lost; if that is the lock of the counter, the others wait for it forever.
        if emitted(spool, "failure") or any(worker.exitcode for worker in workers):
            break
        for worker in workers:
            worker.join(_POLL_S / len(workers))
    for worker in workers:
        if worker.exitcode:
            _raise_failure(spool)
            raise WorkError(f"a worker process ended with {worker.exitcode}; run with --jobs 1 to see why")


def _raise_failure(spool: Path) -> None:
    for file in emitted(spool, "failure"):
        failure = msgspec.json.decode(file.read_bytes(), type=_Failure)
        raise (UsageError if failure.exit_code == UsageError.exit_code else WorkError)(failure.message)


class Bar:
    """A progress bar on stderr for anything that takes more than a second; nothing where stderr is no terminal."""

    _AFTER_S = 1.0

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total = label, total
        self._started = time.monotonic()
        self._shown: Any = None
        self._task: Any = None

    def __call__(self, done: int) -> None:
        """Say that `done` of the total are done."""
        if not sys.stderr.isatty():
            return
        if self._shown is None and time.monotonic() - self._started > self._AFTER_S:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            console = Console(stderr=True)
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._shown = Progress(*columns, console=console, transient=True)
            self._task = self._shown.add_task(self._label, total=self._total)
            self._shown.start()
        if self._shown is not None:
            self._shown.update(self._task, completed=done)

    def close(self) -> None:
        """Take the bar away."""
        if self._shown is not None:
            self._shown.stop()
