import threading
from collections.abc import Iterator

import pytest


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that nobody sets while the test runs; released at its end, so that no server thread waits on."""
    event = threading.Event()
    yield event
    event.set()
