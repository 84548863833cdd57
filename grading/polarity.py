"""Whether a match counts: the one place where every reason to reject it is asked, in a fixed order."""

from collections.abc import Sequence
from typing import Literal

from grading.after import denied_after, following_words
from grading.before import Role, denied_before
from grading.clear import all_clear_after, asserts_nothing, falls_short
from grading.enough import is_enough
from grading.frame import is_hypothesis, is_question, statement_continues
from grading.given_up import fine_at_first, given_up, only_seemed_fine
from grading.idioms import keeps_distance, opens_exception
from grading.judged import judged_wrong, upheld
from grading.labels import label_verdict
from grading.left_out import is_left_out, is_only_one_left
from grading.quantities import none_after
from grading.rules import Rules
from grading.text import Text

Reason = Literal["negated", "negated_after", "all_clear", "continued", "question", "hypothetical"]


def rejection(
    text: Text, match: tuple[int, int], role: Role, control: bool, aside: frozenset[int], rules: Rules
) -> str | None:
    """Why a match does not count, or None if it does.

    `control` is whether the case has no fault; `aside` are the clauses under a label that sets things aside. In a
    control the all-clear is the right answer, so what stands after a required match never takes it back.
    """
    first, last = match
    reason = _rejection(text, first, last, role, control, aside, rules)
    if reason is None or reason == "question" or not rules.only_one_left:
        return reason
    return None if is_only_one_left(text, first, last, rules) else reason


def _rejection(
    text: Text, first: int, last: int, role: Role, control: bool, aside: frozenset[int], rules: Rules
) -> str | None:
    if denied_before(text, first, last, role, rules) or text.clause[first] in aside:
        return "negated"
    if rules.statement_continues and role == "forbidden" and statement_continues(text, first, last):
        return "continued"
    if rules.exceptions and opens_exception(text, first):
        return None
    after = _after(text, first, last, _clears(role, control, rules), control and role != "forbidden", rules)
    if after is not None:
        return after
    if rules.questions:
        if is_question(text, first):
            return "question"
        if is_hypothesis(text, first, last):
            return "hypothetical"
    return None


def _clears(role: Role, control: bool, rules: Rules) -> bool:
    """Whether the all-clear predicate is on for a group of this role."""
    if not rules.all_clear:
        return False
    if not control:
        return True
    if role == "forbidden":
        return rules.controls_clear_forbidden or not rules.controls_keep_required
    return not rules.controls_keep_required


def _after(text: Text, first: int, last: int, clears: bool, kept: bool, rules: Rules) -> str | None:
    after = following_words(text, last)
    if rules.negation_after and not kept and denied_after(text, first, last, after):
        return None if _affirmed(text, first, last, rules) else "negated_after"
    if not kept and _turned_down(text, first, last, after, rules):
        return "negated_after"
    if clears and _cleared(text, first, last, after, rules):
        return "all_clear"
    if rules.labels and not kept:
        return label_verdict(text, first, last, rules)
    return None


def _cleared(text: Text, first: int, last: int, after: Sequence[str], rules: Rules) -> bool:
    """Whether a match is said to be well."""
    found = all_clear_after(text, first, last, rules, after)
    if not found and rules.sufficient:
        found = is_enough(text, first, last, after) and not asserts_nothing(text, first)
    return found and not (rules.given_up and fine_at_first(text, first, last))


def _turned_down(text: Text, first: int, last: int, after: Sequence[str], rules: Rules) -> bool:
    """Whether a match is denied by what stands around it, though nothing negates it."""
    if not (rules.none_as_quantity or rules.judged_wrong or rules.distances or rules.given_up or rules.left_out):
        return False
    return (
        (rules.none_as_quantity and none_after(text, first, last, after))
        or (rules.judged_wrong and judged_wrong(text, first, last, after))
        or (rules.distances and keeps_distance(after))
        or (rules.left_out and is_left_out(text, first, last, after))
        or (rules.given_up and given_up(text, first, last, rules))
    )


def _affirmed(text: Text, first: int, last: int, rules: Rules) -> bool:
    """Whether what looks like a denial after a match says that it is so, or that it is at fault."""
    return (
        (rules.judged_wrong and upheld(text, first, last))
        or (rules.working_order and falls_short(text, last))
        or (rules.given_up and only_seemed_fine(text, first, last, rules))
    )
