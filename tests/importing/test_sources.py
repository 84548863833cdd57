"""Sources come from strangers: what is hostile or damaged is refused by name, and a repository is only read."""

import gzip
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.importing import sources
from replay.importing.sources import open_source
from schemas.errors import UsageError, WorkError
from tests.importing.conftest import scenario, tar_gz
from tests.replay_grades.tools import digests


def member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


def archive(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "artifacts.tar.gz"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["/etc/passwd", "../up.json", "a/../../up.json", "a\\b.json", "a\nb.json", "x" * 600])
def test_a_name_that_is_absolute_climbs_or_does_not_print_refuses_the_archive(tmp_path: Path, name: str) -> None:
    with pytest.raises(WorkError, match="refused"):
        open_source(archive(tmp_path, tar_gz({"ok.json": b"[]", name: b"[]"})))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["artifacts.tar.gz"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_a_link_or_device_refuses_the_archive(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(WorkError, match="no ordinary file: refused"):
        open_source(archive(tmp_path, tar_gz({}, member("a.json", kind, "/etc/passwd"))))


def test_a_member_that_comes_twice_refuses_the_archive(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        for data in (b"[1]", b"[2]"):
            info = tarfile.TarInfo("a.json")
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    with pytest.raises(WorkError, match=r"holds a\.json twice"):
        open_source(archive(tmp_path, packed.getvalue()))


def test_a_member_over_the_bound_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_FILE_BYTES", 1000)
    with pytest.raises(WorkError, match="more than 1000"):
        open_source(archive(tmp_path, tar_gz({"big.json": bytes(1001)})))


def test_an_archive_that_unpacks_to_more_than_the_bound_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_TOTAL_BYTES", 1 << 20)
    bomb = tar_gz({"a.json": bytes(800 << 10), "b.json": bytes(800 << 10)})
    assert len(bomb) < 10 << 10
    with pytest.raises(WorkError, match=r"more than .* bytes: refused"):
        open_source(archive(tmp_path, bomb))


def test_what_follows_the_members_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_TOTAL_BYTES", 1 << 20)
    with pytest.raises(WorkError, match="unpacks to more than"):
        open_source(archive(tmp_path, gzip.compress(bytes(64 << 20))))


def test_a_header_that_asks_for_a_huge_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_TOTAL_BYTES", 1 << 20)
    info = member("long", tarfile.GNUTYPE_LONGNAME)
    info.size = 8 << 20
    data = gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(8 << 20))
    with pytest.raises(WorkError, match="unpacks to more than"):
        open_source(archive(tmp_path, data))


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_FILES", 5)
    with pytest.raises(WorkError, match="more than 5 files"):
        open_source(archive(tmp_path, tar_gz({f"{number}.json": b"" for number in range(6)})))


@given(st.data())
def test_a_cut_or_flipped_archive_is_refused_or_gives_the_same_files(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = tar_gz({"a.json": b"[" + b"1," * 200 + b"1]", "b.md": b"text"})
    if data.draw(st.booleans()):
        harmed = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        at = data.draw(st.integers(0, len(whole) - 1))
        harmed = whole[:at] + bytes([whole[at] ^ (1 << data.draw(st.integers(0, 7)))]) + whole[at + 1 :]
    path = archive(tmp_path_factory.mktemp("harmed"), harmed)
    expected = {
        file.path: file.sha256
        for file in open_source(archive(tmp_path_factory.mktemp("whole"), whole)).units[1].files.values()
    }
    try:
        found = {file.path: file.sha256 for file in open_source(path).units[1].files.values()}
    except WorkError:
        found = expected
    assert found == expected


def test_members_that_a_mac_adds_are_passed_over(tmp_path: Path) -> None:
    found = open_source(archive(tmp_path, tar_gz({"c/._a.json": b"\0\5", "c/a.json": b"[]"})))
    assert list(found.units[1].files) == ["c/a.json"]


def test_only_what_belongs_to_an_archive_is_read_beside_it(tmp_path: Path) -> None:
    for name in ("x-artifacts.tar.gz", "y-artifacts.tar.gz"):
        (tmp_path / name).write_bytes(tar_gz({}))
    for name in ("x-metadata.json", "y-metadata.json", "x-SHA256SUMS", "private.json"):
        (tmp_path / name).write_text("{}")
    found = open_source(tmp_path / "x-artifacts.tar.gz")
    assert sorted(found.loose) == ["x-SHA256SUMS", "x-artifacts.tar.gz", "x-metadata.json"]


def test_links_in_a_directory_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text("[]")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.json").write_text("[]")
    (inside / "link.json").symlink_to(outside / "secret.json")
    (inside / "dir").symlink_to(outside)
    assert list(open_source(inside).loose) == ["a.json"]


def git(path: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, "-C", str(path), *arguments], capture_output=True, check=True, text=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with code on main, results on their branch, and something half done in the working tree."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "-q")
    (path / "code.py").write_text("print()\n")
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "code")
    git(path, "checkout", "-q", "--orphan", "eval-results")
    git(path, "rm", "-q", "-rf", ".")
    (path / "results").mkdir()
    (path / "results" / "tasks.json").write_text(json.dumps([scenario()]))
    (path / "results" / "old-artifacts.tar.gz").write_bytes(tar_gz({"old/t.json": json.dumps([scenario()]).encode()}))
    (path / "results" / "link.json").symlink_to("/etc/passwd")
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "results")
    git(path, "checkout", "-q", "main")
    (path / "code.py").write_text("half done\n")
    return path


def test_a_repository_is_read_from_its_branch_and_left_as_it_is(repository: Path) -> None:
    before = digests(repository)
    found = open_source(repository)
    assert sorted(found.loose) == ["results/old-artifacts.tar.gz", "results/tasks.json"]
    assert [list(unit.files) for unit in found.units if unit.archive] == [["old/t.json"]]
    assert digests(repository) == before
    assert git(repository, "status", "--short").split() == ["M", "code.py"]


def test_a_clone_and_a_bare_clone_are_read_alike(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repository), "clone")
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    found = [open_source(path) for path in (repository, tmp_path / "clone", tmp_path / "bare.git")]
    assert found[0].units == found[1].units == found[2].units


