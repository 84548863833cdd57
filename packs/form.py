"""The YAML form of a case, turned into the structs of `schemas.cases`.

The form is documented for authors in docs/cases.md. Every level is strict: an unknown key, a wrong type or a missing
member is a `CaseError` that names file, path and value. A scenario has `stimulus.question`; a journey has
`stimulus.turns` and `rubric.turns` (two or more, as many in one as in the other). Both become a `Case`.
Source: evaluation semantics 1.1, 1.3, 2.1.
"""

import re
from collections.abc import Iterator
from typing import Any, get_args

from packs.fixture import cluster, refuse_future
from packs.reading import At, below, items, mapping, members, refuse, suggestion, text, whole
from schemas.cases import (
    Bound,
    Case,
    CaseKind,
    Cluster,
    Denial,
    Evidence,
    Interaction,
    Pane,
    Pins,
    Rubric,
    RubricTurn,
    Selection,
    Stimulus,
    StimulusTurn,
)
from schemas.events import ToolErrorClass
from schemas.kinds import find_kind

_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SCALARS = (str, int, float, bool)
_GRADED = ("must_mention", "expected_evidence")
_GRADED_OPTIONAL = ("must_not_mention", "symptom")
RESERVED = frozenset({"$datetime", "$date"})
CONTROL = "none"
"""The root cause label of a negative control."""


def case(top: At) -> Case:
    """The case that a whole document describes. Raises `CaseError`."""
    parts = members(top, ("id", "stimulus", "rubric", "pins"), ("notes",))
    _refuse_reserved(top)
    kind: CaseKind = get_args(CaseKind)["turns" in mapping(parts["stimulus"])]
    stimulus = _stimulus(parts["stimulus"], kind)
    rubric = _rubric(parts["rubric"], kind)
    if len(rubric.turns) != len(stimulus.turns):
        what = f"has {len(rubric.turns)} turns and stimulus.turns has {len(stimulus.turns)}"
        raise refuse(below(parts["rubric"], "turns"), what, "grade each turn once")
    return Case(
        id=_slug(parts["id"]),
        kind=kind,
        stimulus=stimulus,
        rubric=rubric,
        pins=_pins(parts["pins"], kind, len(stimulus.turns)),
        notes=text(parts["notes"]) if "notes" in parts else "",
    )


def _refuse_reserved(at: At) -> None:
    """Refuse keys by which a log tells a timestamp from text."""
    if isinstance(at.value, list):
        for item in items(at):
            _refuse_reserved(item)
    elif isinstance(at.value, dict):
        for key in at.value:
            if key in RESERVED:
                raise refuse(At(at.file, below(at, key).path, key), "the key is reserved for timestamps", "rename it")
            _refuse_reserved(below(at, key))


def _slug(at: At) -> str:
    if not _SLUG.fullmatch(text(at)):
        way = "use at most 63 lowercase letters, digits and inner hyphens: it becomes a file name"
        raise refuse(at, "is no case id", way)
    return text(at)


def _stimulus(at: At, kind: CaseKind) -> Stimulus:
    said = "question" if kind == "scenario" else "turns"
    parts = members(at, ("interaction", said, "cluster"))
    refuse_future(at)
    if kind == "scenario":
        turns: tuple[StimulusTurn, ...] = (StimulusTurn(user=text(parts["question"])),)
    else:
        turns = tuple(_turn(item) for item in items(parts["turns"], 2))
    fixture = cluster(parts["cluster"])
    _refuse_idle_denials(below(parts["cluster"], "forbidden"), fixture)
    return Stimulus(interaction=interaction(parts["interaction"]), turns=turns, cluster=fixture)


def _refuse_idle_denials(at: At, fixture: Cluster) -> None:
    """Refuse a denial in a namespace, or of a name, that the fixture does not have: it would never be met."""
    namespaces = {_home(item) for item in fixture.objects}
    for index, rule in enumerate(fixture.forbidden):
        place = items(at)[index]
        if rule.namespace is not None and rule.namespace not in namespaces:
            known = sorted(namespace for namespace in namespaces if namespace)
            what = "would deny nothing: the fixture has no such namespace"
            raise refuse(below(place, "namespace"), what, suggestion(rule.namespace, known))
        names = set(_names_of(fixture, rule))
        if rule.name is not None and rule.name not in names:
            what = f"would deny nothing: the fixture has no {rule.kind} of that name there"
            raise refuse(below(place, "name"), what, suggestion(rule.name, sorted(names) or ["another kind"]))


