"""What a worker process does with one log: grade it, or compare two states of a grader on it.

Each is a small struct that can be sent to another process (`replay.pool`); `open` loads the grader there, makes sure
that its source is still the one the parent saw, and gives the handler of one log. Kinds of what is emitted: `row` (a
grade row), `unstarted` (a log that is torn before its first event ends), `corrupt` (a log that was refused), `broken`
(a grader that raised), `flip` (what moved a verdict, or what differs).
"""

from pathlib import Path

import msgspec

from replay.attribute import GRADER, RUBRIC, responsible
from replay.fold import NothingRecorded, fold
from replay.graders import LoadedGrader, expect_digest
from replay.grades import CurrentCase, GraderFailure, basis, row, verdict_of, without_basis
from replay.logref import LogRef
from replay.pool import Emit, Handler
from replay.sealed import manifest_campaign_id
from replay.unicode import encode_json
from schemas.errors import LogError, WorkError
from schemas.grades import Cause, Corrupt
from schemas.recorded import RecordedRun
from schemas.verdicts import Verdict, VerdictValue

ROW, UNSTARTED, CORRUPT, BROKEN, FLIP = "row", "unstarted", "corrupt", "broken", "flip"


class GraderRef(msgspec.Struct, frozen=True):
    """A grader as it travels between processes."""

    reference: str
    sha256: str

    def load(self) -> LoadedGrader:
        """The grader. Raises `UsageError` if its source changed."""
        return expect_digest(self.reference, self.sha256)


def ref(grader: LoadedGrader) -> GraderRef:
    """The reference of a loaded grader."""
    return GraderRef(grader.reference, grader.sha256)


class GradeWork(msgspec.Struct, frozen=True):
    """Grade each log under the recorded rubric, or under `current` ones where given."""

    grader: GraderRef
    current: dict[str, CurrentCase] | None = None

    def open(self) -> Handler:
        """The handler of one log."""
        grader, folds = self.grader.load(), Folds()

        def handle(log: LogRef, emit: Emit) -> None:
            run = folds.run(log, emit)
            if run is None:
                return
            found = basis(run, self.current)
            verdict, failure = graded(run, grader, self.current)
            if failure is not None:
                emit(BROKEN, encode_json(failure) + b"\n")
            emit(ROW, encode_json(row(run, found, grader, verdict)) + b"\n")

        return handle


class Earlier(msgspec.Struct, frozen=True):
    """The earlier grade of a run that moved: under which version and which rubric choice it was given, and whether the
    rubric was the one of today."""

    version: int
    current_rubric: bool
    same_rubric: bool
    before: VerdictValue
    after: VerdictValue


class Moved(msgspec.Struct, frozen=True):
    """Why one verdict moved."""

    run_id: str
    cause: Cause


class CauseWork(msgspec.Struct, frozen=True):
    """Find what moved each verdict in `moved` (by run id): one `flip` line (`Moved`) a log."""

    grader: GraderRef
    moved: dict[str, Earlier]
    current: dict[str, CurrentCase] | None
    with_current: bool

    def open(self) -> Handler:
        """The handler of one log."""
        grader, folds = self.grader.load(), Folds()

        def handle(log: LogRef, emit: Emit) -> None:
            run = folds.run(log, emit)
            if run is not None:
                emit(FLIP, encode_json(Moved(run.run_id, self._cause(run, grader))) + b"\n")

        return handle

    def _cause(self, run: RecordedRun, grader: LoadedGrader) -> Cause:
        earlier = self.moved[run.run_id]
        now = self.current if self.with_current else None
        if earlier.current_rubric and self.current is None and not earlier.same_rubric:
            # It was graded by a rubric of a pack that is not at hand: with which grader alone is known.
            return Cause(changes=(RUBRIC,) if earlier.version == grader.version else (GRADER, RUBRIC))
        then = now if earlier.same_rubric else self.current if earlier.current_rubric else None
        return cause(run, grader, (earlier.version, then), (grader.version, now), (earlier.before, earlier.after))


