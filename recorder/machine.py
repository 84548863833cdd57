"""The machine and the build that a campaign ran on. Read once, never the machine's name or a path on it."""

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path

from schemas.provenance import Harness, Machine

REVISION = "KORVID_EVAL_REVISION"
"""Overrides the revision: for a build from an archive, where there is no repository to ask."""

DISTRIBUTION = "korvid-rec"
_CODE = ("schemas", "packs", "recorder", "grading", "replay", "pyproject.toml")
_GIT_TIMEOUT_S = 20.0


def machine() -> Machine:
    """CPU model, cores that may be used, physical memory in bytes, operating system, Python."""
    return Machine(cpu=_cpu(), cores=_cores(), memory_bytes=_memory(), os=_system(), python=platform.python_version())


def harness(env: Mapping[str, str] = os.environ, package: Path = Path(__file__)) -> Harness:
    """Version and revision: `KORVID_EVAL_REVISION`, else the commit (with `+dirty` if code differs from it) of the
    repository that tracks `package`, else the version."""
    version = _version()
    return Harness(version=version, revision=env.get(REVISION, "").strip() or _commit(package) or version)


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine() or "unknown"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> int | None:
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _system() -> str:
    kernel = f"{platform.system()} {platform.release()} {platform.machine()}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except (OSError, KeyError):
        return kernel


def _version() -> str:
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _commit(package: Path) -> str | None:
    # The repository around an installed package may be anybody's: it must be the one that tracks this very file.
    folder = package.resolve().parent
    if _git(folder, "ls-files", "--error-unmatch", package.name) is None:
        return None
    commit = _git(folder, "rev-parse", "HEAD")
    top = _git(folder, "rev-parse", "--show-toplevel")
    if not commit or not top:
        return None
    changed = _git(Path(top), "status", "--porcelain", "--untracked-files=normal", "--", *_CODE)
    return commit if changed == "" else f"{commit}+dirty"


def _git(folder: Path, *arguments: str) -> str | None:
    """The output of git, None if it failed or is not there. Variables of a surrounding git command are not heeded."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=env, capture_output=True, timeout=_GIT_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
