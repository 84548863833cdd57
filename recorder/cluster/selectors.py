"""Label and field selectors, with the semantics of the API server.

A selector that cannot be understood is a 400, never a match for everything: a fake that ignores selectors makes tools
look right that are wrong.
"""

import re
from typing import Any

import msgspec

from recorder.cluster.api import bad_request
from schemas.kinds import Kind

_SET = re.compile(r"^(?P<key>\S+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[^=!\s]+)\s*(?P<op>==|!=|=)\s*(?P<value>\S*)$")
_KEY = re.compile(r"^(?P<absent>!?)\s*(?P<key>[A-Za-z0-9][\w./-]*)$")
_BETWEEN = re.compile(r",(?![^()]*\))")

_FIELDS: dict[str, tuple[str, ...]] = {
    "pods": ("spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "status.phase", "status.podIP"),
    "events": (
        "involvedObject.kind",
        "involvedObject.name",
        "involvedObject.namespace",
        "involvedObject.uid",
        "reason",
        "type",
    ),
    "secrets": ("type",),
    "jobs": ("status.successful",),
    "replicasets": ("status.replicas",),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
}
"""Fields that a selector may use beside the name and the namespace, by plural."""


class Requirement(msgspec.Struct, frozen=True):
    """One condition on a key: the value is one of `values`, or is not; without values, the key is there, or is not."""

    key: str
    wanted: bool
    values: tuple[str, ...] | None = None


def parse_labels(selector: str) -> tuple[Requirement, ...]:
    """The conditions of a label selector. Raises a 400 if it is none."""
    return tuple(_requirement(part.strip()) for part in _BETWEEN.split(selector) if part.strip())


def parse_fields(selector: str, kind: Kind) -> tuple[Requirement, ...]:
    """The conditions of a field selector on `kind`. Raises a 400 for a field that the API server does not index."""
    requirements = []
    for part in selector.split(","):
        found = _EQUAL.match(part.strip())
        if found is None:
            raise bad_request(f"invalid field selector {part.strip()!r}; can't understand")
        key = found["key"]
        if key not in ("metadata.name", "metadata.namespace", *_FIELDS.get(kind.plural, ())):
            raise bad_request(f'"{key}" is not a known field selector: only "metadata.name", "metadata.namespace"')
        requirements.append(Requirement(key, found["op"] != "!=", (found["value"],)))
    return tuple(requirements)


def labels_match(requirements: tuple[Requirement, ...], labels: dict[str, Any]) -> bool:
    """Whether every condition holds. A key that is absent meets `!=` and `notin`, as in the API server."""
    return all(_holds(requirement, labels.get(requirement.key)) for requirement in requirements)


def fields_match(requirements: tuple[Requirement, ...], found: dict[str, Any]) -> bool:
    """Whether the object meets every condition. An absent field is the empty string."""
    for requirement in requirements:
        value: Any = found
        for part in requirement.key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        if not _holds(requirement, text):
            return False
    return True


def selects(selector: dict[str, Any] | None, labels: dict[str, Any]) -> bool:
    """Whether a LabelSelector (`matchLabels`, `matchExpressions`) selects the labels.

    The API reads an empty LabelSelector as "everything"; no workload may have one, so here it selects nothing.
    """
    if not selector:
        return False
    exact = selector.get("matchLabels") or {}
    requirements = [Requirement(str(key), True, (str(value),)) for key, value in exact.items()]
    for term in selector.get("matchExpressions") or ():
        operator = str(term.get("operator"))
        values = tuple(str(value) for value in term.get("values") or ())
        with_values = values if operator in ("In", "NotIn") else None
        requirements.append(Requirement(str(term.get("key")), operator in ("In", "Exists"), with_values))
    return bool(requirements) and labels_match(tuple(requirements), labels)


def _requirement(part: str) -> Requirement:
    if found := _SET.match(part):
        values = tuple(value.strip() for value in found["values"].split(",") if value.strip())
        if not values:
            raise bad_request(f"unable to parse requirement: for {found['op']!r} operators, values set can't be empty")
        return Requirement(found["key"], found["op"] == "in", values)
    if found := _EQUAL.match(part):
        return Requirement(found["key"], found["op"] != "!=", (found["value"],))
    if found := _KEY.match(part):
        return Requirement(found["key"], not found["absent"])
    raise bad_request(f"unable to parse requirement: found {part!r}")


def _holds(requirement: Requirement, value: Any) -> bool:
    if requirement.values is None:
        return (value is not None) == requirement.wanted
    return (value is not None and str(value) in requirement.values) == requirement.wanted
