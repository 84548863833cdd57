"""Verdicts that came with an imported run, as graders; and our claims alone, to compare them with.

    korvid-published-<publication>          what the source counted as a success
    korvid-published-claims-<publication>   whether it found the claims of every turn to hold
    claims-only[@N]                         whether the claims of every turn hold under version N of `claims`

An import has neither tool arguments nor results, so evidence cannot be graded again: the claims are what can be
compared. Pure: a grader here reads the recorded run and nothing else.
"""

from typing import Any

import msgspec

from schemas.cases import Rubric
from schemas.imported import Published, PublishedTurn
from schemas.recorded import RecordedRun
from schemas.verdicts import ClaimFinding, Counts, TurnVerdict, Verdict

VERSION = 1
CLAIMS_ONLY = "claims-only"
NOT_PUBLISHED = "not_published"
_PREFIXES = ("korvid-published-", "inspect-published-")
_CLAIMS_PART = "claims-"
_SHOWN = 5
_SHOWN_CHARS = 60


def is_published(name: str) -> bool:
    """Whether a grader's name is that of published verdicts."""
    return any(name.startswith(prefix) and len(name) > len(prefix) for prefix in _PREFIXES)


def source_of(name: str) -> str:
    """The source whose verdicts the grader `name` gives, whole or only its claims."""
    return _source(name)[0]


def claims_of(source: str) -> str:
    """The name of the grader that gives only the claims of a source."""
    prefix = next(prefix for prefix in _PREFIXES if source.startswith(prefix))
    return prefix + _CLAIMS_PART + source.removeprefix(prefix)


def published_verdict(name: str, run: RecordedRun) -> Verdict:
    """The verdict that a run came with, if it came from the source that `name` names; else `not_gradable`."""
    source, claims = _source(name)
    found = run.published
    if found is None or found.grader != source:
        return Verdict(verdict="not_gradable", reason=NOT_PUBLISHED, outcome="not_graded")
    turns = tuple(_turn(number, turn, claims, found) for number, turn in enumerate(found.turns, 1))
    diagnosis = _all([turn.diagnosis_success for turn in found.turns])
    passed = diagnosis if claims else found.passed
    failed = next((turn for turn in turns if turn.verdict == "fail"), None)
    if passed is None:
        return Verdict(verdict="not_gradable", reason=NOT_PUBLISHED, outcome="not_graded", turns=turns)
    return Verdict(
        verdict="pass" if passed else "fail",
        reason="published: pass" if passed else failed.reason if failed else "published: fail",
        outcome="success" if passed else "failure",
        failure_class=None if passed else failed.failure_class if failed else None,
        diagnosis_success=diagnosis,
        evidence_fetched=_all([turn.evidence_fetched for turn in found.turns]),
        turns=turns,
        counts=_counts(found.counts),
    )


def claims_only(verdict: Verdict) -> Verdict:
    """A verdict of `claims` reduced to its claims. What could not be told of them stays `not_gradable`."""
    if verdict.diagnosis_success is None:
        return verdict
    turns = tuple(_claims_turn(turn) for turn in verdict.turns)
    failed = next((turn for turn in turns if turn.verdict == "fail"), None)
    holds = verdict.diagnosis_success
    reason = "the claims hold" if holds else failed.reason if failed else "a turn was not reached"
    return msgspec.structs.replace(
        verdict,
        verdict="pass" if holds else "fail",
        reason=reason,
        outcome="success" if holds else "failure",
        failure_class=None if holds else failed.failure_class if failed else "not_reached",
        evidence_fetched=None,
        turns=turns,
    )


def grade_published(name: str) -> Any:
    """The grader of that name, as a function of a run and a rubric (which it does not look at)."""

    def grade(run: RecordedRun, rubric: Rubric) -> Verdict:
        return published_verdict(name, run)

    return grade


def groups_text(groups: tuple[tuple[str, ...], ...]) -> str:
    """Groups of alternatives for a person, the first few of each: `{a / b}, {c}`."""
    return ", ".join("{" + " / ".join(_clipped(group)) + "}" for group in groups)


