"""An indexer, a regrader, a publisher and an importer that are killed at random moments: nothing half done counts."""

import json
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replay.importing.writing import RECEIPT
from replay.publishing.audit import audit
from replay.publishing.fetching import fetch
from replay.seal.recovering import recover
from replay.seal.sealing import seal
from replay.sql.index import INDEX
from replay.sql.session import Session
from replay.verify import verify
from tests.faults.forked import Forks
from tests.importing.conftest import scenario
from tests.publishing.conftest import make_bare, make_repository
from tests.publishing.tools import git, graded, make_publishable
from tests.seal.campaigns import files
from tests.synthetic import Options, generate

KILLS = 6
TRIES = 60
_STEP_S = 0.002


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("outputs"), "korvid-replay") as server:
        yield server


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (campaign,) = generate(tmp_path_factory.mktemp("pristine"), Options(runs=8, raw_kib=3, interrupted=0.1))
    make_publishable(campaign)
    return campaign


def test_a_command_that_has_started_leads_the_group_that_is_killed_with_it(forks: Forks, tmp_path: Path) -> None:
    for _ in range(50):
        child = forks.start("ls", ".", cwd=tmp_path)
        assert os.getpgid(child.pid) == child.pid
        child.kill_all()
        child.wait()


def run(forks: Forks, here: Path, *arguments: str) -> float:
    """Run a command to its end; the seconds that it took."""
    began = time.monotonic()
    child = forks.start(*arguments, cwd=here)
    assert child.wait() == 0, child.stderr
    return time.monotonic() - began


def was_killed(forks: Forks, here: Path, after_s: float, *arguments: str, all_of_it: bool) -> bool:
    """Start a command and kill it, or it and its children, after so many seconds; false if it ended by itself."""
    child = forks.start(*arguments, cwd=here)
    until = time.monotonic() + after_s
    while time.monotonic() < until and not child.ended():
        time.sleep(_STEP_S)
    if not child.ended():
        (child.kill_all if all_of_it else child.kill)()
    code = child.wait()
    assert code in (0, -9), child.stderr
    return code == -9


def killed_again_and_again(
    forks: Forks,
    whole: Path,
    arguments: tuple[str, ...],
    check: Callable[[Path], None],
) -> None:
    """Kill the command at random moments while it works, each time in a fresh copy of the directory `whole`; every
    second time with the processes that it started.

    `check` looks at what it left, and again after the command was run to its end there. A command that was faster than
    the kill is one try more.
    """
    chance = random.Random(20)
    took_s = run(forks, Path(shutil.copytree(whole, whole.with_name("first"))), *arguments)
    kills = 0
    for number in range(TRIES):
        here = Path(shutil.copytree(whole, whole.with_name(f"try-{number}")))
        after_s = chance.uniform(0.0, took_s)
        killed = was_killed(forks, here, after_s, *arguments, all_of_it=kills % 2 == 1)
        check(here)
        if killed:
            kills += 1
            run(forks, here, *arguments)
            check(here)
        else:
            took_s = min(took_s, after_s)
        shutil.rmtree(here)
        if kills == KILLS:
            return
    pytest.fail(f"only {kills} of {TRIES} kills met the command at work")


def seen(directory: Path) -> dict[str, bytes]:
    """The files of a directory that count: not those below a hidden name."""
    return {name: data for name, data in files(directory).items() if not any(p[0] == "." for p in name.split("/"))}


def timeless(campaign: Path) -> dict[str, bytes]:
    """The same, of each receipt without the time at which it was made."""
    found = seen(campaign)
    for name in found:
        if name.startswith("grades/") and name.endswith(".json"):
            receipt = json.loads(found[name])
            assert receipt.pop("created")
            found[name] = json.dumps(receipt).encode()
    return found


def test_a_killed_regrader_leaves_whole_grades_or_none_and_the_next_one_gives_the_same_bytes(
    forks: Forks, pristine: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(pristine, whole / "c")
    shutil.copytree(pristine, tmp_path / "truth")
    run(forks, tmp_path, "regrade", "truth")
    truth, logs = timeless(tmp_path / "truth"), timeless(whole / "c")

    def check(here: Path) -> None:
        found = timeless(here / "c")
        assert found.items() <= truth.items()
        assert logs.items() <= found.items()

    killed_again_and_again(forks, whole, ("regrade", "c"), check)
    run(forks, tmp_path / "first", "regrade", "c")
    assert timeless(tmp_path / "first" / "c") == truth
    assert not list((tmp_path / "first" / "c").rglob(".*"))


def test_a_killed_indexer_leaves_a_campaign_that_answers_the_same(forks: Forks, pristine: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(pristine, whole / "c")
    question = "SELECT run_id, status, tool_calls FROM runs ORDER BY ALL"
    with Session([pristine]) as session:
        truth = list(session.query(question).rows())

    def check(here: Path) -> None:
        with Session([here / "c"]) as session:
            assert list(session.query(question).rows()) == truth
        visible = {name for name in seen(here / "c") if not name.startswith("runs/")}
        assert visible <= {"campaign.json", INDEX}

    killed_again_and_again(forks, whole, ("index", "c"), check)


def test_what_a_killed_indexer_left_is_cleared_by_a_recovery(pristine: Path, tmp_path: Path) -> None:
    campaign = Path(shutil.copytree(pristine, tmp_path / "c"))
    (campaign / ".index-abandoned").mkdir()
    (campaign / ".index-abandoned" / "runs.ndjson").write_bytes(b"{}")
    found = recover(campaign)
    assert (".index-abandoned", "unfinished") in [(loss.file, loss.kind) for loss in found.losses]
    assert not list(campaign.glob(".index-*"))


def test_a_killed_importer_leaves_no_half_campaign_and_the_next_one_clears_up(forks: Forks, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    (whole / "in").mkdir(parents=True)
    cases = [scenario(f"answer {number}") | {"scenario": f"case-{number}"} for number in range(20)]
    (whole / "in" / "tasks.json").write_text(json.dumps(cases))

    def check(here: Path) -> None:
        for path in (here / "out").glob("[!.]*"):
            assert json.loads((path / RECEIPT).read_bytes())["runs"] == 20
            assert {check.state for check in verify(path)} == {"complete"}

    killed_again_and_again(forks, whole, ("import", "korvid", "in", "--out", "out"), check)
    aside = whole / "out" / ".import-abandoned"
    aside.mkdir(parents=True)
    run(forks, whole, "import", "korvid", "in", "--out", "out")
    assert not aside.exists()
    assert len(os.listdir(whole / "out")) == 1


def test_a_killed_publisher_leaves_the_branch_as_it_was_or_with_all_of_it(
    forks: Forks, pristine: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    graded(Path(shutil.copytree(pristine, whole / "c")))
    seal(whole / "c", level=3)
    make_repository(whole / "repository")
    make_bare(whole / "results.git")
    arguments = ("publish", "c", "--repo", "repository", "--push", "../results.git")

    def check(here: Path) -> None:
        for place in (here / "results.git", here / "repository"):
            git(place, "fsck", "--strict")
            if git(place, "for-each-ref", "refs/heads/eval-results"):
                assert git(place, "rev-list", "--count", "eval-results") == "1"
                names = git(place, "ls-tree", "-r", "--name-only", "eval-results").splitlines()
                assert {"RESULTS.md", f"campaigns/{pristine.name}/events.jsonl.zst"} <= set(names)
        assert seen(here / "c") == seen(whole / "c")

    killed_again_and_again(forks, whole, arguments, check)
    fetch(str(tmp_path / "first" / "results.git"), None, tmp_path / "fetched")
    assert audit(tmp_path / "fetched").clean
