"""Turns of phrase before a match whose words say one thing and mean the other.

Distances deny without a negator (`anything but X`, `nowhere near X`); so does a judgement on saying it (`it would be
wrong to call this X`). An exception turns a negator round: `no other cause than X`, `nothing except X` say X.
"""

from collections.abc import Sequence
from itertools import pairwise

from grading.lexicon import (
    ADVERBS,
    AUXILIARIES,
    BREAKERS,
    CAUSE_WORDS,
    DETERMINERS,
    EVENTS,
    EXISTENTIAL,
    FAULTS,
    INABILITY,
    LIMITS,
    NAMING,
    NEGATORS,
    PROBLEM_NOUNS,
    words,
)
from grading.text import Text

_FAR = ("well", "far", "comfortably", "safely", "clearly", "easily")
_BELOW = ("below", "under", "within")
DISTANT_PAIRS = frozenset(
    {("far", "from"), ("nowhere", "near"), ("nowhere", "close"), ("anything", "but"), ("way", "from"), ("away", "from")}
    | {(far, below) for far in _FAR for below in _BELOW}
)
DISTANT_ENDS = frozenset(second for _, second in DISTANT_PAIRS)
_DISTANT_LEAD = 5
_STRAITS = EVENTS | FAULTS | LIMITS | PROBLEM_NOUNS | words("memory pressure exhaustion")
"""What a pod or node may be a long way from, other than another place."""
_TURNING = words("with on in for by at without and where that which it is are was were has have")
"""Words after which a distance no longer speaks of what follows."""

_MISTAKES = words(
    "wrong incorrect mistake mistaken error misleading inaccurate premature unfair misguided false misdiagnosis "
    "unjustified"
)
_UNTRUE = words("false untrue incorrect inaccurate misconception fallacy myth misunderstanding")
CALLING = words(
    "call say blame assume conclude think attribute describe claim suspect label classify treat read diagnose name "
    "suppose believe report file ascribe consider point pin see interpret"
)

BLAMING = words(
    "blame blames blamed blaming attribute attributes attributed suspect suspects suspected accuse accuses accused "
    "assume assumes assumed conclude concludes concluded diagnose diagnoses diagnosed think thinks thought"
)
WRONGLY = words("wrongly mistakenly falsely incorrectly erroneously unfairly")
_MISLED = words("misled fooled tricked tempted deceived")
MISJUDGING = BLAMING | {"to", "that", "into"}
"""Where what is said may turn out to be wrong to say."""

_EXCEPTIONS = words("except excepting besides barring")
_EXCEPTION_PAIRS = frozenset({("apart", "from"), ("aside", "from"), ("other", "than"), ("else", "than")})
_EXCEPTING = _EXCEPTIONS | {"save", "short", "from", "than"}
_BETTER = words("better likelier likely simpler clearer stronger plausible probable more")
_THAN = 5
_USAGE = 2
_STAYING = AUXILIARIES | words("stays stayed stay remains remained remain keeps kept runs ran")
_ABSENT_LEAD = 5
_OPENING_PHRASES = (
    ("apart", "from"),
    ("aside", "from"),
    ("other", "than"),
    ("except", "for"),
    ("except",),
    ("besides",),
)
_OPENING = frozenset(phrase[0] for phrase in _OPENING_PHRASES)
_COMPARED = words("less fewer lower higher longer shorter later earlier rather") | _BETTER
_OTHERS = words("other another different")
_REACH = 8


def sets_at_distance(words_: Sequence[str], found: int, place: int, last: int) -> bool | None:
    """What a distance that ends at `found` says of the match: True denied, False said for all that, None nothing."""
    lead = words_[found + 1 : place]
    if len(lead) > _DISTANT_LEAD or any(word in _TURNING for word in lead):
        return None
    pair = (words_[found - 1], words_[found])
    if pair[1] in _BELOW and not any(word in LIMITS for word in words_[place : last + 1]):
        return None
    before = words_[found - 2] if found > 1 else ""
    if pair[0] == "anything" and before and before not in AUXILIARIES and before not in ADVERBS:
        return None
    if pair[0] in ("way", "away") and (
        before not in ("long", "far", "miles") or _STRAITS.isdisjoint(words_[place : last + 1])
    ):
        return None
    return not any(word in NEGATORS or word in INABILITY for word in words_[max(0, found - _REACH) : found - 1])


