"""Structured results, read far enough to find a field in them.

A result is JSON or block YAML as our own tools print it: mappings, sequences, plain and quoted scalars (folded over
lines too), literal and folded blocks, and empty flow collections; lines end with a line feed. Anchors, tags, complex
keys and non-empty flow collections are not read. Where reading stops, everything before the top-level entry that
stopped it still counts, so a notice after the document or a cut-off end hides nothing that the model could see. A value
can only be met at its own path: text that merely mentions it never does.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

_MAX_DEPTH = 64
_KEPT_CHARS = 64 << 10
_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'\[\]{}#&*!|>%@`,-][^:]*?|-[^\s:][^:]*?):(?: +(.*))?$""")
_PATH_KEY = re.compile(r"""([^\s"'\[\]{}#&*!|>%@`,-]\S*):(?: +(.*))?$""")
_BLOCK = re.compile(r"[|>]([+-]?[1-9]?|[1-9][+-]?)\s*$")
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    "e": "\x1b",
    "_": "\xa0",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "N": "\x85",
    "L": "\u2028",
    "P": "\u2029",
}
_PLAIN: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False, "[]": [], "{}": {}}


class _Unreadable(ValueError):
    """The text leaves the subset."""


class _Lines(msgspec.Struct):
    """Lines as (indent, content), blank ones kept for blocks; `at` is the next one to read."""

    rows: list[tuple[int, str]]
    at: int = 0


def read_structured(text: str) -> Any:
    """The value of a structured result, or None if it is not one. Small ones are kept: every location asks again."""
    return _kept(text) if len(text) <= _KEPT_CHARS else _read(text)


def _read(text: str) -> Any:
    stripped = text.lstrip()
    if stripped.startswith(("{", "[")):
        try:
            return msgspec.json.decode(stripped)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            # No JSON; or a lone surrogate; or deeper than any result that a tool of ours prints.
            return None
    lines = _Lines(rows=[(len(row) - len(row.lstrip(" ")), row.strip(" ")) for row in text.split("\n")])
    _skip(lines)
    if lines.at >= len(lines.rows):
        return None
    return _top(lines)


_kept = lru_cache(maxsize=64)(_read)


def fields_met(value: Any, fields: Mapping[str, Any]) -> bool:
    """Whether every dotted path leads to its expected scalar.

    Lists are searched through, and paths that go through the same list must be met by one and the same element. A key
    may contain dots itself (`metadata.labels.app.kubernetes.io/name`).
    """
    return _met(value, tuple((tuple(path.split(".")), expected) for path, expected in fields.items()), 0)


