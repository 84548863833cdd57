r"""Replace private texts in raw bytes of JSON, in whichever spelling they stand there.

A value found in a flat text may stand in a log plainly, with `\/`, with `\u0040`, or with several levels of backslashes
where JSON is nested in JSON. Each is matched without decoding anything, so all other bytes stay as they are, and the
replacement is plain ASCII without a quote, so what was JSON stays JSON.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from replay.publishing.patterns import Hit

_MIN_LINE = 8
"""Shorter lines of a private key are part of its padding."""
_SLASH = rb"(?:\\*/|\\+(?:u005[cC])?|\\*u002[fF])"
_NEWLINE = rb"(?:\\+r)?(?:\\+n|\n|\\+u000[aA])"


class Needle(msgspec.Struct, frozen=True, order=True):
    """A private text; `word` is whether it is replaced only as a whole word, in any case of letters."""

    kind: str
    value: str
    word: bool = False


class Needles:
    """A set of needles, ready to be replaced. The longest comes first, so that none breaks another."""

    def __init__(self, needles: Iterable[Needle]) -> None:
        # A key behind `API_KEY=` is found by its form and as what was assigned: its form says more.
        ordered = sorted(set(needles), key=lambda needle: (-len(needle.value), needle.kind == "secret", needle))
        by_value: dict[tuple[str, bool], Needle] = {}
        for needle in ordered:
            by_value.setdefault((needle.value, needle.word), needle)
        self.needles = tuple(by_value.values())
        self._ready = [(needle, _core(needle.value), _pattern(needle)) for needle in self.needles]

    def __bool__(self) -> bool:
        return bool(self.needles)

    def replace(self, data: bytes, counts: Counter[str]) -> bytes:
        """`data` without the needles. Each replacement is counted under its kind."""
        lowered = data.lower()
        escaped = b"\\u" in data
        for needle, core, pattern in self._ready:
            if core in lowered or escaped:
                data, count = pattern.subn(mark(needle.kind).encode(), data)
                if count:
                    counts[needle.kind] += count
                    lowered = data.lower()
        return data

    def replace_text(self, text: str, counts: Counter[str]) -> str:
        """`replace` of a text."""
        return self.replace(text.encode("utf-8", "surrogatepass"), counts).decode("utf-8", "surrogatepass")


def mark(kind: str) -> str:
    """What stands in place of a private text."""
    return f"[redacted:{kind}]"


def needles_of(hits: Iterable[Hit]) -> set[Needle]:
    """What has to be replaced so that these hits are gone: line by line where one has several lines."""
    found: set[Needle] = set()
    for hit in hits:
        lines = [line.strip() for line in hit.value.splitlines()]
        parts: Sequence[str] = [line for line in lines if len(line) >= _MIN_LINE] or [hit.value]
        found.update(Needle(hit.kind, part.lower() if hit.word else part, hit.word) for part in parts)
    return found


def _core(value: str) -> bytes:
    """The longest stretch of a value that is spelled the same everywhere, in lowercase."""
    return max(re.split(r"[^A-Za-z0-9]", value), key=len).lower().encode()


def _pattern(needle: Needle) -> re.Pattern[bytes]:
    body = b"".join(_spellings(char) for char in needle.value)
    if needle.word:
        # The letter of an escape such as \n stands before a word without being part of it.
        body = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=\\u000[aAdD9]))" + body + rb"(?![A-Za-z0-9])"
    return re.compile(body, re.IGNORECASE if needle.word else 0)


def _spellings(char: str) -> bytes:
    if char in "/\\":
        return _SLASH
    if char == "\n":
        return _NEWLINE
    plain = re.escape(char.encode("utf-8", "surrogatepass"))
    units = char.encode("utf-16-be", "surrogatepass")
    escape = b"".join(
        rb"\\+u" + b"".join(_either_case(digit) for digit in units[at : at + 2].hex()) for at in range(0, len(units), 2)
    )
    if char in "\"'":
        return rb"(?:\\*" + plain + b"|" + escape + b")"
    return b"(?:" + plain + b"|" + escape + b")"


def _either_case(digit: str) -> bytes:
    return digit.encode() if digit.isdigit() else f"[{digit}{digit.upper()}]".encode()
