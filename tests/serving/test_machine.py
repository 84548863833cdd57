"""The machine and the build, read from the real thing."""

import os
import socket
import subprocess
from pathlib import Path

import msgspec
import pytest

from recorder.machine import harness, machine


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, check=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    package = tmp_path / "recorder"
    package.mkdir()
    (package / "machine.py").write_text("A = 1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "recorder")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_the_machine_is_described_without_its_name() -> None:
    here = machine()
    assert here.cores == len(os.sched_getaffinity(0))
    assert here.memory_bytes is not None
    assert here.memory_bytes > 100_000_000
    assert here.cpu
    assert here.os.count("Linux") >= 1
    assert socket.gethostname() not in msgspec.json.encode(here).decode().split('"')


def test_the_revision_is_the_commit_that_holds_the_code(repository: Path) -> None:
    found = harness({}, repository / "recorder" / "machine.py")
    assert found.revision == git(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize("name", ["machine.py", "new.py"])
def test_changed_or_new_code_makes_the_revision_dirty(repository: Path, name: str) -> None:
    (repository / "recorder" / name).write_text("A = 2\n")
    assert harness({}, repository / "recorder" / "machine.py").revision.endswith("+dirty")


def test_files_beside_the_code_do_not_make_it_dirty(repository: Path) -> None:
    (repository / "campaign.json").write_text("{}")
    assert not harness({}, repository / "recorder" / "machine.py").revision.endswith("+dirty")


def test_a_repository_that_does_not_track_the_package_is_not_asked(repository: Path) -> None:
    installed = repository / "site-packages" / "recorder" / "machine.py"
    installed.parent.mkdir(parents=True)
    installed.write_text("A = 1\n")
    found = harness({}, installed)
    assert found.revision == found.version


def test_the_variable_overrides_the_revision(repository: Path) -> None:
    assert harness({"KORVID_EVAL_REVISION": "v9"}, repository / "recorder" / "machine.py").revision == "v9"
