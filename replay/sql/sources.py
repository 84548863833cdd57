"""Which campaigns and which logs a question is asked of: the one place that knows where logs lie."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from replay.campaigns import campaign_directories, logs_in
from replay.sql.load import Log
from schemas.errors import UsageError

DEFAULT = Path("campaigns")


def campaigns_at(paths: Sequence[Path]) -> list[Path]:
    """The campaign directories at `paths` (default: ./campaigns), each once, in order.

    Raises `UsageError` if a path holds none, or one that DuckDB cannot be told of.
    """
    found: dict[Path, Path] = {}
    for path in paths or (DEFAULT,):
        for directory in campaign_directories(path):
            _expect_text(directory)
            found.setdefault(directory.resolve(), directory)
    return list(found.values())


def _expect_text(directory: Path) -> None:
    try:
        str(directory).encode()
    except UnicodeEncodeError:
        raise UsageError(f"{directory}: the name is not UTF-8, and DuckDB takes no other; rename it") from None


def logs_of(campaigns: Sequence[Path]) -> list[Log]:
    """Every log of the campaigns, in the order of `campaigns.logs_in` within each. Raises `LogError` as that does."""
    return [Log(directory, log) for directory in campaigns for log in logs_in(directory)]


def shared_runs(campaigns: Sequence[Path]) -> dict[str, list[Log]]:
    """The logs of each run id that is in more than one of the campaigns: none unless one was copied."""
    found: defaultdict[str, list[Log]] = defaultdict(list)
    for log in logs_of(campaigns):
        found[log.ref.run_id].append(log)
    return {run_id: logs for run_id, logs in found.items() if len(logs) > 1}
