"""Publishers at the same moment all land, nothing is lost, and nothing is forced."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess
from threading import Barrier

import pytest

from replay.publishing import results
from replay.publishing.landing import Landed, Target, land
from replay.publishing.repository import Git, opened
from replay.publishing.trees import Staged
from schemas.errors import UsageError, WorkError
from schemas.publication import Graded, Publication, encode_publication
from tests.publishing.conftest import make_bare, make_repository
from tests.publishing.tools import git

ROUNDS = 20


def staged(base: Path, name: str, text: str = "x") -> Staged:
    """A small directory that is ready to be published."""
    directory = base / name
    (directory / "grades").mkdir(parents=True)
    publication = Publication(
        campaign_id=name, created=None, agent="model", model="tiny", arm="", planned=1, runs=1, interrupted=0,
        grades=Graded(grader="claims@1", graded=1, passed=1), publishable=True, not_publishable_because=(), chain=text,
    )  # fmt: skip
    (directory / "publication.json").write_bytes(encode_publication(publication))
    (directory / "events.jsonl.zst").write_text(text)
    (directory / "grades" / "a.json").write_text(text)
    (directory / "SHA256SUMS").write_text(f"sums of {text}\n")
    return Staged(directory, publication)


def landed(repository: Path, one: Staged, remote: Path | None = None) -> Landed:
    """Land one directory."""
    return land(opened(repository), Target(repository=repository, remote=str(remote) if remote else None), [one])


def campaigns(repository: Path) -> list[str]:
    """The campaigns on the branch, after a check that RESULTS.md names the same."""
    names = git(repository, "ls-tree", "--name-only", "eval-results:campaigns").splitlines()
    data = git(repository, "show", "eval-results:RESULTS.md") + "\n"
    assert sorted(results.parse(data.encode()).rows) == names
    return names


def test_two_publishers_at_once_both_land_twenty_times(tmp_path: Path) -> None:
    bare = make_bare(tmp_path / "results.git")
    clones = [make_repository(tmp_path / name) for name in ("a", "b")]
    tips = []
    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            start = Barrier(2)

            def one(clone: Path, number: int = number, start: Barrier = start) -> Landed:
                ready = staged(tmp_path / f"staged-{clone.name}", f"{clone.name}{number:02d}")
                start.wait()
                return landed(clone, ready, bare)

            tips += [result.commit for result in pool.map(one, clones)]
    expected = sorted(f"{clone}{number:02d}" for clone in "ab" for number in range(ROUNDS))
    assert campaigns(bare) == expected
    history = git(bare, "rev-list", "eval-results").split()
    assert set(tips) <= set(history)


class Overtaken(Git):
    """A repository in which somebody else does something just before the first git command of a kind."""

    def __init__(self, path: Path, command: str, first: Callable[[], object]) -> None:
        super().__init__(path)
        self._command = command
        self._first = [first]

    def run(self, *arguments: str, data: bytes | None = None, check: bool = True) -> "CompletedProcess[bytes]":
        if arguments[0] == self._command and self._first:
            self._first.pop()()
        return super().run(*arguments, data=data, check=check)


def test_a_publisher_whose_push_is_overtaken_lands_on_top_at_the_second_try(tmp_path: Path) -> None:
    bare = make_bare(tmp_path / "results.git")
    here, there = make_repository(tmp_path / "here"), make_repository(tmp_path / "there")
    first, second = staged(tmp_path / "s1", "first"), staged(tmp_path / "s2", "second")
    overtaken = Overtaken(here, "push", lambda: landed(there, first, bare))
    done = land(overtaken, Target(repository=here, remote=str(bare)), [second])
    assert done.attempts == 2
    assert campaigns(bare) == ["first", "second"]
    assert git(bare, "rev-parse", "eval-results^") == git(there, "rev-parse", "eval-results")


def test_a_publisher_whose_branch_moves_before_its_own_update_lands_on_top_at_the_second_try(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "here")
    first, second = staged(tmp_path / "s1", "first"), staged(tmp_path / "s2", "second")
    overtaken = Overtaken(here, "update-ref", lambda: landed(here, first))
    assert land(overtaken, Target(repository=here), [second]).attempts == 2
    assert campaigns(here) == ["first", "second"]
    assert git(here, "rev-list", "--count", "eval-results") == "2"


def test_two_publishers_in_one_repository_both_land(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "one")
    start = Barrier(2)

    def one(name: str) -> Landed:
        ready = staged(tmp_path / "staged", name)
        start.wait()
        return landed(repository, ready)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, ("a", "b")))
    assert campaigns(repository) == ["a", "b"]
    assert git(repository, "rev-list", "--count", "eval-results") == "2"


def test_branches_that_went_apart_are_joined(tmp_path: Path) -> None:
    bare = make_bare(tmp_path / "results.git")
    here, there = make_repository(tmp_path / "here"), make_repository(tmp_path / "there")
    landed(here, staged(tmp_path / "s", "local"))
    landed(there, staged(tmp_path / "s", "remote"), bare)
    done = landed(here, staged(tmp_path / "s", "new"), bare)
    assert campaigns(bare) == campaigns(here) == ["local", "new", "remote"]
    assert git(bare, "rev-parse", "eval-results") == done.commit
    assert git(here, "for-each-ref", "refs/korvid-replay") == ""


def test_a_path_that_was_published_twice_with_other_content_is_named(tmp_path: Path) -> None:
    bare = make_bare(tmp_path / "results.git")
    here, there = make_repository(tmp_path / "here"), make_repository(tmp_path / "there")
    landed(here, staged(tmp_path / "s1", "same", "mine"))
    landed(there, staged(tmp_path / "s2", "same", "theirs"), bare)
    with pytest.raises(WorkError, match="campaigns/same: was published twice"):
        landed(here, staged(tmp_path / "s3", "new"), bare)
    assert campaigns(bare) == ["same"]


def test_a_remote_whose_hook_refuses_is_told_and_not_asked_again(tmp_path: Path) -> None:
    bare = make_bare(tmp_path / "results.git")
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    here = make_repository(tmp_path / "here")
    with pytest.raises(WorkError, match="hook declined"):
        landed(here, staged(tmp_path / "s", "a"), bare)
    assert git(here, "for-each-ref", "refs/heads/eval-results") == ""


def test_files_are_stored_without_filters(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "here")
    git(here, "config", "core.autocrlf", "true")
    (here / ".gitattributes").write_text("* text eol=crlf ident\n")
    one = staged(tmp_path / "s", "a", "first\r\nsecond\n$Id$\n")
    landed(here, one)
    sha = git(here, "hash-object", "--no-filters", str(one.directory / "events.jsonl.zst"))
    assert git(here, "rev-parse", "eval-results:campaigns/a/events.jsonl.zst") == sha


@pytest.mark.parametrize("branch", ["a..b", "-x", "a b", ""])
def test_a_bad_branch_name_is_wrong_usage(branch: str, tmp_path: Path) -> None:
    here = make_repository(tmp_path / "here")
    with pytest.raises(UsageError, match="--branch"):
        land(opened(here), Target(repository=here, branch=branch), [staged(tmp_path / "s", "a")])
