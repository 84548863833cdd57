"""None as a quantity: `zero OOMKilled events`, `OOMKilled count: 0`, `little evidence of an OOM kill`.

A zero denies what it counts, if that is a fault, the sign of one, or a good state. Of things that should be there it is
itself the fault (`0 endpoints`), and a zero that is a value counts nothing (`exit code 0`, `0/3 nodes`, `0.5`).
"""

from collections.abc import Sequence

from grading.after import after_tail, is_adverb
from grading.frame import value_beside
from grading.lexicon import (
    AUXILIARIES,
    EMPHATIC,
    EVENTS,
    FAULTS,
    FUNCTION_WORDS,
    FUNCTIONS,
    LEFT,
    MORE_ADJECTIVES,
    OBJECTS,
    POLARITY_ITEMS,
    PROBLEM_NOUNS,
    SHORTAGE,
    VERBS,
    words,
)
from grading.text import Text

ZEROS = frozenset({"zero", "0"})
SCARCE = frozenset({"little", "few"})
QUANTITIES = ZEROS | SCARCE

_STATES = FUNCTIONS | MORE_ADJECTIVES | {"running"}
"""Good states: where nothing is in one of them, it is not said to be."""

_GROUNDS = POLARITY_ITEMS | words("reason chance likelihood probability support basis")
"""What one has little of when one does not believe a thing."""

_SUGGESTING = words("suggest indicate support show point say")

_BEFORE_COUNT = AUXILIARIES | words(
    "there found saw see shows showed show reports reported lists list contains contain includes counted with of and "
    "but only exactly currently in returned returns had records recorded"
)
"""After these a `0` counts; after a noun it is a part of a name (`web-0`, `replica 0`) or a value (`exit code 0`)."""

_COUNTED = (
    EVENTS
    | FAULTS
    | PROBLEM_NOUNS
    | words(
        "event count counts total occurrences occurrence restarts restart evictions kills crashes violations times "
        "number cases"
    )
)
_COUNTING = words("number count total")
_LEAD = 5


def is_quantity(words_: Sequence[str], place: int, of_many: bool = False) -> bool:
    """Whether the word at `place` says how many there are of what follows: none, or next to none.

    `of_many` is whether a zero may also count a part (`of 3 containers 0 were killed`).
    """
    word, after = words_[place], words_[place + 1] if place + 1 < len(words_) else ""
    before = words_[place - 1] if place else ""
    if word in SCARCE:
        suggesting = after == "to" and words_[place + 2 : place + 3] and words_[place + 2] in _SUGGESTING
        return before not in ("a", "quite") and (after in _GROUNDS or bool(suggesting))
    if not after or after in EMPHATIC or after[0].isdigit():
        return False
    return word == "zero" or not before or before in _BEFORE_COUNT or (of_many and _of_many(words_, place))


def _of_many(words_: Sequence[str], place: int) -> bool:
    """Whether the number at `place` is a part of what its clause opens with (`of 3 containers`, `out of 12`)."""
    lead = list(words_[: place if place <= _LEAD else 0])
    return lead[:1] in (["of"], ["among"]) or lead[:2] == ["out", "of"]


def denies_by_quantity(words_: Sequence[str], found: int, place: int, last: int) -> bool:
    """Whether the quantity at `found` denies the match from `place` to `last`, or its list beyond the clause."""
    lead = words_[found + 1 : place]
    if words_[found] in SCARCE or any(word in _GROUNDS for word in lead[:2]):
        return True
    if any(word in PROBLEM_NOUNS for word in lead[:3]):
        return True
    after = words_[last + 1 : last + 3]
    if after and after[0] in FUNCTION_WORDS:
        after = ()
    if any(word in LEFT or word == "headroom" for word in after) or any(word in SHORTAGE | LEFT for word in lead):
        return False
    if len(lead) > _LEAD or any(_says_more(word) for word in lead):
        return False
    if place >= len(words_):
        return _counted(lead)
    if words_[last] in OBJECTS:
        return _counted([*lead, *after])
    return words_[last] in _STATES or _counted([*lead, *words_[place : last + 1], *after])


def _says_more(word: str) -> bool:
    """Whether a word in the lead shows that the zero counts something else, of which more is said."""
    if word in ("have", "has", "had", "for", "from", "on", "at", "behind", "than", "by"):
        return True
    return word in FUNCTIONS or (word in VERBS and word not in AUXILIARIES)


def none_after(text: Text, first: int, last: int, after: Sequence[str]) -> bool:
    """Whether a zero beside or after a match counts it: `OOMKilled: 0`, `the number of evicted pods is zero`."""
    beyond = last + 1 + len(after)
    if ZEROS.isdisjoint(after) and not (beyond < len(text.words) and text.words[beyond] in ZEROS):
        return False
    own = text.words[first : last + 1]
    lead = text.clauses[text.clause[first]][max(0, text.place[first] - _LEAD) : text.place[first]]
    number = any(text.words[index] in _COUNTING for index in lead) and text.words[last] not in OBJECTS
    for place in after_tail(after):
        rest = after[place:]
        if rest and _is_zero(rest) and (number or _counted([*own, *after[:place]])):
            return True
    value = value_beside(text, last)
    return value is not None and _opens_with_zero(value) and (number or _counted([*own, *after]))


def _counted(subject: Sequence[str]) -> bool:
    return any(word in _COUNTED for word in subject)


def _is_zero(predicate: Sequence[str]) -> bool:
    """Whether these words, as the predicate of a subject, say that there is none of it."""
    place = 0
    while place < len(predicate) and (predicate[place] in AUXILIARIES or is_adverb(predicate[place])):
        place += 1
    rest = predicate[place + 1 :] if place and predicate[place : place + 1] == ["at"] else predicate[place:]
    if place:
        return _opens_with_zero(rest)
    return _opens_with_zero(rest) and (len(rest) == 1 or rest[1] in ("times", "events", "occurrences"))


def _opens_with_zero(value: Sequence[str]) -> bool:
    return value[:1] in (["0"], ["zero"]) and not (len(value) > 1 and value[1][0].isdigit())
