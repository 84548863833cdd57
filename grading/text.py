"""An answer as tokens with their clauses: the ground that every other part of the grammar stands on.

Offsets are Unicode code points into the answer as recorded, so that every finding can be shown in place. Cutting is
linear in the length of the text. Source: evaluation semantics 5.2.
"""

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate
from typing import Literal

import msgspec

from grading.lexicon import BARE_CONTRACTIONS, STEMS
from grading.rules import Rules

COMMA, COLON, OPEN, CLOSE, DASH, STOP, QUESTION, LINE, CELL = (1 << bit for bit in range(9))
HARD = STOP | QUESTION | LINE
"""Boundaries that end a sentence."""

NUMBER_MARK = "\0"
"""Stands between two tokens of a joined text where a digit meets a digit, so that `1.37` never reads as `137`."""

_TOKEN = re.compile(r"([a-z0-9]+|[A-Z]+(?=[A-Z][a-z])|[A-Z]+[a-z0-9]*)")
"""A text split by it is what separates tokens and the tokens in turn, a separator first and last."""

_APOSTROPHES = frozenset("'’ʼ‘´`")
_SPACED_HYPHEN = re.compile(r"\s-\s")
_DASHES = re.compile(r"\s-{1,3}\s|[-=]>|→|⇒")
_TIGHT = frozenset(".,:")
_BARE = frozenset(BARE_CONTRACTIONS)
_SHORT_GAP = 8
_MARKUP = str.maketrans("", "", "*_`~\"'")
_BITS = {
    ",": COMMA,
    ":": COLON,
    "(": OPEN,
    ")": CLOSE,
    ".": STOP,
    ";": STOP,
    "!": STOP,
    "?": QUESTION,
    "\n": LINE,
}


Marker = Literal["negator", "breaker", "denial"]


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """One clause: its words, which of them are markers of denial, and for each place (and for the end) the nearest
    marker to the left of it, -1 if there is none."""

    words: tuple[str, ...]
    marker: tuple[Marker | None, ...]
    nearest: tuple[int, ...]


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A cut text. Lists run by token, `clauses` by clause; `gaps` has one entry more, for what follows the last token.

    `gaps[i]` are the boundary bits between token `i - 1` and token `i`; `joined` is all tokens run together, and
    `until` the offset in it at which each of them ends. `scopes` keeps the clauses already marked.
    """

    source: str
    words: list[str]
    starts: list[int]
    ends: list[int]
    clause: list[int]
    place: list[int]
    clauses: list[list[int]]
    gaps: list[int]
    joined: str
    until: list[int]
    scopes: dict[int, Scope]


def cut(source: str, rules: Rules) -> Text:
    """The tokens and clauses of `source` under `rules`."""
    words, starts, ends, gaps = _tokens(source, rules)
    clause, place, clauses = _clauses(len(words), gaps, rules)
    joined, until = _join(words, rules.whole_numbers)
    return Text(
        source=source,
        words=words,
        starts=starts,
        ends=ends,
        clause=clause,
        place=place,
        clauses=clauses,
        gaps=gaps,
        joined=joined,
        until=until,
        scopes={},
    )


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A keyword to look for: its joined tokens, and by offset in them the boundary bits that stand inside of it."""

    joined: str
    breaks: dict[int, int]


def key_of(keyword: str, rules: Rules) -> Key:
    """The joined tokens of a keyword: what to look for in `Text.joined`. Empty if the keyword has no token."""
    words, _, _, gaps = _tokens(keyword, rules)
    joined, until = _join(words, rules.whole_numbers)
    return Key(joined=joined, breaks={until[at - 1]: gaps[at] for at in range(1, len(words)) if gaps[at]})


def _tokens(source: str, rules: Rules) -> tuple[list[str], list[int], list[int], list[int]]:
    """Words, starts, ends, and the boundary bits before each word and after the last."""
    pieces = _TOKEN.split(source)
    offsets = list(accumulate(map(len, pieces)))
    starts, ends, between = offsets[:-1:2], offsets[1::2], pieces[::2]
    words = " ".join(pieces[1::2]).lower().split(" ") if ends else []
    gaps = _gaps(between, words, source, starts, ends, rules)
    return _expanded(words, starts, ends, gaps, source) if rules.contractions else (words, starts, ends, gaps)


