"""Which tests need what is not in this repository."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests over the published campaigns, so that a checkout without them can leave them out by name."""
    for item in items:
        if isinstance(item, pytest.Function) and "published" in item.fixturenames:
            item.add_marker(pytest.mark.published)
