"""For each verdict that differs between two versions of a grader, the change responsible.

The single change that moves the verdict by itself, or the smallest set where none does (`replay.attribute`), and how
often each was responsible.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from replay.diff import between, sides
from replay.work import in_turns
from schemas.errors import UsageError
from schemas.grades import Cause, Corrupt
from schemas.verdicts import VerdictValue
from schemas.words import counted

Note = Callable[[str], None]


class Bisected(msgspec.Struct, frozen=True, kw_only=True):
    """One flip and what is responsible for it."""

    campaign_id: str
    run_id: str
    case_id: str
    before: VerdictValue
    after: VerdictValue
    cause: Cause


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How many verdicts a change (or a smallest set of changes) moved, in each direction."""

    changes: tuple[str, ...]
    titles: tuple[str, ...]
    to_pass: int
    to_fail: int
    other: int


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """All flips between two versions over `runs` readable runs."""

    before: str
    after: str
    runs: int
    flips: tuple[Bisected, ...]
    tallies: tuple[Tally, ...]
    corrupt: tuple[Corrupt, ...]


def bisected(
    directories: Sequence[Path], before: str | None, after: str | None, *, jobs: int = 1, note: Note = lambda _: None
) -> Bisection:
    """The change responsible for each flip. Raises `UsageError` unless both are versions of one history."""
    old, new = sides(before, after)
    if old.name != new.name or not new.changes:
        raise UsageError(f"bisect: {old.label} and {new.label} share no history of changes; use diff")
    found = between(directories, old.label, new.label, jobs=jobs, note=note)
    flips = tuple(
        Bisected(
            campaign_id=run.campaign_id,
            run_id=run.run_id,
            case_id=run.case_id,
            before=run.before,
            after=run.after,
            cause=run.cause,
        )
        for run in found.moved
    )
    titles = {run.cause.changes: run.titles for run in found.moved}
    return Bisection(
        before=found.before,
        after=found.after,
        runs=found.runs,
        flips=flips,
        tallies=tuple(_tally(changes, titles[changes], flips) for changes in sorted(titles)),
        corrupt=found.corrupt,
    )


def render(found: Bisection) -> Iterator[str]:
    """The bisection as lines for a person."""
    yield f"{found.before} -> {found.after}: {len(found.flips)} of {counted(found.runs, 'run')} moved"
    for tally in sorted(found.tallies, key=lambda one: (-_all(one), one.changes)):
        parts = [f"{change} {title}".rstrip() for change, title in zip(tally.changes, tally.titles, strict=True)]
        yield f"  {_all(tally):>5}  {' + '.join(parts)} ({tally.to_pass} to pass, {tally.to_fail} to fail)"
    for flip in found.flips:
        also = f" (or {', '.join(flip.cause.alternatives)})" if flip.cause.alternatives else ""
        where = in_turns(flip.cause.turns)
        yield f"{flip.run_id}: {flip.before} -> {flip.after}{where}: {' + '.join(flip.cause.changes)}{also}"


def _tally(changes: tuple[str, ...], titles: tuple[str, ...], flips: Sequence[Bisected]) -> Tally:
    after = [flip.after for flip in flips if flip.cause.changes == changes]
    to_pass, to_fail = after.count("pass"), after.count("fail")
    return Tally(changes=changes, titles=titles, to_pass=to_pass, to_fail=to_fail, other=len(after) - to_pass - to_fail)


def _all(tally: Tally) -> int:
    return tally.to_pass + tally.to_fail + tally.other
