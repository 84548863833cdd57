"""What every test needs of its surroundings, and which ones need what is not in this repository.

Hypothesis draws the same examples every time, whatever the machine is busy with, so that a run that fails is a change
that fails. `pytest --hypothesis-profile fresh` draws new ones, as a search for what nobody thought of
(`PYTEST_ADDOPTS="--hypothesis-profile fresh" make test` for all of them).

git sees neither the configuration of whoever runs the tests (signing, hooks) nor the repository whose hook runs them.
"""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("fresh", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", parent=settings.get_profile("fresh"), derandomize=True, database=None)
settings.load_profile("same")

for _name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[_name]
os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def pytest_configure() -> None:
    """Shells start what runs in their background with Ctrl-C ignored, and commands of the tests would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests over the published campaigns, so that a checkout without them can leave them out by name."""
    for item in items:
        if isinstance(item, pytest.Function) and "published" in item.fixturenames:
            item.add_marker(pytest.mark.published)
