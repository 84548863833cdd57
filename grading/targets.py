"""Whether a call looked at the object that a piece of evidence is about. Source: evaluation semantics 5.8.

The tool named by the evidence only says which of its arguments names the object and of which kinds: any other tool that
looked at the same object counts as well.
"""

from typing import Any

import msgspec

from grading.rules import Rules
from grading.tools import FIRST_KIND, IDENTITY_KEYS, plural_of, tool_of


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The object of a call: its kinds (empty if unknown) and every other argument, trimmed and lowercase."""

    kinds: frozenset[str]
    keys: dict[str, str]
    screen: bool


def target_of(tool: str, args: dict[str, Any], rules: Rules) -> Target:
    """The canonical target of a call or of an evidence location."""
    known = tool_of(tool)
    identities = _identities(known.identity, rules)
    keys: dict[str, str] = {}
    explicit: str | None = None
    for key, value in args.items():
        if rules.nulls_dropped and (value is None or value == ""):
            continue
        text = str(value).strip().lower()
        if key == "kind":
            explicit = plural_of(text)
        elif key in identities:
            keys["name"] = text
        else:
            keys[key] = text
    if rules.identity_settled_last:
        for key in sorted(identities, reverse=True):
            if args.get(key) is not None:
                keys["name"] = str(args[key]).strip().lower()
    return Target(kinds=_kinds(tool, explicit, rules), keys=keys, screen=known.effect == "screen")


def _identities(own: str | None, rules: Rules) -> tuple[str, ...]:
    if rules.identity_by_tool:
        return (own,) if own else ()
    return IDENTITY_KEYS if rules.identity_argument else ("pod",)


def _kinds(tool: str, explicit: str | None, rules: Rules) -> frozenset[str]:
    given = frozenset({explicit}) if explicit else frozenset()
    if not rules.implied_kinds:
        return given
    implied = tool_of(tool).kinds
    if not rules.identity_by_tool:
        implied = FIRST_KIND.get(tool, implied)
    if rules.tool_kinds_first:
        return implied or given
    return given or implied


def hits(expected: Target, actual: Target, rules: Rules) -> bool:
    """Whether a call's target is the expected one. Extra arguments of the call are fine."""
    if expected.kinds and actual.kinds and expected.kinds.isdisjoint(actual.kinds):
        return False
    found = actual.keys
    for key, value in expected.keys.items():
        if found.get(key) != value and not _from_screen(key, actual, rules):
            return False
    return True


def mismatch(expected: Target, actual: Target, rules: Rules) -> str | None:
    """Why a call's target is not the expected one, in words; None if it is, that is where `hits`."""
    if expected.kinds and actual.kinds and not expected.kinds & actual.kinds:
        return f"its kind is {_names(actual.kinds)}, not {_names(expected.kinds)}"
    for key, value in expected.keys.items():
        found = actual.keys.get(key)
        if found == value:
            continue
        if _from_screen(key, actual, rules):
            continue
        return f"{key} is {found!r}, not {value!r}" if found is not None else f"{key} is not given, {value!r} expected"
    return None


def _from_screen(key: str, actual: Target, rules: Rules) -> bool:
    """Whether an argument was left to the screen, which knows it."""
    return key == "namespace" and key not in actual.keys and rules.nulls_dropped and actual.screen


def _names(kinds: frozenset[str]) -> str:
    return "/".join(sorted(kinds))
