"""A disk that is full, on which files cannot grow, or to which nothing may be written: every command of the replay side
ends in one line that names the place, leaves what was recorded as it was, and works once there is room.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.verify import verify
from tests.faults.confined import AFTER, can_have_a_small_disk
from tests.faults.forked import Child, Forks
from tests.publishing.tools import git
from tests.seal.campaigns import files

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
    "fetch": ("fetch", "published", "--out", "there"),
}
"""Each command that writes, with what it needs in the directory that `place` makes."""
DISKS: tuple[dict[str, int], ...] = (
    {"file_bytes": 600},
    *([{"spare_bytes": 0}, {"spare_bytes": 5 * 4_096}] if can_have_a_small_disk() else []),
)
"""How far a file may grow, and where the system lets us make a small filesystem what is left on it."""
NO_ROOM = ("File too large", "File size limit exceeded", "No space left", "cannot be written")


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("outputs"), "korvid-replay") as server:
        yield server


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
    for repository in ("repository", "results.git", "published"):
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
        assert any(text in line for text in NO_ROOM), line
    assert_kept(stocked, after)
    again = forks.start(*arguments, cwd=after)
    assert again.wait() == 0, again.stderr
    assert_kept(stocked, after)
