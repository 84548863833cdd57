"""Denial that stands before a match: negators, their scope, and phrases that set a thing aside.

The first grammar walks left through the clause and stops at the first negator or scope breaker. Later changes say which
negators do not deny (`not only X`, `not enough X`, `cannot reach X`), which phrases deny without a negator (`ruled out
X`, `rather than X`), what else ends a scope (`due to`), and that a denial reaches the items of a list. Source:
evaluation semantics 5.4. Every look-around is bounded, so the cost is linear in the text.
"""

from itertools import pairwise
from typing import Literal

from grading.events import event_denied
from grading.idioms import (
    DISTANT_ENDS,
    DISTANT_PAIRS,
    MISJUDGING,
    excepts,
    is_absent_name,
    is_alternative,
    is_misjudged,
    sets_at_distance,
)
from grading.left_out import splits
from grading.lexicon import (
    ADDITIVE,
    ADVERBS,
    AUXILIARIES,
    BREAKERS,
    CAUSE_PAIRS,
    CAUSE_STARTS,
    CAUSE_WORDS,
    CLASSIFYING,
    CONFUSIONS,
    CONTAINING,
    DENIAL_PAIRS,
    DENIAL_WORDS,
    DETERMINERS,
    EMPHATIC,
    EXISTENTIAL,
    FAULTS,
    FINDING,
    FUNCTION_NOUNS,
    FUNCTIONS,
    INABILITY,
    INFORMATION,
    LEFT,
    NAMING,
    NEGATORS,
    OBJECTS,
    PARTITIVES,
    POLARITY_ITEMS,
    PROBLEM_NOUNS,
    REPORTED,
    SHORTAGE,
    SPEAKERS,
    VERBS,
)
from grading.quantities import QUANTITIES, ZEROS, denies_by_quantity, is_quantity
from grading.rules import Rules
from grading.text import COMMA, LINE, STOP, Marker, Scope, Text

Role = Literal["required", "forbidden", "symptom"]

_REACH = 12
"""Tokens looked at around a marker, and markers looked at for one match: longer than any phrase that is meant."""

_LIST_CLAUSES = 8
_LIST_ITEM_TOKENS = 7
_COORDINATING = frozenset({"no", "without", "neither", "none"}) | ZEROS

_MARKING = (
    frozenset({"as"})
    | MISJUDGING
    | NEGATORS
    | BREAKERS
    | INABILITY
    | CAUSE_WORDS
    | DENIAL_WORDS
    | QUANTITIES
    | DISTANT_ENDS
    | {second for _, second in CAUSE_PAIRS | DENIAL_PAIRS}
)
"""Every word that can be a marker, or end one of two words."""


def denied_before(text: Text, first: int, last: int, role: Role, rules: Rules) -> bool:
    """Whether the match from token `first` to `last` is denied by what stands before it."""
    clause = text.clause[first]
    scope = scope_of(text, clause, rules)
    # A match that reaches over a break of its own ends, for this clause, where the clause ends.
    end = text.place[last] if text.clause[last] == clause else len(scope.words) - 1
    decided = _walk(scope, text.place[first], end, role, rules)
    if decided is None and rules.negated_lists:
        return _denied_in_list(text, clause, text.place[first], role, rules)
    return bool(decided)


def scope_of(text: Text, clause: int, rules: Rules) -> Scope:
    """The markers of one clause, found once."""
    known = text.scopes.get(clause)
    if known is not None:
        return known
    words = tuple(text.words[index] for index in text.clauses[clause])
    marker = tuple([_marker(words, place, rules) if word in _MARKING else None for place, word in enumerate(words)])
    nearest: list[int] = []
    last = -1
    for place, kind in enumerate(marker):
        nearest.append(last)
        if kind is not None:
            last = place
    nearest.append(last)
    scope = text.scopes[clause] = Scope(words=words, marker=marker, nearest=tuple(nearest))
    return scope


