"""Where campaigns and their logs lie on disk: each in a file below `runs/`, or sealed together in one file.

A campaign may have both for a moment. The sealed run counts then; a file of the same run is left from an interrupted
seal or unseal. A file of a run that is not sealed is a log like any other.
"""

import os
from pathlib import Path

from replay.logref import LOG_SUFFIX, LogRef, as_ref, unreadable
from replay.sealed import MANIFEST, is_sealed, sealed_logs
from schemas.errors import LogError, UsageError, WorkError
from schemas.sealed import EVENTS

__all__ = ["LOG_SUFFIX", "MANIFEST", "RUNS", "LogRef", "campaign_directories", "find_run", "logs_in", "run_files"]

RUNS = "runs"


def campaign_directories(path: Path) -> list[Path]:
    """The campaign directories at `path`: itself, or those directly below it.

    Raises `UsageError` if there is none, `WorkError` if one cannot be looked into.
    """
    try:
        return _directories(path)
    except OSError as error:
        raise WorkError(
            f"{error.filename}: {error.strerror}; make it readable, or give a campaign directory by itself"
        ) from None


def _directories(path: Path) -> list[Path]:
    if not path.exists():
        raise UsageError(f"{path}: no such directory; give a campaign directory, or a directory of campaigns")
    if path.is_file() and path.name.endswith(LOG_SUFFIX):
        raise UsageError(f"{path}: is one log; give the directory of its campaign")
    if is_campaign(path):
        return [path]
    below = sorted(child for child in path.iterdir() if is_campaign(child)) if path.is_dir() else []
    if not below:
        raise UsageError(
            f"{path}: not a campaign: it has neither {MANIFEST} nor {RUNS}/ nor {EVENTS}; "
            "give a campaign directory, or a directory of campaigns"
        )
    return below


def is_campaign(path: Path) -> bool:
    """Whether a directory holds a campaign: sealed, whole or half recorded."""
    return path.is_dir() and (
        (path / MANIFEST).is_file() or (path / RUNS).is_dir() or (path / EVENTS).is_file() or is_sealed(path)
    )


def logs_in(directory: Path) -> list[LogRef]:
    """All logs of one campaign: the sealed ones in order of their file, then those in files of their own, by name.

    Raises `LogError` if the campaign is sealed and its index cannot be trusted or is missing, `WorkError` if `runs/`
    cannot be read.
    """
    runs = directory / RUNS
    try:
        names = os.listdir(runs)
    except (FileNotFoundError, NotADirectoryError):
        names = []
    except OSError as error:
        raise unreadable(f"{runs}: cannot read the directory", error) from None
    files = [LogRef(runs, name) for name in sorted(names) if name.endswith(LOG_SUFFIX)]
    if is_sealed(directory):
        sealed = sealed_logs(directory)
        known = {log.run_id for log in sealed}
        return sealed + [log for log in files if log.run_id not in known]
    if not files and (directory / EVENTS).is_file():
        raise LogError(
            f"{directory / EVENTS}: its index is missing; restore it from a copy, or run korvid-replay recover"
        )
    return files


def run_files(path: Path) -> list[LogRef]:
    """The logs at `path`: one log, or all logs of the campaigns there, campaign by campaign.

    Raises `UsageError` and `WorkError` as `campaign_directories` does, `LogError` as `logs_in` does.
    """
    # A path below a directory that may not be looked into is none to `os.path`, and an error to `pathlib`.
    if os.path.isfile(path):
        if path.name == EVENTS:
            return logs_in(path.parent)
        if not path.name.endswith(LOG_SUFFIX):
            raise UsageError(f"{path}: not a log; a log is named <run_id>{LOG_SUFFIX}")
        return [as_ref(path)]
    return [log for directory in campaign_directories(path) for log in logs_in(directory)]


def find_run(path: Path, run: str) -> LogRef:
    """The one log at `path` whose run id is `run` or starts with it. Raises `UsageError` listing what there is."""
    files = run_files(path)
    exact = [file for file in files if file.run_id == run]
    found = exact or [file for file in files if file.run_id.startswith(run)]
    if len(found) == 1:
        return found[0]
    if len(exact) > 1:
        places = ", ".join(str(file) for file in exact[:8])
        raise UsageError(f"{path}: run {run} lies in several campaigns ({places}); give one of them with --in")
    names = ", ".join(file.run_id for file in (found or files)[:8])
    if not found:
        raise UsageError(f"{path}: no run {run!r}; there are: {names or 'none'}")
    raise UsageError(f"{path}: {run!r} fits {len(found)} runs ({names}); give more of the run id")
