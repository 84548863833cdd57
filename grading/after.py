"""Denial that stands after a match: `X is not the cause`, `X was ruled out`, `the probe is not failing`.

A negated *good* predicate (`is not found`, `is not ready`) reports a fault and denies nothing; a negated blame or a
negated fault takes the fault away. Nothing here looks further than a few tokens.
"""

from collections.abc import Sequence

from grading.lexicon import (
    ABSENT,
    ADDITIVE,
    ADVERBS,
    ARTICLES,
    AUXILIARIES,
    BLAME,
    BLAME_ADJECTIVES,
    CONTRASTS,
    DETERMINERS,
    EVENTS,
    FAULTS,
    FINITE,
    FUNCTION_WORDS,
    GENERIC,
    LABEL_NOUNS,
    LABEL_TRIGGERS,
    LABEL_WORDS,
    LIMITS,
    PAST,
    PREPOSITIONS,
    PROBLEM_NOUNS,
    REACHED,
    RULED_OUT,
    SUBJECTS,
    SUGGESTING,
)
from grading.text import LINE, Text

_NOUNS = 3
_WINDOW = 20
_DENYING = RULED_OUT | {
    *("not", "never", "no", "nothing", "neither"),
    *("would", "ruled", "rule", "out", "red", "off", "considered"),
}
"""One of these is in every predicate of denial."""

_WRONG = frozenset({"wrong", "incorrect", "misleading", "premature", "inaccurate"})
_PRONOUNS = frozenset({"it", "this", "that", "they", "these"})
_EMPTY_ROLES = frozenset({"role", "part", "bearing", "effect", "impact", "influence"})


def following_words(text: Text, last: int) -> list[str]:
    """The words of the clause after token `last`, at most twenty."""
    indexes = text.clauses[text.clause[last]]
    place = text.place[last] + 1
    return [text.words[index] for index in indexes[place : place + _WINDOW]]


def after_tail(words: Sequence[str]) -> list[int]:
    """Where a predicate may start: after up to three nouns that go on with the match, and one `of the ...`."""
    places = [0]
    place = 0
    while place < min(_NOUNS, len(words)) and words[place] not in FUNCTION_WORDS:
        place += 1
        places.append(place)
    for start in tuple(places):
        if start < len(words) and words[start] in PREPOSITIONS:
            place = start + 1
            if place < len(words) and words[place] in DETERMINERS:
                place += 1
            for _ in range(_NOUNS):
                if place >= len(words) or words[place] in FUNCTION_WORDS:
                    break
                place += 1
                places.append(place)
            break
    return places


def denied_after(text: Text, first: int, last: int, following: list[str] | None = None) -> bool:
    """Whether the words after a match take it back. `following` are those of `following_words`, if they are known."""
    words = following_words(text, last) if following is None else following
    if not _DENYING.isdisjoint(words):
        subject = text.words[first : last + 1]
        for place in after_tail(words):
            if is_denial(words[place:], _faulty_states([*subject, *words[:place]])):
                return True
    return _taken_back(text, first, last, words)


def is_adverb(word: str) -> bool:
    """Whether a word only colours its statement (`safely`, `probably`, `here`)."""
    return word in ADVERBS or (len(word) > 4 and word.endswith("ly") and word not in RULED_OUT and word not in BLAME)


def _faulty_states(subject: Sequence[str]) -> frozenset[str]:
    """What it means for such a subject to be at fault, beyond what is a fault of anything."""
    states = ABSENT if any(word in EVENTS for word in subject) else frozenset()
    return states | REACHED if any(word in LIMITS for word in subject) else states


def is_denial(words: Sequence[str], faults: frozenset[str] = ABSENT) -> bool:
    """Whether these words, as the predicate of a subject, deny it. `faults` are states that are faults of it alone."""
    if tuple(words[:2]) == ("would", "be") and words[2:3] and words[2] in _WRONG:
        return True
    place = _skip(words, 0)
    if place >= len(words):
        return False
    if _ruled_out(words, place):
        return place > 0 or len(words) - place <= 2
    if words[place] in ("not", "never"):
        return _negated_predicate(words, place + 1, faults=faults)
    if words[place] in ("no", "nothing", "neither"):
        return _no_predicate(words, place)
    return False


def is_denial_label(words: Sequence[str]) -> bool:
    """Whether a heading announces things that are set aside (`Ruled out`, `Not the cause`)."""
    if LABEL_TRIGGERS.isdisjoint(words):
        return False
    for place, word in enumerate(words[:_WINDOW]):
        if _ruled_out(words, place) and "not" not in words[max(0, place - 3) : place]:
            return True
        if word == "not" and _negated_predicate([*words[place + 1 :]], 0, nouns=True):
            return True
    if "what" in words and words[-1] == "not":
        return True
    return tuple(words[:2]) in (("red", "herrings"), ("red", "herring"), ("non", "issues"), ("false", "leads"))


