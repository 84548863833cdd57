"""Thinking that leaks into the answer: `<think>` sections are taken out of the visible text, also across pieces.

Some chat templates open the section themselves, so a stream may begin inside it and show only `</think>`. What stood
before such a closing tag was thinking too.
"""

import re

_OPEN = "<think>"
_CLOSE = "</think>"
_TAG = re.compile(f"({_OPEN}|{_CLOSE})")


class ThinkSplitter:
    """Feeds on pieces of content; `visible` and `thinking` are what they came to."""

    def __init__(self) -> None:
        self._visible: list[str] = []
        self._thinking: list[str] = []
        self._held = ""
        self._inside = False
        self._trim = False

    @property
    def visible(self) -> str:
        """The text outside of thinking sections."""
        return "".join(self._visible)

    @property
    def thinking(self) -> str:
        """The text inside of thinking sections."""
        return "".join(self._thinking)

    def feed(self, text: str) -> str:
        """Take a piece and give what of it is visible for certain; the beginning of a tag is held back."""
        if not self._held and "<" not in text:
            return self._take(text)
        # Texts and tags in turn; the last text may end in the beginning of a tag.
        *whole, self._held = _TAG.split(self._held + text)
        shown: list[str] = []
        for before, tag in zip(whole[::2], whole[1::2], strict=True):
            shown.append(self._take(before))
            if tag == _CLOSE and not self._inside:
                self._thinking += self._visible
                self._visible = []
                shown = []
            self._inside = tag == _OPEN
            self._trim = tag == _CLOSE
        keep = _tag_prefix(self._held)
        ready = self._held[: len(self._held) - keep]
        self._held = self._held[len(ready) :]
        return "".join(shown) + self._take(ready)

    def finish(self) -> str:
        """Give what was held back, at the end of the stream."""
        held, self._held = self._held, ""
        return self._take(held)

    def _take(self, text: str) -> str:
        if self._inside:
            self._thinking.append(text)
            return ""
        if self._trim:
            # The blank lines between a thinking section and the answer belong to neither.
            text = text.lstrip()
            self._trim = not text
        self._visible.append(text)
        return text


def _tag_prefix(text: str) -> int:
    """How many characters at the end of `text` could begin a tag."""
    for size in range(min(len(_CLOSE) - 1, len(text)), 0, -1):
        if _OPEN.startswith(text[-size:]) or _CLOSE.startswith(text[-size:]):
            return size
    return 0
