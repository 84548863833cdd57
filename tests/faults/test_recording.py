"""A recorder that is killed, whose disk fills up, whose disk fails: what was acknowledged stays, and it can go on."""

import errno
import hashlib
import json
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recorder.log import RunLog
from recorder.scripted import Call, Reply, ScriptedServer
from replay.reader import read_all
from replay.verify import verify
from schemas.errors import LogError
from schemas.events import ModelRequest, RunFinished, ToolResult, TurnFinished
from tests.builders import run_started
from tests.faults.forked import Child, Forks
from tests.recorder.commands import server_env

KILLS = 20
CASES = ("healthy-deployment", "oom-killed")


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("outputs")) as server:
        yield server


class SlowModel:
    """A script that stops at a chosen request of a round, at a chosen piece of its answer.

    Each stop holds an answer until `release`, so that a recorder that is killed then has not ended by itself.
    """

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._release = threading.Event()
        self._left = 0
        self._where = ""

    def stop_at(self, request: int, where: str) -> None:
        """Stop at the so-manieth request from now: `before` its answer, `within` it, or `passing` it: at the next."""
        self.release()
        self.reached, self._release = threading.Event(), threading.Event()
        self._left, self._where = request, where

    def run_through(self) -> None:
        """Stop no more."""
        self.release()
        self._left, self._where = 0, ""

    def release(self) -> None:
        self._release.set()

    def __call__(self, body: dict[str, Any]) -> Reply:
        asked = sum(message["role"] == "tool" for message in body["messages"])
        call = Call(name="list_resources", arguments={"kind": "pods"})
        reply = (
            Reply(text=f"Looking, {asked}.", tool_calls=(call,)) if asked < 2 else Reply(text="It is all fine, I say.")
        )
        self._left -= 1
        if self._left == 0:
            self.reached.set()
        if self._left != (-1 if self._where == "passing" else 0):
            return reply
        if self._where == "within":
            return msgspec.structs.replace(reply, hold=self._release, hold_at=2)
        return msgspec.structs.replace(reply, hold_before=self._release)


def test_killed_at_twenty_random_moments_everything_acknowledged_is_there_and_resume_completes(
    here: Path, forks: Forks
) -> None:
    moments = random.Random(20)
    model, directory = SlowModel(), here / "c"
    frozen: dict[Path, bytes] = {}
    kills = 0
    with ScriptedServer(model) as server:
        env = server_env(server, KORVID_EVAL_REVISION="build-a")
        flags = ["run", "few", "--reps", "10", "--out", "c"]
        while kills < KILLS:
            model.stop_at(moments.randint(1, 6), moments.choice(("before", "within", "passing")))
            child = forks.start(*flags, cwd=here, env=env)
            assert reached(model, child), child.stderr
            child.kill()
            assert child.wait() == -9
            kills += 1
            flags = ["run", "few", "--resume", "c"]
            model.release()
            assert_recorded(directory, server)
            assert all(path.read_bytes() == data for path, data in frozen.items()), "earlier attempts are untouched"
            frozen = {path: path.read_bytes() for path in (directory / "runs").iterdir()}
        model.run_through()
        last = forks.start(*flags, "--json", cwd=here, env=env)
        assert last.wait() == 0, last.stderr
        assert_recorded(directory, server)
    summary = json.loads(last.stdout)
    assert summary["planned"] == summary["already_recorded"] + summary["recorded"] == 20
    assert all(path.read_bytes() == data for path, data in frozen.items())
    states = Counter(check.state for check in verify(directory))
    assert states["complete"] == 20
    assert states["interrupted"] > KILLS / 2
    assert set(states) == {"complete", "interrupted"}


def reached(model: SlowModel, child: Child) -> bool:
    """Whether the model was asked; not if the recorder ended first."""
    while not model.reached.wait(0.25):
        if child.ended():
            return model.reached.is_set()
    return True


def assert_recorded(directory: Path, server: ScriptedServer) -> None:
    """What a second observer saw is in the logs: a request is written before it leaves. And no log is corrupt."""
    assert all(check.state in ("complete", "interrupted") for check in verify(directory))
    seen = Counter(hashlib.sha256(request.body).hexdigest() for request in list(server.chats))
    written = Counter(
        record.event.body_sha256
        for path in (directory / "runs").iterdir()
        for record in read_all(path)[0]
        if isinstance(record.event, ModelRequest)
    )
    assert not seen - written


def test_a_disk_that_is_full_from_the_start_leaves_nothing_that_stands_in_the_way(here: Path, forks: Forks) -> None:
    with ScriptedServer(SlowModel()) as server:
        env = server_env(server)
        full = forks.start("run", "few", "--reps", "1", "--out", "c", cwd=here, env=env, file_bytes=512)
        assert full.wait() == 1
        (line,) = [line for line in full.stderr.splitlines() if "error" in line]
        assert line == "error: c/campaign.json: cannot be written: File too large; free space and start again"
        assert list((here / "c").iterdir()) == []
        again = forks.start("run", "few", "--reps", "1", "--out", "c", cwd=here, env=env)
        assert again.wait() == 0, again.stderr


