"""Which call met which piece of evidence, and why the nearest ones did not. Source: evaluation semantics 5.7.

Evidence is what the model really saw: the result as shown, from a read that succeeded, on the object in question. An
action on the screen is evidence only where the rubric asks for that very action.
"""

from collections.abc import Sequence

import msgspec

from grading.rules import Rules
from grading.structured import fields_met, leaf_texts, read_structured
from grading.targets import Target, hits, mismatch, target_of
from grading.tools import tool_of
from schemas.cases import Evidence, RubricTurn
from schemas.recorded import RecordedCall
from schemas.verdicts import EvidenceFinding

_MAX_NEAR = 3
_NAME_JOINTS = frozenset("-_")
_NEGATING = ("not-", "non-", "un-")


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A call with its target and whether it was an action on the screen, worked out once a turn."""

    call: RecordedCall
    target: Target
    screen: bool


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """An evidence location with its target; `screen` is whether it asks for an action on the screen."""

    location: Evidence
    target: Target
    screen: bool


def wanted_groups(rubric: RubricTurn, rules: Rules) -> tuple[tuple[Wanted, ...], ...]:
    """The evidence groups of a turn, ready to be matched."""
    return tuple(tuple([_wanted(item, rules) for item in group]) for group in rubric.expected_evidence)


def seen_calls(calls: Sequence[RecordedCall], rules: Rules) -> tuple[Seen, ...]:
    """The calls of a turn that had arguments."""
    return tuple(
        [
            Seen(call=call, target=target_of(call.tool, call.arguments, rules), screen=is_screen(call))
            for call in calls
            if call.arguments is not None
        ]
    )


def evidence_findings(
    seen: Sequence[Seen], wanted: Sequence[tuple[Wanted, ...]], rules: Rules
) -> tuple[EvidenceFinding, ...]:
    """One finding for each evidence group, in the rubric's order."""
    return tuple(_group(seen, group, rules) for group in wanted)


def is_on_target(seen: Seen, wanted: Sequence[tuple[Wanted, ...]], rules: Rules) -> bool:
    """Whether a call looked at the object of any evidence location, whatever the result said."""
    target = seen.target
    for group in wanted:
        for item in group:
            if hits(item.target, target, rules):
                return True
    return False


def succeeded(call: RecordedCall, rules: Rules) -> bool:
    """Whether a call gave a result. The recorded flag decides; text does only where no flag was recorded."""
    if rules.recorded_ok and call.ok is not None:
        return call.ok
    return bool(call.shown) and not call.shown.startswith("ERROR:")


def is_screen(call: RecordedCall) -> bool:
    """Whether a call was an action on the screen."""
    return call.screen_action or tool_of(call.tool).effect == "screen"


def describe(location: Evidence) -> str:
    """A location in one line."""
    args = ", ".join(f"{key}={value}" for key, value in location.args.items())
    wanted = [repr(location.contains)] if location.contains is not None else []
    wanted += [f"{path}={value!r}" for path, value in location.fields.items()]
    wanted += [f"a refusal of class {location.error}"] if location.error is not None else []
    return f"{location.tool}({args}) shows {' and '.join(wanted)}" if wanted else f"{location.tool}({args})"


def _wanted(location: Evidence, rules: Rules) -> Wanted:
    target = target_of(location.tool, location.args, rules)
    return Wanted(location=location, target=target, screen=target.screen)


def _group(seen: Sequence[Seen], group: tuple[Wanted, ...], rules: Rules) -> EvidenceFinding:
    described = tuple(describe(wanted.location) for wanted in group)
    for index, wanted in enumerate(group):
        for item in seen:
            if _meets(wanted, item, rules):
                return EvidenceFinding(group=described, met=True, call=item.call.call, location=index)
    return EvidenceFinding(group=described, met=False, near=_near(seen, group, rules))


def _meets(wanted: Wanted, item: Seen, rules: Rules) -> bool:
    location = wanted.location
    # The substring test comes first: it is the cheapest, and it fails for most pairs.
    if location.contains is not None and location.contains not in item.call.shown:
        return False
    return (
        _screen_problem(wanted, item, rules) is None
        and _came_to(location, item.call, rules)
        and hits(wanted.target, item.target, rules)
        and _content_problem(location, item.call.shown, rules) is None
    )


