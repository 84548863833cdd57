"""What a person sees while a campaign is recorded, and at its end. All of it goes to stderr."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from recorder.plan import PlannedRun
from recorder.run import RunResult
from schemas.words import counted

_RUNS_BEFORE_ESTIMATE = 3
"""The first run also waits for whatever is loaded or cached once, so the time of the runs after it is what counts."""


class Board:
    """The progress of a campaign: a bar in a terminal, a line a run elsewhere."""

    def __init__(
        self, console: Console, bar: Progress | None, total: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._bar = bar
        self._total = total
        self._done = 0
        self._clock = clock
        self._first_ended = self._last_ended = 0.0
        self._task = bar.add_task("", total=total, left="") if bar else None

    def note(self, text: str) -> None:
        """Say something that is not the progress of a run. What a server said cannot steer the terminal."""
        shown = "".join(character if character.isprintable() else "\ufffd" for character in text)
        self._console.print(shown, markup=False, highlight=False, soft_wrap=True)

    def begin(self, planned: PlannedRun) -> None:
        """A run begins."""
        if self._bar is not None and self._task is not None:
            name = f"{planned.case.id} repetition {planned.repetition}"
            self._bar.update(self._task, description=name, left=self._left())

    def end(self, planned: PlannedRun, result: RunResult) -> None:
        """A run has ended."""
        self._done += 1
        self._last_ended = self._clock()
        if self._done == 1:
            self._first_ended = self._last_ended
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, left=self._left())
        else:
            self.note(
                f"[{self._done}/{self._total}] {planned.case.id} repetition {planned.repetition}: {result.status}, "
                f"{result.duration_s:.1f} s{', ' if self._left() else ''}{self._left()}"
            )
        if result.status != "completed":
            self.note(f"{result.run_id}: {result.status}: {result.reason}")

    def _left(self) -> str:
        """The time that remains, as far as the runs so far tell; empty while they cannot."""
        if self._done < _RUNS_BEFORE_ESTIMATE:
            return ""
        seconds = (self._last_ended - self._first_ended) / (self._done - 1) * (self._total - self._done)
        return f"about {duration(seconds)} left" if seconds >= 1 else ""


@contextmanager
def board(total: int) -> Iterator[Board]:
    """Show the progress of `total` runs on stderr; with 0 there is no bar, only notes."""
    console = Console(stderr=True)
    if not total or not console.is_terminal:
        yield Board(console, None, total)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console) as bar:
        yield Board(console, bar, total)


def duration(seconds: float) -> str:
    """A stretch of time for a person."""
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {whole % 60:02d} s" if minutes else f"{whole} s"


def size(count: int) -> str:
    """A number of bytes for a person."""
    if count < 1 << 10:
        return counted(count, "byte")
    return f"{count / (1 << 10):.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"
