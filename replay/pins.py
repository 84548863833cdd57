"""Judge the claims of an answer that nobody gave: how a pack's pinned answers are checked."""

from grading.changes import rules_of
from grading.claims import claim_findings, claims_hold
from grading.rules import Rules
from packs.check import GradeClaims
from schemas.cases import Case
from schemas.verdicts import ClaimFinding


def newest_claims() -> GradeClaims:
    """The claims rules of the newest version."""
    rules = rules_of(None, None)
    return lambda case, turn, answer: claims_problem(case, turn, answer, rules)


def claims_problem(case: Case, turn: int, answer: str, rules: Rules) -> str | None:
    """None if the claims of `answer` to a turn (counted from 0) hold under `rules`, else why they do not."""
    findings = claim_findings(answer, case.rubric.turns[turn], case.rubric.root_cause == "none", rules)
    if claims_hold(findings, rules):
        return None
    reasons = [reason for finding in findings if (reason := _reason(finding))]
    return "; ".join(reasons) or "the claims do not hold"


def _reason(finding: ClaimFinding) -> str | None:
    if finding.role == "required" and not finding.holds:
        rejected = ", ".join(f"{span.text!r} is {why}" for why, span in finding.rejected)
        return f"none of {', '.join(finding.group)} is claimed" + (f" ({rejected})" if rejected else "")
    if finding.role == "forbidden" and finding.holds and finding.span is not None:
        return f"{finding.span.text!r} is forbidden"
    return None
