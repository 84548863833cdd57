"""Causes that are left out, and the one that is left: `that rules X out`, `every cause but X is excluded`.

The words that set a thing aside stand on both sides of it, or around the others.
"""

from collections.abc import Sequence

from grading.after import after_tail, following_words, is_adverb, is_denial
from grading.clear import is_all_clear
from grading.lexicon import (
    AUXILIARIES,
    BLAME,
    BLAME_ADJECTIVES,
    DETERMINERS,
    FAULTS,
    INABILITY,
    NEGATORS,
    OBJECTS,
    PROBLEM_NOUNS,
    words,
)
from grading.rules import Rules
from grading.text import COMMA, DASH, Text

_TAKING = words("take takes taking took")
_OUT = words("rule rules ruled ruling count counts counting leave leaves leaving cross crosses crossing strike strikes")
_OFF = words("cross crosses crossing strike strikes take takes taking")
_ASIDE = words("set sets setting put puts putting lay lays")
_PARTICLES = {"out": _OUT | _TAKING, "off": _OFF, "aside": _ASIDE}
_LEAVING = words("leave leaves leaving")
_CONCLUDING = words("that this which these what so")
_OUT_OF = words("it this that question consideration account equation picture running discussion race")
_WHOLE = words("every all any each everything anything")
_EXCEPTING = (("other", "than"), ("apart", "from"), ("aside", "from"), ("else", "than"), ("except", "for"))
_EXCEPTIONS = words("than but except besides save barring excepting")
_AMISS = FAULTS | BLAME | PROBLEM_NOUNS | words("amiss suspicious odd unusual strange off")
_WORKING = words("works work ready reachable available running answers responds starts")
_NEAR = (
    ("nowhere", "near"),
    ("nowhere", "close", "to"),
    ("not", "anywhere", "near"),
    ("not", "anywhere", "close", "to"),
    ("not", "close", "to"),
    ("far", "from"),
    ("a", "long", "way", "from"),
    ("miles", "from"),
    ("miles", "away", "from"),
)
_SETTING = _PARTICLES.keys() | {word for phrase in _NEAR for word in phrase[-3:]}
"""One of these stands behind a match that is set aside."""

_LEAST = ["least", "of", "all"]
_LEAD = 10
_NOUNS = 3


def is_left_out(text: Text, first: int, last: int, following: Sequence[str]) -> bool:
    """Whether a match is set aside by the words on both sides of it, or is far from being to blame."""
    if _SETTING.isdisjoint(following) and "leastofall" not in text.joined:
        return False
    place = splits(tuple(text.words[index] for index in text.clauses[text.clause[first]]), text.place[first], following)
    if place is not None:
        return not _negated(text, first, place)
    if any(far_from_blame(following[start:]) for start in after_tail(following)):
        return True
    return _least_of_all(text, first, following)


def splits(clause: Sequence[str], place: int, following: Sequence[str], negated: bool = False) -> int | None:
    """Where the verb of `rules X out` stands if the match at `place` is the X of it, else None.

    Under a negation it does not matter whether to leave out is to set aside or to forget (`must not leave X out`).
    """
    if _PARTICLES.keys().isdisjoint(following):
        return None
    at = next((at for at in after_tail(following) if following[at : at + 1] and following[at] in _PARTICLES), None)
    if at is None:
        return None
    verbs = _PARTICLES[following[at]]
    for verb in range(place - 1, max(-1, place - 2 - _NOUNS), -1):
        if clause[verb] in verbs:
            return verb if negated or _sets_out(clause, verb, place, following[at:]) else None
        if clause[verb] in AUXILIARIES or clause[verb] in NEGATORS:
            return None
    return None


def _sets_out(clause: Sequence[str], verb: int, place: int, particle: Sequence[str]) -> bool:
    """Whether the verb and its particle set aside: to leave a thing out may also be to forget it."""
    if particle[:1] == ["off"]:
        return list(particle[1:3]) in (["the", "list"], ["the", "table"], [])
    if particle[1:2] == ["of"]:
        named = [word for word in particle[2:4] if word not in ("the", "further")]
        return bool(named) and named[0] in _OUT_OF
    if clause[verb] not in _LEAVING:
        return clause[verb] not in _TAKING
    concluding = verb == 0 or clause[verb - 1] in _CONCLUDING
    return concluding and (clause[place] not in OBJECTS or clause[:1] in (("that",), ("this",)))


def _negated(text: Text, first: int, verb: int) -> bool:
    indexes = text.clauses[text.clause[first]]
    lead = [text.words[index] for index in indexes[max(0, verb - 4) : verb]]
    return any(word in NEGATORS or word in INABILITY for word in lead)


def far_from_blame(predicate: Sequence[str]) -> bool:
    """Whether these words, as a predicate, put their subject far from being to blame (`is nowhere near the cause`)."""
    place = 0
    while place < len(predicate) and predicate[place] in AUXILIARIES:
        place += 1
    if not place:
        return False
    rest = [word for word in predicate[place : place + _LEAD] if word == "not" or not is_adverb(word)]
    for phrase in _NEAR:
        if tuple(rest[: len(phrase)]) == phrase:
            beyond = rest[len(phrase) :]
            named = [word for word in beyond if word not in DETERMINERS and word not in BLAME_ADJECTIVES]
            named = [word for word in named if word not in ("being", "to", "a", "an", "the")]
            return bool(named) and named[0] in BLAME
    return False


def _least_of_all(text: Text, first: int, following: Sequence[str]) -> bool:
    """`nothing is wrong, the selector least of all`, `least of all the selector`."""
    place = text.place[first]
    indexes = text.clauses[text.clause[first]]
    lead = [text.words[index] for index in indexes[max(0, place - _NOUNS - 3) : place]]
    after = "least" in following and following[following.index("least") :][:3] == _LEAST
    before = any(lead[at : at + 3] == _LEAST for at in range(len(lead) - 2))
    opening = indexes[0]
    if not (after or before) or not opening or not text.gaps[opening] & (COMMA | DASH):
        return False
    said = [text.words[index] for index in text.clauses[text.clause[opening - 1]]]
    return any(word in NEGATORS for word in said) and not _AMISS.isdisjoint(said) and _WORKING.isdisjoint(said)


def is_only_one_left(text: Text, first: int, last: int, rules: Rules) -> bool:
    """Whether everything but the match is denied or cleared (`every other cause than X can be excluded`)."""
    if _WHOLE.isdisjoint(text.words[max(0, first - _LEAD) : first]):
        return False
    place = text.place[first]
    lead = [text.words[index] for index in text.clauses[text.clause[first]][max(0, place - _LEAD) : place]]
    while lead and (lead[-1] in DETERMINERS or lead[-1] in FAULTS):
        lead.pop()
    if not lead or (tuple(lead[-2:]) not in _EXCEPTING and lead[-1] not in _EXCEPTIONS):
        return False
    if lead[-1] == "than" and "other" not in lead and "else" not in lead:
        return False
    if _WHOLE.isdisjoint(lead) or any(word in NEGATORS for word in lead) or lead[-2:] == ["anything", "but"]:
        return False
    after = following_words(text, last)
    return any(is_denial(after[at:]) or is_all_clear(after[at:], rules) for at in after_tail(after))
