"""Events to lines of JSON and back.

JSON cannot carry a lone surrogate (jq and DuckDB refuse its escape), yet a model can emit one. So a lone surrogate is
written as U+FDD0, a noncharacter, and four hexadecimal digits; U+FDD0 itself as U+FDD0 and `fdd0`. NaN and infinities
are refused, because JSON would silently make them null. Fields of a known event that this build does not know survive
because lines are copied and never re-encoded.
"""

import json
import math
import re
from functools import cache
from typing import Any

import msgspec

from schemas import events
from schemas.errors import LogError

_ESCAPE = "\ufdd0"
_ESCAPE_BYTES = _ESCAPE.encode()
_TO_ESCAPE = re.compile(f"[\ud800-\udfff{_ESCAPE}]")
_ESCAPED = re.compile(_ESCAPE + "([0-9a-f]{4})")

_MAX_DIGITS = 4_000
"""Below the 4,300 at which Python, and the 4,300 with the sign at which msgspec stop reading an integer."""

_NULL_NUMBER = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")

_encoder = msgspec.json.Encoder()
_packer = msgspec.msgpack.Encoder()
_HEADS = {kind: b'{"type":"%b"' % str(kind.__struct_config__.tag).encode() for kind in events.KINDS}
"""What the JSON of every event begins with."""


def encode(event: events.Event, seq: int, t: float) -> bytes:
    """One line, newline included, with its envelope first: `type`, `seq`, `t` (seconds, kept to the microsecond).

    `event` must not carry an envelope of its own. Raises `LogError` if it holds NaN or an infinity.
    """
    head = _HEADS[type(event)]
    try:
        body = _encoder.encode(event)
        # Looking for one byte is far faster than looking for three.
        plain = _ESCAPE_BYTES[:1] not in body or _ESCAPE_BYTES not in body
    except UnicodeEncodeError:
        plain = False
    if not plain:
        body = _encoder.encode(_map_text(msgspec.to_builtins(event), _escape))
    # Null is what became of a number that JSON does not have, if there was one.
    if b"null" in body and _may_hold_null_number(event):
        _refuse_not_finite(event, str(type(event).__struct_config__.tag))
    return b'%b,"seq":%d,"t":%b%b\n' % (head, seq, _encoder.encode(round(t, 6)), body[len(head) :])


def encode_text(text: str) -> bytes:
    """A text as a JSON string, quotes included, the way `encode` writes it."""
    return _encoder.encode(_escape(text))


def decode(line: bytes | memoryview) -> events.Event | events.Unknown:
    """The event of one line. Raises `LogError` with the reason if it is none."""
    try:
        return _decoder().decode(line) if _ESCAPE_BYTES not in bytes(line) else _decode_escaped(bytes(line))
    except msgspec.ValidationError as error:
        return _decode_unknown(line, error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogError(f"not an event: {error}") from None


def whole_characters(text: str) -> str:
    """The text with surrogates that stand beside their other half joined: a server may cut between two escapes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def parse_json(text: str | bytes) -> Any:
    """Parse strict JSON: no NaN, no infinities, no number that could be written and not be read again.

    Raises `ValueError`; a lone surrogate escape is kept as one.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, parse_int=_readable)


@cache
def _decoder() -> msgspec.json.Decoder[events.Event]:
    union: Any = events.KINDS[0]
    for kind in events.KINDS[1:]:
        union = union | kind
    return msgspec.json.Decoder(union)


@cache
def known_types() -> frozenset[str]:
    """The `type` of every event this build knows."""
    return frozenset(str(kind.__struct_config__.tag) for kind in events.KINDS)


def _decode_escaped(line: bytes) -> events.Event:
    data = _map_text(msgspec.json.decode(line), _unescape)
    union: Any = _decoder().type
    return msgspec.convert(data, union)  # type: ignore[no-any-return]


def _decode_unknown(line: bytes | memoryview, error: msgspec.ValidationError) -> events.Unknown:
    try:
        envelope = msgspec.json.decode(line, type=events.Unknown)
    except (msgspec.DecodeError, RecursionError):
        raise LogError(f"not an event: {error}") from None
    if envelope.type in known_types():
        raise LogError(f"not a valid {envelope.type}: {error}") from None
    return envelope


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _readable(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"{digits[:40]}... is too large for a number")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is too large for a number")
    return number


def _may_hold_null_number(event: events.Event) -> bool:
    """Whether there may be a NaN or an infinity: MessagePack has them, and all begin with one of these bytes."""
    try:
        return _NULL_NUMBER.search(_packer.encode(event)) is not None
    except (OverflowError, UnicodeEncodeError):
        return True


def _refuse_not_finite(value: Any, path: object) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise LogError(f"{path}: {value} cannot be written; JSON has no such number")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_not_finite(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_not_finite(item, f"{path}[{index}]")
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            _refuse_not_finite(getattr(value, name), f"{path}.{name}")


def _map_text(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _map_text(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_map_text(item, change) for item in value]
    return value


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(lambda found: f"{_ESCAPE}{ord(found.group()):04x}", text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), text)
