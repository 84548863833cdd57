"""Keywords found in an answer.

A keyword matches a run of tokens whose concatenation equals its own, so `oom killed`, `OOMKilled` and `oom-killed` are
one keyword, and `healthy` never matches `unhealthy`. Source: evaluation semantics 5.3.
"""

from collections.abc import Iterator
from functools import lru_cache

from grading.names import is_generated_behind
from grading.rules import Rules
from grading.text import COLON, OPEN, Key, Text, key_of, token_from, token_until

_DIGITS = frozenset("0123456789")
_NUMBER_JOINTS = frozenset(".,:-")


@lru_cache(maxsize=4096)
def compiled(group: tuple[str, ...], rules: Rules) -> tuple[tuple[str, str, Key], ...]:
    """The alternatives of a group, each with the text that must be in `Text.joined` for a match and with its key.

    An alternative without a token is left out.
    """
    pairs = ((alternative, key_of(alternative, rules)) for alternative in group)
    return tuple((alternative, key.joined, key) for alternative, key in pairs if key.joined)


def matches(text: Text, key: Key, rules: Rules) -> Iterator[tuple[int, int]]:
    """Every run of tokens that equals `key`, as first and last token, in order."""
    joined = text.joined
    found = joined.find(key.joined)
    while found >= 0:
        first = token_from(text, found)
        last = token_until(text, found + len(key.joined))
        if first is not None and last is not None and _allowed(text, first, last, key, found, rules):
            yield first, last
        found = joined.find(key.joined, found + 1)


def _allowed(text: Text, first: int, last: int, key: Key, found: int, rules: Rules) -> bool:
    if rules.one_sentence and any(_crosses(text, index, key, found) for index in range(first + 1, last + 1)):
        return False
    if not rules.whole_numbers:
        return True
    start, end = text.starts[first], text.ends[last]
    return _whole_number(text.source, start, end) or (
        rules.generated_names and is_generated_behind(text.source, start, end)
    )


def _crosses(text: Text, index: int, key: Key, found: int) -> bool:
    """Whether a boundary lies before token `index` over which no phrase reaches.

    `exit code: 137` reaches to its number. A boundary that stands inside the keyword at this very place is the
    keyword's own: `low on resource: memory` is found in its quotation.
    """
    bits = text.gaps[index]
    if not bits or (bits in (COLON, OPEN) and text.words[index][0] in _DIGITS):
        return False
    return bool(bits & ~key.breaks.get(text.until[index - 1] - found, 0))


def _whole_number(source: str, start: int, end: int) -> bool:
    """Whether a match does not start or end inside a longer number (`3` in `3.5`, `137` in `1,137` or `137Mi`)."""
    if source[start] in _DIGITS and start >= 2 and source[start - 1] in ".,:" and source[start - 2] in _DIGITS:
        return False
    if source[end - 1] in _DIGITS and end < len(source):
        after = source[end]
        if after.isalnum():
            return False
        if after in _NUMBER_JOINTS and source[end + 1 : end + 2] in _DIGITS:
            return False
    return True