def is_alternative(words_: Sequence[str], place: int) -> bool:
    """Whether the `than` at `place` sets the match against another thing (`another cause than X`)."""
    between = words_[max(0, place - 3) : place]
    opening = next((at for at, word in enumerate(between) if word in _OTHERS), len(between))
    things = between[opening + 1 :]
    return bool(things) and not any(word in AUXILIARIES or word in _COMPARED for word in things)


def is_absent_name(words_: Sequence[str], found: int, place: int, last: int) -> bool:
    """Whether a `no` denies only that a thing of the match's name is there (`no Secret named X exists`)."""
    if words_[place - 1] not in ("named", "called") or not 1 < place - found <= _ABSENT_LEAD:
        return False
    after = words_[last + 1 : last + 3]
    if not after or after[0] in NAMING or after[0] in CAUSE_WORDS or after[0] in BREAKERS:
        return True
    return after[0] in AUXILIARIES and len(after) > 1 and after[1] in EXISTENTIAL


def opens_exception(text: Text, first: int) -> bool:
    """Whether the clause of a match excepts it from what follows (`apart from the quota there is no problem`)."""
    indexes = text.clauses[text.clause[first]]
    opening = text.words[indexes[0]]
    if opening not in _OPENING or text.place[first] > _REACH:
        return False
    lead = [text.words[index] for index in indexes[: text.place[first]]]
    bare = tuple(word for word in lead if word not in DETERMINERS)
    return bare in _OPENING_PHRASES


def keeps_distance(after: Sequence[str]) -> bool:
    """Whether what follows a match says that it stays well within a limit (`memory stays well under its limit`)."""
    if LIMITS.isdisjoint(after):
        return False
    for place, word in enumerate(after[:_REACH]):
        if word in _BELOW and place and after[place - 1] in _FAR:
            before = [said for said in after[: place - 1] if said not in _STAYING and said not in ADVERBS]
            return len(before) <= _USAGE and not any(said in NEGATORS for said in before) and _limited(after, place)
    return False


def _limited(after: Sequence[str], place: int) -> bool:
    return any(word in LIMITS for word in after[place + 1 : place + 1 + _THAN])


def is_misjudged(words_: Sequence[str], place: int) -> bool:
    """Whether the word at `place` opens what it is wrong to say: `a mistake to blame`, `false that`, `wrongly blames`,
    `misled into blaming`."""
    if not 0 < place < len(words_) - 1:
        return False
    if words_[place] in BLAMING:
        return words_[place - 1] in WRONGLY
    if words_[place] == "into":
        return words_[place - 1] in _MISLED
    if words_[place] == "to":
        return words_[place - 1] in _MISTAKES and words_[place + 1] in CALLING
    return words_[place] == "that" and words_[place - 1] in _UNTRUE


def excepts(negator: str, following: Sequence[str]) -> bool:
    """Whether what stands between a negator and a match excepts the match from the denial."""
    if _EXCEPTING.isdisjoint(following):
        return False
    if any(word in _EXCEPTIONS for word in following):
        return True
    if any(pair in _EXCEPTION_PAIRS for pair in pairwise(following)) or "save" in following[1:]:
        return True
    if negator == "nothing" and following[:2] == ("short", "of"):
        return True
    if "than" not in following:
        return False
    than = following.index("than")
    lead = following[max(0, than - _THAN) : than]
    return negator in ("no", "nothing") and bool(lead) and (lead[-1] in _BETTER or any(w in _BETTER for w in lead[:2]))