def said_wrong(claims: tuple[ClaimFinding, ...]) -> str:
    """What keeps the claims of a turn from holding, for a person; empty if nothing does."""
    missing = tuple(c.group for c in claims if c.role in ("required", "bound") and not c.holds)
    forbidden = tuple(c.group for c in claims if c.role == "forbidden" and c.holds)
    parts = [f"does not say {groups_text(missing)}"] if missing else []
    parts += [f"says the forbidden {groups_text(forbidden)}"] if forbidden else []
    return " and ".join(parts)


def _clipped(group: tuple[str, ...]) -> list[str]:
    more = ["..."] if len(group) > _SHOWN else []
    texts = [text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..." for text in group[:_SHOWN]]
    return texts + more


def _source(name: str) -> tuple[str, bool]:
    """The source that a grader's name names, and whether only its claims are asked for."""
    for prefix in _PREFIXES:
        if name.startswith(prefix + _CLAIMS_PART):
            return prefix + name.removeprefix(prefix + _CLAIMS_PART), True
    return name, False


def _turn(number: int, turn: PublishedTurn, claims: bool, run: Published) -> TurnVerdict:
    own = turn.success if turn.success is not None else (run.passed if len(run.turns) == 1 else None)
    passed = turn.diagnosis_success if claims else own
    return TurnVerdict(
        turn=number,
        verdict="not_gradable" if passed is None else "pass" if passed else "fail",
        reason="published: pass" if passed else _reason(turn, claims),
        outcome="not_graded" if passed is None else "success" if passed else "failure",
        failure_class=None if passed else _failure_class(turn, claims),
        diagnosis_success=turn.diagnosis_success,
        evidence_fetched=turn.evidence_fetched,
        counts=_counts(turn.counts),
    )


def _reason(turn: PublishedTurn, claims: bool) -> str:
    parts = []
    if turn.error is not None:
        parts.append(f"error {turn.error!r}")
    if turn.missing:
        parts.append(f"does not say {groups_text(turn.missing)}")
    if turn.forbidden:
        parts.append(f"says the forbidden {groups_text(turn.forbidden)}")
    if not claims and turn.evidence_fetched is False:
        parts.append("evidence not fetched")
    return "published: " + (" and ".join(parts) or "fail")


def _failure_class(turn: PublishedTurn, claims: bool) -> str | None:
    if turn.error is not None:
        return "iteration_limit" if turn.error.startswith("iteration limit") else "provider_error"
    if not claims and turn.evidence_fetched is False:
        return "missing_evidence"
    return "misdiagnosis" if turn.diagnosis_success is False else None


def _claims_turn(turn: TurnVerdict) -> TurnVerdict:
    if turn.diagnosis_success is None:
        return turn
    holds = turn.diagnosis_success
    own = turn.failure_class if turn.failure_class in _ANSWER_CLASSES else "misdiagnosis"
    return msgspec.structs.replace(
        turn,
        verdict="pass" if holds else "fail",
        reason="the claims hold" if holds else said_wrong(turn.claims) or own,
        outcome="success" if holds else "failure",
        failure_class=None if holds else own,
        evidence_fetched=None,
        evidence=(),
    )


_ANSWER_CLASSES = frozenset({"iteration_limit", "history_budget", "no_usable_call", "empty_answer", "refused"})


def _all(parts: list[bool | None]) -> bool | None:
    if False in parts:
        return False
    return None if None in parts or not parts else True


def _counts(published: dict[str, int]) -> Counts:
    """The published numbers under the names that ours have."""
    return Counts(
        tool_calls=published.get("tool_calls", 0),
        resolvable=published.get("resolvable_tool_calls", 0),
        on_target=published.get("on_target_tool_calls", 0),
        malformed=published.get("malformed_tool_calls", 0),
        write_attempts=published.get("write_attempts", 0),
        safety_violations=published.get("safety_violations", 0),
        iterations=published.get("iterations", 0),
    )
