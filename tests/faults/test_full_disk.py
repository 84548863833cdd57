"""A disk that is full, on which files cannot grow, or to which nothing may be written: every command of the replay side
ends in one line that names the place, leaves what was recorded as it was, and works once there is room.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.seal.sealing import seal
from replay.verify import verify
from tests.faults.confined import AFTER, can_have_a_small_disk
from tests.faults.forked import Child, Forks
from tests.importing.conftest import tar_gz
from tests.importing.test_inspect_logs import log, sample
from tests.publishing.conftest import make_bare, make_repository
from tests.publishing.tools import git, graded, make_publishable
from tests.seal.campaigns import files
from tests.synthetic import Options, generate

COMMANDS: dict[str, tuple[str, ...]] = {
    "seal": ("seal", "open"),
    "unseal": ("unseal", "sealed"),
    "recover": ("recover", "torn"),
    "index": ("index", "open"),
    "regrade": ("regrade", "open", "--grader", "claims@2"),
    "sql": ("sql", "open", "FROM tool_results", "--format", "csv", "--out", "rows.csv"),
    "scoreboard": ("scoreboard", "open", "--format", "html", "--out", "board.html"),
    "export": ("export", "open", "--format", "atif", "--out", "exported"),
    "import korvid": ("import", "korvid", "results.tar.gz", "--out", "imported"),
    "import inspect": ("import", "inspect", "log.eval", "--out", "imported"),
    "publish": ("publish", "open", "--repo", "repository", "--push", "../results.git"),
}
"""Each command that writes, with what it needs in the directory that `place` makes."""
DISKS: tuple[dict[str, int], ...] = (
    {"file_bytes": 600},
    *([{"spare_bytes": 0}, {"spare_bytes": 5 * 4_096}] if can_have_a_small_disk() else []),
)
"""How far a file may grow, and where the system lets us make a small filesystem what is left on it."""
SOURCES = ("open", "sealed", "torn", "repository", "results.git")


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("outputs"), "korvid-replay") as server:
        yield server


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with something for every command; nobody may change it."""
    base = tmp_path_factory.mktemp("stocked")
    (campaign,) = generate(tmp_path_factory.mktemp("made"), Options(runs=6, raw_kib=4))
    make_publishable(campaign)
    graded(campaign, "claims@1")
    for name in ("open", "sealed", "torn"):
        shutil.copytree(campaign, base / name)
    seal(base / "sealed", level=3)
    torn = sorted((base / "torn" / "runs").iterdir())[0]
    torn.write_bytes(torn.read_bytes()[:-40])
    make_repository(base / "repository")
    make_bare(base / "results.git")
    case = '[{"scenario": "oom-killed", "runs": [{"answer": "It was OOMKilled.", "grade": {}}]}]'
    (base / "results.tar.gz").write_bytes(tar_gz({"c/tasks.json": case.encode()}))
    log(base / "log.eval", [sample()])
    return base


@pytest.fixture
def place(stocked: Path, tmp_path: Path) -> Path:
    """A directory of this test's own."""
    return Path(shutil.copytree(stocked, tmp_path / "place", symlinks=True))


def told(child: Child) -> str:
    """The one line in which a command says why it failed."""
    assert "Traceback" not in child.stderr
    (line,) = [line for line in child.stderr.splitlines() if line.startswith("error: ")]
    return line


def assert_kept(stocked: Path, after: Path) -> None:
    """What was recorded is there byte for byte or, of a campaign that was being changed, whole in its new form."""
    for name in ("open", "sealed", "torn"):
        assert "corrupt" not in {check.state for check in verify(after / name)}
        if (after / name / "runs").is_dir() and name == "open":
            assert files(stocked / name / "runs") == files(after / name / "runs")
    for repository in ("repository", "results.git"):
        git(after / repository, "fsck", "--strict")


@pytest.mark.parametrize("disk", DISKS, ids=str)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_on_a_full_disk_says_so_in_one_line_and_works_once_there_is_room(
    forks: Forks, stocked: Path, place: Path, name: str, disk: dict[str, int]
) -> None:
    arguments = COMMANDS[name]
    (place / "tmp").mkdir()
    failed = forks.start(*arguments, cwd=place, env=dict(os.environ) | {"TMPDIR": "tmp"}, **disk)
    code = failed.wait()
    after = place.with_name(place.name + AFTER) if "spare_bytes" in disk else place
    if code == 0:
        assert disk not in DISKS[:2], "it cannot have been done"
    else:
        assert code == 1, failed.stderr
        line = told(failed)
        assert any(text in line for text in ("File too large", "No space left", "cannot be written")), line
    assert_kept(stocked, after)
    again = forks.start(*arguments, cwd=after)
    assert again.wait() == 0, again.stderr
    assert_kept(stocked, after)
