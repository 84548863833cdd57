"""A request body as message ids and a rest, and back, byte for byte.

A conversation re-sends its whole history with every request. `split` takes a JSON body apart into the exact bytes of
each message, the exact bytes of `tools`, and the rest with both set to null; `rebuild` puts it together again. Where
that does not give the same bytes, `split` returns None and the caller keeps the body whole.
"""

import base64

import msgspec

from schemas.events import ModelRequest

_SEPARATORS = (b",", b", ")
_COLONS = (b":", b": ")
_NONCHARACTER = "\ufdd0".encode()


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """A body taken apart. Every member is raw JSON as it stood in the body; `tools` is None if there were none."""

    messages: tuple[bytes, ...]
    tools: bytes | None
    rest: bytes
    separator: bytes


class _Body(msgspec.Struct):
    messages: list[msgspec.Raw]
    tools: msgspec.Raw = msgspec.Raw()


def split(body: bytes) -> Parts | None:
    """The parts of a chat request body, or None if it cannot be rebuilt from them byte for byte."""
    # A line break would break the line format, U+FDD0 is the codec's own escape, a lone surrogate is no JSON to jq.
    if b"\n" in body or b"\r" in body or _NONCHARACTER in body or b"\\ud" in body.lower():
        return None
    try:
        parsed = msgspec.json.decode(body, type=_Body)
        body.decode("utf-8")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    messages = tuple(bytes(raw) for raw in parsed.messages)
    tools = bytes(parsed.tools) or None
    for separator in _SEPARATORS:
        rest = _null_out(body, b"messages", b"[" + separator.join(messages) + b"]")
        if rest is not None and tools is not None:
            rest = _null_out(rest, b"tools", tools)
        if rest is None:
            continue
        parts = Parts(messages=messages, tools=tools, rest=rest, separator=separator)
        if rebuild(rest, messages, tools, separator) == body:
            return parts
    return None


def rebuild(rest: bytes, messages: tuple[bytes, ...], tools: bytes | None, separator: bytes) -> bytes:
    """The body that `split` took apart."""
    body = _put_back(rest, b"messages", b"[" + separator.join(messages) + b"]")
    return body if tools is None else _put_back(body, b"tools", tools)


def _null_out(body: bytes, key: bytes, value: bytes) -> bytes | None:
    for colon in _COLONS:
        member = b'"' + key + b'"' + colon
        if body.count(member + value) == 1:
            return body.replace(member + value, member + b"null")
    return None


def _put_back(rest: bytes, key: bytes, value: bytes) -> bytes:
    for colon in _COLONS:
        member = b'"' + key + b'"' + colon
        if member + b"null" in rest:
            return rest.replace(member + b"null", member + value, 1)
    return rest


def body_of(request: ModelRequest, messages: list[bytes], toolsets: list[bytes]) -> bytes:
    """The body of a recorded request, given the raw JSON of the run's messages and toolsets by id.

    Raises `IndexError` if it names one that is not there.
    """
    if request.body is not None:
        return request.body.encode("utf-8", "surrogatepass")
    if request.body_base64 is not None:
        return base64.b64decode(request.body_base64)
    if request.rest is None:
        return b""
    sent = tuple(messages[number] for first, last in request.messages for number in _inclusive(first, last))
    tools = None if request.toolset is None else toolsets[_not_negative(request.toolset)]
    return rebuild(bytes(request.rest), sent, tools, request.separator.encode())


def _inclusive(first: int, last: int) -> range:
    return range(_not_negative(first), last + 1)


def _not_negative(number: int) -> int:
    if number < 0:
        raise IndexError(number)
    return number
