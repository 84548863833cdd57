"""The verdicts that differ between two graders: which, why, and where in the answer.

Both sides are computed from the logs in one pass and nothing is stored, so the answer never depends on what happens to
have been graded before. What a person reads is a struct first; `render` makes lines of it.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from replay.campaigns import run_files
from replay.graders import DEFAULT, LoadedGrader, load
from replay.importing.published import CLAIMS_ONLY, claims_of, is_published, source_of
from replay.logref import LogRef
from replay.pool import Bar, Emit, Handler, each_log, emitted
from replay.unicode import encode_json
from replay.work import CORRUPT, FLIP, Folds, GraderRef, cause, graded, ref
from schemas.errors import UsageError
from schemas.grades import Cause, Corrupt
from schemas.recorded import RecordedRun
from schemas.verdicts import ClaimFinding, EvidenceFinding, Span, TurnVerdict, Verdict, VerdictValue
from schemas.words import counted

READ = "read"
Finding = TypeVar("Finding", ClaimFinding, EvidenceFinding)
Note = Callable[[str], None]

_AROUND = 60
"""Characters of an answer shown before and after a marked span."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of an answer that a verdict rests on; `side` is `before`, `after` or `both`."""

    span: Span
    meaning: str
    side: str


class FindingMoved(msgspec.Struct, frozen=True, kw_only=True):
    """One group of claims or evidence that came out differently: what each side says of it."""

    role: str
    group: tuple[str, ...]
    before: str
    after: str


class TurnMoved(msgspec.Struct, frozen=True, kw_only=True):
    """What differs in one turn. `excerpt` is the answer around the marks, each marked `«so»`, or its beginning.

    Where every group came out the same on both sides, `findings` has those that stood in the way of a pass.
    """

    turn: int
    before: str
    after: str
    findings: tuple[FindingMoved, ...]
    marks: tuple[Mark, ...]
    excerpt: str


