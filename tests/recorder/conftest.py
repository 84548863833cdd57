import threading
from collections.abc import Iterator
from functools import cache

import pytest

import recorder.settings
from packs.loader import Pack, load_pack


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that nobody sets while the test runs; released at its end, so that no server thread waits on."""
    event = threading.Event()
    yield event
    event.set()


@cache
def _loaded(ref: str) -> Pack:
    return load_pack(ref)


@pytest.fixture(autouse=True)
def packs_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading all cases takes most of a second; a pack is frozen."""
    monkeypatch.setattr(recorder.settings, "load_pack", _loaded)
