"""Thinking that leaked into an answer, between tags such as `<think>` and `</think>`.

What stands between an opening and the next closing tag is thinking, and so is all that follows an opening tag that is
never closed: a thought that did not end is no answer. A closing tag without an opening one ends a thought that began
before the answer was recorded, if there is an answer after it; at the end, with nothing visible to follow, it is only
litter and hides nothing but itself.
"""

import re

_TAG = re.compile(r"<(/?)(?:think|thinking|thought)>", re.IGNORECASE)
_NOT_SPACE = re.compile(r"\S")

Stretch = tuple[int, int]


def without_thoughts(answer: str) -> str:
    """The answer with every thought and tag blanked out. Its length, its line breaks and all offsets stay."""
    hidden, orphans = _thoughts(answer)
    if orphans:
        last = _last_visible(_blanked(answer, hidden + [tag for tag, _ in orphans]))
        hidden += [(opened if end <= last else start, end) for (start, end), opened in orphans]
    return _blanked(answer, hidden)


def _thoughts(answer: str) -> tuple[list[Stretch], list[tuple[Stretch, int]]]:
    """The thoughts that were opened, and the closing tags without an opening one, each with where its thought would
    begin: at the thought before it, which it may go on with, else at the start of the answer."""
    hidden: list[Stretch] = []
    orphans: list[tuple[Stretch, int]] = []
    opened: int | None = None
    for tag in _TAG.finditer(answer):
        if not tag.group(1):
            opened = tag.start() if opened is None else opened
        elif opened is None:
            orphans.append((tag.span(), hidden[-1][0] if hidden else 0))
        else:
            hidden.append((opened, tag.end()))
            opened = None
    if opened is not None:
        hidden.append((opened, len(answer)))
    return hidden, orphans


def _last_visible(text: str) -> int:
    """The offset after which there is no letter and no digit of any script, 0 if there is none at all."""
    for offset in range(len(text) - 1, -1, -1):
        if text[offset].isalnum():
            return offset
    return 0


def _blanked(text: str, stretches: list[Stretch]) -> str:
    """The text with everything in the stretches, which may overlap and come in any order, turned into spaces."""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(stretches):
        if end <= at:
            continue
        pieces += [text[at:start], _NOT_SPACE.sub(" ", text[max(start, at) : end])]
        at = end
    pieces.append(text[at:])
    return "".join(pieces)
