"""What an answer claims: each group of a turn's rubric against its text. Source: evaluation semantics 5.6.

There is no handling of hedges: `might be OOM` is a claim, and naming two causes trips the forbidden groups by design.
"""

from grading.before import Role
from grading.binding import bound_finding
from grading.frame import set_aside
from grading.matching import compiled, matches
from grading.names import inside_longer_name
from grading.polarity import rejection
from grading.rules import Rules
from grading.subjects import outline
from grading.text import Text, cut
from grading.thoughts import without_thoughts
from schemas.cases import RubricTurn
from schemas.verdicts import ClaimFinding, Span

_MAX_REJECTED = 8


def claim_findings(answer: str, rubric: RubricTurn, control: bool, rules: Rules) -> tuple[ClaimFinding, ...]:
    """One finding for each group: required, forbidden, symptoms, then bound claims, in the rubric's order."""
    return shown_findings(visible(answer, rules), rubric, control, rules)


def shown_findings(shown: str, rubric: RubricTurn, control: bool, rules: Rules) -> tuple[ClaimFinding, ...]:
    """The same of what is visible of an answer."""
    text = cut(shown, rules)
    aside = set_aside(text) if rules.labels else frozenset()
    roles: tuple[tuple[Role, tuple[tuple[str, ...], ...]], ...] = (
        ("required", rubric.must_mention),
        ("forbidden", rubric.must_not_mention),
        ("symptom", rubric.symptom),
    )
    plain = (_group(text, group, role, rubric, control, aside, rules) for role, groups in roles for group in groups)
    if not rubric.bound:
        return tuple(plain)
    lines = outline(text)
    return (*plain, *(bound_finding(text, lines, group, control, aside, rules) for group in rubric.bound))


def claims_hold(findings: tuple[ClaimFinding, ...], rules: Rules) -> bool:
    """Whether every required and bound group holds and no forbidden one; symptoms count until only reported."""
    return all(
        not finding.holds if finding.role == "forbidden" else finding.holds
        for finding in findings
        if finding.role != "symptom" or not rules.symptoms_reported
    )


def visible(answer: str, rules: Rules) -> str:
    """The answer with leaked thinking blanked out, at unchanged offsets. See `grading.thoughts`."""
    return without_thoughts(answer) if rules.visible_answer and "<" in answer else answer


def _group(
    text: Text,
    group: tuple[str, ...],
    role: Role,
    rubric: RubricTurn,
    control: bool,
    aside: frozenset[int],
    rules: Rules,
) -> ClaimFinding:
    rejected: list[tuple[str, Span]] = []
    joined = text.joined
    for alternative, wanted, key in compiled(group, rules):
        if wanted not in joined:
            continue
        for match in matches(text, key, rules):
            if rules.distinct_names and inside_longer_name(text, match, alternative, rubric):
                continue
            reason = rejection(text, match, role, control, aside, rules)
            if reason is None:
                return ClaimFinding(
                    role=role, group=group, holds=True, alternative=alternative, span=_span(text, match)
                )
            if len(rejected) < _MAX_REJECTED:
                rejected.append((reason, _span(text, match)))
    return ClaimFinding(role=role, group=group, holds=False, rejected=tuple(rejected))


def _span(text: Text, match: tuple[int, int]) -> Span:
    start, end = text.starts[match[0]], text.ends[match[1]]
    return Span(start=start, end=end, text=text.source[start:end])
