"""The files of a source of published results: a `.tar.gz`, a directory, or a git repository with its results branch.

Everything is read in memory, within fixed bounds, and nothing is extracted, so a name can lead nowhere. An archive that
holds a link, a device, an absolute or climbing name, or more than the bounds allow is refused as a whole: whoever made
it did not mean to be read. Members named `._*` (what a Mac adds) are passed over. Archives in a directory or a branch
are opened too.
"""

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec

from replay.publishing.repository import Git
from schemas.errors import UsageError, WorkError

ARCHIVE_SUFFIXES = (".tar.gz", ".tgz")
MAX_FILE_BYTES = 64 << 20
"""Of one file, archives included. The largest published archive has some hundred kilobytes."""
MAX_TOTAL_BYTES = 512 << 20
"""Of all files of a source together, unpacked."""
MAX_FILES = 20_000
MAX_NAME_CHARS = 512
BRANCH = "eval-results"

_CHUNK = 1 << 16
_KEPT_SUFFIXES = (".json", ".md", ".tsv")
_SUMS = "SHA256SUMS"


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file: `path` is relative with `/`; `data` is None where only its digest is of interest."""

    path: str
    size: int
    sha256: str
    data: bytes | None = None


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """Files that were published together: those of an archive, or the loose ones (`archive` is None then)."""

    files: dict[str, SourceFile]
    archive: SourceFile | None = None


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """All that a source holds. `name` is that of the directory, for results that lie at its root."""

    name: str
    units: tuple[Unit, ...]

    @property
    def loose(self) -> dict[str, SourceFile]:
        """The files that lie in no archive."""
        return next((unit.files for unit in self.units if unit.archive is None), {})


def open_source(path: Path, branch: str = BRANCH) -> Source:
    """What lies at `path`.

    Raises `UsageError` if nothing is there or the branch is missing, `WorkError` for an archive that is refused.
    """
    if path.is_file():
        if not path.name.endswith(ARCHIVE_SUFFIXES):
            raise UsageError(f"{path}: not a {ARCHIVE_SUFFIXES[0]} archive, a directory or a git repository")
        names = sorted(other for other in os.listdir(path.parent) if _is_beside(path.name, other))
        beside = ((name, _read(path.parent / name)) for name in names if (path.parent / name).is_file())
        return _source(path.resolve().parent.name, str(path.parent), beside)
    if not path.is_dir():
        raise UsageError(f"{path}: no such file or directory; give a .tar.gz, a directory or a repository")
    if _is_repository(path) and (commit := _branch_commit(Git(path), branch)) is not None:
        return _source(path.resolve().name, f"{path} ({branch})", _of_branch(Git(path), commit))
    if _is_bare(path):
        raise UsageError(f"{path}: the repository has no branch {branch!r}; name one with --branch")
    return _source(path.resolve().name, str(path), _walk(path))


def _is_beside(archive: str, other: str) -> bool:
    """Whether a file belongs to an archive in the same directory: the archive, its checksums, its metadata."""
    prefix = archive.removesuffix(".tgz").removesuffix(".tar.gz").removesuffix("artifacts")
    return other == archive or other in (f"{prefix}metadata.json", f"{prefix}{_SUMS}", _SUMS)


def _source(name: str, shown: str, files: "Iterable[tuple[str, bytes]]") -> Source:
    budget = _Budget(shown)
    loose: dict[str, SourceFile] = {}
    units: list[Unit] = []
    for path, data in files:
        budget.take(path, len(data))
        file = _file(path, data)
        loose[path] = file
        if path.endswith(ARCHIVE_SUFFIXES):
            units.append(Unit(files=_of_archive(f"{shown}: {path}", data, budget), archive=file))
    return Source(name=name, units=(Unit(files=loose), *units))


class _Budget:
    """What a source may still hold."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._files = 0
        self._bytes = 0

    def take(self, path: str, size: int) -> None:
        self._files += 1
        self._bytes += size
        if size > MAX_FILE_BYTES:
            raise WorkError(f"{self._shown}: {path} has {size} bytes, more than {MAX_FILE_BYTES}: refused")
        if self._files > MAX_FILES or self._bytes > MAX_TOTAL_BYTES:
            raise WorkError(
                f"{self._shown}: more than {MAX_FILES} files or {MAX_TOTAL_BYTES} bytes: refused; "
                "import a part of it at a time"
            )


def _file(path: str, data: bytes) -> SourceFile:
    kept = path.endswith(_KEPT_SUFFIXES) or path.endswith(_SUMS)
    digest = hashlib.sha256(data).hexdigest()
    return SourceFile(path=path, size=len(data), sha256=digest, data=data if kept else None)