def names_something(label: Sequence[str]) -> bool:
    """Whether a heading of denial says of what it speaks (`Not a fault of billing`, unlike `Not the cause`)."""
    return any(word not in LABEL_WORDS and not is_adverb(word) for word in label)


def denies_its_subject(label: Sequence[str]) -> bool:
    """Whether what looks like a heading is a sentence about a subject of its own (`the image is not the problem`)."""
    verb = next((place for place, word in enumerate(label) if word in AUXILIARIES and word != "s"), 0)
    return names_something(label[:verb])


def is_main_clause(words: Sequence[str]) -> bool:
    """Whether these words are a statement with a verb, and no bare item of a list (`the image pull`, `OOMKilled`)."""
    for place, word in enumerate(words):
        if word in FINITE or (word in AUXILIARIES and word != "s"):
            return place > 0
        if place + 1 < len(words) and word in SUBJECTS:
            return True
        if place > 1 and word in ARTICLES and words[place - 1] not in FUNCTION_WORDS:
            return True
    return len(words) > 2 and words[0] in ARTICLES and words[-1] in PAST


def _skip(words: Sequence[str], place: int) -> int:
    while place < len(words) and (words[place] in AUXILIARIES or is_adverb(words[place]) or words[place] == "to"):
        place += 1
    return place


def _ruled_out(words: Sequence[str], place: int) -> bool:
    pair = tuple(words[place : place + 2])
    if pair in (("considered", "and"), ("considered", "but")):
        rest = words[place + 2 : place + 4]
        return any(word in RULED_OUT or word == "rejected" for word in rest) or list(rest) == ["ruled", "out"]
    return (
        words[place] in RULED_OUT
        or pair in (("ruled", "out"), ("rule", "out"), ("out", "of"))
        or (pair in (("a", "red"), ("red", "herring"), ("off", "the")))
    )


def _negated_predicate(
    words: Sequence[str], place: int, nouns: bool = False, faults: frozenset[str] = frozenset()
) -> bool:
    if place < len(words) and words[place] in ADDITIVE:
        return False
    while place < len(words) and (
        is_adverb(words[place])
        or words[place] in DETERMINERS
        or words[place] in BLAME_ADJECTIVES
        or words[place] in AUXILIARIES
    ):
        place += 1
    if place >= len(words):
        return False
    word = words[place]
    if word == "fault" and place + 1 < len(words) and words[place + 1] == "of":
        # Not whose fault it is: that leaves standing what happened.
        return False
    if nouns:
        return word in LABEL_NOUNS or word in BLAME
    return word in faults or word in BLAME or word in FAULTS or (word == "longer" and _blamed(words, place + 1))


def _no_predicate(words: Sequence[str], place: int) -> bool:
    rest = [word for word in words[place + 1 : place + 6] if word not in BLAME_ADJECTIVES]
    if words[place] == "nothing":
        return rest[:2] == ["to", "do"]
    if rest and rest[0] == "longer":
        return _blamed(rest, 1)
    return bool(rest) and (rest[0] in BLAME or rest[0] in _EMPTY_ROLES or rest[0] in PROBLEM_NOUNS)


def _blamed(words: Sequence[str], place: int) -> bool:
    while place < len(words) and (words[place] in DETERMINERS or words[place] in BLAME_ADJECTIVES):
        place += 1
    return place < len(words) and (words[place] in BLAME or words[place] in FAULTS)


def _taken_back(text: Text, first: int, last: int, words: list[str]) -> bool:
    """`looks like X but is not`, `X, but it isn't`, `normally suggests X, but ...`: a contrast takes the match back."""
    for place in range(min(4, len(words))):
        if words[place] in CONTRASTS:
            return _reverses(words[place + 1 :])
    index = last + 1 + len(words)
    if len(words) > 3 or index >= len(text.words) or text.gaps[index] & LINE or text.words[index] not in CONTRASTS:
        return False
    lead = text.clauses[text.clause[first]][max(0, text.place[first] - 6) : text.place[first]]
    before = [text.words[at] for at in lead]
    if any(word in GENERIC for word in before) and any(word in SUGGESTING for word in before):
        return True
    rest = following_words(text, index)
    beyond = index + 1 + len(rest)
    if not rest and beyond < len(text.words):
        rest = [text.words[beyond], *following_words(text, beyond)]
    return _reverses(rest)


def _reverses(rest: Sequence[str]) -> bool:
    """Whether a contrasting clause only says that it is not so."""
    words = [word for word in rest if word not in _PRONOUNS]
    if words and words[-1] == "not" and len(words) <= 4:
        return all(word in AUXILIARIES for word in words[:-1])
    said = [word for word in words if word not in ADVERBS]
    if said[-2:] in (["not", "support"], ["not", "fit"], ["not", "confirm"], ["ruled", "out"], ["rules", "out"]):
        return len(rest) != len(words)
    return bool(rest) and rest[0] in _PRONOUNS and is_denial(rest[1:])
