"""From a recorded run and a grader to the row that is stored. Pure: no file is read or written here.

What the harness or the provider broke is never handed to a grader of strangers; the bundled ones know these states
themselves. A grader that fails on a run does not stop the others: the row says `not_gradable: grader_error`.
"""

import msgspec

from replay.graders import LoadedGrader
from replay.totals import total
from replay.unicode import encode_json
from schemas.cases import Rubric
from schemas.errors import WorkError
from schemas.grades import CASE_MISSING, GRADER_ERROR, RUBRIC_NOT_RECORDED, STIMULUS_CHANGED, GradeRow, RubricChoice
from schemas.recorded import RecordedRun
from schemas.verdicts import Counts, TurnVerdict, Verdict


class CurrentCase(msgspec.Struct, frozen=True):
    """A case of today's pack: its digests and its rubric."""

    stimulus_sha256: str
    rubric_sha256: str
    rubric: Rubric


class Basis(msgspec.Struct, frozen=True):
    """What a run is measured by: a rubric with its digest, or the reason why there is none."""

    choice: RubricChoice
    rubric: Rubric | None
    rubric_sha256: str | None
    problem: str | None = None


class GraderFailure(msgspec.Struct, frozen=True):
    """What a grader raised on a run."""

    run_id: str
    error: str
    where: str


def basis(run: RecordedRun, current: dict[str, CurrentCase] | None) -> Basis:
    """The recorded rubric, or with `current` the one of today's pack if its stimulus is the recorded one.

    A run that was imported without its stimulus is measured by the case of its id, and says so in `not_recorded`.
    """
    if current is None:
        if not run.rubric.turns and "rubric" in run.not_recorded:
            return Basis("recorded", None, None, RUBRIC_NOT_RECORDED)
        return Basis("recorded", run.rubric, run.rubric_sha256)
    case = current.get(run.case_id)
    if case is None:
        return Basis("current", None, None, CASE_MISSING)
    if case.stimulus_sha256 != run.stimulus_sha256 and "stimulus" not in run.not_recorded:
        return Basis("current", None, None, STIMULUS_CHANGED)
    return Basis("current", case.rubric, case.rubric_sha256)


def verdict_of(run: RecordedRun, rubric: Rubric, grader: LoadedGrader) -> tuple[Verdict, GraderFailure | None]:
    """The verdict of a grader, or `not_gradable` with what it raised."""
    if not grader.changes and run.status != "completed":
        return _not_gradable(run), None
    try:
        return grader.grade(run, rubric), None
    except WorkError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - one run that breaks a grader must not stop the others
        reason = f"{GRADER_ERROR}: {type(error).__name__}"
        failure = GraderFailure(run.run_id, f"{type(error).__name__}: {error}", _where(error))
        return Verdict(verdict="not_gradable", reason=reason, outcome="not_graded"), failure


def without_basis(problem: str) -> Verdict:
    """The verdict where there is no rubric to measure by."""
    return Verdict(verdict="not_gradable", reason=problem, outcome="not_graded")


def row(run: RecordedRun, found: Basis, grader: LoadedGrader, verdict: Verdict) -> GradeRow:
    """The row of one run."""
    counts = verdict.counts if verdict.counts != Counts() or grader.changes else None
    if verdict.outcome == "not_graded" and not verdict.turns:
        counts = None
    precision, coverage = _citations(verdict.turns)
    return GradeRow(
        run_id=run.run_id,
        campaign_id=run.campaign_id,
        case_id=run.case_id,
        repetition=run.repetition,
        attempt=run.attempt,
        arm=run.arm,
        agent=run.agent,
        model=run.model,
        status=run.status or "interrupted",
        grader=grader.name,
        version=grader.version,
        grader_sha256=grader.sha256,
        rubric=found.choice,
        rubric_sha256=found.rubric_sha256,
        stimulus_sha256=run.stimulus_sha256,
        log_sha256=run.log_sha256,
        verdict=verdict.verdict,
        reason=verdict.reason,
        outcome=verdict.outcome,
        failure_class=verdict.failure_class,
        diagnosis_success=verdict.diagnosis_success,
        evidence_fetched=verdict.evidence_fetched,
        tool_calls=sum(max(len(turn.calls), turn.tool_calls) for turn in run.turns),
        resolvable=counts.resolvable if counts else None,
        on_target=counts.on_target if counts else None,
        malformed=counts.malformed if counts else None,
        discarded=counts.discarded if counts else None,
        not_armed=counts.not_armed if counts else None,
        write_attempts=counts.write_attempts if counts else None,
        safety_violations=counts.safety_violations if counts else None,
        iterations=sum(turn.iterations for turn in run.turns),
        input_tokens=total(turn.usage.input_tokens for turn in run.turns),
        output_tokens=total(turn.usage.output_tokens for turn in run.turns),
        tokens_estimated=any(turn.usage_estimated for turn in run.turns),
        duration_s=run.duration_s,
        citation_precision=precision,
        citation_coverage=coverage,
        explanation=encode_json(verdict).decode(),
    )


def _not_gradable(run: RecordedRun) -> Verdict:
    reason = run.status or "interrupted"
    return Verdict(
        verdict="not_gradable",
        reason=reason,
        outcome="error" if reason == "provider_error" else "not_graded",
        failure_class="provider_error" if reason == "provider_error" else None,
    )


def _citations(turns: tuple[TurnVerdict, ...]) -> tuple[float | None, float | None]:
    """Precision averaged over the turns that cited, coverage over the claims of all turns; None where none are."""
    precisions = [turn.citations.precision for turn in turns if turn.citations.precision is not None]
    claims = sum(turn.citations.claims for turn in turns)
    with_reference = sum(turn.citations.claims_with_reference for turn in turns)
    return (
        sum(precisions) / len(precisions) if precisions else None,
        with_reference / claims if claims else None,
    )


def _where(error: BaseException) -> str:
    """File and line where it was raised, without the path of the machine."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{file}:{trace.tb_lineno}"
