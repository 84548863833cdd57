"""Find the grader that a reference names: a bundled one, an entry point, or a function in a file.

    claims              the newest version of a bundled grader
    claims@1            a version of it
    other               an entry point of the group `korvid.graders`
    path.py:function    a function in a file
    claims-only[@N]     the claims alone of a version of `claims`
    korvid-published-P  the verdicts that the runs of a publication P came with (`replay.importing.published`)

An external grader is a function `(RecordedRun, Rubric) -> Verdict`. The file that holds it may set `VERSION` (a whole
number from 1, default 1) and is its source: its SHA-256 is the grader's digest. A reference resolves to the same grader
in every process, which `expect_digest` makes sure of.
"""

import hashlib
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from replay.guard import NetworkRefused, no_network, refused
from schemas.cases import Rubric
from schemas.errors import KorvidError, UsageError
from schemas.recorded import RecordedRun
from schemas.verdicts import Verdict

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from grading.registry import History

GROUP = "korvid.graders"
DEFAULT = "claims"

Note = Callable[[str], None]
Loaded = TypeVar("Loaded")
GradeFunction = Callable[[RecordedRun, Rubric], Verdict]
GradeChanges = Callable[[RecordedRun, Rubric, frozenset[str]], Verdict]

_FILE = re.compile(r"(?P<file>.+\.py):(?P<function>[A-Za-z_][A-Za-z0-9_]*)(?:@(?P<version>[0-9]+))?")
_NAME = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(?:@(?P<version>[0-9]+))?")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change in a grader's history: `version` is the first version that has it."""

    id: str
    title: str
    version: int
    story: str = ""