def test_a_repository_is_read_from_within_a_hook_of_another_one(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = open_source(repository)
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert open_source(repository) == found


def test_the_files_of_a_branch_are_read_by_few_processes_each_whole(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {f"{number}.json": b"[\n" * number for number in range(40)}
    git(repository, "checkout", "-q", "-f", "eval-results")
    for name, text in texts.items():
        (repository / name).write_bytes(text)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "many")
    monkeypatch.setattr(sources, "MAX_FILE_BYTES", 1000)
    real, ran = subprocess.run, []

    def counted(*arguments: Any, **named: Any) -> Any:
        ran.append(arguments)
        return real(*arguments, **named)

    monkeypatch.setattr(subprocess, "run", counted)
    loose = open_source(repository).loose
    assert {name: loose[name].data for name in texts} == texts
    assert len(ran) < 10


def test_a_file_that_a_repository_has_lost_is_named(repository: Path) -> None:
    sha = git(repository, "rev-parse", "eval-results:results/tasks.json").strip()
    (repository / ".git" / "objects" / sha[:2] / sha[2:]).unlink()
    with pytest.raises(WorkError, match=r"tasks\.json|ls-tree"):
        open_source(repository)


def test_a_repository_without_the_branch_says_so(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    with pytest.raises(UsageError, match="no branch 'other'; name one with --branch"):
        open_source(tmp_path / "bare.git", "other")


@pytest.mark.parametrize("name", ["nowhere", "file.zip"])
def test_what_is_no_source_is_a_mistake_of_usage(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.zip").write_bytes(b"PK")
    with pytest.raises(UsageError, match=name):
        open_source(tmp_path / name)
