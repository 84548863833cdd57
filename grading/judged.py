"""A belief that is judged wrong: `the suspicion that it was OOMKilled is unfounded`, `the OOM theory falls apart`.

What is believed is then denied. The judgement must be on the belief: in `the assumption that the selector is wrong` it
is part of what is believed, and the sentence goes on.
"""

from collections.abc import Callable, Sequence

from grading.after import after_tail, following_words, is_adverb
from grading.idioms import BLAMING, CALLING, WRONGLY
from grading.lexicon import AUXILIARIES, BREAKERS, DETERMINERS, FINITE, RULED_OUT, VERBS, words
from grading.text import COMMA, STOP, Text

_BELIEFS = words(
    "suspicion idea theory hypothesis assumption notion guess belief impression conclusion thought fear hunch "
    "supposition premise suggestion presumption allegation assertion thesis speculation"
)
_WORDED = words("claim diagnosis explanation statement report verdict")
"""Beliefs only where they are told: `the claim that`, not `the claim of the pod`."""

UNTRUE = words(
    "false untrue unfounded baseless misguided mistaken misleading inaccurate unjustified unwarranted groundless "
    "debunked contradicted untenable unsubstantiated rejected"
) | (RULED_OUT - {"absent", "nonexistent"})
"""Said of what is believed, never of an object."""

WRONG = words("wrong incorrect invalid misplaced mistake error") | UNTRUE
_BORNE_OUT = words(
    "supported confirmed correct true right valid justified borne tenable plausible warranted substantiated backed "
    "accurate founded"
)
_HOLD = words("hold stand survive fit apply work")
_LINKING = AUXILIARIES | words("proved proves turned turns turn prove remains out to")
_FAILING = (("falls", "apart"), ("fell", "apart"), ("falls", "flat"), ("fell", "flat"), ("falls", "down"))
_GERUNDS = words(
    "calling blaming labelling labeling saying assuming concluding attributing describing classifying treating "
    "diagnosing naming believing suspecting claiming"
)
_WHO = words("whoever anyone anybody those someone")
_THINKING = words("suspected thought assumed believed guessed looked feared suspicion guess hunch")
_REACH = 14
_LOOK_BACK = 24
_OPENING = _BELIEFS | _WORDED | _GERUNDS | _WHO | _THINKING | BLAMING
"""Where one of these stands before a match it may be judged."""


def judged_wrong(text: Text, first: int, last: int, following: Sequence[str]) -> bool:
    """Whether a match stands in a belief, or in a way of calling things, that its sentence judges wrong."""
    lead = _lead(text, first)
    after = following[:_REACH]
    opened = (lead[:1] and lead[0] in ("that", "to")) or not _OPENING.isdisjoint(lead)
    if not opened and _BELIEFS.isdisjoint(after[:3]) and not _in_apposition(text, first):
        return False
    if _belief_named_after(after) or _belief_judged(lead, after, judges) or _calling_judged(lead, after):
        return True
    return _judged_in_next_clause(text, first, last, lead, after)


def upheld(text: Text, first: int, last: int) -> bool:
    """Whether a match stands in a belief of which its sentence says that it is not wrong."""
    return _belief_judged(_lead(text, first), following_words(text, last)[:_REACH], _clears_of)


def _lead(text: Text, first: int) -> list[str]:
    """The words of the clause before a match, the last of them if they are many."""
    place = text.place[first]
    return [text.words[index] for index in text.clauses[text.clause[first]][max(0, place - _LOOK_BACK) : place]]


def _belief_named_after(after: Sequence[str]) -> bool:
    """`the OOM theory is wrong`."""
    return any(word in _BELIEFS and judges(after[place + 1 :], WRONG) for place, word in enumerate(after[:3]))


