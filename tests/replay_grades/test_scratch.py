"""What a killed regrade leaves in `grades/` is cleared away, and what a running one works in is not."""

import os
import signal
import subprocess
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from replay.scratch import PREFIX, remove_abandoned, scratch_in
from replay.seal.recovering import recover
from replay.store import GradeStore

KILLED = """
import os, signal, sys
from pathlib import Path
from replay.scratch import scratch_in
with scratch_in(Path(sys.argv[1])) as scratch:
    (scratch / "0.row").write_bytes(b"half a row")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def hidden(campaign: Path) -> list[Path]:
    return sorted((campaign / "grades").glob(f"{PREFIX}*"))


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign in which a regrade was killed."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "grades").mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "grades")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(hidden(tmp_path)) == 1
    return tmp_path


def test_the_next_regrade_removes_what_a_killed_one_left(campaign: Path) -> None:
    with GradeStore(campaign) as store:
        assert hidden(campaign) == [store.scratch]
    assert hidden(campaign) == []


def test_recover_removes_what_a_killed_regrade_left_and_tells(campaign: Path) -> None:
    (left,) = hidden(campaign)
    (loss,) = recover(campaign).losses
    assert (loss.file, loss.kind) == (f"grades/{left.name}", "unfinished")
    assert hidden(campaign) == []
    assert recover(campaign).losses == ()


def test_a_regrade_that_is_running_keeps_its_directory(campaign: Path) -> None:
    with GradeStore(campaign) as running:
        (running.scratch / "0.row").write_bytes(b"half a row")
        with GradeStore(campaign) as second:
            assert set(hidden(campaign)) == {running.scratch, second.scratch}
        assert recover(campaign).losses == ()
        assert (running.scratch / "0.row").read_bytes() == b"half a row"


def test_regrades_that_start_and_end_at_once_do_not_take_each_others_directories(tmp_path: Path) -> None:
    def work(number: int) -> bytes:
        with scratch_in(tmp_path) as scratch:
            (scratch / "mine").write_bytes(b"%d" % number)
            remove_abandoned(tmp_path)
            return (scratch / "mine").read_bytes()

    with ThreadPool(8) as pool:
        assert pool.map(work, range(200), chunksize=1) == [b"%d" % number for number in range(200)]
    assert os.listdir(tmp_path) == []


def test_a_file_and_a_link_of_that_name_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}file").write_bytes(b"x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "elsewhere")
    assert remove_abandoned(tmp_path) == []
    assert (tmp_path / "elsewhere").is_dir()
