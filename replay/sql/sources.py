"""Which campaigns and which logs a question is asked of: the one place that knows where logs lie."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from replay.campaigns import LOG_SUFFIX, campaign_directories
from replay.sql.load import Log

LOG_GLOB = f"runs/*{LOG_SUFFIX}"
DEFAULT = Path("campaigns")


def campaigns_at(paths: Sequence[Path]) -> list[Path]:
    """The campaign directories at `paths` (default: ./campaigns), each once, in order.

    Raises `UsageError` if a path holds none.
    """
    found: dict[Path, Path] = {}
    for path in paths or (DEFAULT,):
        for directory in campaign_directories(path):
            found.setdefault(directory.resolve(), directory)
    return list(found.values())


def logs_of(campaigns: Sequence[Path]) -> list[Log]:
    """Every log of the campaigns, sorted by name within each."""
    return [
        Log(directory, log.relative_to(directory))
        for directory in campaigns
        for log in sorted(directory.glob(LOG_GLOB))
    ]


def shared_run_ids(campaigns: Sequence[Path]) -> int:
    """How many run ids, taken from file names, are in more than one of the campaigns: none unless one was copied."""
    names = Counter(log.file.name for log in logs_of(campaigns))
    return sum(count > 1 for count in names.values())
