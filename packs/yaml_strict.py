"""A strict reader of one YAML document: what stands in the file is what every reader of YAML would see there.

YAML 1.1 and 1.2 disagree on what `no`, `0755`, `22:22` and `1_000` are, and a float such as `1.10` forgets how it was
written. Each of these is refused instead of guessed, as are tags, anchors, aliases, merge keys, duplicate keys, keys
that are not text, and depth or size without bound. Fixtures may come from strangers: nothing here can build an object
other than dict, list, str, int, float, bool, None, datetime and date.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import yaml

from schemas.errors import CaseError

MAX_CHARS = 4_000_000
"""Characters of one document; the largest bundled case has about 20,000."""
MAX_DEPTH = 40
"""Levels of nesting; a Pod manifest has about 12."""

_PATH_PART = 200
"""Characters of a key that a message shows."""

MAX_DIGITS = 18
"""Characters of a whole number: what a signed 64-bit number always holds."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_INT = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?[0-9]+\.[0-9]+")
_NUMBER_SOMEWHERE = re.compile(
    r"[-+]?(0[xX][0-9a-fA-F_]+|0o[0-7]+|0b[01_]+|[0-9][0-9_]*(:[0-9]+)+(\.[0-9]*)?"
    r"|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9_]+([eE][-+]?[0-9]+)?|\.(inf|Inf|INF)|\.(nan|NaN|NAN))"
)
_TIME = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9:.]+[ \t]*(Z|[-+][0-9:]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BOOL_WORDS = frozenset(["yes", "no", "on", "off", "y", "n", "true", "false"])


def load(text: str, file: str) -> Any:
    """The value of the one document in `text`; `file` is only for messages.

    Raises `CaseError` with `file: path: what is wrong (value) - way out`.
    """
    if len(text) > MAX_CHARS:
        raise problem(file, "", f"the document has more than {MAX_CHARS} characters", None, "split it")
    try:
        return _document(_Events(file, text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"
        what = error.problem or error.context or "not YAML"
        raise problem(file, where, f"not YAML: {what}", None, "mend the syntax there") from None
    except yaml.YAMLError as error:
        what = str(error).splitlines()[0]
        raise problem(file, "", f"not YAML: {what}", None, "save the file as UTF-8 text") from None


def problem(file: str, path: str, what: str, value: object, way_out: str) -> CaseError:
    """The error of this whole room. A `value` of None is left out of the message."""
    shown = "" if value is None else f" ({_short(value)})"
    return CaseError(f"{file}: {path or 'top level'}: {what}{shown} - {way_out}")


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= 80 else text[:77] + "..."
    return repr(text) if isinstance(value, str) else text


_Where = tuple["_Where", "str | int"] | None
"""Where in the document: the place above and the key or number below it. As text only once something is wrong: a long
key spelled out for each of many items would cost their product."""


def _shown(where: _Where) -> str:
    parts: list[str | int] = []
    while where is not None:
        where, part = where
        parts.append(part)
    text = ""
    for part in reversed(parts):
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part[:_PATH_PART]}" if text else part[:_PATH_PART]
    return text


def _problem(file: str, where: _Where, what: str, value: object, way_out: str) -> CaseError:
    return problem(file, _shown(where), what, value, way_out)


class _Events:
    """The events of a document, one ahead, with anchors, aliases and tags already refused."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)

    def take(self, where: _Where) -> Any:
        event = next(self._events)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _problem(self.file, where, "anchors and aliases are refused", event.anchor, "write the value out")
        if getattr(event, "tag", None) is not None:
            raise _problem(self.file, where, "tags are refused", event.tag, "write a plain value")
        return event


def _document(events: _Events) -> Any:
    events.take(None)
    first = events.take(None)
    if isinstance(first, yaml.StreamEndEvent):
        raise problem(events.file, "", "the file is empty", None, "write one case in it")
    value = _value(events, events.take(None), None, 0)
    events.take(None)
    if not isinstance(events.take(None), yaml.StreamEndEvent):
        raise problem(events.file, "", "more than one document", None, "put each case in a file of its own")
    return value


def _value(events: _Events, event: Any, where: _Where, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _problem(events.file, where, f"nested deeper than {MAX_DEPTH} levels", None, "flatten it")
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(events.file, where, event.value) if _is_plain(event) else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        return _sequence(events, where, depth)
    return _mapping(events, where, depth)


def _is_plain(event: Any) -> bool:
    return not event.style


def _sequence(events: _Events, where: _Where, depth: int) -> list[Any]:
    items: list[Any] = []
    while not isinstance(event := events.take((where, len(items))), yaml.SequenceEndEvent):
        items.append(_value(events, event, (where, len(items)), depth + 1))
    return items


def _mapping(events: _Events, where: _Where, depth: int) -> dict[str, Any]:
    items: dict[str, Any] = {}
    while not isinstance(event := events.take(where), yaml.MappingEndEvent):
        key = _key(events.file, where, event)
        below = (where, key)
        if key in items:
            raise _problem(events.file, below, "the key stands here twice", key, "keep one of them")
        items[key] = _value(events, events.take(below), below, depth + 1)
    return items


def _key(file: str, where: _Where, event: Any) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        raise _problem(file, where, "a key must be text, not a list or a mapping", None, "write a plain word")
    if not _is_plain(event):
        return str(event.value)
    if event.value == "<<":
        raise _problem(file, where, "merge keys are refused", "<<", "write the keys out")
    key = _scalar(file, (where, event.value), event.value)
    if not isinstance(key, str):
        raise _problem(file, where, "a key must be text", event.value, f'quote it: "{event.value}"')
    return key


def _scalar(file: str, where: _Where, text: str) -> Any:
    """What an unquoted scalar means, where all readers of YAML agree on that."""
    if text in {"", "~", "null"}:
        return None
    if text in {"true", "false"}:
        return text == "true"
    if text.lower() in _BOOL_WORDS:
        way = f'quote it if text is meant ("{text}"), else write true or false'
        raise _problem(file, where, "some YAML readers take this word for a boolean", text, way)
    if _INT.fullmatch(text) and len(text) <= MAX_DIGITS:
        return int(text)
    if _FLOAT.fullmatch(text) and repr(float(text)) == text:
        return float(text)
    if _NUMBER_SOMEWHERE.fullmatch(text):
        quoted = f' ("{text}")' if len(text) <= MAX_DIGITS else ""
        way = f"quote it if text is meant{quoted}, else write the number in plain decimal"
        raise _problem(file, where, "YAML readers disagree on this number, or forget how it is written", text, way)
    if _TIME.fullmatch(text) or _DATE.fullmatch(text):
        return _moment(file, where, text)
    if text in {"=", "Null", "NULL"}:
        raise _problem(file, where, "YAML readers disagree on this word", text, f'quote it: "{text}"')
    return text


def _moment(file: str, where: _Where, text: str) -> datetime | date:
    """A timestamp; one without an offset is UTC."""
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        raise _problem(file, where, "looks like a timestamp and is none", text, f'quote it: "{text}"') from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
