"""One campaign that may be published, one that was, and repositories to publish to."""

import shutil
from pathlib import Path

import pytest

from replay.publishing.fetching import fetch
from replay.publishing.publish import Published
from tests.publishing.tools import HOME, git, graded, make_publishable, publish_one, write_private_run
from tests.synthetic import Options, generate

SMALL = Options(runs=7, raw_kib=6, interrupted=0.2, provider_error=0.1)


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graded campaign that nobody may change."""
    campaign = generate(tmp_path_factory.mktemp("pristine"), SMALL)[0]
    make_publishable(campaign)
    return graded(campaign)


@pytest.fixture
def campaign(pristine: Path, tmp_path: Path) -> Path:
    """A copy of the campaign."""
    return Path(shutil.copytree(pristine, tmp_path / pristine.name))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit and uncommitted work."""
    return make_repository(tmp_path / "repository")


@pytest.fixture(scope="session")
def published_once(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare repository to which the campaign was published; nobody may change it."""
    base = tmp_path_factory.mktemp("published")
    bare = make_bare(base / "results.git")
    publish_one(pristine, make_repository(base / "repository"), remote=str(bare))
    return bare


@pytest.fixture(scope="session")
def fetched_once(published_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published branch as plain files; nobody may change them."""
    out = tmp_path_factory.mktemp("fetched") / "results"
    fetch(str(published_once), None, out)
    return out


@pytest.fixture
def fetched(fetched_once: Path, tmp_path: Path) -> Path:
    """A copy of the fetched branch."""
    return Path(shutil.copytree(fetched_once, tmp_path / "results"))


@pytest.fixture
def directory(fetched: Path, pristine: Path) -> Path:
    """The published directory in the copy."""
    return fetched / "campaigns" / pristine.name


@pytest.fixture(scope="session")
def private_once(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with a run full of private texts, graded; nobody may change it."""
    campaign = Path(shutil.copytree(pristine, tmp_path_factory.mktemp("private") / pristine.name))
    shutil.rmtree(campaign / "grades")
    write_private_run(campaign)
    make_publishable(campaign, note=f"recorded in {HOME}/campaigns")
    return graded(campaign)


@pytest.fixture
def private(private_once: Path, tmp_path: Path) -> Path:
    """A copy of the campaign with private texts."""
    return Path(shutil.copytree(private_once, tmp_path / private_once.name))


@pytest.fixture(scope="session")
def redacted_once(private_once: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Published]:
    """A repository to which it was published with --redact, and what came of it."""
    repository = make_repository(tmp_path_factory.mktemp("redacted") / "repository")
    return repository, publish_one(private_once, repository, redact=True)


def make_repository(path: Path) -> Path:
    """A repository with a commit, a staged change and an untracked file."""
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    (path / "code.py").write_text("print(1)\n")
    git(path, "add", "code.py")
    git(path, "commit", "-q", "-m", "code")
    (path / "code.py").write_text("print(2)\n")
    git(path, "add", "code.py")
    (path / "notes.txt").write_text("mine\n")
    return path


def make_bare(path: Path) -> Path:
    """An empty bare repository."""
    path.mkdir()
    git(path, "init", "-q", "--bare")
    return path