def _marker(words: tuple[str, ...], place: int, rules: Rules) -> Marker | None:
    word = words[place]
    before = words[place - 1] if place else ""
    if rules.distances and word in DISTANT_ENDS and (before, word) in DISTANT_PAIRS:
        return "denial"
    if rules.exceptions and word == "than" and is_alternative(words, place):
        return "denial"
    if rules.judged_wrong and word in MISJUDGING and is_misjudged(words, place):
        return "denial"
    if rules.none_as_quantity and word in QUANTITIES and is_quantity(words, place, rules.zero_of_many):
        return "negator"
    if rules.denial_phrases and ((before, word) in DENIAL_PAIRS or word in DENIAL_WORDS):
        return "denial"
    if word in NEGATORS or (rules.denial_phrases and word in INABILITY and not _is_undone(before, rules)):
        return "negator"
    if word in BREAKERS:
        return None if rules.causes_end_scope and _part_of_pair(words, place) else "breaker"
    if rules.causes_end_scope and ((before, word) in CAUSE_PAIRS or word in CAUSE_WORDS or _as_cause(words, place)):
        return "breaker"
    return None


def _is_undone(before: str, rules: Rules) -> bool:
    """Whether what stands before a word of doubt takes it back (`no doubt`)."""
    return before in ("no", "without") or (rules.none_as_quantity and before in ("zero", "little"))


def _part_of_pair(words: tuple[str, ...], place: int) -> bool:
    """`because` before `of`: the pair is the breaker, so that its direct negation is seen once."""
    return (words[place], words[place + 1] if place + 1 < len(words) else "") in CAUSE_PAIRS


def _as_cause(words: tuple[str, ...], place: int) -> bool:
    return (
        words[place] == "as"
        and 0 < place < len(words) - 1
        and words[place + 1] in CAUSE_STARTS
        and (words[place + 1], words[min(place + 2, len(words) - 1)]) != ("a", "result")
        and words[place - 1] not in CLASSIFYING
    )


def _walk(scope: Scope, place: int, last: int, role: Role, rules: Rules) -> bool | None:
    """True denied, False decided otherwise, None if the start of the clause was reached undecided."""
    found = scope.nearest[place]
    for _ in range(_REACH):
        if found < 0:
            return None
        kind = scope.marker[found]
        if kind == "negator":
            answer = _negator(scope, found, place, last, role, rules)
        elif kind == "denial":
            answer = _denies(scope, found, place, last, rules)
        else:
            answer = _breaker(scope, found, place, last, rules)
        if answer is not None:
            return answer
        found = scope.nearest[found]
    return False


def _denies(scope: Scope, found: int, place: int, last: int, rules: Rules) -> bool | None:
    """Whether a denial phrase that ends at `found` is not itself denied (`cannot rule out X`)."""
    words = scope.words
    pair = (words[found - 1] if found else "", words[found])
    if pair in DISTANT_PAIRS:
        return sets_at_distance(words, found, place, last)
    if rules.exceptions and excepts(words[found], words[found + 1 : min(place, found + 1 + _REACH)]):
        return False
    if words[found] in ("to", "that") and pair not in DENIAL_PAIRS:
        return not _negated_directly(words, found - 1)
    if pair in CONFUSIONS:
        return True
    if pair == ("other", "than") or (pair[1] == "than" and pair not in DENIAL_PAIRS):
        return not any(word in NEGATORS for word in words[max(0, found - _REACH) : found])
    return not _negated_directly(words, found - 1 if pair in DENIAL_PAIRS else found)


def _negator(scope: Scope, found: int, place: int, last: int, role: Role, rules: Rules) -> bool | None:
    """True if the negator denies the match; False if it settles that nothing does; None to look further left."""
    words = scope.words
    following = words[found + 1 : min(place, found + 1 + _REACH)]
    if (
        rules.statement_continues
        and role == "required"
        and (words[found] in ("none", "neither") or words[found] in ZEROS)
        and _partitive(following)
    ):
        return False
    if words[found] in QUANTITIES and not denies_by_quantity(words, found, place, last):
        return None
    if rules.exceptions and excepts(words[found], following):
        return False
    if rules.absent_names and words[found] == "no" and is_absent_name(words, found, place, last):
        return None
    if rules.absent_objects and _absent_object(words, found, place, last):
        return None
    if words[found] in INABILITY and _negated_directly(words, found):
        return False
    if rules.left_out and splits(words, place, words[last + 1 : last + 1 + _REACH], negated=True) is not None:
        return False
    if rules.qualified_negation:
        verdict = _qualified(words, found, following, words[last + 1 : last + 1 + _REACH])
        if verdict is not True:
            return verdict
    if rules.broken_function and (
        _broken_function(words, found, following) or _broken_match(scope, found, place, last)
    ):
        return None
    return True


