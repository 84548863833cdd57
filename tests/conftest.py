"""What every test needs of its surroundings, and which ones need what is not in this repository."""

import signal

import pytest


def pytest_configure() -> None:
    """Shells start what runs in their background with Ctrl-C ignored, and commands of the tests would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests over the published campaigns, so that a checkout without them can leave them out by name."""
    for item in items:
        if isinstance(item, pytest.Function) and "published" in item.fixturenames:
            item.add_marker(pytest.mark.published)