@dataclass(frozen=True)
class LoadedGrader:
    """A grader ready to run. `reference` resolves to it again; `latest` is its newest version.

    `changes` are those of all versions in order, and `grade_changes` grades with any subset; both are empty for a
    grader without a history. Only the published verdicts that a run came with need no rubric.
    """

    reference: str
    name: str
    version: int
    latest: int
    sha256: str
    grade: GradeFunction
    origin: str
    changes: tuple[Change, ...] = ()
    grade_changes: GradeChanges | None = None
    needs_rubric: bool = True

    @property
    def label(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    @property
    def applied(self) -> tuple[str, ...]:
        """The ids of the changes that this version applies, in order."""
        return tuple(change.id for change in self.changes if change.version <= self.version)


def load(reference: str, given_as: str = "--grader") -> LoadedGrader:
    """The grader of a reference, which a person gave as the flag or argument `given_as`.

    Raises `UsageError` that begins with `given_as` and says what there is if the reference names none, and
    `NetworkRefused` for a file that reaches for the network.
    """
    try:
        return _load(reference)
    except (UsageError, NetworkRefused) as error:
        raise type(error)(f"{given_as}: {error}") from None


def _load(reference: str) -> LoadedGrader:
    if found := _FILE.fullmatch(reference):
        return _from_file(Path(found["file"]), found["function"], _number(found["version"]))
    found = _NAME.fullmatch(reference)
    if found is None:
        raise UsageError(f"{reference!r} is no grader; write NAME, NAME@VERSION or path.py:function")
    version = _number(found["version"])
    bundled = _bundled(found["name"], version)
    if bundled is not None:
        return bundled
    imported = _imported(found["name"], version)
    if imported is not None:
        return imported
    for entry in _entry_points():
        if entry.name == found["name"]:
            return _from_entry_point(entry, version)
    way = f"write {reference}:function" if reference.endswith(".py") else f"there are {', '.join(names())}"
    raise UsageError(f"there is no grader {found['name']!r}; {way}")


def expect_digest(reference: str, sha256: str) -> LoadedGrader:
    """The grader of a reference that had this digest a moment ago. Raises `UsageError` if it was edited since."""
    grader = load(reference)
    if grader.sha256 != sha256:
        raise UsageError(f"--grader: {reference} was edited while it was running; run again")
    return grader


def names() -> list[str]:
    """The names of the bundled graders and the entry points."""
    from grading.registry import GRADERS
    from replay.importing.published import CLAIMS_ONLY

    bundled = [*GRADERS, CLAIMS_ONLY]
    return [*bundled, *sorted({entry.name for entry in _entry_points()}.difference(bundled))]


def all_graders(note: Note = lambda _: None) -> list[LoadedGrader]:
    """The newest version of every bundled grader and entry point; `note` is told of each that does not load."""
    found = []
    for name in names():
        try:
            found.append(_load(name))
        except (UsageError, NetworkRefused) as error:
            note(f"left out {name}: {error}")
    return found


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """A grader as `graders` lists it; `changes` are those of its version, in order."""

    name: str
    version: int
    latest: int
    sha256: str
    origin: str
    changes: tuple[Change, ...]


def described(grader: LoadedGrader) -> Described:
    """What can be told of a grader."""
    return Described(
        name=grader.name,
        version=grader.version,
        latest=grader.latest,
        sha256=grader.sha256,
        origin=grader.origin,
        changes=tuple(change for change in grader.changes if change.version <= grader.version),
    )


def _bundled(name: str, asked: int | None) -> LoadedGrader | None:
    from grading.registry import GRADERS

    history = GRADERS.get(name)
    if history is None:
        return None
    found = history.at(history.latest if asked is None else asked)
    return LoadedGrader(
        reference=found.label,
        name=name,
        version=found.version,
        latest=history.latest,
        sha256=found.digest,
        grade=found.function,
        origin="bundled",
        changes=_history(history),
        grade_changes=lambda run, rubric, applied: history.applying(applied)(run, rubric),
    )


def _imported(name: str, asked: int | None) -> LoadedGrader | None:
    """The published verdicts of an imported campaign, or the claims alone that they can be compared with."""
    from replay.importing import published

    source = Path(published.__file__).read_bytes()
    if published.is_published(name):
        if asked not in (None, published.VERSION):
            raise UsageError(f"{name} is published and has version {published.VERSION} only")
        return LoadedGrader(
            reference=name,
            name=name,
            version=published.VERSION,
            latest=published.VERSION,
            sha256=hashlib.sha256(source).hexdigest(),
            grade=published.grade_published(name),
            origin="imported",
            needs_rubric=False,
        )
    claims = _bundled(DEFAULT, asked) if name == published.CLAIMS_ONLY else None
    if claims is None or claims.grade_changes is None:
        return None
    grade, grade_changes = claims.grade, claims.grade_changes
    return replace(
        claims,
        reference=f"{name}@{claims.version}",
        name=name,
        sha256=hashlib.sha256(claims.sha256.encode() + source).hexdigest(),
        grade=lambda run, rubric: published.claims_only(grade(run, rubric)),
        grade_changes=lambda run, rubric, applied: published.claims_only(grade_changes(run, rubric, applied)),
    )


def _history(history: "History") -> tuple[Change, ...]:
    """Every change of a history with the first version that applies it."""
    first: dict[str, int] = {}
    for version in range(1, history.latest + 1):
        for change_id in history.at(version).changes:
            first.setdefault(change_id, version)
    return tuple(
        Change(id=change.id, title=change.title, version=first[change.id], story=change.story)
        for change in history.changes
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None else None


def _from_file(file: Path, function: str, version: int | None) -> LoadedGrader:
    try:
        path = file.resolve(strict=True)
        source = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    module = _module(path, source)
    return _external(
        reference=f"{path}:{function}",
        name=function,
        function=getattr(module, function, None),
        module=module,
        sha256=hashlib.sha256(source).hexdigest(),
        origin=path.name,
        asked=version,
    )


@cache
def _module(path: Path, source: bytes) -> ModuleType:
    """The module of a file, run from the very bytes that were hashed: a `.pyc` could be of an earlier edit."""
    module = ModuleType(f"korvid_grader_{hashlib.sha256(source).hexdigest()[:16]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    _guarded(str(path), lambda: exec(compile(source, str(path), "exec"), module.__dict__))
    return module


def _guarded(name: str, load: Callable[[], Loaded]) -> Loaded:
    """What the code of a stranger gives, which may raise anything, and is named for it.

    Raises `UsageError` if it does not load and `NetworkRefused` if it reaches for the network.
    """
    try:
        with no_network():
            loaded = load()
            what = refused()
    except NetworkRefused as error:
        raise NetworkRefused(f"{name}: {error}") from None
    except KorvidError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, it is told
        raise UsageError(f"{name}: does not load: {type(error).__name__}: {error}") from None
    if what is not None:
        raise NetworkRefused(f"{name}: {what} was refused: a grader works on the record alone")
    return loaded


def _entry_points() -> "list[EntryPoint]":
    from importlib.metadata import entry_points

    return list(entry_points(group=GROUP))


def _from_entry_point(entry: "EntryPoint", version: int | None) -> LoadedGrader:
    name = f"entry point {entry.name} ({entry.value})"
    function = _guarded(name, entry.load)
    file = inspect.getsourcefile(function) if inspect.isfunction(function) else None
    if file is None:
        raise UsageError(f"{name} is no function with a source file")
    return _external(
        reference=entry.name,
        name=entry.name,
        function=function,
        module=sys.modules[function.__module__],
        sha256=hashlib.sha256(Path(file).read_bytes()).hexdigest(),
        origin=entry.value,
        asked=version,
    )


def _external(
    *, reference: str, name: str, function: Any, module: ModuleType, sha256: str, origin: str, asked: int | None
) -> LoadedGrader:
    if not callable(function):
        raise UsageError(f"{origin} has no function {name!r}")
    from grading.registry import GRADERS

    if name in GRADERS:
        raise UsageError(f"{origin}: a grader called {name!r} is bundled; give yours another name")
    version = getattr(module, "VERSION", 1)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UsageError(f"{origin}: VERSION must be a whole number from 1, not {version!r}")
    if asked is not None and asked != version:
        raise UsageError(f"{origin} holds {name}@{version}, not version {asked}")

    def grade(run: RecordedRun, rubric: Rubric) -> Verdict:
        verdict = function(run, rubric)
        if not isinstance(verdict, Verdict):
            raise TypeError(f"{name} returned {type(verdict).__name__}, not a Verdict")
        return _checked(verdict)

    return LoadedGrader(
        reference=reference,
        name=name,
        version=version,
        latest=version,
        sha256=sha256,
        grade=grade,
        origin=origin,
    )


def _checked(verdict: Verdict) -> Verdict:
    """The verdict of a stranger, if its fields hold what they may: the constructor of a struct checks nothing.

    Raises `msgspec.ValidationError` that names the field.
    """
    return msgspec.convert(msgspec.to_builtins(verdict), Verdict)
