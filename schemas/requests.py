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

_NULL = msgspec.Raw(b"null")
_SEPARATORS = (b",", b", ")
_BLANK = " \t\n\r"
_MAX_DEPTH = 256
"""A part that is nested deeper stays inside the body, which is a text: what a reader bears depends on who called it."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_JOINT = re.compile(rb"[ \t]*:[ \t]*")
_BRACKET = re.compile(rb"[\[{\]}]")
# U+FDD0 is the codec's own escape: a line that carries it is decoded and encoded again, which would not keep raw bytes.
_NONCHARACTER = "\ufdd0".encode()


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """A body taken apart. Every member is raw JSON as it stood in the body; `tools` is None if there were none."""

    messages: tuple[bytes, ...]
    tools: bytes | None
    rest: bytes
    separator: bytes


class _Body(msgspec.Struct, frozen=True):
    """What of a body is taken apart."""

    messages: tuple[msgspec.Raw, ...]
    tools: msgspec.Raw = _NULL


_decode = msgspec.json.Decoder(_Body).decode


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
        parts = _split(body, _decode(body))
        # The parts are copied as they lie, so each has to be good JSON: a lone surrogate is none.
        for part in () if parts is None else (*parts.messages, parts.tools or b"null", parts.rest):
            if part not in known:
                msgspec.json.decode(part)
                if _is_deep(part):
                    return None
    except (ValueError, LogError, RecursionError):
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


def _split(body: bytes, found: _Body) -> Parts | None:
    messages = tuple(map(bytes, found.messages))
    tools = None if found.tools == _NULL else bytes(found.tools)
    for separator in _SEPARATORS:
        rest = _emptied(body, b"[%b]" % separator.join(messages), tools)
        if rest is None:
            continue
        keys = [member.key for member in _members(rest.decode("utf-8"))]
        if len(set(keys)) == len(keys) and rebuild(rest, messages, tools, separator) == body:
            return Parts(messages=messages, tools=tools, rest=rest, separator=separator)
    return None


def _emptied(body: bytes, messages: bytes, tools: bytes | None) -> bytes | None:
    """The body with null in place of these values, or None if they do not lie in it behind their keys.

    A key and value that stand twice may be found in the wrong place; what is rebuilt then is not the body.
    """
    at = _place(body, b'"messages"', messages)
    if at < 0:
        return None
    before, after = body[:at], body[at + len(messages) :]
    if tools is not None:
        # Behind the messages first, which nearly all of the body are.
        if (at := _place(after, b'"tools"', tools)) >= 0:
            after = after[:at] + b"null" + after[at + len(tools) :]
        elif (at := _place(before, b'"tools"', tools)) >= 0:
            before = before[:at] + b"null" + before[at + len(tools) :]
        else:
            return None
    return before + b"null" + after


def _place(text: bytes, key: bytes, value: bytes) -> int:
    """Where `value` stands behind its key for the first time, or -1."""
    start = 0
    while (start := text.find(key, start)) >= 0:
        start += len(key)
        joint = _JOINT.match(text, start)
        if joint is not None and text.startswith(value, joint.end()):
            return joint.end()
    return -1


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
