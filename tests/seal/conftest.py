"""A campaign to seal, and frames small enough for it to need several."""

from pathlib import Path

import pytest

from replay.seal import packing
from replay.seal.sealing import seal
from tests.seal.campaigns import campaign


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return campaign(tmp_path / "plain")


@pytest.fixture
def several_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "FRAME_BYTES", 8000)


@pytest.fixture
def sealed(tmp_path: Path, several_frames: None) -> Path:
    directory = campaign(tmp_path / "sealed")
    seal(directory, level=3)
    return directory
