"""The graders there are, and what a grader is.

A grader is a pure function from a recorded run and a rubric to a verdict, with a name, a version and the digest of its
source. Others are found by whoever runs them, as an entry point or a function in a file; both give a callable with the
signature of `GradeFunction`.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from grading.changes import CHANGES, LATEST, Change, changes_of, in_order
from grading.grader import grade
from schemas.cases import Rubric
from schemas.digest import sha256_hex
from schemas.errors import UsageError
from schemas.recorded import RecordedRun
from schemas.verdicts import Verdict

GradeFunction = Callable[[RecordedRun, Rubric], Verdict]

NOT_GRADING = frozenset({"pins", "statistics.py"})
"""What lies in this package and cannot move a verdict."""


class Grader(msgspec.Struct, frozen=True, kw_only=True):
    """One grader at one version. `changes` are the ids it applies in order; `digest` is over its source."""

    name: str
    version: int
    digest: str
    changes: tuple[str, ...]
    function: GradeFunction

    @property
    def label(self) -> str:
        """The grader as people write it, `claims@3`."""
        return f"{self.name}@{self.version}"


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A grader with its versions. `at` gives one version, `applying` an arbitrary set of changes (for bisection)."""

    name: str
    latest: int
    changes: tuple[Change, ...]
    at: Callable[[int], Grader]
    applying: Callable[[frozenset[str]], GradeFunction]


@cache
def source_digest() -> str:
    """SHA-256 over the source of the claims grader: each file's path and text, in order, line ends as `\\n`."""
    lines = [f"{name}\0{sha256_hex(text)}\n" for name, text in sorted(_sources(files("grading"), ""))]
    return sha256_hex("".join(lines).encode())


def claims_at(version: int) -> Grader:
    """The claims grader at a version. Raises `UsageError` if there is no such version."""
    return Grader(
        name="claims",
        version=version,
        digest=source_digest(),
        changes=changes_of(version),
        function=partial(grade, version=version),
    )


def claims_applying(changes: frozenset[str]) -> GradeFunction:
    """The claims grader with exactly the named changes. Raises `UsageError` for an unknown one."""
    in_order(changes)
    return partial(grade, changes=changes)


GRADERS: dict[str, History] = {
    "claims": History(name="claims", latest=LATEST, changes=CHANGES, at=claims_at, applying=claims_applying)
}


def resolve(spec: str) -> Grader:
    """The built-in grader that `NAME` or `NAME@VERSION` means, at its newest version by default.

    Raises `UsageError` with the known names or versions.
    """
    name, at, version = spec.partition("@")
    history = GRADERS.get(name)
    if history is None:
        raise UsageError(f"no grader is called {name!r}; known are {', '.join(GRADERS)}")
    if not at:
        return history.at(history.latest)
    if not (version.isascii() and version.isdigit()):
        raise UsageError(f"{spec}: a version is a number from 1 to {history.latest}, as in {name}@{history.latest}")
    return history.at(int(version))


def _sources(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if not prefix and entry.name in NOT_GRADING:
            continue
        if entry.is_dir():
            found += _sources(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".py"):
            found.append((prefix + entry.name, entry.read_bytes().replace(b"\r\n", b"\n")))
    return found