class RunMoved(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose verdict differs, as (verdict, reason) on each side."""

    campaign_id: str
    run_id: str
    case_id: str
    repetition: int
    before: VerdictValue
    before_reason: str
    after: VerdictValue
    after_reason: str
    cause: Cause
    titles: tuple[str, ...]
    turns: tuple[TurnMoved, ...]


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """All that differs between two graders over `runs` readable runs."""

    before: str
    after: str
    runs: int
    moved: tuple[RunMoved, ...]
    corrupt: tuple[Corrupt, ...]


class DiffWork(msgspec.Struct, frozen=True):
    """Compare two graders on each log under its recorded rubric."""

    before: GraderRef
    after: GraderRef

    def open(self) -> Handler:
        """The handler of one log."""
        before, after, folds = self.before.load(), self.after.load(), Folds()

        def handle(log: LogRef, emit: Emit) -> None:
            run = folds.run(log, emit)
            if run is None:
                return
            emit(READ, encode_json(run.published.grader if run.published else None) + b"\n")
            old, _ = graded(run, before, None)
            new, _ = graded(run, after, None)
            if old.verdict != new.verdict:
                emit(FLIP, encode_json(_moved(run, before, after, old, new)) + b"\n")

        return handle


def between(
    directories: Sequence[Path], before: str | None, after: str | None, *, jobs: int = 1, note: Note = lambda _: None
) -> Differences:
    """What differs between two graders over all runs of the campaigns, by case, repetition and run.

    Raises `UsageError` for a grader that does not exist, or whose published verdicts no run came with.
    """
    old, new = sides(before, after)
    logs = [log for directory in directories for log in run_files(directory)]
    if not logs:
        raise UsageError(f"{directories[0]}: nothing is recorded there yet")
    with tempfile.TemporaryDirectory(prefix="korvid-diff-") as scratch:
        spool = Path(scratch)
        bar = Bar(f"comparing {old.label} with {new.label}", len(logs))
        try:
            each_log(logs, DiffWork(ref(old), ref(new)), spool, jobs=jobs, progress=bar)
        finally:
            bar.close()
        corrupt = [msgspec.json.decode(line, type=Corrupt) for line in _lines(spool, CORRUPT)]
        moved = [msgspec.json.decode(line, type=RunMoved) for line in _lines(spool, FLIP)]
        published = Counter(msgspec.json.decode(line, type=str | None) for line in _lines(spool, READ))
    _refuse_unpublished(old, "--from", published)
    _refuse_unpublished(new, "--to", published)
    if {old.name, new.name} & {DEFAULT} and (is_published(old.name) or is_published(new.name)):
        note(f"{DEFAULT} cannot grade a run without recorded tool results; {CLAIMS_ONLY} compares what can be compared")
    for found in corrupt:
        note(f"refused {found.file}: {found.reason}")
    return Differences(
        before=old.label,
        after=new.label,
        runs=published.total(),
        moved=tuple(sorted(moved, key=lambda run: (run.campaign_id, run.case_id, run.repetition, run.run_id))),
        corrupt=tuple(sorted(corrupt, key=lambda found: found.file)),
    )


def sides(before: str | None, after: str | None) -> tuple[LoadedGrader, LoadedGrader]:
    """Both graders; what is left out is the first and the newest version of the other's name, or of the default."""
    new = load(after, "--to") if after is not None else None
    if before is not None:
        old = load(before, "--from")
        if new is None and not old.changes:
            raise UsageError(f"--to: {old.label} has no other versions; name a grader to compare it with")
        return old, new or load(old.name)
    new = new or load(DEFAULT)
    if not new.changes:
        raise UsageError(f"--from: {new.label} has no earlier versions of its own; name a grader to compare it with")
    return load(f"{new.name}@1"), new


def _refuse_unpublished(grader: LoadedGrader, flag: str, published: Counter[str | None]) -> None:
    """A grader of published verdicts says something only of the runs that came with them."""
    if not is_published(grader.name) or published[source_of(grader.name)] or not published:
        return
    known = sorted(source for source in published if source is not None)
    if known:
        right = f"there are {', '.join(known)}; for claims alone give --from {claims_of(known[0])} --to {CLAIMS_ONLY}"
    else:
        right = f"they were not imported; give two versions, such as --from {DEFAULT}@1 --to {load(DEFAULT).label}"
    raise UsageError(f"{flag}: none of these runs came with verdicts of {grader.name}; {right}")


def render(found: Differences) -> Iterator[str]:
    """The differences as lines for a person."""
    to_pass = sum(run.after == "pass" for run in found.moved)
    to_fail = sum(run.after == "fail" for run in found.moved)
    yield (
        f"{found.before} -> {found.after}: {len(found.moved)} of {counted(found.runs, 'run')} moved, "
        f"{to_pass} to pass, {to_fail} to fail"
    )
    for run in found.moved:
        yield ""
        yield f"{run.run_id} ({run.case_id}): {run.before} -> {run.after}  ({run.before_reason} -> {run.after_reason})"
        yield from (f"  why: {line}" for line in _why(run))
        for turn in run.turns:
            yield from _turn_lines(turn)


def _why(run: RunMoved) -> Iterator[str]:
    for change, title in zip(run.cause.changes, run.titles, strict=True):
        yield f"{change} {title}".rstrip()
    if run.cause.alternatives:
        yield "each enough by itself as well: " + ", ".join(run.cause.alternatives)


def _turn_lines(turn: TurnMoved) -> Iterator[str]:
    yield f"  turn {turn.turn}: {turn.before} -> {turn.after}"
    for finding in turn.findings:
        yield f"    {finding.role} {{{' / '.join(finding.group)}}}"
        yield f"      before: {finding.before}"
        yield f"      after:  {finding.after}"
    if turn.excerpt:
        yield f"    answer: {turn.excerpt}"


def _lines(spool: Path, kind: str) -> Iterator[bytes]:
    for file in emitted(spool, kind):
        with file.open("rb") as lines:
            yield from lines


def _moved(run: RecordedRun, before: LoadedGrader, after: LoadedGrader, old: Verdict, new: Verdict) -> RunMoved:
    if before.name == after.name:
        why = cause(run, after, (before.version, None), (after.version, None), (old.verdict, new.verdict))
    else:
        why = Cause(changes=("grader",))
    titles = {change.id: change.title for change in after.changes}
    answers = {turn.turn: turn.answer for turn in run.turns}
    after_turns = {turn.turn: turn for turn in new.turns}
    pairs = [(turn, after_turns[turn.turn]) for turn in old.turns if turn.turn in after_turns]
    return RunMoved(
        campaign_id=run.campaign_id,
        run_id=run.run_id,
        case_id=run.case_id,
        repetition=run.repetition,
        before=old.verdict,
        before_reason=old.reason,
        after=new.verdict,
        after_reason=new.reason,
        cause=why,
        titles=tuple(titles.get(change, "") for change in why.changes),
        turns=tuple(
            turn_moved(one, two, answers.get(one.turn, "")) for one, two in pairs if one.verdict != two.verdict
        ),
    )


def turn_moved(old: TurnVerdict, new: TurnVerdict, answer: str) -> TurnMoved:
    """What differs between two verdicts on the same turn with this answer."""
    claims = _pairs(old.claims, new.claims)
    evidence = _pairs(old.evidence, new.evidence)
    if not claims and not evidence:
        # The same was found, and it counted for something else: what kept the turn from passing explains it.
        claims = [(one, two) for one, two in zip(old.claims, new.claims, strict=False) if _in_the_way(one)]
    marks = tuple(mark for one, two in claims for mark in _marks(one, two))
    findings = [
        FindingMoved(role=one.role, group=one.group, before=_claim(one), after=_claim(two)) for one, two in claims
    ]
    findings += [
        FindingMoved(role="evidence", group=one.group, before=_fetched(one), after=_fetched(two))
        for one, two in evidence
    ]
    return TurnMoved(
        turn=old.turn,
        before=f"{old.verdict} ({old.reason})",
        after=f"{new.verdict} ({new.reason})",
        findings=tuple(findings),
        marks=marks,
        excerpt=excerpt(answer, [mark.span for mark in marks]) or _beginning(answer),
    )


def _pairs(old: Sequence[Finding], new: Sequence[Finding]) -> list[tuple[Finding, Finding]]:
    """The findings on the same group that came out differently."""
    return [(one, two) for one, two in zip(old, new, strict=False) if _holds(one) != _holds(two)]


def _in_the_way(finding: ClaimFinding) -> bool:
    return finding.holds if finding.role == "forbidden" else not finding.holds


def _holds(finding: ClaimFinding | EvidenceFinding) -> bool:
    return finding.holds if isinstance(finding, ClaimFinding) else finding.met


def _claim(finding: ClaimFinding) -> str:
    said = "claimed" if finding.holds else "not claimed"
    if finding.span is not None:
        return f"{said}: «{finding.span.text}» at {finding.span.start}"
    rejected = ", ".join(f"«{span.text}» at {span.start} is {reason}" for reason, span in finding.rejected)
    return f"{said}: {rejected}" if rejected else said


def _fetched(finding: EvidenceFinding) -> str:
    if finding.met:
        return f"met by call {finding.call}"
    return "not met" + "".join(f"; {line}" for line in finding.near)


def _marks(old: ClaimFinding, new: ClaimFinding) -> Iterator[Mark]:
    for side, finding in (("before", old), ("after", new)):
        if finding.span is not None:
            yield Mark(span=finding.span, meaning=f"{finding.role} claim", side=side)
        for reason, span in finding.rejected:
            yield Mark(span=span, meaning=f"{finding.role} claim rejected: {reason}", side=side)


def _beginning(answer: str) -> str:
    """The first words of an answer in which nothing is marked, as one line."""
    return " ".join(answer[: 2 * _AROUND].split()) + ("..." if len(answer) > 2 * _AROUND else "")


def excerpt(answer: str, spans: Sequence[Span]) -> str:
    """One line of an answer around its spans, each marked `«so»`; `...` stands for what is left out."""
    marked = sorted({(span.start, span.end) for span in spans if 0 <= span.start < span.end <= len(answer)})
    if not marked:
        return ""
    pieces: list[str] = []
    done = max(0, marked[0][0] - _AROUND)
    if done:
        pieces.append("...")
    for start, end in marked:
        if start < done:
            continue
        if start - done > 2 * _AROUND:
            pieces += [answer[done : done + _AROUND], " ... "]
            done = start - _AROUND
        pieces += [answer[done:start], "«", answer[start:end], "»"]
        done = end
    pieces += [answer[done : done + _AROUND], "..." if done + _AROUND < len(answer) else ""]
    return " ".join("".join(pieces).split())