def _came_to(location: Evidence, call: RecordedCall, rules: Rules) -> bool:
    """Whether a call ended as the location asks: with a result, or with the refusal that is itself the evidence."""
    if location.error is None:
        return succeeded(call, rules)
    return rules.refusals_as_evidence and call.disposition == "executed" and call.error_class == location.error


def _screen_problem(wanted: Wanted, item: Seen, rules: Rules) -> str | None:
    if not rules.screen_is_no_read:
        return None
    if wanted.screen:
        tool = wanted.location.tool
        return None if item.screen and item.call.tool == tool else f"not an action by {tool}"
    return "an action on the screen is not a read" if item.screen else None


def _content_problem(location: Evidence, shown: str, rules: Rules) -> str | None:
    wanted = location.contains
    if wanted is not None and wanted not in shown:
        return f"its result does not show {wanted!r}"
    if wanted is not None and rules.whole_names and not _contains_whole(shown, wanted):
        return f"its result shows {wanted!r} only inside a longer name"
    if not location.fields:
        return None
    if not rules.structured_fields:
        texts = leaf_texts(location.fields) if wanted is None else ()
        return next((f"its result does not show {text!r}" for text in texts if text not in shown), None)
    value = read_structured(shown)
    if value is None:
        return "its result is not structured"
    return None if fields_met(value, location.fields) else "its result does not hold the expected fields"


def _contains_whole(shown: str, wanted: str) -> bool:
    """Whether `wanted` stands somewhere in `shown` without being a part of a longer name or number."""
    at = shown.find(wanted)
    while at >= 0:
        if _left_edge(shown, wanted, at) and _right_edge(shown, wanted, at + len(wanted)):
            return True
        at = shown.find(wanted, at + 1)
    return False


def _left_edge(shown: str, wanted: str, at: int) -> bool:
    if at == 0 or not wanted[0].isalnum():
        return True
    before = shown[at - 1]
    if before.isalnum():
        return False
    if before == "." and wanted[0].isdigit():
        return not shown[max(0, at - 2) : at - 1].isdigit()
    if before not in _NAME_JOINTS or not shown[max(0, at - 2) : at - 1].isalnum():
        return True
    return not _is_name(wanted) and not shown[max(0, at - 4) : at].lower().endswith(_NEGATING)


def _is_name(wanted: str) -> bool:
    """Whether the text begins with a name of several parts (`api-1`), not with a plain word (`exit=137`)."""
    for character in wanted:
        if character in _NAME_JOINTS:
            return True
        if not character.isalnum():
            return False
    return False


def _right_edge(shown: str, wanted: str, end: int) -> bool:
    if end >= len(shown) or not wanted[-1].isalnum():
        return True
    after = shown[end]
    if after.isalnum():
        return False
    beyond = shown[end + 1 : end + 2]
    if after in _NAME_JOINTS:
        return not beyond.isalnum()
    return not (after == "." and wanted[-1].isdigit() and beyond.isdigit())


def _near(seen: Sequence[Seen], group: tuple[Wanted, ...], rules: Rules) -> tuple[str, ...]:
    """The calls that came closest to a group, the closest first; texts are made for no more than are shown."""
    pairs = [(_distance(wanted, item, rules), item, wanted) for item in seen for wanted in group]
    lines: dict[str, None] = {}
    for distance, item, wanted in sorted(pairs, key=lambda pair: (pair[0], pair[1].call.call)):
        lines[f"call {item.call.call} ({item.call.tool}): {_problem(distance, wanted, item, rules)}"] = None
        if len(lines) == _MAX_NEAR:
            break
    return tuple(lines)


def _distance(wanted: Wanted, item: Seen, rules: Rules) -> int:
    """How far a call is from a location: 0 in its content, 1 in how it ended, 2 on the screen, 3 of another object."""
    if not hits(wanted.target, item.target, rules):
        return 3
    if _screen_problem(wanted, item, rules) is not None:
        return 2
    return 0 if _came_to(wanted.location, item.call, rules) else 1


def _problem(distance: int, wanted: Wanted, item: Seen, rules: Rules) -> str:
    """What was wrong with a call at such a distance, in words."""
    location, call = wanted.location, item.call
    if distance == 3:
        return mismatch(wanted.target, item.target, rules) or ""
    if distance == 2:
        return _screen_problem(wanted, item, rules) or ""
    if distance == 0:
        return _content_problem(location, call.shown, rules) or ""
    if succeeded(call, rules):
        return f"it was not refused ({location.error})"
    return f"it failed ({call.error_class or call.disposition})"
