"""A request body as messages, tools and a rest, and back, byte for byte.

A conversation re-sends its whole history with every request. `split` takes a JSON body apart into the exact bytes of
each message, the exact bytes of `tools`, and the rest with both set to null; `rebuild` puts it together again. Only the
members `messages` and `tools` of the outermost object count: the same names inside strings, options or messages are
part of the rest. Where taking apart and putting together would not give the same bytes, or where a part could not stand
in one line of a log, `split` returns None and the caller keeps the body whole.
"""

import json
from typing import Any

import msgspec

from schemas.errors import LogError

_SEPARATORS = (",", ", ")
_BLANK = " \t\n\r"
# U+FDD0 is the codec's own escape: a line that carries it is decoded and encoded again, which would not keep raw bytes.
_NONCHARACTER = "\ufdd0"


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


def split(body: bytes) -> Parts | None:
    """The parts of a chat request body, or None if it cannot be rebuilt from them byte for byte."""
    try:
        text = body.decode("utf-8")
        if "\n" in text or "\r" in text or _NONCHARACTER in text:
            return None
        value, members = _scan(text)
        if "\\ud" in text.lower():
            # A surrogate pair is good JSON; a surrogate alone is none to jq or DuckDB. Encoding tells them apart.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return _split(text, value, members, body)
    except (ValueError, RecursionError):
        return None


def rebuild(rest: bytes, messages: tuple[bytes, ...], tools: bytes | None, separator: bytes) -> bytes:
    """The body that `split` took apart. Raises `LogError` if `rest` has no place for the messages or the tools."""
    try:
        text = rest.decode("utf-8")
        _, members = _scan(text)
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


def _split(text: str, value: dict[str, Any], members: list[_Member], body: bytes) -> Parts | None:
    named = {member.key: member for member in members}
    if len(named) != len(members) or not isinstance(value.get("messages"), list):
        return None
    holes = [named["messages"]]
    tools = None
    if value.get("tools") is not None:
        holes.append(named["tools"])
        tools = text[named["tools"].start : named["tools"].end].encode("utf-8")
    messages = _items(text, named["messages"])
    rest = text
    for hole in sorted(holes, key=lambda member: -member.start):
        rest = f"{rest[: hole.start]}null{rest[hole.end :]}"
    raw = tuple(message.encode("utf-8") for message in messages)
    for separator in _SEPARATORS:
        parts = Parts(messages=raw, tools=tools, rest=rest.encode("utf-8"), separator=separator.encode())
        if rebuild(parts.rest, raw, tools, parts.separator) == body:
            return parts
    return None


def _scan(text: str) -> tuple[dict[str, Any], list[_Member]]:
    """The outermost object of a JSON text and the places of its members. Raises `ValueError` if it is none."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    at = _skip(text, 0)
    _expect(text, at, "{")
    at = _skip(text, at + 1)
    value: dict[str, Any] = {}
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
        value[key], end = decoder.raw_decode(text, start)
        members.append(_Member(key, start, end))
        at = _skip(text, end)
    if _skip(text, at + 1) != len(text):
        raise ValueError("text after the object")
    return value, members


def _items(text: str, array: _Member) -> list[str]:
    """The exact texts of the items of an array that is known to be well formed."""
    decoder = json.JSONDecoder()
    items: list[str] = []
    at = _skip(text, array.start + 1)
    while text[at] != "]":
        if items:
            at = _skip(text, at + 1)
        _, end = decoder.raw_decode(text, at)
        items.append(text[at:end])
        at = _skip(text, end)
    return items


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _expect(text: str, at: int, character: str) -> None:
    if text[at : at + 1] != character:
        raise ValueError(f"expected {character!r} at character {at}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
