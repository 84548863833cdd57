"""An answer as tokens with their clauses: the ground that every other part of the grammar stands on.

Offsets are Unicode code points into the answer as recorded, so that every finding can be shown in place. Cutting is
linear in the length of the text. Source: evaluation semantics 5.2.
"""

import re
from bisect import bisect_left
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

_PIECE = re.compile(r"([^A-Za-z0-9]*)([A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+|\Z)")
"""What separates two tokens, and the token; the last piece has none."""

_APOSTROPHES = frozenset("'’ʼ‘´`")
_SPACED_HYPHEN = re.compile(r"\s-\s")
_DASHES = re.compile(r"\s-{1,3}\s|[-=]>|→|⇒")
_TIGHT = frozenset(".,:")
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
    words: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    gaps: list[int] = []
    seen: dict[str, int] = {" ": 0, "": 0}
    contractions, tied = rules.contractions, rules.one_sentence
    end = 0
    for gap, token in _PIECE.findall(source):
        start = end + len(gap)
        bits = seen.get(gap)
        if bits is None:
            bits = seen[gap] = _boundary(gap, rules)
        if not token:
            gaps.append(bits)
            break
        if bits and tied:
            bits = _untie(bits, gap, source, end, start, words)
        end = start + len(token)
        word = token.lower()
        if contractions:
            if word == "t" and gap in _APOSTROPHES and words and words[-1] in STEMS:
                words[-1] = STEMS[words[-1]]
                ends[-1] = end
                start, word, bits = starts[-1], "not", 0
            elif word in BARE_CONTRACTIONS:
                words.append(BARE_CONTRACTIONS[word])
                starts.append(start)
                ends.append(end)
                gaps.append(bits)
                word, bits = "not", 0
        words.append(word)
        starts.append(start)
        ends.append(end)
        gaps.append(bits)
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


def _clauses(size: int, gaps: list[int], rules: Rules) -> tuple[list[int], list[int], list[list[int]]]:
    clause: list[int] = []
    place: list[int] = []
    clauses: list[list[int]] = []
    outer: list[int] = []
    current = -1
    openings = [index for index in range(size) if gaps[index] or not index]
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
        joints = [at for at in range(1, len(words)) if words[at][0] <= "9" and words[at - 1][-1] <= "9"]
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
