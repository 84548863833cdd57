"""Of which object something is said: the mentions of objects in an answer, and which of them owns a claim.

A claim belongs to the nearest mention in its own part of the sentence, else to the one before it (else after it) in the
sentence, else to the last one mentioned before it, else to the first after it. A mention that only serves comparison
(`than X`, `rather than X`, `before X`, `not X`) owns nothing; outside the claim's own sentence neither does one that is
said to be fine. Objects joined by `and` or `or` own a claim together.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from grading.after import denied_after
from grading.clear import all_clear_after
from grading.lexicon import BREAKERS, words
from grading.matching import compiled, matches
from grading.names import inside_longer_name
from grading.rules import Rules
from grading.text import HARD, Text
from schemas.cases import Bound

Side = Literal["subject", "other"]
Match = tuple[int, int]

_PARTS = BREAKERS | {"then"}
"""Words at which a clause begins to speak of something else."""

_CONTRASTS = words("but however yet although though whereas while")
"""After one of these a part without an object of its own may be about another one."""

_COMPARING = words(
    "than over before after not never unlike versus vs excluding except ignore ignoring skip skipping leave"
)
_COMPARING_PAIRS = frozenset(
    {
        ("instead", "of"),
        ("ahead", "of"),
        ("apart", "from"),
        ("compared", "to"),
        ("compared", "with"),
        ("opposed", "to"),
    }
)
_LIGHT = words("the a an pod pods service deployment workload namespace object resource container of for in to on at")
"""What may stand between such a word and the object it sets aside."""

_JOINING = words("and or both as well plus the pod pods")
_JOINING_TOKENS = 4
_MOST_JOINED = 6


class Mention(msgspec.Struct, frozen=True):
    """An object named in an answer: its first and last token, which side of the binding it is on, whether it only
    serves comparison or is left out of the account, and its place among all mentions."""

    first: int
    last: int
    side: Side
    aside: bool
    at: int = 0


class Owners(msgspec.Struct, frozen=True):
    """What a claim is said of, the nearest first; `near` is whether the claim's own sentence says so without a turn."""

    mentions: tuple[Mention, ...] = ()
    near: bool = False


class Scene(msgspec.Struct, frozen=True):
    """The mentions of a binding in a text, in order: all, those that can own a claim of their own sentence, and those
    that can own one from afar."""

    mentions: tuple[Mention, ...]
    owning: tuple[Mention, ...]
    telling: tuple[Mention, ...]


class Outline(msgspec.Struct, frozen=True):
    """For each token the number of its sentence and of its part of a sentence, both counted through the text."""

    sentence: tuple[int, ...]
    part: tuple[int, ...]


def outline(text: Text) -> Outline:
    """The sentences and parts of a text. A part ends with its clause, or where the clause turns (`and`, `while`)."""
    sentences: list[int] = []
    parts: list[int] = []
    sentence = part = 0
    for index, word in enumerate(text.words):
        if index and text.gaps[index] & HARD:
            sentence += 1
        if index and (text.clause[index] != text.clause[index - 1] or word in _PARTS):
            part += 1
        sentences.append(sentence)
        parts.append(part)
    return Outline(tuple(sentences), tuple(parts))


def keyword_matches(text: Text, keywords: tuple[str, ...], rules: Rules) -> Iterator[tuple[Match, str]]:
    """Every match of every keyword, with the keyword."""
    joined = text.joined
    for keyword, wanted, key in compiled(keywords, rules):
        if wanted not in joined:
            continue
        for match in matches(text, key, rules):
            if not (rules.distinct_names and inside_longer_name(text, match, keyword)):
                yield match, keyword


def scene_of(text: Text, bound: Bound, rules: Rules) -> Scene:
    """Every mention of an object of the binding, in order; of two that overlap the longer one counts."""
    found: list[Mention] = []
    sides: tuple[tuple[Side, tuple[str, ...]], ...] = (("subject", bound.subject), ("other", bound.others))
    for side, names in sides:
        for (first, last), _ in keyword_matches(text, names, rules):
            found.append(Mention(first, _whole_name(text, last), side, _set_aside(text, first)))
    found.sort(key=lambda mention: (mention.first - mention.last, mention.first))
    taken: set[int] = set()
    kept: list[Mention] = []
    for mention in found:
        tokens = range(mention.first, mention.last + 1)
        if taken.isdisjoint(tokens):
            kept.append(mention)
            taken.update(tokens)
    kept.sort(key=lambda mention: mention.first)
    mentions = tuple(msgspec.structs.replace(mention, at=at) for at, mention in enumerate(kept))
    owning = tuple(mention for mention in mentions if not mention.aside)
    telling = tuple(mention for mention in owning if not _is_fine(text, mention, rules))
    return Scene(mentions, owning, telling)