def _of_archive(shown: str, packed: bytes, budget: _Budget) -> dict[str, SourceFile]:
    found: dict[str, SourceFile] = {}
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as plain:
            bounded = _Bounded(plain, shown)
            with tarfile.open(fileobj=bounded, mode="r|") as archive:
                for path, data in _members(archive, shown, budget):
                    if path in found:
                        raise WorkError(f"{shown}: holds {path} twice: refused")
                    found[path] = _file(path, data)
            while bounded.read(_CHUNK):
                pass  # To the end, where gzip's own checksum stands.
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as error:
        raise WorkError(f"{shown}: not a whole tar.gz archive: {error}; fetch it again") from None
    return found


def _members(archive: tarfile.TarFile, shown: str, budget: _Budget) -> Iterator[tuple[str, bytes]]:
    for member in archive:
        path = _safe_name(member.name, shown)
        if not (member.isreg() or member.isdir()) or member.issparse():
            raise WorkError(f"{shown}: {member.name[:200]!r} is a link or no ordinary file: refused")
        if member.isdir() or PurePosixPath(path).name.startswith("._"):
            continue
        budget.take(path, member.size)
        file = archive.extractfile(member)
        assert file is not None
        data = file.read()
        if len(data) != member.size:
            raise WorkError(f"{shown}: {path} is cut short: fetch the archive again")
        yield path, data


def _safe_name(name: str, shown: str) -> str:
    path = PurePosixPath(name)
    bad = not name or len(name) > MAX_NAME_CHARS or name.startswith("/") or "\\" in name or ".." in path.parts
    if bad or any(not character.isprintable() for character in name):
        raise WorkError(f"{shown}: the name {name[:200]!r} is absolute, climbs, or does not print: refused")
    return str(path)


class _Bounded(io.RawIOBase):
    """A stream that ends in an error past the total bound: a small archive can unpack to anything."""

    def __init__(self, stream: "gzip.GzipFile | BinaryIO", shown: str) -> None:
        self._stream = stream
        self._shown = shown
        self._left = MAX_TOTAL_BYTES

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise WorkError(f"{self._shown}: unpacks to more than {MAX_TOTAL_BYTES} bytes: refused")
        return data


def _walk(root: Path) -> Iterator[tuple[str, bytes]]:
    """The ordinary files below a directory, by name; links are passed over."""
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name != ".git" and not name.startswith("._"))
        for name in sorted(files):
            path = Path(directory, name)
            if name.startswith("._") or path.is_symlink() or not path.is_file():
                continue
            yield path.relative_to(root).as_posix(), _read(path)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise WorkError(f"{path}: cannot be read: {error.strerror}") from None


def _is_repository(path: Path) -> bool:
    return (path / ".git").exists() or _is_bare(path)


def _is_bare(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def _branch_commit(git: Git, branch: str) -> str | None:
    return git.ref(f"refs/heads/{branch}") or git.ref(f"refs/remotes/origin/{branch}")


class _Blob(msgspec.Struct, frozen=True):
    """A file of a commit."""

    name: str
    sha: str
    size: int


def _of_branch(git: Git, commit: str) -> Iterator[tuple[str, bytes]]:
    """The files of a commit, read from the object store: no working tree is needed or touched."""
    for group in _groups(_blobs(git, commit)):
        asked = "".join(f"{blob.sha}\n" for blob in group).encode()
        answer = io.BytesIO(git.run("cat-file", "--batch", data=asked).stdout)
        for blob in group:
            answer.readline()
            yield blob.name, answer.read(blob.size)
            answer.read(1)


def _blobs(git: Git, commit: str) -> Iterator[_Blob]:
    """The ordinary files of a commit; links are passed over."""
    for entry in git.run("ls-tree", "-r", "-z", "--long", "--full-tree", commit).stdout.split(b"\0"):
        if not entry:
            continue
        head, _, raw = entry.partition(b"\t")
        mode, kind, sha, size = head.decode().split()
        name = _safe_name(raw.decode("utf-8", "replace"), f"{git.path} ({commit[:12]})")
        if kind != "blob" or mode == "120000" or PurePosixPath(name).name.startswith("._"):
            continue
        if not size.isdigit():
            raise WorkError(f"{git.path}: {name} is missing from the repository; fetch it again")
        if int(size) > MAX_FILE_BYTES:
            raise WorkError(f"{git.path}: {name} has {size} bytes, more than {MAX_FILE_BYTES}: refused")
        yield _Blob(name, sha, int(size))


def _groups(blobs: Iterable[_Blob]) -> Iterator[list[_Blob]]:
    """Blobs that are read by one process: no more at once than the largest file may have."""
    group: list[_Blob] = []
    size = 0
    for blob in blobs:
        if size + blob.size > MAX_FILE_BYTES:
            yield group
            group, size = [], 0
        group.append(blob)
        size += blob.size
    if group:
        yield group
