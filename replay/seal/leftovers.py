"""Log files in `runs/` of a sealed campaign: what a killed seal or unseal left there."""

from collections.abc import Iterator
from pathlib import Path

from replay.campaigns import LOG_SUFFIX, RUNS
from replay.logref import sealed_ref
from replay.seal.packing import expect_same_lines
from replay.sealed import read_index
from schemas.errors import LogError
from schemas.sealed import EVENTS

UNSEAL_FILE = ".unseal"
RECOVER_FILE = ".recover"
"""Log files in `runs/` that had not yet got their name."""


def leftovers(directory: Path) -> Iterator[tuple[Path, bool]]:
    """Each file in `runs/` of a run that is sealed, in order of the sealed file, and whether it is the same log."""
    for frame, run in read_index(directory).runs():
        path = directory / RUNS / f"{run.run_id}{LOG_SUFFIX}"
        if path.is_file():
            try:
                expect_same_lines(path, sealed_ref(directory / EVENTS, frame, run))
            except LogError:
                yield path, False
            else:
                yield path, True


def run_logs(directory: Path) -> list[Path]:
    """The log files in `runs/`, by name."""
    return sorted((directory / RUNS).glob(f"*{LOG_SUFFIX}"))