def leaf_texts(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The expected scalars as the text that a result would show."""
    return tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in fields.values())


def _met(value: Any, wanted: tuple[tuple[tuple[str, ...], Any], ...], depth: int) -> bool:
    if depth > _MAX_DEPTH:
        return False
    if isinstance(value, list) and not all(not path and expected == [] and value == [] for path, expected in wanted):
        return any(_met(item, wanted, depth + 1) for item in value)
    here = [expected for path, expected in wanted if not path]
    if any(not _equal(value, expected) for expected in here):
        return False
    deeper = tuple((path, expected) for path, expected in wanted if path)
    if not deeper:
        return True
    if not isinstance(value, dict):
        return False
    groups: dict[str, list[tuple[tuple[str, ...], Any]]] = {}
    for path, expected in deeper:
        split = next((cut for cut in range(len(path), 0, -1) if ".".join(path[:cut]) in value), 0)
        if not split:
            return False
        groups.setdefault(".".join(path[:split]), []).append((path[split:], expected))
    return all(_met(value[key], tuple(rest), depth + 1) for key, rest in groups.items())


def _equal(actual: Any, expected: Any) -> bool:
    if isinstance(actual, bool) or isinstance(expected, bool):
        return actual is expected
    if isinstance(expected, str) and isinstance(actual, (int, float)):
        return str(actual) == expected
    return bool(actual == expected)


def _top(lines: _Lines) -> Any:
    indent, content = lines.rows[lines.at]
    if content.startswith("- ") or content == "-":
        return _salvage_sequence(lines, indent)
    result: dict[str, Any] = {}
    while _skip(lines):
        at = lines.at
        try:
            if lines.rows[at][0] != indent:
                break
            key, value = _entry(lines, indent, 0)
        except _Unreadable:
            break
        result[key] = value
    return result or None


def _salvage_sequence(lines: _Lines, indent: int) -> list[Any] | None:
    result: list[Any] = []
    while _skip(lines) and lines.rows[lines.at][0] == indent and _is_item(lines.rows[lines.at][1]):
        try:
            result.append(_item(lines, indent, 0))
        except _Unreadable:
            break
    return result or None


def _skip(lines: _Lines) -> bool:
    """Move to the next line with content; False at the end."""
    while lines.at < len(lines.rows):
        content = lines.rows[lines.at][1]
        if content and not content.startswith("#") and content != "---":
            return True
        lines.at += 1
    return False


def _node(lines: _Lines, indent: int, depth: int) -> Any:
    """The block that starts at the current line, whose indent is `indent`."""
    if depth > _MAX_DEPTH:
        raise _Unreadable("too deep")
    if _is_item(lines.rows[lines.at][1]):
        items: list[Any] = []
        while _skip(lines) and lines.rows[lines.at][0] == indent and _is_item(lines.rows[lines.at][1]):
            items.append(_item(lines, indent, depth))
        return items
    if _split_key(lines.rows[lines.at][1]) is None:
        content = lines.rows[lines.at][1]
        lines.at += 1
        return _scalar(lines, content, indent - 1)
    mapping: dict[str, Any] = {}
    while _skip(lines) and lines.rows[lines.at][0] == indent and not _is_item(lines.rows[lines.at][1]):
        key, value = _entry(lines, indent, depth)
        mapping[key] = value
    return mapping


def _is_item(content: str) -> bool:
    return content == "-" or content.startswith("- ")


def _item(lines: _Lines, indent: int, depth: int) -> Any:
    content = lines.rows[lines.at][1]
    rest = content[1:].lstrip(" ")
    if not rest:
        lines.at += 1
        return _nested(lines, indent, depth, allow_same=False)
    inner = indent + len(content) - len(rest)
    if _is_item(rest) or _split_key(rest) is not None:
        lines.rows[lines.at] = (inner, rest)
        return _node(lines, inner, depth + 1)
    lines.at += 1
    return _scalar(lines, rest, indent)


def _entry(lines: _Lines, indent: int, depth: int) -> tuple[str, Any]:
    split = _split_key(lines.rows[lines.at][1])
    if split is None:
        raise _Unreadable(lines.rows[lines.at][1])
    key, rest = split
    lines.at += 1
    if not rest:
        return key, _nested(lines, indent, depth, allow_same=True)
    return key, _scalar(lines, rest, indent)


def _nested(lines: _Lines, indent: int, depth: int, allow_same: bool) -> Any:
    """The block under a key or a dash; null if nothing is under it. A sequence may stand at its key's own indent."""
    if not _skip(lines):
        return None
    below, content = lines.rows[lines.at]
    if below > indent or (allow_same and below == indent and _is_item(content)):
        return _node(lines, below, depth + 1)
    return None


def _split_key(content: str) -> tuple[str, str] | None:
    found = _KEY.match(content) or _PATH_KEY.match(content)
    if found is None:
        return None
    key = found.group(1)
    if key[0] in "\"'":
        key = _unquote(key)
    return key, (found.group(2) or "").strip(" ")


def _scalar(lines: _Lines, content: str, indent: int) -> Any:
    if _BLOCK.match(content):
        return _block(lines, content, indent)
    if content[0] in "\"'":
        return _unquote(_quoted(lines, content))
    if content[0] in "&*!%@`[{" and content not in _PLAIN:
        raise _Unreadable(content)
    pieces = [content]
    while lines.at < len(lines.rows):
        below, more = lines.rows[lines.at]
        if not more or below <= indent:
            break
        pieces.append(more)
        lines.at += 1
    return " ".join(pieces) if len(pieces) > 1 else _plain(content)


def _plain(text: str) -> Any:
    if text in _PLAIN:
        value = _PLAIN[text]
        return type(value)() if isinstance(value, (list, dict)) else value
    if _INT.match(text) and len(text) < 20:
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def _block(lines: _Lines, header: str, indent: int) -> str:
    rows: list[tuple[int, str]] = []
    while lines.at < len(lines.rows) and (not lines.rows[lines.at][1] or lines.rows[lines.at][0] > indent):
        rows.append(lines.rows[lines.at])
        lines.at += 1
    base = min((below for below, content in rows if content), default=0)
    texts = [" " * (below - base) + content if content else "" for below, content in rows]
    joint = "\n" if header[0] == "|" else " "
    return joint.join(texts).rstrip("\n ") + ("" if "-" in header else "\n")


def _quoted(lines: _Lines, content: str) -> str:
    """A quoted scalar with its later lines folded in. Raises `_Unreadable` if it does not end."""
    pieces = [content]
    blanks = 0
    closed = _closes(content[1:], content[0])
    while not closed:
        if lines.at >= len(lines.rows):
            raise _Unreadable("a quoted text does not end")
        more = lines.rows[lines.at][1]
        lines.at += 1
        if not more:
            blanks += 1
            continue
        if content[0] == '"' and _escaped_end(pieces[-1]):
            pieces[-1] = pieces[-1][:-1] + "\n" * blanks
        else:
            pieces.append("\n" * blanks or " ")
        blanks = 0
        pieces.append(more)
        closed = _closes(more, content[0])
    return "".join(pieces)


def _escaped_end(piece: str) -> bool:
    """Whether the line break after a piece is escaped: an odd number of backslashes ends it."""
    return (len(piece) - len(piece.rstrip("\\"))) % 2 == 1


def _closes(piece: str, quote: str) -> bool:
    if quote == "'":
        return piece.replace("''", "").endswith("'")
    return re.sub(r"\\.", "", piece).endswith('"')


def _unquote(text: str) -> str:
    body = text[1:-1]
    if text[0] == "'":
        return body.replace("''", "'")
    return _ESCAPE.sub(_unescape, body)


def _unescape(found: re.Match[str]) -> str:
    code = found.group(1)
    if len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    return _ESCAPES.get(code, code)