def test_a_disk_that_fills_up_ends_the_recording_with_one_line_and_resume_goes_on(here: Path, forks: Forks) -> None:
    with ScriptedServer(SlowModel()) as server:
        env = server_env(server)
        whole = forks.start("run", "few", "--reps", "1", "--out", "whole", cwd=here, env=env)
        assert whole.wait() == 0, whole.stderr
        room = between_manifest_and_log(here / "whole")
        full = forks.start("run", "few", "--reps", "1", "--out", "c", cwd=here, env=env, file_bytes=room)
        assert full.wait() == 1
        assert "Traceback" not in full.stderr
        last = full.stderr.splitlines()[-1]
        assert last.startswith("error: c/runs/healthy-deployment-r1-")
        assert last.endswith("File too large; the events before it are safe, free space and resume the campaign")
        (check,) = verify(here / "c")
        assert check.state == "interrupted"
        assert check.events > 3
        again = forks.start("run", "few", "--resume", "c", cwd=here, env=env)
        assert again.wait() == 0, again.stderr
    assert Counter(check.state for check in verify(here / "c")) == {"complete": 2, "interrupted": 1}


def between_manifest_and_log(directory: Path) -> int:
    """A size in bytes that the manifest of this campaign stays below by far, and that each of its logs exceeds."""
    manifest = (directory / "campaign.json").stat().st_size
    shortest = min(path.stat().st_size for path in (directory / "runs").iterdir())
    assert manifest < shortest
    return (manifest + shortest) // 2


def write_events(log: RunLog, until: int) -> int:
    """Append events until the log refuses; how many it acknowledged."""
    done = 0
    events = [
        run_started(),
        *(ToolResult(call=n, tool="get_logs", ok=True, result=f"{n:x}" * 50) for n in range(until)),
    ]
    for event in events:
        try:
            log.append(event)
        except LogError:
            return done
        done += 1
    return done


def failing_write(after: int, *, part: bool) -> Callable[[int, bytes], int]:
    """An `os.write` whose disk is full after so many calls; with `part` half of the last write still gets through."""
    calls = 0

    def write(handle: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls <= after:
            return real_write(handle, data)
        if part and calls == after + 1:
            return real_write(handle, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return write


real_write, real_fsync = os.write, os.fsync


@pytest.mark.parametrize("part", [False, True], ids=["nothing of the event", "half of the event"])
@pytest.mark.parametrize("after", [0, 1, 2, 7, 19])
def test_every_event_acknowledged_before_the_disk_was_full_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int, part: bool
) -> None:
    log = RunLog(tmp_path / "case-r1-abc.jsonl.zst", durability="run")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", failing_write(after, part=part))
        assert write_events(log, 20) == after
    with pytest.raises(LogError, match="the log is closed"):
        log.append(ToolResult(call=1, tool="get_logs", ok=True, result="glued"))
    records, end = read_all(log.path)
    assert (end.state, len(records)) == ("interrupted", after)


def test_a_full_disk_is_named_with_the_file_the_event_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RunLog(tmp_path / "case-r1-abc.jsonl.zst", durability="run")
    monkeypatch.setattr(os, "write", failing_write(0, part=False))
    with pytest.raises(LogError) as failed:
        log.append(run_started())
    assert str(failed.value) == (
        f"{log.path}: cannot write event 0: No space left on device; "
        "the events before it are safe, free space and resume the campaign"
    )


@pytest.mark.parametrize(("durability", "acknowledged"), [("event", 0), ("turn", 3), ("run", 4)])
def test_an_event_that_cannot_be_made_durable_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Any, acknowledged: int
) -> None:
    log = RunLog(tmp_path / "case-r1-abc.jsonl.zst", durability=durability)
    events = [
        run_started(),
        ToolResult(call=1, tool="get_logs", ok=True, result="a"),
        ToolResult(call=2, tool="get_logs", ok=True, result="b"),
        TurnFinished(turn=1, outcome="answered", answer="c", iterations=1, tool_calls=2, duration_s=0.1),
    ]

    def broken(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", broken)
    for event in events[:acknowledged]:
        log.append(event)
    steps: list[Callable[[], object]] = [partial(log.append, event) for event in events]
    steps.append(partial(log.finish, "completed"))
    with pytest.raises(LogError, match=r"cannot make event .* durable: Input/output error"):
        steps[acknowledged]()


def test_a_log_is_never_written_over_and_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "case-r1-abc.jsonl.zst"
    path.write_bytes(b"an older log")
    with pytest.raises(LogError, match=rf"{path}: cannot create the log: File exists"):
        RunLog(path)
    assert path.read_bytes() == b"an older log"
    with pytest.raises(LogError, match="No such file or directory"):
        RunLog(tmp_path / "gone" / "case-r1-abc.jsonl.zst")


def test_a_log_whose_name_cannot_be_made_durable_is_refused_and_leaves_no_open_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", broken)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(LogError, match="cannot make the log durable"):
        RunLog(tmp_path / "case-r1-abc.jsonl.zst")
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_digest_covers_what_lies_in_the_file_when_writes_come_in_small_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", lambda handle, data: real_write(handle, data[:7]))
    log = RunLog(tmp_path / "case-r1-abc.jsonl.zst", durability="run")
    write_events(log, 10)
    log.finish("completed")
    records, end = read_all(log.path)
    assert (end.state, len(records)) == ("complete", 12)
    assert isinstance(records[-1].event, RunFinished)