def _names_of(fixture: Cluster, rule: Denial) -> Iterator[str]:
    """The names that a rule of this kind and namespace could mean; an event's is its involved object's."""
    objects = [item for item in fixture.objects if rule.namespace in (None, _home(item))]
    if rule.kind == "events":
        yield from (item["metadata"]["name"] for item in objects)
        return
    kind = find_kind(rule.kind)
    yield from (item["metadata"]["name"] for item in objects if kind is not None and item["kind"] == kind.kind)


def _home(item: dict[str, Any]) -> str:
    return str(item["metadata"]["name"] if item["kind"] == "Namespace" else item["metadata"].get("namespace", ""))


def _turn(at: At) -> StimulusTurn:
    parts = members(at, ("user",), ("interaction",))
    moved = interaction(parts["interaction"]) if "interaction" in parts else None
    return StimulusTurn(user=text(parts["user"]), interaction=moved)


def interaction(at: At) -> Interaction:
    """A typed screen. Raises `CaseError`."""
    optional = ("kube_context", "context_epoch", "secondary_pane", "timeline_cursor")
    parts = members(at, ("focused_pane",), optional)
    return Interaction(
        focused_pane=_pane(parts["focused_pane"]),
        kube_context=text(parts["kube_context"]) if "kube_context" in parts else None,
        context_epoch=whole(parts["context_epoch"], 0) if "context_epoch" in parts else 0,
        secondary_pane=_pane(parts["secondary_pane"]) if "secondary_pane" in parts else None,
        timeline_cursor=text(parts["timeline_cursor"]) if "timeline_cursor" in parts else None,
    )


def _pane(at: At) -> Pane:
    parts = members(at, ("kind", "scope"), ("filter", "selected"))
    return Pane(
        kind=_plural(parts["kind"]),
        scope=text(parts["scope"]),
        filter=text(parts["filter"]) if "filter" in parts else None,
        selected=_selection(parts["selected"]) if "selected" in parts else None,
    )


def _selection(at: At) -> Selection:
    parts = members(at, ("kind", "name"), ("namespace", "uid"))
    return Selection(
        kind=_plural(parts["kind"]),
        name=text(parts["name"]),
        namespace=text(parts["namespace"]) if "namespace" in parts else None,
        uid=text(parts["uid"]) if "uid" in parts else None,
    )


def _plural(at: At) -> str:
    """The kind of a pane. One the fake cluster does not serve may pass, another spelling of one it serves may not."""
    word = text(at)
    known = find_kind(word)
    if known is not None and known.plural != word:
        raise refuse(at, "a pane shows the plural of a kind", f"write {known.plural}")
    if word != word.lower():
        raise refuse(at, "a pane shows the plural of a kind in lowercase", f"write {word.lower()}")
    return word


def _rubric(at: At, kind: CaseKind) -> Rubric:
    if kind == "scenario":
        parts = members(at, ("root_cause", *_GRADED), _GRADED_OPTIONAL)
        root_cause = text(parts["root_cause"])
        return Rubric(root_cause=root_cause, turns=(_graded(at, parts, root_cause),))
    parts = members(at, ("root_cause", "turns"))
    root_cause = text(parts["root_cause"])
    return Rubric(
        root_cause=root_cause, turns=tuple(_journey_turn(item, root_cause) for item in items(parts["turns"], 2))
    )


def _journey_turn(at: At, root_cause: str) -> RubricTurn:
    optional = (*_GRADED_OPTIONAL, "must_mention", "bound", "max_tool_calls", "forbidden_targets")
    parts = members(at, ("expected_evidence",), optional)
    if "must_mention" not in parts and "bound" not in parts:
        raise refuse(below(at, "must_mention"), "missing", "write `must_mention` or `bound`: what an answer must claim")
    return _graded(at, parts, root_cause)