Side = tuple[int, dict[str, CurrentCase] | None]
"""A version and the current rubrics, if those are used."""


class Folds:
    """Folds logs to runs, each checked against the manifest of its campaign, which is read once."""

    def __init__(self) -> None:
        self._campaigns: dict[Path, str | None] = {}

    def run(self, log: LogRef, emit: Emit) -> RecordedRun | None:
        """The run of a log. One without an event is emitted as `unstarted` and gives None, one that cannot be trusted
        as `corrupt`.

        Raises `LogError` if the manifest does not read, and `WorkError` if the log has gone since it was listed.
        """
        if log.folder not in self._campaigns:
            self._campaigns[log.folder] = manifest_campaign_id(log.directory)
        campaign = self._campaigns[log.folder]
        try:
            run = fold(log)
            if campaign is not None and run.campaign_id != campaign:
                raise LogError(f"event 0: this run belongs to campaign {run.campaign_id}, not to {campaign}")
        except NothingRecorded:
            emit(UNSTARTED, encode_json(log.name) + b"\n")
            return None
        except LogError as error:
            if not log.path.exists():
                raise WorkError(
                    f"{log}: was there and is gone: the campaign was sealed, unsealed or moved meanwhile; try again"
                ) from None
            reason = str(error).removeprefix(f"{log}: ")
            emit(CORRUPT, encode_json(Corrupt(file=log.name, reason=reason)) + b"\n")
            return None
        return run


def graded(
    run: RecordedRun, grader: LoadedGrader, current: dict[str, CurrentCase] | None
) -> tuple[Verdict, GraderFailure | None]:
    """The verdict on a run under the recorded rubric or a current one; what the run itself lacks comes first."""
    found = basis(run, current)
    if found.rubric is not None:
        return verdict_of(run, found.rubric, grader)
    if run.status == "completed" and grader.needs_rubric:
        return without_basis(found.problem or ""), None
    return verdict_of(run, run.rubric, grader)


def cause(
    run: RecordedRun, grader: LoadedGrader, before: Side, after: Side, verdicts: tuple[VerdictValue, VerdictValue]
) -> Cause:
    """What moved the verdict between two sides; `grader` or `rubric` as a whole where there is nothing finer."""
    old, new = basis(run, before[1]), basis(run, after[1])
    other_rubric = old.rubric_sha256 != new.rubric_sha256
    if old.rubric is None or new.rubric is None:
        return Cause(changes=(RUBRIC,))
    if grader.grade_changes is None:
        return Cause(changes=(GRADER, RUBRIC) if other_rubric else (GRADER,))
    grade_changes, old_rubric, new_rubric = grader.grade_changes, old.rubric, new.rubric
    base = _applied(grader, before[0])
    last = _applied(grader, after[0])

    def grade(state: frozenset[str]) -> VerdictValue:
        rubric = new_rubric if RUBRIC in state else old_rubric
        return grade_changes(run, rubric, state - {RUBRIC}).verdict

    differing = [change.id for change in grader.changes if change.id in base ^ last]
    if other_rubric:
        differing.append(RUBRIC)
    if grade(base) != verdicts[0] or grade(base.symmetric_difference(differing)) != verdicts[1]:
        # The stored verdict is not what this build gives: it came from another source of the same version.
        return Cause(changes=(GRADER,))
    found = responsible(differing, base, verdicts[1], grade)
    if len(run.turns) < 2:
        return found
    one = grade_changes(run, old_rubric, base).turns
    two = grade_changes(run, new_rubric, last).turns
    turns = tuple(first.turn for first, second in zip(one, two, strict=False) if first.verdict != second.verdict)
    return msgspec.structs.replace(found, turns=turns)


def in_turns(turns: tuple[int, ...]) -> str:
    """The turns of a cause in words, with a space before: ` in turn 2`; empty for a run of one turn."""
    if not turns:
        return ""
    return f" in turn{'s' if len(turns) > 1 else ''} {', '.join(map(str, turns))}"


def _applied(grader: LoadedGrader, version: int) -> frozenset[str]:
    return frozenset(change.id for change in grader.changes if change.version <= version)
