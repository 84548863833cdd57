"""The all-clear: what says that the matched thing is fine, and when such words assert nothing.

Source: evaluation semantics 5.5 for the narrow form; the wider forms and their limits are changes of ours.
"""

from collections.abc import Sequence

from grading.after import after_tail, following_words
from grading.lexicon import (
    ADJECTIVES,
    ALL_CLEAR_PHRASES,
    ALL_CLEAR_VERBS,
    BEFORE_CHECKING,
    BEFORE_IMPERATIVE,
    CHECKING,
    CHECKING_NOW,
    CONDITIONALS,
    COPULAS,
    FAULTS,
    FILLERS,
    FUNCTION_WORDS,
    MANNER,
    MORE_ADJECTIVES,
    MORE_COPULAS,
    MORE_FILLERS,
    PREPOSITIONS,
    PROBLEM_NOUNS,
    QUALIFIERS,
    SPEAKERS,
    TAIL_NOUNS,
    WIDE_ADJECTIVES,
    words,
)
from grading.rules import Rules
from grading.text import COMMA, Text

_LOOK_BACK = 24


def _by_first(phrases: Sequence[tuple[str, ...]]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Phrases by their first word, in their order."""
    return {first: tuple(phrase for phrase in phrases if phrase[0] == first) for first, *_ in phrases}


_PHRASES = _by_first(ALL_CLEAR_PHRASES)
_VERBS = _by_first(ALL_CLEAR_VERBS)
_ORDERLY = _by_first(
    (
        ("went", "through"),
        ("goes", "through"),
        ("gets", "through"),
        ("works", "as", "it", "should"),
        ("work", "as", "they", "should"),
        ("does", "what", "it", "should"),
        ("does", "its", "job"),
        ("leaves", "plenty", "of"),
        ("leaves", "ample"),
        ("leaves", "enough"),
        ("has", "plenty", "of"),
        ("has", "room", "left"),
    )
)
_TROUBLE = PROBLEM_NOUNS | words(
    "complaint complaints incident incidents hitch hitches delay delays interruption interruptions"
)
_WELL = words("flawlessly smoothly reliably faultlessly perfectly")
_ENDING = FAULTS | words(
    "crash crashes exits exit exited restarts restart restarted hangs stops stopped ends dies died"
)
"""Before `without errors` these are no all-clear."""


def all_clear_after(text: Text, first: int, last: int, rules: Rules, following: Sequence[str] | None = None) -> bool:
    """Whether the match is followed by an all-clear that the clause really asserts.

    `following` are the words of `following_words`, if they are known.
    """
    words = following_words(text, last) if following is None else following
    found = is_all_clear(words, rules) or (rules.wider_all_clear and _after_tail(text, last, words, rules))
    return found and not (rules.assertive_all_clear and asserts_nothing(text, first))


def is_all_clear(words: Sequence[str], rules: Rules) -> bool:
    """Whether these words, as a predicate, say that all is well."""
    copulas = MORE_COPULAS if rules.wider_all_clear else COPULAS
    fillers = MORE_FILLERS if rules.wider_all_clear else FILLERS
    place = 0
    while place < len(words) and (words[place] in copulas or words[place] in fillers):
        place += 1
    rest = words[place:]
    if not rules.wider_all_clear:
        return bool(rest) and rest[0] in (ADJECTIVES if rules.narrow_adjectives else WIDE_ADJECTIVES)
    length = _length(rest, place, rules)
    return length > 0 and not (len(rest) > length and rest[length] in QUALIFIERS)


def _length(rest: Sequence[str], copulas: int, rules: Rules) -> int:
    """How many words the all-clear phrase at the start of `rest` has, 0 if there is none."""
    if not rest:
        return 0
    if rules.working_order and (length := _in_order(rest)):
        return length
    for phrase in (_PHRASES if copulas else _VERBS).get(rest[0], ()):
        if tuple(rest[: len(phrase)]) == phrase:
            return len(phrase)
    if len(rest) > 1 and rest[1] in MANNER and rest[0] not in FUNCTION_WORDS and rest[0] not in FAULTS:
        return 0 if rest[2:3] == ["as"] else 2
    if rest[0] in MORE_ADJECTIVES or (not rules.narrow_adjectives and rest[0] in WIDE_ADJECTIVES):
        return 1
    return 1 if rest[0] == "good" and len(rest) == 1 and copulas else 0


def _in_order(rest: Sequence[str]) -> int:
    """How many words at the start of `rest` say that a thing does as it should, 0 if they do not."""
    for phrase in _ORDERLY.get(rest[0], ()):
        if tuple(rest[: len(phrase)]) == phrase:
            return len(phrase)
    if len(rest) > 1 and rest[1] in _WELL and rest[0] not in _ENDING and rest[0] not in FUNCTION_WORDS:
        return 2
    if len(rest) > 2 and rest[1] == "without" and rest[0] not in _ENDING and rest[0] not in FUNCTION_WORDS:
        trouble = 3 if rest[2] in ("any", "a") else 2
        return trouble + 1 if trouble < len(rest) and rest[trouble] in _TROUBLE else 0
    return 0


def falls_short(text: Text, last: int) -> bool:
    """Whether the match is said not to do what it should: a negation that blames."""
    after = following_words(text, last)
    return "what" in after and "should" in after[after.index("what") : after.index("what") + 4]


def _after_tail(text: Text, last: int, words: Sequence[str], rules: Rules) -> bool:
    """The all-clear after `configuration`, `of the pod` and the like, or after `, which`."""
    for place in after_tail(words)[1:]:
        nouns = words[:place]
        plain = all(word in TAIL_NOUNS for word in nouns)
        if (plain or nouns[0] in PREPOSITIONS) and place < len(words) and is_all_clear(words[place:], rules):
            return True
    return len(words) == 0 and _relative(text, last, rules)


def _relative(text: Text, last: int, rules: Rules) -> bool:
    """`the selector, which is correct`."""
    index = last + 1
    if index >= len(text.words) or text.gaps[index] != COMMA or text.words[index] not in ("which", "that"):
        return False
    return is_all_clear(following_words(text, index), rules)


def asserts_nothing(text: Text, first: int) -> bool:
    """Whether the clause up to the match asks for a check or states a condition."""
    indexes = text.clauses[text.clause[first]]
    place = text.place[first]
    start = max(0, place - _LOOK_BACK)
    words = [text.words[index] for index in indexes[start:place]]
    return any(word in CONDITIONALS for word in words) or any(
        _imperative(words, at, clause_start=start == 0) for at in range(len(words))
    )


def _imperative(words: list[str], at: int, clause_start: bool) -> bool:
    if words[at] == "make" and words[at + 1 : at + 2] in (["sure"], ["certain"]):
        return True
    if words[at] in CHECKING_NOW:
        return at > 0 and words[at - 1] in BEFORE_CHECKING
    if words[at] not in CHECKING:
        return False
    if at == 0 or (words[:at] and all(word.isdigit() for word in words[:at])):
        return clause_start
    before = words[at - 1]
    if before in ("to", "can") and (
        any(word in ("able", "managed") for word in words[:at])
        or (before == "can" and any(word in SPEAKERS - {"you"} for word in words[:at]))
    ):
        return False
    return before in BEFORE_IMPERATIVE