def _graded(at: At, parts: dict[str, At], root_cause: str) -> RubricTurn:
    if root_cause == CONTROL and "must_not_mention" not in parts:
        what = "missing: a control that forbids nothing cannot catch an invented fault"
        raise refuse(below(at, "must_not_mention"), what, "list the faults that an answer must not claim")
    targets = items(parts["forbidden_targets"]) if "forbidden_targets" in parts else []
    return RubricTurn(
        must_mention=_groups(parts["must_mention"], 1) if "must_mention" in parts else (),
        must_not_mention=_groups(parts["must_not_mention"], 1) if "must_not_mention" in parts else (),
        symptom=_groups(parts["symptom"], 1) if "symptom" in parts else (),
        expected_evidence=tuple(
            tuple(_evidence(location) for location in items(group, 1)) for group in items(parts["expected_evidence"], 1)
        ),
        max_tool_calls=whole(parts["max_tool_calls"], 1) if "max_tool_calls" in parts else None,
        forbidden_targets=tuple(_arguments(target, 1) for target in targets),
        bound=_bound(parts["bound"]) if "bound" in parts else (),
    )


def _bound(at: At) -> tuple[tuple[Bound, ...], ...]:
    return tuple(tuple(_bound_claim(claim) for claim in items(group, 1)) for group in items(at, 1))


def _bound_claim(at: At) -> Bound:
    parts = members(at, ("subject", "others", "claim"), ("exclusive",))
    words = {key: tuple(_keyword(word) for word in items(parts[key], 1)) for key in ("subject", "others", "claim")}
    for word in items(parts["others"]):
        if word.value in words["subject"]:
            raise refuse(word, "stands under subject too", "keep it in one of the two")
    exclusive = parts["exclusive"].value if "exclusive" in parts else True
    if not isinstance(exclusive, bool):
        raise refuse(parts["exclusive"], "must be true or false", "leave it out for true")
    return Bound(exclusive=exclusive, **words)


def _groups(at: At, at_least: int) -> tuple[tuple[str, ...], ...]:
    groups = []
    for group in items(at, at_least):
        if isinstance(group.value, str):
            raise refuse(group, "must be a list of alternatives", f'write ["{group.value}"]')
        groups.append(tuple(_keyword(alternative) for alternative in items(group, 1)))
    return tuple(groups)


def _keyword(at: At) -> str:
    word = text(at)
    if not re.search("[A-Za-z0-9]", word):
        raise refuse(at, "holds no letter and no digit, so it would match nothing", "write a word")
    return word


def _evidence(at: At) -> Evidence:
    parts = members(at, ("tool", "args"), ("contains", "fields", "error"))
    if len(parts) == 2:
        way = "write `contains` (text in it), `fields` (values in its YAML) or `error` (the class of a refusal)"
        raise refuse(at, "says nothing about the result", way)
    if "error" in parts and text(parts["error"]) not in get_args(ToolErrorClass):
        raise refuse(parts["error"], "is no class of error", suggestion(text(parts["error"]), get_args(ToolErrorClass)))
    return Evidence(
        tool=text(parts["tool"]),
        args=_arguments(parts["args"], 1),
        contains=text(parts["contains"]) if "contains" in parts else None,
        fields=_arguments(parts["fields"], 1) if "fields" in parts else {},
        error=text(parts["error"]) if "error" in parts else None,
    )


def _arguments(at: At, at_least: int) -> dict[str, Any]:
    found = mapping(at)
    if len(found) < at_least:
        raise refuse(at, "is empty, so it would match everything", "write at least one key")
    for key in found:
        if not isinstance(found[key], _SCALARS):
            raise refuse(below(at, key), "must be text, a number or a boolean", "write one value")
    return dict(found)


def _pins(at: At, kind: CaseKind, turns: int) -> tuple[Pins, ...]:
    if kind == "scenario":
        return (_pins_of_turn(at),)
    found = items(at, 1)
    if len(found) != turns:
        raise refuse(at, f"has {len(found)} entries for {turns} turns", "write `pass` and `fail` for each turn")
    return tuple(_pins_of_turn(item) for item in found)


def _pins_of_turn(at: At) -> Pins:
    parts = members(at, ("pass", "fail"))
    return Pins(
        passing=tuple(text(answer) for answer in items(parts["pass"], 1)),
        failing=tuple(text(answer) for answer in items(parts["fail"], 1)),
    )
