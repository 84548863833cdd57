"""One small synthetic campaign, made once, and copies of it that a test may grade and harm."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.synthetic import Options, generate

OPTIONS = Options(runs=48, raw_kib=8, interrupted=0.15, provider_error=0.05, invalid=0.05)


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that nobody may change."""
    return generate(tmp_path_factory.mktemp("pristine"), OPTIONS)[0]


@pytest.fixture
def campaign(pristine: Path, tmp_path: Path) -> Path:
    """A copy of the campaign."""
    return Path(shutil.copytree(pristine, tmp_path / pristine.name))


@pytest.fixture
def grader_file(tmp_path: Path) -> Callable[[str], str]:
    """Write a grader `mine` with this body (after the imports) and give its reference."""

    def write(body: str, name: str = "graders.py") -> str:
        head = "from schemas.verdicts import Verdict\n"
        (tmp_path / name).write_text(head + body)
        return f"{tmp_path / name}:mine"

    return write