def _partitive(following: tuple[str, ...]) -> bool:
    """`none of its endpoints`: the endpoints are the subject, and what is denied comes after them."""
    return bool(following) and following[0] == "of" and all(word in PARTITIVES for word in following[1:])


def _qualified(words: tuple[str, ...], found: int, following: tuple[str, ...], after: tuple[str, ...]) -> bool | None:
    head = following[:3]
    if head and (head[0] in ADDITIVE or head[0] in EMPHATIC):
        return None
    if any(word in SHORTAGE for word in following) or (after and after[0] in LEFT):
        return None
    if ("other", "than") in pairwise(following):
        return False
    outer = words[max(0, found - _REACH) : found] + after
    return not (words[found] == "without" and any(word in NEGATORS for word in outer))


def _broken_function(words: tuple[str, ...], found: int, following: tuple[str, ...]) -> bool:
    """Whether the negator says that something which should work does not: then nothing after it is denied."""
    subject = words[max(0, found - 4) : found]
    speaking = any(word in SPEAKERS for word in subject) or any(word in POLARITY_ITEMS for word in following)
    for offset, word in enumerate(following):
        if word in FUNCTIONS or (word in FUNCTION_NOUNS and subject[-1:] not in (("has",), ("have",), ("had",))):
            return True
        if word in FINDING:
            return not speaking
        if word in CONTAINING:
            return not any(item in INFORMATION for item in subject)
        if word in FAULTS or word in POLARITY_ITEMS or word in PROBLEM_NOUNS:
            return False
        if offset == 0 and word in ("be", "been"):
            passive = following[1:2]
            return bool(passive) and passive[0] in FUNCTIONS
    return False


def _absent_object(words: tuple[str, ...], found: int, place: int, last: int) -> bool:
    """`there is no Secret named x`: the match is a thing that is not there, and that is the fault."""
    lead = words[found + 1 : place]
    if words[found] != "no" or last >= len(words) or words[last] not in OBJECTS or len(lead) > 2:
        return False
    if any(word in FAULTS for word in lead):
        return False
    after = words[last + 1 : last + 4]
    if not after or after[0] in NAMING or after[0] in CAUSE_WORDS or after[0] in BREAKERS:
        return True
    return after[0] in AUXILIARIES and len(after) > 1 and after[1] in EXISTENTIAL


def _broken_match(scope: Scope, found: int, place: int, last: int) -> bool:
    """Whether the match itself names what cannot be done: `cannot pull the image` for the keyword `pull the image`."""
    words = scope.words
    unable = words[found] in ("unable", "cannot") or (found > 0 and words[found - 1] in ("can", "could"))
    lead = words[found + 1 : place]
    return (
        unable and last > place and words[place] in FUNCTIONS and len(lead) <= 1 and all(word == "to" for word in lead)
    )


def _breaker(scope: Scope, found: int, place: int, last: int, rules: Rules) -> bool | None:
    words = scope.words
    if rules.causes_end_scope and words[found] not in ("and", "but", "or"):
        opening = found - 1 if found and (words[found - 1], words[found]) in CAUSE_PAIRS else found
        if _negated_directly(words, opening):
            return True
        if rules.denied_events and _opens_cause(words, found) and event_denied(words, opening):
            return True
    if (
        rules.negated_lists
        and words[found] == "and"
        and (scope.nearest[found] < 0 or _joined_item(scope, found, place, last))
    ):
        return None
    return False


