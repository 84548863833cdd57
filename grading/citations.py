"""References such as `[E1]` in an answer. Source: evaluation semantics 5.10.

A reference is minted by a result that carries its mark. Where no result of the turn does, each successful read mints
the next number, in order: the first `E1`.
"""

import re
from collections.abc import Sequence

from grading.evidence import is_screen, succeeded
from grading.rules import Rules
from schemas.recorded import RecordedCall
from schemas.verdicts import Citations

_REFERENCE = re.compile(r"\[(E[1-9][0-9]*)\]")
_MARK = re.compile(r"\s*\[(E[1-9][0-9]*)\]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_CLAIM_END_ON_LINE = re.compile(r"(?<=[.!?])[^\S\n]+|\n")
_UNCITED_END = re.compile(r"[.!?][^\S\n]+|\n")
"""The same where nothing is cited and claims are only counted: it takes the mark along, and is quicker."""

_LIST_MARKER = re.compile(r"\A\s*(?:[-*+]|[0-9]+[.)])\s+")
_LIST_MARKER_OF_LINE = re.compile(r"^[^\S\n]*(?:[-*+]|[0-9]+[.)])[^\S\n]+", re.MULTILINE)
_ALPHANUMERIC = re.compile(r"[^\W_]")


def cite(answer: str, calls: Sequence[RecordedCall], rules: Rules) -> Citations:
    """What an answer cites, and how much of it carries a reference. Ratios of nothing are None."""
    minted = _minted(calls, rules)
    used = tuple(dict.fromkeys(_REFERENCE.findall(answer)))
    cited = tuple(reference for reference in used if reference in minted)
    claims = _claims(answer, rules)
    referenced = sum(claims)
    return Citations(
        cited=cited,
        unsupported=tuple(reference for reference in used if reference not in minted),
        uncited_evidence=tuple(reference for reference in minted if reference not in used),
        claims=len(claims),
        claims_with_reference=referenced,
        precision=_precision(len(cited), len(used), rules),
        coverage=referenced / len(claims) if claims else None,
    )


def _minted(calls: Sequence[RecordedCall], rules: Rules) -> tuple[str, ...]:
    reads = [
        call for call in calls if call.disposition == "executed" and not is_screen(call) and succeeded(call, rules)
    ]
    marks = [found.group(1) for call in reads if (found := _MARK.match(call.shown))]
    return tuple(dict.fromkeys(marks)) if marks else tuple(f"E{number}" for number in range(1, len(reads) + 1))


def _precision(cited: int, used: int, rules: Rules) -> float | None:
    if not used:
        return None if rules.uncited_is_unknown else 1.0
    return cited / used


def _claims(answer: str, rules: Rules) -> list[bool]:
    """The claims of an answer in order: whether each carries a reference."""
    if rules.references_folded:
        answer = (_LIST_MARKER_OF_LINE if rules.claims_by_line else _LIST_MARKER).sub("", answer)
    if "[E" not in answer and rules.claims_by_line:
        return [False for fragment in _UNCITED_END.split(answer) if _ALPHANUMERIC.search(fragment)]
    fragments = (_CLAIM_END_ON_LINE if rules.claims_by_line else _SENTENCE_END).split(answer)
    claims: list[bool] = []
    for fragment in fragments:
        _add(claims, fragment, rules)
    return claims


def _add(claims: list[bool], fragment: str, rules: Rules) -> None:
    if not _ALPHANUMERIC.search(fragment):
        return
    referenced = bool(_REFERENCE.search(fragment))
    if rules.references_folded and claims and not _ALPHANUMERIC.search(_REFERENCE.sub("", fragment)):
        claims[-1] = True
        return
    claims.append(referenced)
