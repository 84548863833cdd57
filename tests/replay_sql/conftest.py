"""One graded campaign for the tests that only ask."""

from pathlib import Path

import pytest

from replay.graders import load
from replay.regrade import Options as RegradeOptions
from replay.regrade import regrade
from tests.synthetic import Options, generate


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic campaign with every way a run can end, graded by the first and the newest version of claims."""
    options = Options(runs=160, seed=5, raw_kib=20, interrupted=0.05, provider_error=0.06, invalid=0.04)
    (campaign,) = generate(tmp_path_factory.mktemp("graded"), options)
    for grader in ("claims@1", "claims"):
        regrade(campaign, load(grader), RegradeOptions())
    return campaign