def _belief_judged(
    lead: Sequence[str], after: Sequence[str], judges: Callable[[Sequence[str], frozenset[str]], bool]
) -> bool:
    """`the idea of X does not hold`, `the suspicion that it was X is wrong`."""
    opening = next((place for place in range(len(lead) - 1, -1, -1) if _opens_belief(lead, place)), None)
    if opening is None:
        return False
    told = lead[opening] != "that" or any(word in VERBS or word in FINITE for word in lead[opening + 1 :])
    tail = after_tail(after)
    for place, word in enumerate(after):
        if word in BREAKERS:
            return False
        if place and after[place - 1] in ("that", "which", "who"):
            continue
        beyond = told or place not in tail or any(before in VERBS for before in after[:place])
        if judges(after[place:], WRONG if beyond else UNTRUE):
            return True
    return False


def _opens_belief(lead: Sequence[str], place: int) -> bool:
    if not place:
        return lead[0] == "that"
    if lead[place] == "that":
        return lead[place - 1] in _BELIEFS or lead[place - 1] in _WORDED
    return lead[place] in ("of", "about") and lead[place - 1] in _BELIEFS


def _calling_judged(lead: Sequence[str], after: Sequence[str]) -> bool:
    """`calling it X is a mistake`, `to call this X would be wrong`, `whoever suspects X is mistaken`."""
    if not lead or not (lead[0] in _GERUNDS or lead[0] in _WHO or (lead[0] == "to" and lead[-1] != "to")):
        return False
    if lead[0] == "to" and lead[1] not in CALLING:
        return False
    return any(judges(after[place:], WRONG) for place in after_tail(after))


def _judged_in_next_clause(text: Text, first: int, last: int, lead: Sequence[str], after: Sequence[str]) -> bool:
    """`the first guess, X, was mistaken`, and `I suspected X, which turned out to be wrong`."""
    index = last + 1 + len(after)
    if len(after) > 3 or index >= len(text.words) or not text.gaps[index] & (COMMA | STOP):
        return False
    beyond = [text.words[index], *following_words(text, index)]
    if text.gaps[index] & COMMA and _in_apposition(text, first):
        return all(word in DETERMINERS or word == "that" for word in lead) and judges(beyond, WRONG)
    if len(beyond) == 1 and beyond[0] in WRONGLY:
        return any(word in _THINKING or word in BLAMING for word in lead)
    if _THINKING.isdisjoint(lead):
        return False
    said = beyond[1:] if beyond[0] in ("but", "and") else beyond
    if said[:1] and said[0] in ("which", "this", "that", "it"):
        proved = any(word in ("turned", "proved", "turns", "proves") for word in said[1:3])
        return judges(said[1:], WRONG if proved else UNTRUE)
    return False


def _in_apposition(text: Text, first: int) -> bool:
    """Whether the clause of a match stands beside a belief (`the first guess, X`)."""
    opening = text.clauses[text.clause[first]][0]
    return opening > 0 and bool(text.gaps[opening] & COMMA) and text.words[opening - 1] in _BELIEFS


def judges(predicate: Sequence[str], wrong: frozenset[str]) -> bool:
    """Whether these words, from the first on, are a predicate that judges its subject to be wrong."""
    if tuple(predicate[:2]) in _FAILING:
        return True
    place = _linked(predicate)
    if not place:
        return False
    if predicate[place : place + 1] == ["not"]:
        rest = [word for word in predicate[place + 1 : place + 4] if not is_adverb(word) and word not in AUXILIARIES]
        return bool(rest) and (rest[0] in _BORNE_OUT or rest[0] in _HOLD)
    rest = [word for word in predicate[place : place + 2] if word not in ("a", "an")]
    return bool(rest) and (rest[0] in wrong or rest[:2] == ["ruled", "out"])


def _clears_of(predicate: Sequence[str], wrong: frozenset[str]) -> bool:
    """Whether these words, from the first on, are a predicate that says that its subject is not wrong."""
    place = _linked(predicate)
    return 0 < place < len(predicate) - 1 and predicate[place] == "not" and predicate[place + 1] in wrong


def _linked(predicate: Sequence[str]) -> int:
    """How many words at the start of a predicate only link it to its subject."""
    place = 0
    while place < len(predicate) and (predicate[place] in _LINKING or is_adverb(predicate[place])):
        place += 1
    return place
