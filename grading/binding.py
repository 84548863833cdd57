"""Claims bound to their subject: whether what an answer says is said of the right object.

A rubric may bind a claim to a subject and name the other objects it could be said of. The order in which an answer
names things does not matter; its mirror image, the same claim made of another object, does not pass. Before bindings
were read, naming the subject anywhere and the claim anywhere was enough: that is what the older versions do.
"""

import msgspec

from grading.polarity import rejection
from grading.rules import Rules
from grading.subjects import Match, Mention, Outline, Scene, keyword_matches, owners_of, scene_of
from grading.text import Text
from schemas.cases import Bound
from schemas.verdicts import ClaimFinding, Span

_MAX_REJECTED = 8


class _Said(msgspec.Struct, frozen=True, kw_only=True):
    """One match of a claim: `problem` says why it does not count, `owner` of what it is said, if of anything."""

    match: Match
    alternative: str
    problem: str | None
    owner: Mention | None
    mirrored: bool = False


def bound_finding(
    text: Text, lines: Outline, group: tuple[Bound, ...], control: bool, aside: frozenset[int], rules: Rules
) -> ClaimFinding:
    """The finding for one group of alternative bindings: one must hold, and none may be said of the wrong object."""
    said = [item for bound in group for item in _said(text, bound, lines, control, aside, rules)]
    label = tuple(f"{'/'.join(bound.subject)}: {'/'.join(bound.claim)}" for bound in group)
    mirrored = next((item for item in said if item.mirrored), None)
    if mirrored is not None:
        return ClaimFinding(
            role="bound",
            group=label,
            holds=False,
            rejected=(("other_subject", _span(text, mirrored.match)),),
            subject=_owner_span(text, mirrored.owner),
        )
    holding = next((item for item in said if item.problem is None), None)
    if holding is not None:
        return ClaimFinding(
            role="bound",
            group=label,
            holds=True,
            alternative=holding.alternative,
            span=_span(text, holding.match),
            subject=_owner_span(text, holding.owner),
        )
    rejected = [(item.problem, _span(text, item.match)) for item in said if item.problem is not None]
    return ClaimFinding(role="bound", group=label, holds=False, rejected=tuple(rejected[:_MAX_REJECTED]))


def _said(text: Text, bound: Bound, lines: Outline, control: bool, aside: frozenset[int], rules: Rules) -> list[_Said]:
    said = []
    scene: Scene | None = None
    for match, alternative in keyword_matches(text, bound.claim, rules):
        problem = rejection(text, match, "required", control, aside, rules)
        if problem is None and scene is None:
            scene = scene_of(text, bound, rules)
        if problem is not None or scene is None:
            said.append(_Said(match=match, alternative=alternative, problem=problem, owner=None))
        elif rules.bound_claims:
            said.append(_attributed(text, match, alternative, bound, scene, lines, rules))
        else:
            owner = next((mention for mention in scene.mentions if mention.side == "subject"), None)
            missing = None if owner else "no_subject"
            said.append(_Said(match=match, alternative=alternative, problem=missing, owner=owner))
    return said


def _attributed(
    text: Text,
    match: Match,
    alternative: str,
    bound: Bound,
    scene: Scene,
    lines: Outline,
    rules: Rules,
) -> _Said:
    owners = owners_of(text, match, scene, lines)
    if not owners.mentions:
        return _Said(match=match, alternative=alternative, problem="no_subject", owner=None)
    wrong = next((mention for mention in owners.mentions if mention.side == "other"), None)
    if wrong is None:
        return _Said(match=match, alternative=alternative, problem=None, owner=owners.mentions[0])
    mirrored = owners.near and bound.exclusive and rules.mirrored_claims
    return _Said(match=match, alternative=alternative, problem="other_subject", owner=wrong, mirrored=mirrored)


def _span(text: Text, match: Match) -> Span:
    start, end = text.starts[match[0]], text.ends[match[1]]
    return Span(start=start, end=end, text=text.source[start:end])


def _owner_span(text: Text, owner: Mention | None) -> Span | None:
    return None if owner is None else _span(text, (owner.first, owner.last))
