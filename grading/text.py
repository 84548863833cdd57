"""An answer as tokens with their clauses: the ground that every other part of the grammar stands on.

Offsets are Unicode code points into the answer as recorded, so that every finding can be shown in place. Cutting is
linear in the length of the text. Source: evaluation semantics 5.2.
"""

import re
from typing import Literal

import msgspec

from grading.lexicon import BARE_CONTRACTIONS, STEMS
from grading.rules import Rules

COMMA, COLON, OPEN, CLOSE, DASH, STOP, QUESTION, LINE, CELL = (1 << bit for bit in range(9))
HARD = STOP | QUESTION | LINE
"""Boundaries that end a sentence."""

NUMBER_MARK = "\0"
"""Stands between two tokens of a joined text where a digit meets a digit, so that `1.37` never reads as `137`."""

_TOKEN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+")
_APOSTROPHES = frozenset("'’ʼ‘´`")
_SPACED_HYPHEN = re.compile(r"\s-\s")
_DASHES = re.compile(r"\s-{1,3}\s|[-=]>|→|⇒")
_TIGHT = frozenset(".,:")
_MARKUP = str.maketrans("", "", "*_`~\"'")
_DIGITS = frozenset("0123456789")
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

    `gaps[i]` are the boundary bits between token `i - 1` and token `i`; `joined` is all tokens run together, with `at`
    and `until` from its offsets to the token that starts or ends there. `scopes` keeps the clauses already marked.
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
    at: dict[int, int]
    until: dict[int, int]
    scopes: dict[int, Scope]


def cut(source: str, rules: Rules) -> Text:
    """The tokens and clauses of `source` under `rules`."""
    words, starts, ends, gaps = _tokens(source, rules)
    clause, place, clauses = _clauses(words, gaps, rules)
    joined, at, until = _join(words, rules.whole_numbers)
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
        at=at,
        until=until,
        scopes={},
    )


def key_of(keyword: str, rules: Rules) -> str:
    """The joined tokens of a keyword: what to look for in `Text.joined`. Empty if the keyword has no token."""
    words = _tokens(keyword, rules)[0]
    return _join(words, rules.whole_numbers)[0]


def _tokens(source: str, rules: Rules) -> tuple[list[str], list[int], list[int], list[int]]:
    words: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    gaps: list[int] = []
    seen: dict[str, int] = {" ": 0, "": 0}
    end = 0
    for found in _TOKEN.finditer(source):
        start = found.start()
        gap = source[end:start]
        bits = seen.get(gap)
        if bits is None:
            bits = seen[gap] = _boundary(gap, rules)
        word = found.group().lower()
        if bits and rules.one_sentence:
            bits = _untie(bits, gap, source, end, start, words)
        if rules.contractions:
            if word == "t" and gap in _APOSTROPHES and words and words[-1] in STEMS:
                words[-1] = STEMS[words[-1]]
                ends[-1] = found.end()
                start, word, bits = starts[-1], "not", 0
            elif word in BARE_CONTRACTIONS:
                words.append(BARE_CONTRACTIONS[word])
                starts.append(start)
                ends.append(found.end())
                gaps.append(bits)
                word, bits = "not", 0
        end = found.end()
        words.append(word)
        starts.append(start)
        ends.append(end)
        gaps.append(bits)
    gaps.append(_boundary(source[end:], rules))
    return words, starts, ends, gaps


def _boundary(gap: str, rules: Rules) -> int:
    """The boundary bits of what stands between two tokens."""
    bits = 0
    for character in gap:
        if character in _BITS:
            bits |= _BITS[character]
        elif character == "|" and rules.labels:
            bits |= CELL
        elif character in "—–" and rules.dashes_end_clauses:
            bits |= DASH
    if rules.dashes_end_clauses and (_DASHES if rules.one_sentence else _SPACED_HYPHEN).search(gap):
        bits |= DASH
    return bits


def _untie(bits: int, gap: str, source: str, end: int, start: int, words: list[str]) -> int:
    """No boundary inside a number, a dotted name or an image reference, nor after `e.g.` and `i.e.`."""
    bare = gap.translate(_MARKUP)
    if len(bare) == 1 and bare in _TIGHT and end:
        capital = source[start : start + 1].isupper() and source[end - 1 : end].islower()
        return bits if bare == "." and capital else 0
    if bits == STOP and len(words) > 1 and (words[-2], words[-1]) in (("e", "g"), ("i", "e")):
        return 0
    return bits


def _clauses(words: list[str], gaps: list[int], rules: Rules) -> tuple[list[int], list[int], list[list[int]]]:
    clause: list[int] = []
    place: list[int] = []
    clauses: list[list[int]] = []
    outer: list[int] = []
    current = -1
    for index in range(len(words)):
        bits = gaps[index]
        if current < 0 or bits:
            resumed = rules.one_sentence and bits == CLOSE and bool(outer)
            if resumed:
                current = outer.pop()
            else:
                if bits & HARD or not rules.one_sentence:
                    outer.clear()
                elif bits == OPEN and current >= 0:
                    outer.append(current)
                current = len(clauses)
                clauses.append([])
        clause.append(current)
        place.append(len(clauses[current]))
        clauses[current].append(index)
    return clause, place, clauses


def _join(words: list[str], marked: bool) -> tuple[str, dict[int, int], dict[int, int]]:
    pieces: list[str] = []
    at: dict[int, int] = {}
    until: dict[int, int] = {}
    offset = 0
    digit = False
    for index, word in enumerate(words):
        if marked and digit and word[0] in _DIGITS:
            pieces.append(NUMBER_MARK)
            offset += 1
        at[offset] = index
        offset += len(word)
        until[offset] = index
        pieces.append(word)
        digit = word[-1] in _DIGITS
    return "".join(pieces), at, until
