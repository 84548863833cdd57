"""One synthetic campaign over the bundled cases, graded, and what it is exported to."""

from pathlib import Path

import pytest

from replay.graders import load
from replay.regrade import Options as RegradeOptions
from replay.regrade import regrade
from tests.synthetic import Options, generate


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty runs with every way to end; nobody may change it."""
    options = Options(runs=30, raw_kib=4, pack="bundled", interrupted=0.1, provider_error=0.1, invalid=0.1)
    made = generate(tmp_path_factory.mktemp("export"), options)[0]
    regrade(made, load("claims"), RegradeOptions())
    return made
