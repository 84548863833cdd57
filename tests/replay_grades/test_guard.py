"""Regrading cannot call a model: neither by import nor by socket."""

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.graders import load
from replay.guard import NetworkRefused, no_network, refused
from tests.replay_grades.tools import PASS_ALL, digests, run_regrade

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("module", ["replay.regrade", "replay.work", "replay.diff", "replay.bisect", "replay.graders"])
def test_importing_it_in_a_fresh_interpreter_loads_nothing_that_could_call_a_model(module: str) -> None:
    code = (
        f"import sys, {module}\n"
        "from replay.graders import load\nload('claims')\n"
        "bad = {'litellm', 'textual', 'kubernetes', 'httpx', 'openai', 'requests', 'aiohttp', 'recorder'}\n"
        "print(sorted(bad & {name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: socket.socket(),
        lambda: socket.create_connection(("127.0.0.1", 9)),
        lambda: socket.getaddrinfo("localhost", 80),
        lambda: socket.gethostbyname("localhost"),
        lambda: subprocess.run(["true"], check=True),
    ],
)
def test_under_the_guard_every_way_out_is_refused(attempt: Callable[[], object]) -> None:
    with no_network(), pytest.raises(NetworkRefused, match="works on the record alone"):
        attempt()
    assert refused() is not None


def test_after_the_guard_sockets_work_again() -> None:
    with no_network():
        pass
    socket.socket().close()


def test_what_an_earlier_guard_refused_is_forgotten() -> None:
    with no_network(), pytest.raises(NetworkRefused):
        socket.socket()
    with no_network():
        assert refused() is None


AT_IMPORT = """
import socket
try:
    socket.getaddrinfo("localhost", 80)
except Exception:
    pass
"""


def test_a_grader_that_reaches_out_while_it_is_imported_is_refused(grader_file: Callable[[str], str]) -> None:
    with pytest.raises(NetworkRefused, match=r"graders\.py: socket\.getaddrinfo was refused"):
        load(grader_file(AT_IMPORT + PASS_ALL))


CALLS_OUT = """
import socket
def mine(run, rubric):
    socket.create_connection(("127.0.0.1", 9))
    return Verdict(verdict="pass", reason="success", outcome="success")
"""
HIDES_IT = """
import socket
def mine(run, rubric):
    try:
        socket.create_connection(("127.0.0.1", 9))
    except Exception:
        pass
    return Verdict(verdict="pass", reason="success", outcome="success")
"""


@pytest.mark.parametrize("body", [CALLS_OUT, HIDES_IT])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_grader_that_opens_a_socket_fails_by_name_and_nothing_is_stored(
    body: str, jobs: int, campaign: Path, grader_file: Callable[[str], str]
) -> None:
    reference = grader_file(body)
    before = digests(campaign)
    with pytest.raises((NetworkRefused, Exception), match=r"socket\.\w+ was refused: a grader works on the record"):
        run_regrade(campaign, reference, jobs=jobs)
    assert digests(campaign) == before
