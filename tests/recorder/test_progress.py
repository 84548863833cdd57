"""What a person sees while a campaign is recorded."""

import io

import pytest
from rich.console import Console

from recorder.plan import PlannedRun
from recorder.progress import Board, duration, size
from recorder.run import RunResult
from schemas.events import RunStatus
from tests.recorder.recording import case_of


def result(status: RunStatus, reason: str | None = None) -> RunResult:
    return RunResult(
        run_id="case-r1-abc",
        status=status,
        reason=reason,
        events=9,
        raw_bytes=9_000,
        file_bytes=900,
        duration_s=1.25,
        harness_cpu_s=0.1,
        input_tokens=1,
        output_tokens=1,
        tool_calls=1,
    )


def test_without_a_terminal_each_run_is_a_line_and_a_failure_says_why_in_its_own_words() -> None:
    screen = io.StringIO()
    board = Board(Console(file=screen, width=40), None, 2)
    planned = PlannedRun(case_of("Why?"), 1)
    board.begin(planned)
    board.end(planned, result("completed"))
    board.end(planned, result("provider_error", "http_status: [bold]crashed[/bold] in /dev/kfd, " + "and so on " * 9))
    lines = screen.getvalue().splitlines()
    assert lines[0] == "[1/2] case repetition 1: completed, 1.2 s"
    assert lines[1] == "[2/2] case repetition 1: provider_error, 1.2 s"
    assert lines[2].startswith("case-r1-abc: provider_error: http_status: [bold]crashed[/bold] in /dev/kfd, and so on")
    assert len(lines) == 3, "a long reason is not broken into lines of the width of a pipe"


def test_what_a_server_said_cannot_steer_the_terminal() -> None:
    screen = io.StringIO()
    Board(Console(file=screen), None, 1).note("down \x1b[2J\x07 and \ud800 Überlast")
    assert screen.getvalue() == "down \ufffd[2J\ufffd and \ufffd Überlast\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3_599.6, "1 h 00 min"), (7_260, "2 h 01 min")],
)
def test_a_stretch_of_time_reads_as_a_person_says_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (1_023, "1023 bytes"), (1_024, "1.0 KiB"), (5 << 20, "5.0 MiB")]
)
def test_a_size_reads_as_a_person_says_it(count: int, text: str) -> None:
    assert size(count) == text


def test_no_time_is_foretold_before_it_can_be_known_and_then_it_is_that_of_the_runs_after_the_first() -> None:
    screen = io.StringIO()
    now = [0.0]
    board = Board(Console(file=screen, width=40), None, 13, clock=lambda: now[0])
    planned = PlannedRun(case_of("Why?"), 1)
    now[0] = 100.0  # until the library and the model are loaded
    for seconds in (60.0, 10.0, 12.0, 8.0):
        board.begin(planned)
        now[0] += seconds
        board.end(planned, result("completed"))
    lines = screen.getvalue().splitlines()
    assert [line.partition(" s")[2] for line in lines] == ["", "", ", about 1 min 50 s left", ", about 1 min 30 s left"]
