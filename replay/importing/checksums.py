"""The checksum lists of a source, resolved whichever directory their paths are relative to.

Published lists name files from their own directory, from the one above, or from a directory that is no longer there. So
each list is read against the base that finds most of its files. Pure.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import msgspec

from replay.importing.sources import MAX_NAME_CHARS, Source, SourceFile

_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one checksum list. `wrong` and `missing` are paths as the list wrote them."""

    file: str
    ok: int
    wrong: tuple[str, ...]
    missing: tuple[str, ...]
    unread: tuple[str, ...]


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """All lists of a source. `wrong` holds the digests that were found where another was promised."""

    lists: tuple[Listed, ...]
    wrong: frozenset[str]

    def problems(self) -> list[str]:
        """One sentence for each thing that is not as it was promised."""
        found = []
        for listed in self.lists:
            found += [f"{listed.file}: {path} has another SHA-256 than listed" for path in listed.wrong]
            found += [f"{listed.file}: {path} is listed and is not there" for path in listed.missing]
            found += [f"{listed.file}: not a checksum line: {line[:80]!r}" for line in listed.unread]
        return found


def check(source: Source) -> Checked:
    """Every checksum list of the source against its files."""
    lists: list[Listed] = []
    wrong: set[str] = set()
    for unit in source.units:
        for path, file in sorted(unit.files.items()):
            if file.data is not None and PurePosixPath(path).name.endswith("SHA256SUMS"):
                shown = path if unit.archive is None else f"{unit.archive.path}!{path}"
                listed, digests = _list(shown, path, file.data, unit.files)
                lists.append(listed)
                wrong |= digests
    return Checked(lists=tuple(lists), wrong=frozenset(wrong))


def _list(shown: str, path: str, data: bytes, files: Mapping[str, SourceFile]) -> tuple[Listed, set[str]]:
    entries: list[tuple[str, str]] = []
    unread: list[str] = []
    for line in data.decode("utf-8", "replace").splitlines():
        if not line.strip():
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            unread.append(line)
        else:
            entries.append((found[1].lower(), str(PurePosixPath(found[2]))))
    resolve = _best_base(path, [name for _, name in entries], files)
    ok, wrong, missing, digests = 0, [], [], set()
    for digest, name in entries:
        file = files.get(resolve(name))
        if file is None:
            missing.append(name)
        elif file.sha256 != digest:
            wrong.append(name)
            digests.add(file.sha256)
        else:
            ok += 1
    listed = Listed(file=shown, ok=ok, wrong=tuple(wrong), missing=tuple(missing), unread=tuple(unread))
    return listed, digests


class _Base(msgspec.Struct, frozen=True):
    """A way to read a list's paths: drop the first `drop` parts and look below `directory`."""

    directory: str
    drop: int

    def __call__(self, name: str) -> str:
        parts = PurePosixPath(name).parts[self.drop :]
        return str(PurePosixPath(self.directory, *parts)) if parts else ""


def _best_base(path: str, names: list[str], files: Mapping[str, SourceFile]) -> _Base:
    """The base under which most names are found; the list's own directory where none is better.

    A name is only tried with as many bases as it has parts: one long name must not cost all others.
    """
    found: Counter[_Base] = Counter()
    deepest = 1
    for name in names:
        if len(name) <= MAX_NAME_CHARS:
            depth = len(PurePosixPath(name).parts)
            deepest = max(deepest, depth)
            found.update(base for base in _bases(path, depth) if base(name) in files)
    return max(_bases(path, deepest), key=lambda base: found[base])


def _bases(path: str, depth: int) -> Iterator[_Base]:
    for directory in PurePosixPath(path).parents:
        yield _Base(str(directory), 0)
    for drop in range(1, depth):
        yield _Base(str(PurePosixPath(path).parent), drop)