def _gaps(
    between: list[str], words: list[str], source: str, starts: list[int], ends: list[int], rules: Rules
) -> list[int]:
    """The boundary bits of every gap. There is none inside a number or a name, nor after `e.g.` and `i.e.`."""
    form = (rules.labels, rules.dashes_end_clauses, rules.one_sentence)
    known = {gap: _boundary(gap, *form) if len(gap) <= _SHORT_GAP else _bits(gap, *form) for gap in set(between)}
    bits = [known[gap][0] for gap in between]
    if not rules.one_sentence:
        return bits
    for at in [at for at, bit in enumerate(bits) if bit]:
        if not 0 < at < len(words):
            continue
        mark = known[between[at]][1]
        if mark:
            if not (mark == "." and source[starts[at]].isupper() and source[ends[at - 1] - 1].islower()):
                bits[at] = 0
        elif bits[at] == STOP and at > 1 and (words[at - 2], words[at - 1]) in (("e", "g"), ("i", "e")):
            bits[at] = 0
    return bits


def _expanded(
    words: list[str], starts: list[int], ends: list[int], gaps: list[int], source: str
) -> tuple[list[str], list[int], list[int], list[int]]:
    """The same with contractions written out: `isn't` and `isnt` are the two tokens of `is not`, at one place."""
    if "t" in words:
        for at in range(1, len(words)):
            if words[at] == "t" and words[at - 1] in STEMS and source[ends[at - 1] : starts[at]] in _APOSTROPHES:
                words[at - 1], words[at] = STEMS[words[at - 1]], "not"
                starts[at], ends[at - 1], gaps[at] = starts[at - 1], ends[at], 0
    if _BARE.isdisjoint(words):
        return words, starts, ends, gaps
    long = [BARE_CONTRACTIONS.get(word) for word in words]
    twice = [at for at, stem in enumerate(long) for _ in range(1 if stem is None else 2)]
    second = [at == before for before, at in zip([-1, *twice], twice, strict=False)]
    return (
        ["not" if again else long[at] or words[at] for at, again in zip(twice, second, strict=True)],
        [starts[at] for at in twice],
        [ends[at] for at in twice],
        [0 if again else gaps[at] for at, again in zip(twice, second, strict=True)] + gaps[len(words) :],
    )


def _bits(gap: str, labels: bool, dashes: bool, arrows: bool) -> tuple[int, str]:
    """The boundary bits of what stands between two tokens, and the mark it is, if that may bind a name or number."""
    bits = 0
    for character in gap:
        if character in _BITS:
            bits |= _BITS[character]
        elif character == "|" and labels:
            bits |= CELL
        elif character in "—–" and dashes:
            bits |= DASH
    if dashes and (_DASHES if arrows else _SPACED_HYPHEN).search(gap):
        bits |= DASH
    bare = gap.translate(_MARKUP) if bits else ""
    return bits, bare if bare in _TIGHT else ""


_boundary = lru_cache(maxsize=2048)(_bits)
"""The same, remembered for gaps of a few characters."""


def _clauses(size: int, gaps: list[int], rules: Rules) -> tuple[list[int], list[int], list[list[int]]]:
    clause: list[int] = []
    place: list[int] = []
    clauses: list[list[int]] = []
    outer: list[int] = []
    current = -1
    openings = [index for index, bits in enumerate(gaps[:size]) if bits or not index]
    for first, beyond in zip(openings, [*openings[1:], size], strict=False):
        bits = gaps[first]
        if rules.one_sentence and bits == CLOSE and outer:
            current = outer.pop()
        else:
            if bits & HARD or not rules.one_sentence:
                outer.clear()
            elif bits == OPEN and current >= 0:
                outer.append(current)
            current = len(clauses)
            clauses.append([])
        members = clauses[current]
        clause += [current] * (beyond - first)
        place += range(len(members), len(members) + beyond - first)
        members += range(first, beyond)
    return clause, place, clauses


def _join(words: list[str], marked: bool) -> tuple[str, list[int]]:
    """The words run together, and the offset at which each one ends."""
    pieces = words
    if marked:
        # Only a digit sorts before a letter here.
        numbers = [at for at, word in enumerate(words) if word <= ":"]
        joints = [at for at in numbers if at and words[at - 1][-1] <= "9"]
        if joints:
            pieces = list(words)
            for at in joints:
                pieces[at] = NUMBER_MARK + pieces[at]
    return "".join(pieces), list(accumulate(map(len, pieces)))


def token_from(text: Text, offset: int) -> int | None:
    """The token that starts at an offset of the joined text, or None."""
    if offset and text.joined[offset - 1] == NUMBER_MARK:
        offset -= 1
    if not offset:
        return 0
    before = token_until(text, offset)
    return None if before is None else before + 1


def token_until(text: Text, offset: int) -> int | None:
    """The token that ends at an offset of the joined text, or None."""
    at = bisect_left(text.until, offset)
    return at if at < len(text.until) and text.until[at] == offset else None
