"""SHA256SUMS: the digests of what a sealed campaign publishes, in the format of `sha256sum`: names are bytes there."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from replay.seal.disk import file_sha256, write
from replay.sealed import MANIFEST
from schemas.errors import UsageError
from schemas.sealed import EVENTS, INDEX, SUMS

FOLDERS = ("grades", "judgements")
"""The folders of a campaign that are published with it."""
_DIGEST_CHARS = 64


class SumProblem(msgspec.Struct, frozen=True):
    """A file that is not what SHA256SUMS says."""

    file: str
    reason: str


def published(directory: Path) -> list[Path]:
    """The files of a sealed campaign that are published, manifest first."""
    found = [directory / name for name in (MANIFEST, EVENTS, INDEX)]
    for folder in FOLDERS:
        found += sorted(directory.glob(f"{folder}/[!.]*"))
    return [path for path in found if path.is_file()]


def write_sums(directory: Path, target: Path, *, renamed: dict[Path, Path]) -> None:
    """Write the sums of the published files to `target`. `renamed` maps final names to where a file still lies.

    Raises `UsageError` for a file name that `sha256sum` could not read back.
    """
    paths = {path: path for path in published(directory)} | renamed
    names = [path.relative_to(directory).as_posix() for path in paths]
    for name in names:
        if not name.isprintable() or "\\" in name:
            raise UsageError(f"{directory}: the file name {name!r} does not fit into {SUMS}; rename it")
    digests = [file_sha256(source) for source in paths.values()]
    lines = sorted(zip(names, digests, strict=True))
    write(target, (os.fsencode(f"{digest}  {name}\n") for name, digest in lines))


def check_sums(directory: Path) -> Iterator[SumProblem]:
    """What of SHA256SUMS does not hold. Its absence is no problem, nor are files it does not name (later grades)."""
    try:
        lines = (directory / SUMS).read_bytes().splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        yield SumProblem(SUMS, f"cannot be read: {error}")
        return
    seen: set[str] = set()
    for number, line in enumerate(map(os.fsdecode, lines), 1):
        digest, name = line[:_DIGEST_CHARS], line[_DIGEST_CHARS + 2 :]
        if line[_DIGEST_CHARS : _DIGEST_CHARS + 2] != "  " or not _is_below(name) or name in seen:
            yield SumProblem(SUMS, f"line {number} is not a digest and the name of another file of the campaign")
            continue
        seen.add(name)
        problem = _differs(directory / name, digest)
        if problem is not None:
            yield SumProblem(name, problem)


def _differs(path: Path, digest: str) -> str | None:
    """Why a file is not the one with this digest, or None. A pipe or a device, which may have no end, is not read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return f"{SUMS} names it and it is no regular file"
        found = file_sha256(path)
    except OSError as error:
        return f"{SUMS} names it and it cannot be read: {error.strerror}"
    return None if found == digest else f"has SHA-256 {found}, {SUMS} says {digest}"


def _is_below(name: str) -> bool:
    parts = name.split("/")
    return all(part not in ("", ".", "..") for part in parts) and "\0" not in name
