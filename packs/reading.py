"""Typed access to a parsed document that knows where it is, so that each refusal names file, path and value.

An `At` is a value and its place. The functions here take one apart and raise `CaseError` where it is not what the
caller needs; they know nothing of cases.
"""

import difflib
from collections.abc import Sequence
from typing import Any

import msgspec

from packs.yaml_strict import problem
from schemas.errors import CaseError


class At(msgspec.Struct, frozen=True):
    """A value of a document and where it stands."""

    file: str
    path: str
    value: Any


def refuse(at: At, what: str, way_out: str) -> CaseError:
    """The error for this place, to be raised."""
    shown = at.value if isinstance(at.value, (str, int, float, bool)) else None
    return problem(at.file, at.path, what, shown, way_out)


def below(at: At, key: str) -> At:
    """The member `key` of a mapping; its value is None where it is absent."""
    value = at.value.get(key) if isinstance(at.value, dict) else None
    return At(at.file, f"{at.path}.{key}" if at.path else key, value)


def members(at: At, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, At]:
    """The members of a mapping that has all `required` keys and no key beyond `optional`. A null counts as absent."""
    mapping(at)
    known = [*required, *optional]
    for key in at.value:
        if key not in known:
            raise refuse(At(at.file, below(at, key).path, key), "unknown key", suggestion(key, known))
    for key in required:
        if at.value.get(key) is None:
            raise refuse(below(at, key), "missing", f"write it; {at.path or 'a case'} has {', '.join(known)}")
    return {key: below(at, key) for key in known if at.value.get(key) is not None}


def suggestion(word: str, known: Sequence[str]) -> str:
    """The way out for a word that is none of `known`: the nearest ones, or all of them."""
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else f"use one of {', '.join(known)}"


def mapping(at: At) -> dict[str, Any]:
    """The value as a mapping."""
    if not isinstance(at.value, dict):
        raise refuse(at, f"must be a mapping, not {_type_name(at.value)}", "write `key: value` lines below it")
    return at.value


def items(at: At, at_least: int = 0) -> list[At]:
    """The members of a list that has at least so many."""
    if not isinstance(at.value, list):
        raise refuse(at, f"must be a list, not {_type_name(at.value)}", "write `- item` lines below it")
    if len(at.value) < at_least:
        raise refuse(at, f"has {len(at.value)} of at least {at_least} entries", "add what is missing")
    return [At(at.file, f"{at.path}[{index}]", item) for index, item in enumerate(at.value)]


def text(at: At) -> str:
    """The value as text that is not blank."""
    if not isinstance(at.value, str):
        way = f'quote it: "{at.value}"' if isinstance(at.value, (bool, int, float)) else "write text"
        raise refuse(at, f"must be text, not {_type_name(at.value)}", way)
    if not at.value.strip():
        raise refuse(at, "must not be blank", "write text or leave the key out")
    return at.value


def whole(at: At, at_least: int) -> int:
    """The value as a whole number (a boolean is none)."""
    if isinstance(at.value, bool) or not isinstance(at.value, int):
        raise refuse(at, f"must be a whole number, not {_type_name(at.value)}", "write digits without quotes")
    if at.value < at_least:
        raise refuse(at, f"must be at least {at_least}", "write a larger number")
    return at.value


def _type_name(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}
    return "nothing" if value is None else names.get(type(value), "a timestamp")