def _opens_cause(words: tuple[str, ...], found: int) -> bool:
    return words[found] == "because" or (found > 0 and (words[found - 1], words[found]) in CAUSE_PAIRS)


def _joined_item(scope: Scope, found: int, place: int, last: int) -> bool:
    """`no OOM kill and image pull error`: the match is a bare second item of what is denied."""
    before = scope.nearest[found]
    if before < 0 or not (scope.marker[before] == "denial" or scope.words[before] in _COORDINATING):
        return False
    lead = scope.words[found + 1 : place]
    stretch = scope.words[before + 1 : found][:_REACH] + scope.words[last + 1 :][:_REACH]
    return len(lead) <= 1 and all(word == "any" for word in lead) and not any(word in VERBS for word in stretch)


def _negated_directly(words: tuple[str, ...], place: int) -> bool:
    """Whether a negator stands right before `place`, adverbs and auxiliaries aside (`is not actually due to`)."""
    for step in range(1, 5):
        index = place - step
        if index < 0:
            return False
        word = words[index]
        if word in NEGATORS:
            return not (index + 1 < len(words) and words[index + 1] in ADDITIVE)
        if word not in ADVERBS and word not in AUXILIARIES and word not in DETERMINERS:
            return False
    return False


def _denied_in_list(text: Text, clause: int, place: int, role: Role, rules: Rules) -> bool:
    """`no OOM kill, image pull error, or crash loop`: the negator of the first item denies them all."""
    if place > _LIST_ITEM_TOKENS or _is_statement(text, clause, rules):
        return False
    joint = _joint(text, clause, rules)
    if joint is None:
        return False
    for _ in range(_LIST_CLAUSES):
        opener = text.gaps[text.clauses[clause][0]]
        if clause == 0 or not opener & COMMA or opener & (STOP | LINE):
            return False
        clause -= 1
        scope = scope_of(text, clause, rules)
        end = len(scope.words)
        marker = scope.nearest[end]
        if marker >= 0:
            return _list_negator(scope, marker, end, joint, role, rules)
        if end > _LIST_ITEM_TOKENS or _is_statement(text, clause, rules):
            return False
    return False


def _list_negator(scope: Scope, marker: int, end: int, joint: str, role: Role, rules: Rules) -> bool:
    tail = scope.words[marker + 1 :]
    if len(tail) > _REACH or any(word in VERBS for word in tail):
        return False
    if joint != "or" and not (scope.marker[marker] == "denial" or scope.words[marker] in _COORDINATING):
        return False
    return bool(_walk(scope, end, end, role, rules))


def _joint(text: Text, clause: int, rules: Rules) -> str | None:
    """What joins the last item of the list of `clause`: `or` before it, `and` before it, or a word `within` it."""
    for step in range(_LIST_CLAUSES):
        later = clause + step
        if later >= len(text.clauses):
            return None
        indexes = text.clauses[later]
        if step and (not text.gaps[indexes[0]] & COMMA or text.gaps[indexes[0]] & (STOP | LINE)):
            return None
        opening = text.words[indexes[0]]
        if opening in ("or", "nor"):
            return "or"
        if opening == "and":
            second = text.words[indexes[1]] if len(indexes) > 1 else ""
            return None if second in CAUSE_STARTS or second in NEGATORS or _is_statement(text, later, rules) else "and"
        if _is_statement(text, later, rules):
            return None
        if any(text.words[index] in ("or", "and") for index in indexes[:_REACH]):
            return "within"
    return None


def _is_statement(text: Text, clause: int, rules: Rules) -> bool:
    """Whether a clause says something of its own: it has a verb, or a marker other than the joint that opens it."""
    indexes = text.clauses[clause]
    if len(indexes) > 2 * _REACH:
        return True
    words = [text.words[index] for index in indexes]
    if len(words) > 1 and words[-1] in REPORTED and words[-2] in AUXILIARIES:
        words = words[:-2]
    if any(word in VERBS for word in words):
        return True
    marker = scope_of(text, clause, rules).marker
    return any(marker[place] and words[place] != "and" for place in range(1, len(words)))
