"""Directories that may not be written, many commands at once in one place, and a clock that is set back."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recorder.campaign
import recorder.run
from recorder.scripted import ScriptedServer
from replay.campaigns import run_files
from replay.fold import fold
from replay.reader import read_all
from replay.sql.index import is_fresh
from replay.verify import verify
from tests.faults.forked import Child, Forks
from tests.faults.test_full_disk import COMMANDS, told
from tests.faults.test_recording import SlowModel
from tests.recorder.campaigns import campaign as recorded
from tests.recorder.campaigns import resumed
from tests.recorder.commands import server_env
from tests.seal.campaigns import files

AT_ONCE = 16
READING: dict[str, tuple[str, ...]] = {
    "verify": ("verify", "open"),
    "verify a sealed one": ("verify", "sealed"),
    "ls": ("ls", "sealed"),
    "show": ("show", "no-secret", "--in", "open"),
    "sql": ("sql", "open", "SELECT count(*) FROM runs"),
    "scoreboard": ("scoreboard", "open"),
    "diff": ("diff", "open", "--from", "claims@1", "--to", "claims@2"),
    "bisect": ("bisect", "open", "--from", "claims@1", "--to", "claims@2"),
}


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("outputs"), "korvid-replay") as server:
        yield server


@pytest.fixture(scope="module")
def recorders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("outputs")) as server:
        yield server


def closed(directory: Path) -> dict[Path, int]:
    """Take the right to write away from everybody below a directory; the modes before."""
    modes = {path: path.stat().st_mode for path in (directory, *directory.rglob("*"))}
    for path, mode in modes.items():
        path.chmod(mode & 0o555)
    return modes


def opened(modes: dict[Path, int]) -> None:
    for path, mode in modes.items():
        path.chmod(mode)


@pytest.mark.parametrize("name", READING)
def test_what_only_reads_works_where_nothing_may_be_written(replays: Forks, place: Path, name: str) -> None:
    modes = closed(place)
    child = replays.start(*READING[name], cwd=place, unprivileged=True)
    code = child.wait()
    opened(modes)
    assert code == 0, child.stderr
    assert child.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_what_writes_names_the_place_where_it_may_not(replays: Forks, stocked: Path, place: Path, name: str) -> None:
    modes = closed(place)
    child = replays.start(*COMMANDS[name], cwd=place, unprivileged=True)
    code = child.wait()
    opened(modes)
    assert code in (1, 2), child.stderr
    assert any(text in told(child) for text in ("Permission denied", "insufficient permission", "cannot be written"))
    assert files(place) == files(stocked)


UNREADABLE: dict[str, tuple[str, ...]] = {
    "verify": ("verify", "open"),
    "ls": ("ls", "open"),
    "index": ("index", "open"),
    "sql": ("sql", "open", "SELECT status FROM runs"),
    "regrade": ("regrade", "open", "--grader", "claims"),
    "seal": ("seal", "open"),
}
"""What reads every log. The rest of a sealed campaign rests on two files."""


def unreadable(replays: Forks, place: Path, file: Path, command: tuple[str, ...]) -> str:
    """What a command says that meets a file that it may not read; nothing has changed afterwards."""
    before = files(place)
    mode = file.stat().st_mode
    file.chmod(0)
    child = replays.start(*command, cwd=place, unprivileged=True)
    code = child.wait()
    file.chmod(mode)
    assert code == 1, child.stderr
    assert files(place) == before
    return told(child)


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_log_that_may_not_be_read_ends_the_command_and_is_not_taken_for_corrupt(
    replays: Forks, place: Path, name: str
) -> None:
    log = run_files(place / "open")[-1].path
    said = unreadable(replays, place, log, UNREADABLE[name])
    assert f"{log.relative_to(place)}: cannot read the log: Permission denied; make it readable" in said


@pytest.mark.parametrize("file", ["campaign.json", "events.index.json", "events.jsonl.zst"])
@pytest.mark.parametrize("command", ["verify", "recover", "ls"])
def test_a_file_of_a_sealed_campaign_that_may_not_be_read_ends_the_command_and_is_not_taken_for_damaged(
    replays: Forks, place: Path, command: str, file: str
) -> None:
    said = unreadable(replays, place, place / "sealed" / file, (command, "sealed"))
    assert f"sealed/{file}: " in said
    assert "Permission denied" in said


def test_a_recorder_names_the_directory_in_which_it_may_not_record(recorders: Forks, here: Path) -> None:
    with ScriptedServer(SlowModel()) as server:
        modes = closed(here)
        child = recorders.start(
            "run", "few", "--reps", "1", "--out", "c", cwd=here, env=server_env(server), unprivileged=True
        )
        code = child.wait()
        opened(modes)
    assert code == 2
    assert told(child) == "error: c: cannot make the campaign: Permission denied; give --out another place"
    assert not (here / "c").exists()


def ended(children: list[Child]) -> list[int]:
    return [child.wait() for child in children]


def test_of_sixteen_recorders_that_start_at_once_in_one_directory_one_records_and_the_others_are_refused_by_name(
    recorders: Forks, here: Path
) -> None:
    with ScriptedServer(SlowModel()) as server:
        flags = ("run", "few", "--reps", "1", "--out", "c")
        children = [recorders.start(*flags, cwd=here, env=server_env(server)) for _ in range(AT_ONCE)]
        codes = ended(children)
    assert Counter(codes) == {0: 1, 2: AT_ONCE - 1}
    refused = [told(child) for child, code in zip(children, codes, strict=True) if code]
    assert all("another korvid-rec records into it" in line or "already there" in line for line in refused)
    assert [check.state for check in verify(here / "c")] == ["complete"] * 2


def test_sixteen_regraders_at_once_leave_one_grade_file_and_its_receipt(replays: Forks, place: Path) -> None:
    before = set(files(place / "open" / "grades"))
    children = [replays.start(*COMMANDS["regrade"], cwd=place) for _ in range(AT_ONCE)]
    assert ended(children) == [0] * AT_ONCE, [child.stderr for child in children]
    assert sorted(Path(name).suffix for name in set(files(place / "open" / "grades")) - before) == [".json", ".parquet"]


def test_sixteen_indexers_and_questions_at_once_all_answer(replays: Forks, place: Path) -> None:
    question = ("sql", "open", "SELECT count(*) FROM tool_calls", "--json")
    commands = [COMMANDS["index"], question] * (AT_ONCE // 2)
    children = [replays.start(*arguments, cwd=place) for arguments in commands]
    assert ended(children) == [0] * AT_ONCE, [child.stderr for child in children]
    assert len({child.stdout for child in children[1::2]}) == 1
    assert is_fresh(place / "open")


def test_of_sixteen_sealers_at_once_the_campaign_is_sealed_once_and_whole(replays: Forks, place: Path) -> None:
    children = [replays.start(*COMMANDS["seal"], cwd=place) for _ in range(AT_ONCE)]
    codes = ended(children)
    assert set(codes) <= {0, 2}
    assert 0 in codes
    assert all("another process" in told(child) for child, code in zip(children, codes, strict=True) if code)
    assert {check.state for check in verify(place / "open")} == {"complete"}


def test_sixteen_importers_of_one_file_leave_one_campaign(replays: Forks, place: Path) -> None:
    children = [replays.start(*COMMANDS["import inspect"], cwd=place) for _ in range(AT_ONCE)]
    codes = ended(children)
    assert set(codes) <= {0, 1}
    assert 0 in codes
    assert all("cannot be made" in told(child) for child, code in zip(children, codes, strict=True) if code)
    (campaign,) = (place / "imported").iterdir()
    assert [check.state for check in verify(campaign)] == ["complete"]


class SetBack:
    """A clock of the day on which each look is an hour before the last."""

    def __init__(self) -> None:
        self.looks = 0

    def now(self, zone: Any = None) -> datetime:
        self.looks += 1
        return datetime(2026, 8, 1, tzinfo=UTC) - timedelta(hours=self.looks)


def test_a_clock_that_is_set_back_while_recording_changes_no_order_and_no_duration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SetBack()
    for module in (recorder.campaign, recorder.run):
        monkeypatch.setattr(module, "datetime", clock)
    summary, _ = recorded(tmp_path / "c", agent="oracle", repetitions=2)
    again, _ = resumed(tmp_path / "c")
    assert clock.looks > 4
    assert 0 <= summary.wall_s < 600
    assert 0 <= again.wall_s < 600
    assert again.already_recorded == summary.recorded == 4
    for log in run_files(tmp_path / "c"):
        times = [record.event.t for record in read_all(log)[0]]
        assert times == sorted(times)
        assert times[0] >= 0
        assert fold(log).duration_s >= 0
    assert {check.state for check in verify(tmp_path / "c")} == {"complete"}


def test_an_index_is_not_fresh_for_a_log_that_seems_older_than_it(replays: Forks, place: Path) -> None:
    assert replays.start(*COMMANDS["index"], cwd=place).wait() == 0
    log = run_files(place / "open")[0].path
    log.write_bytes(log.read_bytes()[:-40])
    os.utime(log, (0, 0))
    child = replays.start("sql", "open", "SELECT status, count(*) AS n FROM runs GROUP BY ALL", "--json", cwd=place)
    assert child.wait() == 0
    assert {row["status"]: row["n"] for row in json.loads(child.stdout)}["interrupted"] == 1
