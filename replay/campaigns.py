"""Where campaigns and their logs lie on disk."""

from pathlib import Path

from schemas.errors import UsageError

LOG_SUFFIX = ".jsonl.zst"
MANIFEST = "campaign.json"


def campaign_directories(path: Path) -> list[Path]:
    """The campaign directories at `path`: itself, or those directly below it. Raises `UsageError` if there is none."""
    if not path.exists():
        raise UsageError(f"{path}: no such file or directory; give a campaign directory or one log")
    if is_campaign(path):
        return [path]
    below = sorted(child for child in path.iterdir() if is_campaign(child)) if path.is_dir() else []
    if not below:
        raise UsageError(f"{path}: not a campaign: it has neither {MANIFEST} nor runs/")
    return below


def is_campaign(path: Path) -> bool:
    """Whether a directory holds a campaign, whole or half recorded."""
    return path.is_dir() and ((path / MANIFEST).is_file() or (path / "runs").is_dir())


def run_files(path: Path) -> list[Path]:
    """The logs at `path`: a log itself, or all logs of the campaigns there, sorted by name."""
    if path.is_file():
        if not path.name.endswith(LOG_SUFFIX):
            raise UsageError(f"{path}: not a log; a log is named <run_id>{LOG_SUFFIX}")
        return [path]
    return [log for directory in campaign_directories(path) for log in sorted(directory.glob(f"runs/*{LOG_SUFFIX}"))]


def run_id_of(path: Path) -> str:
    """The run id that a log's file name claims."""
    return path.name.removesuffix(LOG_SUFFIX)


def find_run(path: Path, run: str) -> Path:
    """The one log at `path` whose run id is `run` or starts with it. Raises `UsageError` listing what there is."""
    files = run_files(path)
    exact = [file for file in files if run_id_of(file) == run]
    found = exact or [file for file in files if run_id_of(file).startswith(run)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(run_id_of(file) for file in (found or files)[:8])
    if not found:
        raise UsageError(f"{path}: no run {run!r}; there are: {names or 'none'}")
    raise UsageError(f"{path}: {run!r} fits {len(found)} runs ({names}); give more of the run id")
