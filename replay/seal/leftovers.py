"""Log files in `runs/` of a sealed campaign: what a killed seal or unseal left there."""

from collections.abc import Iterator
from pathlib import Path

from replay.campaigns import LOG_SUFFIX, RUNS
from replay.logref import as_ref, sealed_ref
from replay.seal.packing import is_original
from replay.sealed import read_index
from schemas.errors import LogError
from schemas.sealed import EVENTS

UNSEAL_FILE = ".unseal"
RECOVER_FILE = ".recover"
"""Log files in `runs/` that had not yet got their name."""


def leftovers(directory: Path) -> Iterator[tuple[Path, bool]]:
    """Each file in `runs/` of a run that is sealed, and whether it is the same log."""
    sealed = {run.run_id: (frame, run) for frame, run in read_index(directory).runs()}
    for path in run_logs(directory):
        found = sealed.get(as_ref(path).run_id)
        if found is not None:
            try:
                is_original(path, sealed_ref(directory / EVENTS, *found), found[1])
            except LogError:
                yield path, False
            else:
                yield path, True


def run_logs(directory: Path) -> list[Path]:
    """The log files in `runs/`, by name."""
    return sorted((directory / RUNS).glob(f"*{LOG_SUFFIX}"))
