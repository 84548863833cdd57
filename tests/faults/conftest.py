"""A pack to record, and a directory with something for every command of the replay side."""

import shutil
from pathlib import Path

import pytest

import packs
from replay.seal.sealing import seal
from tests.importing.conftest import tar_gz
from tests.importing.test_inspect_logs import log, sample
from tests.publishing.conftest import make_bare, make_repository
from tests.publishing.tools import graded, make_publishable, publish_one
from tests.synthetic import Options, generate

CASES = ("healthy-deployment", "oom-killed")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory with a small pack in it."""
    (tmp_path / "few").mkdir()
    for case in CASES:
        shutil.copy(Path(packs.__file__).parent / "scenarios" / f"{case}.yaml", tmp_path / "few")
    return tmp_path


@pytest.fixture(scope="session")
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
    publish_one(campaign, make_repository(base / "published"))
    make_bare(base / "results.git")
    case = '[{"scenario": "oom-killed", "runs": [{"answer": "It was OOMKilled.", "grade": {}}]}]'
    (base / "results.tar.gz").write_bytes(tar_gz({"c/tasks.json": case.encode()}))
    log(base / "log.eval", [sample()])
    return base


@pytest.fixture
def place(stocked: Path, tmp_path: Path) -> Path:
    """A directory of this test's own."""
    return Path(shutil.copytree(stocked, tmp_path / "place", symlinks=True))