def owners_of(text: Text, match: Match, scene: Scene, lines: Outline) -> Owners:
    """What a match is said of; nothing if no object is mentioned at all."""
    before, after = _neighbours(match, scene.owning)
    if text.words[match[1]] in _COMPARING:
        after = _beyond_part(match, after, scene.owning, lines)
    here = [mention for mention in (before, after) if mention and lines.part[mention.first] == lines.part[match[0]]]
    if here:
        nearest = min(here, key=lambda mention: _distance(match, mention))
        return Owners(_joined(text, nearest, scene.mentions), near=True)
    for mention in (before, after):
        if mention and lines.sentence[mention.first] == lines.sentence[match[0]]:
            return Owners(_joined(text, mention, scene.mentions), near=not _turns_between(text, match, mention))
    before, after = _neighbours(match, scene.telling)
    far = before or after
    return Owners((far,)) if far else Owners()


def _neighbours(match: Match, mentions: Sequence[Mention]) -> tuple[Mention | None, Mention | None]:
    """The last mention that begins no later than a match, and the first that begins after it."""
    place = bisect_right(mentions, match[0], key=lambda mention: mention.first)
    return mentions[place - 1] if place else None, mentions[place] if place < len(mentions) else None


def _beyond_part(match: Match, after: Mention | None, mentions: Sequence[Mention], lines: Outline) -> Mention | None:
    """The first mention after a claim such as `before` that is not what it compares with: that stands in its part."""
    if after is None or lines.part[after.first] != lines.part[match[1]]:
        return after
    place = bisect_right(mentions, lines.part[match[1]], key=lambda mention: lines.part[mention.first])
    return mentions[place] if place < len(mentions) else None


def _whole_name(text: Text, last: int) -> int:
    """The last token of the name that a match begins: `web` in `web-7d9f-x1` reaches to its end."""
    while last + 1 < len(text.words) and text.source[text.ends[last] : text.starts[last + 1]] == "-":
        last += 1
    return last


def _distance(match: Match, mention: Mention) -> tuple[int, int]:
    """Tokens between a claim and a mention, and the earlier one first where they are equally near."""
    if mention.first <= match[0]:
        return max(0, match[0] - mention.last), 0
    return max(0, mention.first - match[1]), 1


def _turns_between(text: Text, match: Match, mention: Mention) -> bool:
    start, end = sorted((match[0], mention.first))
    return not _CONTRASTS.isdisjoint(text.words[start : end + 1])


def _set_aside(text: Text, place: int) -> bool:
    """Whether what is mentioned at a token only serves comparison or is left out of the account."""
    while place and not text.gaps[place] and text.words[place - 1] in _LIGHT and not _ends_pair(text, place - 1):
        place -= 1
    if not place or text.gaps[place]:
        return False
    return text.words[place - 1] in _COMPARING or _ends_pair(text, place - 1)


def _ends_pair(text: Text, place: int) -> bool:
    return place > 0 and (text.words[place - 1], text.words[place]) in _COMPARING_PAIRS


def _is_fine(text: Text, mention: Mention, rules: Rules) -> bool:
    """Whether an object is said to be fine or not to blame."""
    return denied_after(text, mention.first, mention.last) or all_clear_after(text, mention.first, mention.last, rules)


def _joined(text: Text, mention: Mention, mentions: tuple[Mention, ...]) -> tuple[Mention, ...]:
    """A mention with those it is joined to by `and` or `or`, itself first; longer chains are cut off."""
    owners = [mention]
    for step in (-1, 1):
        here = mention.at
        for _ in range(_MOST_JOINED):
            if not (0 <= here + step < len(mentions) and _are_joined(text, mentions[here], mentions[here + step])):
                break
            here += step
            owners.append(mentions[here])
    return tuple(owners)


def _are_joined(text: Text, one: Mention, two: Mention) -> bool:
    left, right = (one, two) if one.first < two.first else (two, one)
    between = text.words[left.last + 1 : right.first]
    if len(between) > _JOINING_TOKENS or any(bits & HARD for bits in text.gaps[left.last + 1 : right.first + 1]):
        return False
    return bool({"and", "or"} & set(between)) and all(word in _JOINING for word in between)
