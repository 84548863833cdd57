"""A first suspicion that is given up: `I suspected the disk at first, but that turned out to be wrong`.

Two things must be said: that it came first, beside the match, and in what follows that it was not so, that all is well
with it, or that something else is the cause. A first suspicion that is borne out stands.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from grading.after import after_tail, denied_after, following_words, is_adverb, is_denial
from grading.clear import all_clear_after, is_all_clear
from grading.enough import is_enough
from grading.judged import UNTRUE, WRONG, judges
from grading.lexicon import AUXILIARIES, BLAME_ADJECTIVES, BREAKERS, NEGATORS, words
from grading.rules import Rules
from grading.text import LINE, QUESTION, STOP, Text

_FIRST = words("first initial initially early earlier original originally")
_SUSPECTING = words(
    "suspected suspect suspects thought assumed believed guessed looked looks seemed seems appeared appears took "
    "blamed considered pointed feared expected suspicion suspicions guess hypothesis idea assumption hunch theory "
    "impression bet instinct candidate lead diagnosis looking suspecting blaming assuming thinking "
    "suggested hinted indicated"
)
_BEGINNING = words("started began")
_EARLY = ("first", "initial", "earl", "original", "started", "began")
"""How every word begins by which a suspicion is a first one."""

_GERUNDS = words("suspecting blaming assuming thinking looking")
_NAMES = words(
    "suspicion suspicions suspect guess hypothesis idea assumption hunch theory impression thought diagnosis"
)
_CONCEDING = words("while although though whereas")
_TURNING = words("but however yet though although")
_LEADING = words(
    "and so then later which in fact reality truth on closer inspection instead this look examination second "
    "after all checking thought thoughts"
)
_PRONOUNS = words("it that this which they these")
_EMPHATIC = words("actually really fact reality truth rather instead closer second")
_ASTRAY = frozenset(
    {
        ("dead", "end"),
        ("false", "lead"),
        ("false", "alarm"),
        ("wrong", "track"),
        ("blind", "alley"),
        ("false", "trail"),
        ("wrong", "lead"),
        ("wrong", "turn"),
    }
)
_UPHOLDING = words("right correct confirmed confirms confirm rightly indeed proven borne correctly supported supports")
_PROVED = words("turned proved turns proves turn prove proven")
_PAST = words("was were looked seemed appeared worked")
_NOT_SO = words("one so that it this the case to be")
_CAUSES = words("cause reason culprit explanation problem trigger blame fault responsible issue source")
_OTHERWISE = words("otherwise elsewhere differently")
_POINTING = words("point points pointed pointing lead leads led")
_SAYING = _POINTING | words(
    "say says said show shows showed tell tells told prove proves proved suggest suggests lies lay"
)
_RULING = words("rule rules ruled")
_REFUTING = words(
    "contradict contradicts contradicted refute refutes refuted disprove disproves disproved "
    "exclude excludes excluded dismiss dismissed eliminate eliminates eliminated"
)
_LINKING = AUXILIARIES | words("turned turns out proved proves to be")
_STRETCH = 16
_SEGMENTS = 4


class _Segment(msgspec.Struct, frozen=True):
    """What is said after a match, by token, and whether it is set against what was said before."""

    indexes: Sequence[int]
    turning: bool


def given_up(text: Text, first: int, last: int, rules: Rules) -> bool:
    """Whether a match is a first suspicion that what follows gives up."""
    joined = text.joined
    for early in _EARLY:
        if early in joined:
            break
    else:
        return False
    start, end = _stretch(text, first, last)
    indexes = text.clauses[text.clause[first]]
    own = [text.words[index] for index in indexes[start:end]]
    if (_FIRST.isdisjoint(own) and not _sets_out(own)) or _SUSPECTING.isdisjoint(own) or not NEGATORS.isdisjoint(own):
        return False
    conceding = any(word in _CONCEDING for word in own[:2]) or (
        start > 0 and text.words[indexes[start - 1]] in _CONCEDING
    )
    if is_all_clear([text.words[index] for index in indexes[text.place[last] + 1 : end]], rules):
        return False
    if _is_cleft(own, text.place[first] - start, following_words(text, last)):
        return True
    match = text.words[first : last + 1]
    looking = any(a in ("looked", "looking") and b in ("at", "into") for a, b in pairwise(own))
    closer = False
    for segment in _beyond(text, indexes, end):
        said = [text.words[index] for index in segment.indexes]
        again = _find(said, match)
        if again is not None:
            at = segment.indexes[again]
            until = at + len(match) - 1
            return _is_well(text, at, until, rules)
        if not looking and not _UPHOLDING.isdisjoint(said) and NEGATORS.isdisjoint(said):
            return False
        if _drops(said, segment.turning or conceding or closer, closer, rules):
            return True
        closer = not _EMPHATIC.isdisjoint(said) and all(word in _LEADING or is_adverb(word) for word in said)
    return False


def _is_well(text: Text, first: int, last: int, rules: Rules) -> bool:
    """Whether a thing that is named again is then denied or cleared."""
    if denied_after(text, first, last) or all_clear_after(text, first, last, rules):
        return True
    return rules.sufficient and is_enough(text, first, last, following_words(text, last))


def fine_at_first(text: Text, first: int, last: int) -> bool:
    """Whether a match is only said to have been well at first (`DNS was fine initially`)."""
    after = following_words(text, last)
    if after[:1] and after[0] not in _PAST:
        return False
    indexes = text.clauses[text.clause[first]]
    said = [text.words[index] for index in indexes[: text.place[last] + _STRETCH]]
    if "initially" in said or "originally" in said:
        return True
    at = _find(said, ["at", "first"])
    return at is not None and said[at + 2 : at + 3] not in (["glance"], ["sight"], ["look"])


def _sets_out(own: Sequence[str]) -> bool:
    """`I started out suspecting X`, `we began by blaming X`."""
    return any(word in _BEGINNING and not _GERUNDS.isdisjoint(own[at + 1 : at + 3]) for at, word in enumerate(own))


def only_seemed_fine(text: Text, first: int, last: int, rules: Rules) -> bool:
    """Whether what is denied is that a match is well (`the probe looks fine, but it is not`)."""
    _, end = _stretch(text, first, last)
    indexes = text.clauses[text.clause[first]]
    if not is_all_clear([text.words[index] for index in indexes[text.place[last] + 1 : end]], rules):
        return False
    for segment in _beyond(text, indexes, end):
        said = [text.words[index] for index in segment.indexes]
        return said[-1] == "not" and all(
            word in _TURNING or word in _PRONOUNS or word in AUXILIARIES or is_adverb(word) for word in said[:-1]
        )
    return False


def _stretch(text: Text, first: int, last: int) -> tuple[int, int]:
    """The places in its clause from the last contrast before a match to the next one after it."""
    indexes = text.clauses[text.clause[first]]
    place = text.place[first]
    end = (text.place[last] if text.clause[last] == text.clause[first] else place) + 1
    start = place
    while start > max(0, place - _STRETCH) and not _breaks(text, indexes, start - 1):
        start -= 1
    limit = min(len(indexes), end + _STRETCH)
    while end < limit and not _breaks(text, indexes, end):
        end += 1
    return start, end


def _breaks(text: Text, indexes: Sequence[int], place: int) -> bool:
    """Whether a word in the clause turns to another statement (a `while` that opens it does not)."""
    word = text.words[indexes[place]]
    return word in BREAKERS and place > 0


def _beyond(text: Text, indexes: Sequence[int], end: int) -> Iterator[_Segment]:
    """What follows: the rest of the clause, the rest of its sentence, and the beginning of the next one."""
    rest = indexes[end : end + _STRETCH]
    if rest:
        yield _Segment(rest, text.words[rest[0]] in _TURNING)
    stops = 0
    after = indexes[-1] + 1
    for _ in range(_SEGMENTS):
        if after >= len(text.words) or text.gaps[after] & LINE:
            return
        stops += bool(text.gaps[after] & (STOP | QUESTION))
        if stops > 1:
            return
        clause = text.clauses[text.clause[after]]
        yield from _parts(text, clause)
        after = clause[-1] + 1


def _parts(text: Text, clause: Sequence[int]) -> Iterator[_Segment]:
    """A clause cut where it turns."""
    shown = clause[: 2 * _STRETCH]
    opening = 0
    turning = text.words[shown[0]] in _TURNING
    for place in range(1, len(shown)):
        turns = text.words[shown[place]] in _TURNING
        if turns or (
            text.words[shown[place]] == "and" and [text.words[at] for at in shown[place + 1 : place + 2]] == ["it"]
        ):
            yield _Segment(shown[opening:place], turning)
            opening, turning = place, turning or turns
    yield _Segment(shown[opening:], turning)


def _find(said: Sequence[str], wanted: Sequence[str]) -> int | None:
    size = len(wanted)
    return next((at for at in range(len(said) - size + 1) if list(said[at : at + size]) == list(wanted)), None)


def _is_cleft(own: Sequence[str], place: int, after: Sequence[str]) -> bool:
    """`what first looked like X is really Y`, the match being the X."""
    if "what" not in own[:place]:
        return False
    for at in after_tail(after):
        if after[at : at + 1] and after[at] in ("is", "was", "turned", "turns", "proved", "proves"):
            rest = after[at:]
            return len(rest) > 1 and _UPHOLDING.isdisjoint(rest) and NEGATORS.isdisjoint(rest)
    return False


def _drops(said: Sequence[str], turning: bool, closer: bool, rules: Rules) -> bool:
    """Whether a statement gives up what was suspected before it."""
    place = 0
    while place < len(said) and (said[place] in _TURNING or said[place] in _LEADING or is_adverb(said[place])):
        if said[place] in _PRONOUNS and not (place + 1 < len(said) and said[place + 1] in _PRONOUNS):
            break
        place += 1
    emphatic = closer or any(word in _EMPHATIC for word in said[:place])
    rest = said[place:]
    if not rest:
        return False
    if rest[0] in _PRONOUNS and not (len(rest) > 1 and rest[1] in _NAMES):
        return _drops_it(rest, emphatic, rules) or (turning and _is_another(rest))
    named = next((at for at, word in enumerate(rest[:4]) if word in _NAMES), None)
    if named is not None:
        return is_denial(rest[named + 1 :]) or judges(rest[named + 1 :], WRONG)
    return _turns_down(rest) or _blames_another(rest, turning) or _says_otherwise(rest, turning)


def _drops_it(rest: Sequence[str], emphatic: bool, rules: Rules) -> bool:
    """`it is not`, `that turned out to be wrong`, `it is actually the taint`."""
    predicate = rest[1:]
    proved = any(word in _PROVED for word in predicate[:3])
    if is_denial(predicate) or judges(predicate, WRONG if proved or rest[0] in ("that", "this") else UNTRUE):
        return True
    linked = 0
    while linked < len(predicate) and (predicate[linked] in _LINKING or is_adverb(predicate[linked])):
        linked += 1
    after = predicate[linked:]
    if not linked:
        return False
    if after[:1] == ["not"]:
        return all(word in _NOT_SO or is_adverb(word) for word in after[1:])
    if tuple(word for word in after[:3] if word not in ("a", "an", "the"))[:2] in _ASTRAY:
        return True
    if is_all_clear(["is", *after], rules):
        return True
    emphatic = emphatic or any(word in _EMPHATIC for word in predicate[: linked + 2])
    named = [word for word in after if word not in ("in", "fact", "reality", "truth", "rather", "instead")]
    return emphatic and bool(named) and _CAUSES.isdisjoint(named[:5]) and NEGATORS.isdisjoint(named)


def _is_another(rest: Sequence[str]) -> bool:
    """After a contrast: `it was the missing Secret`."""
    return (
        len(rest) > 3
        and rest[1] in ("is", "was")
        and rest[2] in ("the", "a", "an")
        and _CAUSES.isdisjoint(rest[3:8])
        and "only" not in rest[3:8]
        and NEGATORS.isdisjoint(rest)
    )


def _turns_down(rest: Sequence[str]) -> bool:
    """`the metrics ruled that out`, `the events contradict it`."""
    if not NEGATORS.isdisjoint(rest):
        return False
    return any(
        (a in _REFUTING or (a in _RULING and rest[at + 2 : at + 3] == ["out"])) and b in _PRONOUNS
        for at, (a, b) in enumerate(pairwise(rest))
    )


def _blames_another(rest: Sequence[str], turning: bool) -> bool:
    """`the real cause is the missing ConfigMap`, and after a contrast `the cause is the taint`."""
    if _CAUSES.isdisjoint(rest) or not NEGATORS.isdisjoint(rest) or AUXILIARIES.isdisjoint(rest):
        return False
    at = next(place for place, word in enumerate(rest) if word in _CAUSES)
    real = any(word in BLAME_ADJECTIVES - {"likely", "probable", "current"} for word in rest[max(0, at - 2) : at])
    return real or turning


def _says_otherwise(rest: Sequence[str], turning: bool) -> bool:
    """`the events say otherwise`, after a contrast `what breaks it is the taint`, `the exit code points to memory`."""
    if not NEGATORS.isdisjoint(rest):
        return False
    if any(word in _OTHERWISE for word in rest) and any(word in _SAYING for word in rest):
        return True
    what = "what" in rest and any(word in ("is", "was", "are", "were") for word in rest)
    pointing = any(a in _POINTING and b in ("to", "at", "towards") for a, b in pairwise(rest))
    return turning and (what or pointing) and not any(word in ("it", "that", "this") for word in rest[-1:])
