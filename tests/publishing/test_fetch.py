"""What was published is the same wherever it is fetched from, and a stranger's repository cannot do harm."""

from pathlib import Path

import pytest

from replay.graders import load
from replay.publishing.audit import audit, is_published
from replay.publishing.fetching import fetch
from replay.regrade import Options, regrade
from schemas.errors import UsageError, WorkError
from tests.publishing.conftest import make_bare
from tests.publishing.tools import git


def bytes_of(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_bare_repository_clone_url_and_plain_directory_give_the_same_bytes(
    published_once: Path, fetched_once: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--branch", "eval-results", str(published_once), "clone")
    sources = [str(published_once), str(tmp_path / "clone"), f"file://{published_once}", str(fetched_once)]
    for number, source in enumerate(sources):
        out = tmp_path / f"out{number}"
        done = fetch(source, None, out)
        assert bytes_of(out) == bytes_of(fetched_once)
        assert (done.commit is None) == (source == str(fetched_once))


def test_a_fetched_campaign_gives_the_grades_that_were_published(
    pristine: Path, published_once: Path, tmp_path: Path
) -> None:
    done = fetch(str(published_once), None, tmp_path / "out")
    directory = tmp_path / "out" / "campaigns" / done.campaigns[0]
    for grader in ("claims@1", "claims"):
        again = regrade(directory, load(grader), Options())
        assert not again.written
        name = f"grades/{again.receipt.grade_file}"
        assert (directory / name).read_bytes() == (pristine / name).read_bytes()
    assert audit(tmp_path / "out", regrade=False).clean


def test_one_campaign_is_fetched_by_the_start_of_its_name(pristine: Path, published_once: Path, tmp_path: Path) -> None:
    done = fetch(str(published_once), pristine.name[:9], tmp_path / "out")
    assert done.campaigns == (pristine.name,)
    assert not (tmp_path / "out" / "RESULTS.md").exists()
    assert is_published(tmp_path / "out" / "campaigns")
    with pytest.raises(UsageError, match=f"no campaign 'nothing'; there are: {pristine.name}"):
        fetch(str(published_once), "nothing", tmp_path / "out")


def test_fetching_again_changes_nothing_and_other_bytes_are_refused(published_once: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = fetch(str(published_once), None, out)
    held = bytes_of(out)
    second = fetch(str(published_once), None, out)
    assert (first.already, second.already) == ((), first.campaigns)
    assert bytes_of(out) == held
    (out / "campaigns" / first.campaigns[0] / "scoreboard.md").write_text("mine")
    with pytest.raises(WorkError, match="is not what the source has"):
        fetch(str(published_once), None, out)


@pytest.mark.parametrize(
    ("mode", "kind", "name"),
    [
        ("120000", "blob", "link"),
        ("160000", "commit", "module"),
        ("100755", "blob", "program"),
        ("100644", "blob", ".x"),
    ],
)
def test_links_modules_programs_and_hidden_names_are_refused(mode: str, kind: str, name: str, tmp_path: Path) -> None:
    bare = make_bare(tmp_path / "hostile.git")
    blob = git(bare, "hash-object", "-w", "--stdin", data=b"/etc/passwd")
    sha = blob if kind == "blob" else "1" * 40
    tree = git(bare, "mktree", "--missing", data=f"{mode} {kind} {sha}\t{name}\n".encode())
    campaigns = git(bare, "mktree", data=f"040000 tree {tree}\tevil\n".encode())
    root = git(bare, "mktree", data=f"040000 tree {campaigns}\tcampaigns\n".encode())
    git(bare, "update-ref", "refs/heads/eval-results", git(bare, "commit-tree", root, "-m", "evil"))
    with pytest.raises(WorkError, match=f"campaigns/evil/{name}"):
        fetch(str(bare), None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_link_in_a_plain_directory_is_refused(fetched: Path, directory: Path, tmp_path: Path) -> None:
    (directory / "grades" / "link").symlink_to("/etc/passwd")
    with pytest.raises(WorkError, match="is a link"):
        fetch(str(fetched), None, tmp_path / "out")


def test_a_source_without_results_is_named(tmp_path: Path, repository: Path) -> None:
    with pytest.raises(UsageError, match="nothing is published there"):
        fetch(str(tmp_path), None, tmp_path / "out")
    with pytest.raises(WorkError, match="cannot fetch the branch"):
        fetch(str(repository), None, tmp_path / "out")
    with pytest.raises(UsageError, match="no such file or directory"):
        fetch(str(tmp_path / "nowhere"), None, tmp_path / "out")
    with pytest.raises(UsageError, match="not a source"):
        fetch("--upload-pack=x", None, tmp_path / "out")
