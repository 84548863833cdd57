"""A request body as messages, tools and a rest, and back, byte for byte.

A conversation re-sends its whole history with every request. `split` takes a JSON body apart into the exact bytes of
each message, the exact bytes of `tools`, and the rest with both set to null; `rebuild` puts it together again. Only the
members `messages` and `tools` of the outermost object count: the same names inside strings, options or messages are
part of the rest. Where taking apart and putting together would not give the same bytes, or where a part could not stand
in one line of a log, `split` returns None and the caller keeps the body whole.
"""

import json
import re
from collections.abc import Container
from functools import lru_cache
from typing import Any

import msgspec

from schemas.errors import LogError

_SEPARATORS = (b",", b", ")
_BLANK = " \t\n\r"
_PREFIX = 64
_MAX_DEPTH = 256
"""A part that is nested deeper stays inside the body, which is a text: what a reader bears depends on who called it."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_BRACKET = re.compile(rb"[\[{\]}]")
# U+FDD0 is the codec's own escape: a line that carries it is decoded and encoded again, which would not keep raw bytes.
_NONCHARACTER = "\ufdd0".encode()


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """A body taken apart. Every member is raw JSON as it stood in the body; `tools` is None if there were none."""

    messages: tuple[bytes, ...]
    tools: bytes | None
    rest: bytes
    separator: bytes


class _Member(msgspec.Struct, frozen=True):
    """One member of the outermost object: its key and where its value stands, in code points."""

    key: str
    start: int
    end: int


def split(body: bytes, known: Container[bytes] = ()) -> Parts | None:
    """The parts of a chat request body, or None if it cannot be rebuilt from them byte for byte.

    `known` holds messages and toolsets that earlier bodies were taken apart into: they are not checked again.
    """
    # Looking for one byte is far faster than looking for three.
    if b"\n" in body or b"\r" in body or (_NONCHARACTER[:1] in body and _NONCHARACTER in body):
        return None
    try:
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        messages = msgspec.json.decode(members["messages"], type=tuple[msgspec.Raw, ...])
        parts = _split(body, members, tuple(map(bytes, messages)))
        # The parts are copied as they lie, so each has to be good JSON: a lone surrogate is none.
        for part in () if parts is None else (*parts.messages, parts.tools or b"null", parts.rest):
            if part not in known:
                msgspec.json.decode(part)
                if _is_deep(part):
                    return None
    except (ValueError, KeyError, LogError, RecursionError):
        return None
    return parts


def rebuild(rest: bytes, messages: tuple[bytes, ...], tools: bytes | None, separator: bytes) -> bytes:
    """The body that `split` took apart. Raises `LogError` if `rest` has no place for the messages or the tools."""
    try:
        text = rest.decode("utf-8")
        members = _members(text)
    except (ValueError, RecursionError) as error:
        raise LogError(f"the rest of a request is not a JSON object: {error}") from None
    values = {"messages": b"[" + separator.join(messages) + b"]"}
    if tools is not None:
        values["tools"] = tools
    pieces: list[bytes] = []
    done = 0
    for member in members:
        if member.key in values and text[member.start : member.end] == "null":
            pieces += [text[done : member.start].encode("utf-8"), values.pop(member.key)]
            done = member.end
    if values:
        raise LogError(f"the rest of a request has no empty member for {' and '.join(sorted(values))}")
    pieces.append(text[done:].encode("utf-8"))
    return b"".join(pieces)


def _split(body: bytes, members: dict[str, msgspec.Raw], messages: tuple[bytes, ...]) -> Parts | None:
    array = bytes(members["messages"])
    separator = next((joint for joint in _SEPARATORS if b"[%b]" % joint.join(messages) == array), None)
    if separator is None:
        return None
    tools = bytes(members["tools"]) if "tools" in members else b"null"
    parts = Parts(
        messages=messages,
        tools=None if tools == b"null" else tools,
        rest=_emptied(body, members),
        separator=separator,
    )
    keys = [member.key for member in _members(parts.rest.decode("utf-8"))]
    whole = len(set(keys)) == len(keys) and rebuild(parts.rest, messages, parts.tools, separator)
    return parts if whole == body else None


def _emptied(body: bytes, members: dict[str, msgspec.Raw]) -> bytes:
    """The body with its messages and tools set to null.

    Members are looked for in their order. A text that stands twice may be found too early; what is rebuilt then is not
    the body. Raises `ValueError` if they are not in order, as after a key that stands twice.
    """
    pieces: list[bytes] = []
    done = at = 0
    for key, value in members.items():
        raw = bytes(value)
        at = _find(body, raw, at)
        if key in ("messages", "tools"):
            pieces += [body[done:at], b"null"]
            done = at + len(raw)
        at += len(raw)
    return b"".join(pieces) + body[done:]


def _is_deep(part: bytes) -> bool:
    """Whether good JSON has more levels of objects and arrays than `_MAX_DEPTH`."""
    if part.count(b"[") + part.count(b"{") <= _MAX_DEPTH:
        return False
    depth = 0
    for found in _BRACKET.finditer(_STRING.sub(b"", part)):
        depth += 1 if found.group() in b"[{" else -1
        if depth > _MAX_DEPTH:
            return True
    return False


def _find(body: bytes, part: bytes, at: int) -> int:
    """`body.index(part, at)`, which prepares for a search as long as the part; here it nearly always lies at once."""
    near = body.index(part[:_PREFIX], at)
    return near if body.startswith(part, near) else body.index(part, near)


@lru_cache(maxsize=8)
def _members(text: str) -> tuple[_Member, ...]:
    """The members of the outermost object of a JSON text in order. Raises `ValueError` if it is none."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    at = _skip(text, 0)
    _expect(text, at, "{")
    at = _skip(text, at + 1)
    members: list[_Member] = []
    while text[at : at + 1] != "}":
        if members:
            _expect(text, at, ",")
            at = _skip(text, at + 1)
        _expect(text, at, '"')
        key, end = decoder.raw_decode(text, at)
        at = _skip(text, end)
        _expect(text, at, ":")
        start = _skip(text, at + 1)
        _, end = decoder.raw_decode(text, start)
        members.append(_Member(key, start, end))
        at = _skip(text, end)
    if _skip(text, at + 1) != len(text):
        raise ValueError("text after the object")
    return tuple(members)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _expect(text: str, at: int, character: str) -> None:
    if text[at : at + 1] != character:
        raise ValueError(f"expected {character!r} at character {at}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
