"""Results cut to size: text keeps its two ends, YAML is shrunk as a structure and always parses.

Two cuts in a row: every result at `PRODUCTION_CHARS`, then at the tier's limit. Both are idempotent, because what fits
is returned unchanged. Sizes are in code points. Source: evaluation semantics 6.3.
"""

from typing import Any, Literal

import msgspec
import yaml

from recorder.tools.yamltext import dump
from schemas.events import Redaction

PRODUCTION_CHARS = 8_000

End = Literal["head", "tail"]

_CUT_AT_END = "\n[... cut at the size limit; narrow the query to see the rest]"
_CUT_AT_START = "[earlier lines cut at the size limit; ask for fewer lines to see the start]\n"
_HEAD_SHARE = 40
"""Percent of a text that is kept from its start; the rest is kept from its end, where logs and reports say most."""

_IDENTITY = ("apiVersion", "kind", "analyzer", "version", "primary", "outcome", "metadata", "namespace", "name", "uid")
"""Keys that say which object this is: they come first and are the last to go."""


class Rung(msgspec.Struct, frozen=True):
    """One step of the ladder: longest scalar in characters, most entries of a mapping or list, greatest depth."""

    scalar: int
    entries: int
    depth: int


LADDER = (
    Rung(4096, 200, 24),
    Rung(1024, 40, 16),
    Rung(256, 12, 10),
    Rung(80, 6, 6),
    Rung(40, 3, 4),
)


def cut_text(text: str, limit: int = PRODUCTION_CHARS, keep: End = "head") -> str:
    """Text of at most `limit` characters that keeps one end and says so at the other."""
    if len(text) <= limit:
        return text
    notice = _CUT_AT_END if keep == "head" else _CUT_AT_START
    room = limit - len(notice)
    if room <= 0:
        return text[:limit] if keep == "head" else text[len(text) - limit :]
    return text[:room] + notice if keep == "head" else notice + text[-room:]


def cap_text(text: str, limit: int) -> str:
    """Text of at most `limit` characters: 40 % of them from the start, 60 % from the end, a marker between."""
    if len(text) <= limit:
        return text
    marker = f"\n[... middle of {len(text)} characters left out; narrow the query ...]\n"
    room = limit - len(marker)
    if room < 2:
        return text[:limit]
    head = room * _HEAD_SHARE // 100
    return text[:head] + marker + text[len(text) - (room - head) :]


def cap_data(value: Any, limit: int) -> tuple[str, Redaction | None]:
    """YAML of at most `limit` characters, and the record of what was left out, if anything was.

    Below the ladder stands a notice that only names the object.
    """
    whole = dump(value)
    if len(whole) <= limit:
        return whole, None
    for rung in LADDER:
        shrunk = dump(shrink(value, rung))
        if len(shrunk) <= limit:
            reason = f"size: at most {rung.scalar} characters, {rung.entries} entries, depth {rung.depth}"
            return shrunk, Redaction(path="$", reason=reason)
    return _notice(value, limit), Redaction(path="$", reason="size: identity only")


def cap_yaml(text: str, limit: int) -> str:
    """`cap_data` over YAML text. Raises `yaml.YAMLError` if `text` is none."""
    return text if len(text) <= limit else cap_data(yaml.safe_load(text), limit)[0]


def shrink(value: Any, rung: Rung) -> Any:
    """`value` within one rung of the ladder. What is left out is counted where it was."""
    return _shrink(value, rung, 1)


def identity_first(value: dict[str, Any]) -> dict[str, Any]:
    """The same mapping with the keys that say which object it is in front."""
    first = {key: value[key] for key in _IDENTITY if key in value}
    return first | {key: item for key, item in value.items() if key not in first}


def with_note(text: str, note: str, limit: int | None, result: Literal["text", "yaml"]) -> str:
    """A result with a line of the harness after it, still within `limit`; in YAML the line is a comment."""
    line = f"{'' if text.endswith(chr(10)) else chr(10)}# {note}\n" if result == "yaml" else f"\n{note}"
    if limit is not None and len(text) + len(line) > limit:
        room = max(0, limit - len(line))
        text = cap_yaml(text, room) if result == "yaml" else cap_text(text, room)
    return text + line if limit is None else (text + line)[:limit]


def _shrink(value: Any, rung: Rung, depth: int) -> Any:
    if isinstance(value, str) and len(value) > rung.scalar:
        return f"{value[: rung.scalar]}... ({len(value)} characters)"
    if isinstance(value, (dict, list)) and value and depth > rung.depth:
        return f"... ({len(value)} entries left out)"
    if isinstance(value, dict):
        ordered = list(identity_first(value).items())
        kept = {_key(key, rung): _shrink(item, rung, depth + 1) for key, item in ordered[: rung.entries]}
        if len(ordered) > rung.entries:
            kept["..."] = f"{len(ordered) - rung.entries} more keys left out"
        return kept
    if isinstance(value, list):
        items = [_shrink(item, rung, depth + 1) for item in value[: rung.entries]]
        more = len(value) - rung.entries
        return [*items, f"... {more} more left out"] if more > 0 else items
    return value


def _key(key: str, rung: Rung) -> str:
    return key if len(key) <= rung.scalar else key[: rung.scalar] + "..."


def _notice(value: Any, limit: int) -> str:
    names: dict[str, Any] = {}
    if isinstance(value, dict):
        metadata = value.get("metadata")
        source = {**(metadata if isinstance(metadata, dict) else {}), **value}
        for key in ("apiVersion", "kind", "analyzer", "outcome", "namespace", "name", "uid"):
            if isinstance(source.get(key), str):
                names[key] = source[key][:80]
    for notice in (names | {"left_out": "everything else; the result is too large"}, names, {}):
        text = dump(notice)
        if len(text) <= limit:
            return text
    return ""
