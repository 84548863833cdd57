"""Sealing, unsealing and recovering, killed at every step and at random moments: the old state or the new one."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.campaigns import logs_in
from replay.reader import RunReader
from replay.seal.recovering import recover
from replay.seal.sealing import seal
from replay.seal.unsealing import unseal
from replay.verify import verify
from tests.seal.campaigns import campaign, files, raw
from tests.seal.killed import Sealers

SEALED_FILES = {"campaign.json", "events.jsonl.zst", "events.index.json", "SHA256SUMS"}


@pytest.fixture(scope="module")
def sealers() -> Iterator[Sealers]:
    with Sealers() as server:
        yield server


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return campaign(tmp_path / "original")


def states(directory: Path) -> dict[str, str]:
    found = {}
    for log in logs_in(directory):
        reader = RunReader(log)
        list(reader)
        assert reader.end is not None
        found[log.run_id] = reader.end.state
    return found


def finish(directory: Path, number: int) -> None:
    """Bring a campaign whose process was killed to its sealed state, by a recovery first or at once."""
    if number % 2:
        recover(directory)
    seal(directory, level=3)
    assert set(files(directory)) <= SEALED_FILES | {"runs/api-1-r3-abc.jsonl.zst.torn"}


@pytest.mark.parametrize("operation", ["seal", "unseal"])
def test_killed_before_any_step_the_campaign_reads_the_same_and_the_work_can_be_done_again(
    tmp_path: Path, original: Path, sealers: Sealers, operation: str
) -> None:
    truth, endings, plain = raw(original), states(original), files(original)
    if operation == "unseal":
        seal(original, level=3)
    shutil.copytree(original, tmp_path / "whole")
    code, steps, _ = sealers.run(operation, tmp_path / "whole")
    assert (code, steps > 10) == (0, True)
    for step in range(1, steps + 1):
        directory = tmp_path / str(step)
        shutil.copytree(original, directory)
        assert sealers.run(operation, directory, step=step)[0] == -9, step
        assert (raw(directory), states(directory)) == (truth, endings), step
        assert "corrupt" not in {check.state for check in verify(directory)}, step
        finish(directory, 0)
        unseal(directory)
        assert files(directory) == plain, step


def test_killed_at_random_moments_no_run_is_lost_or_changed(tmp_path: Path, original: Path, sealers: Sealers) -> None:
    """A seal that was done before its kill says how fast this machine is now, and the next kills come sooner."""
    chance = random.Random(20)
    truth = raw(original)
    shutil.copytree(original, tmp_path / "whole")
    _, _, took_s = sealers.run("seal", tmp_path / "whole")
    codes = []
    for number in range(20):
        directory = tmp_path / str(number)
        shutil.copytree(original, directory)
        after_s = chance.uniform(0, took_s)
        codes.append(sealers.run("seal", directory, after_s=after_s)[0])
        took_s = took_s if codes[-1] else min(took_s, after_s)
        assert raw(directory) == truth
        finish(directory, number)
        assert raw(directory) == truth
    assert set(codes) <= {-9, 0}
    assert codes.count(-9) > 5


def test_a_killed_recovery_is_done_again_with_nothing_lost(tmp_path: Path, original: Path, sealers: Sealers) -> None:
    path = original / "runs" / "api-1-r1-abc.jsonl.zst"
    path.write_bytes(path.read_bytes()[:-30])
    truth, plain = raw(original), files(original)
    shutil.copytree(original, tmp_path / "whole")
    _, steps, _ = sealers.run("recover", tmp_path / "whole")
    for step in range(1, steps + 1):
        directory = tmp_path / str(step)
        shutil.copytree(original, directory)
        assert sealers.run("recover", directory, step=step)[0] == -9
        recover(directory)
        assert raw(directory) == truth
        assert recover(directory).losses == ()
        kept = files(directory)
        assert plain["runs/api-1-r1-abc.jsonl.zst"] == kept["runs/api-1-r1-abc.jsonl.zst.torn"]
