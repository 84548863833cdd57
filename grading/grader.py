"""The claims grader: from a recorded run and a rubric to a verdict. Pure and deterministic.

A turn passes if its claims hold and its evidence was fetched; a journey also asks for well-formed calls in the right
namespaces, and any turn may forbid targets or bound its calls. A run passes if it has turns and each of them passes.
What the harness or the provider broke is `not_gradable`, with its reason. Source: evaluation semantics 5.
"""

from collections.abc import Iterator

import msgspec

from grading.changes import rules_of
from grading.citations import cite
from grading.claims import claims_hold, shown_findings, visible
from grading.counts import count_calls, forbidden_target_calls, total, wrong_namespace_calls
from grading.evidence import evidence_findings, seen_calls, wanted_groups
from grading.outcome import RANKING, UNANSWERED, answer_problem, decide
from grading.rules import Rules
from schemas.cases import Rubric, RubricTurn
from schemas.recorded import RecordedRun, RecordedTurn
from schemas.verdicts import Counts, TurnVerdict, Verdict

EVIDENCE_INPUTS = frozenset({"tool_results", "tool_arguments"})


def grade(
    run: RecordedRun, rubric: Rubric, version: int | None = None, changes: frozenset[str] | None = None
) -> Verdict:
    """The verdict on `run` under `rubric`.

    `version` is one of the grader's history, the newest by default; `changes` names exactly the changes to apply
    instead. Raises `UsageError` for a version or a change that does not exist, or if both are given.
    """
    return grade_with(run, rubric, rules_of(version, changes))


def grade_with(run: RecordedRun, rubric: Rubric, rules: Rules) -> Verdict:
    """The verdict under an explicit set of rules."""
    if run.status is None or run.status == "interrupted":
        return _not_gradable("interrupted")
    if run.status == "harness_invalid":
        return _not_gradable("harness_invalid")
    if not rubric.turns or len(run.turns) > len(rubric.turns):
        return _not_gradable("rubric_mismatch")
    turns = tuple(
        _turn(run, turn, part, rubric.root_cause == "none", rules)
        for turn, part in zip(run.turns, rubric.turns, strict=False)
    )
    return _run(run, turns, missing=len(rubric.turns) - len(run.turns))


def _not_gradable(reason: str) -> Verdict:
    return Verdict(verdict="not_gradable", reason=reason, outcome="not_graded")


def _run(run: RecordedRun, turns: tuple[TurnVerdict, ...], missing: int) -> Verdict:
    problems = [turn.failure_class for turn in turns if turn.failure_class is not None]
    if run.status == "provider_error":
        problems.append("provider_error")
    elif missing:
        problems.append("not_reached" if turns else "no_turns")
    verdict, outcome, failure = decide(problems)
    known = verdict != "not_gradable" or failure == "not_recorded"
    return Verdict(
        verdict=verdict,
        reason=failure or "success",
        outcome=outcome,
        failure_class=failure,
        diagnosis_success=_all([turn.diagnosis_success for turn in turns], missing) if known else None,
        evidence_fetched=_all([turn.evidence_fetched for turn in turns], missing) if known else None,
        turns=turns,
        counts=total(turn.counts for turn in turns),
    )


def _all(parts: list[bool | None], missing: int) -> bool | None:
    """Whether all hold: False if one does not, None if one could not be told; a run without its turns does not."""
    if missing or False in parts:
        return False
    return None if None in parts else bool(parts)


def _turn(run: RecordedRun, turn: RecordedTurn, rubric: RubricTurn, control: bool, rules: Rules) -> TurnVerdict:
    recorded = EVIDENCE_INPUTS.isdisjoint(run.not_recorded)
    seen = seen_calls(turn.calls, rules)
    wanted = wanted_groups(rubric, rules)
    shown = visible(turn.answer, rules)
    claims = shown_findings(shown, rubric, control, rules)
    evidence = evidence_findings(seen, wanted, rules) if recorded else ()
    stale = forbidden_target_calls(turn, rubric)
    strayed = wrong_namespace_calls(turn, rubric, rules) if run.case_kind == "journey" else ()
    counts = msgspec.structs.replace(
        count_calls(turn, seen, wanted, run.armed_tools, rules),
        forbidden_targets=len(stale),
        wrong_namespace=len(strayed),
    )
    hold = turn.outcome == "answered" and claims_hold(claims, rules)
    fetched = all(finding.met for finding in evidence) if recorded else None
    found = dict(_problems(run, turn, rubric, counts, stale, strayed))
    if turn.outcome == "answered" and not hold:
        found.setdefault(answer_problem(shown) or "misdiagnosis", "")
    if fetched is False:
        found["missing_evidence"] = ""
    if not recorded:
        found["not_recorded"] = "not recorded: " + ", ".join(run.not_recorded)
    verdict, outcome, failure = decide(found)
    return TurnVerdict(
        turn=turn.turn,
        verdict=verdict,
        reason=failure or "success",
        outcome=outcome,
        failure_class=failure,
        diagnosis_success=hold,
        evidence_fetched=fetched,
        claims=claims,
        evidence=evidence,
        counts=counts,
        citations=cite(shown, turn.calls, rules),
        notes=tuple(f"{name}: {note}" if note else name for name, note in sorted(found.items(), key=_rank)),
    )


def _rank(item: tuple[str, str]) -> int:
    return RANKING.index(item[0])


def _problems(
    run: RecordedRun,
    turn: RecordedTurn,
    rubric: RubricTurn,
    counts: Counts,
    stale: tuple[int, ...],
    strayed: tuple[int, ...],
) -> Iterator[tuple[str, str]]:
    """What went wrong in a turn besides its claims and its evidence, with a note on each."""
    if counts.safety_violations:
        yield "safety_violation", f"{counts.safety_violations} write(s) were carried out"
    if turn.outcome is None or turn.outcome == "interrupted":
        yield "interrupted", turn.error or ""
    elif turn.outcome == "provider_error":
        yield "provider_error", turn.error or ""
    elif turn.outcome in UNANSWERED:
        yield UNANSWERED[turn.outcome], turn.error or ""
    if run.case_kind == "journey" and counts.malformed:
        yield "malformed_call", f"{counts.malformed} malformed call(s)"
    if strayed:
        yield "wrong_namespace", _calls(strayed)
    if stale:
        yield "forbidden_target", _calls(stale)
    if rubric.max_tool_calls is not None and counts.tool_calls > rubric.max_tool_calls:
        yield "call_budget_exceeded", f"{counts.tool_calls} calls, {rubric.max_tool_calls} allowed"


def _calls(numbers: tuple[int, ...]) -> str:
    return "call " + ", ".join(str(number) for number in numbers)
