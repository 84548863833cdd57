"""The fixture cluster of a case: what the loader refuses in it.

Objects and events stay plain data, because a tool shows them as the API server would. Checked here: their identity,
that values which the API defines as text are text, that no timestamp lies after the authoring instant, that log keys
name a container, and that a denied read is one that the fake cluster serves (a rule that matches nothing would publish
a gap that never existed). Source: evaluation semantics 1.1, 2.1, 8; defects A-31.
"""

import re
from datetime import UTC, date, datetime
from typing import Any

from packs.reading import At, below, items, mapping, members, refuse, suggestion, text
from schemas.cases import ANCHOR, Cluster, ContainerLogs, Denial, LogRecord, MetricSeries
from schemas.kinds import KINDS, Kind, denial_problem

_ANCHOR = datetime.fromisoformat(ANCHOR)
_STAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?[ ]?(Z|z|[-+][0-9]{2}:?[0-9]{2})?"
)
_TEXT_MAPS = frozenset(
    [
        "labels",
        "annotations",
        "matchLabels",
        "nodeSelector",
        "data",
        "stringData",
        "limits",
        "requests",
        "hard",
        "used",
        "capacity",
        "allocatable",
        "allocatedResources",
        "parameters",
    ]
)
_TEXT_VALUES = frozenset(
    [
        "apiVersion",
        "kind",
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "reason",
        "message",
        "type",
        "image",
        "imageID",
        "containerID",
        "phase",
        "status",
        "nodeName",
        "clusterIP",
        "podIP",
        "hostIP",
        "ip",
        "key",
        "operator",
        "effect",
        "value",
        "restartPolicy",
        "storageClassName",
        "volumeName",
        "provisioner",
        "volumeBindingMode",
        "reclaimPolicy",
        "schedulerName",
        "serviceAccountName",
        "protocol",
    ]
)
_TEXT_LISTS = frozenset(["command", "args", "accessModes", "clusterIPs", "addresses", "finalizers"])
_SIGNALS = ("cpu", "memory", "restarts", "request_rate", "error_rate", "latency_p95")


def cluster(at: At) -> Cluster:
    """The fixture. Raises `CaseError`."""
    parts = members(at, (), ("objects", "events", "logs", "forbidden", "metrics", "log_search"))
    objects = [_manifest(item) for item in items(parts["objects"])] if "objects" in parts else []
    if "objects" in parts:
        _refuse_twins(parts["objects"])
    return Cluster(
        objects=tuple(objects),
        events=tuple(_event(item) for item in items(parts["events"])) if "events" in parts else (),
        logs=_logs(parts["logs"]) if "logs" in parts else {},
        forbidden=tuple(_denial(item) for item in items(parts["forbidden"])) if "forbidden" in parts else (),
        metrics=tuple(_series(item) for item in items(parts["metrics"])) if "metrics" in parts else None,
        log_search=tuple(_record(item) for item in items(parts["log_search"])) if "log_search" in parts else None,
    )


def refuse_future(at: At) -> None:
    """Refuse a timestamp after the authoring instant in any value below `at`.

    A timestamp is a YAML one, or text that is one or begins with one, as a log line does.
    """
    if isinstance(at.value, dict):
        for key in at.value:
            refuse_future(below(at, key))
    elif isinstance(at.value, list):
        for item in items(at):
            refuse_future(item)
    else:
        moment = _moment(at)
        if moment is not None and moment > _ANCHOR:
            shown = At(at.file, at.path, at.value if isinstance(at.value, str) else moment.isoformat())
            raise refuse(shown, f"lies after {ANCHOR}, the instant all fixtures are written for", "use an earlier time")


def _moment(at: At) -> datetime | None:
    if isinstance(at.value, datetime):
        return at.value
    if isinstance(at.value, date):
        return datetime(at.value.year, at.value.month, at.value.day, tzinfo=UTC)
    found = _STAMP.match(at.value) if isinstance(at.value, str) else None
    if found is None:
        return None
    try:
        return datetime.fromisoformat(f"{found[1]}T{found[2]}{(found[4] or 'Z').upper()}")
    except ValueError:
        raise refuse(at, "looks like a timestamp and is none", "write a moment that exists") from None


def _served(at: At) -> Kind:
    """The kind of a manifest, in the API's own spelling."""
    by_name = {kind.kind: kind for kind in KINDS}
    if text(at) not in by_name:
        raise refuse(at, "the fake cluster does not serve this kind", suggestion(text(at), list(by_name)))
    return by_name[text(at)]


def _manifest(at: At) -> dict[str, Any]:
    found = mapping(at)
    text(below(at, "apiVersion"))
    kind = _served(below(at, "kind"))
    metadata = below(at, "metadata")
    mapping(metadata)
    text(below(metadata, "name"))
    namespace = below(metadata, "namespace")
    if kind.namespaced:
        text(namespace)
    elif namespace.value is not None:
        raise refuse(namespace, f"a {kind.kind} has no namespace", "leave the key out")
    _refuse_untyped(at)
    return found


def _event(at: At) -> dict[str, Any]:
    found = mapping(at)
    involved = below(at, "involvedObject")
    mapping(involved)
    text(below(involved, "kind"))
    text(below(involved, "name"))
    text(below(at, "reason"))
    text(below(at, "message"))
    _refuse_untyped(at)
    return found


def _refuse_twins(objects: At) -> None:
    seen: dict[tuple[str, str, str], str] = {}
    for at in items(objects):
        metadata = at.value["metadata"]
        key = (at.value["kind"], metadata.get("namespace", ""), metadata["name"])
        if key in seen:
            shown = At(at.file, at.path, "/".join(part for part in key if part))
            raise refuse(shown, f"the object stands at {seen[key]} too", "keep one of them")
        seen[key] = at.path


def _refuse_untyped(at: At) -> None:
    """Refuse a number, a boolean or null where the API defines text (`version: 1.10` is lost once it is a number)."""
    if isinstance(at.value, list):
        for item in items(at):
            _refuse_untyped(item)
    elif isinstance(at.value, dict):
        for key in at.value:
            member = below(at, key)
            if _is_text_map(key, member.value):
                for name in member.value:
                    _text_or_empty(below(member, name))
            elif key in _TEXT_LISTS and isinstance(member.value, list):
                for item in items(member):
                    _text_or_empty(item, nested=True)
            elif key in _TEXT_VALUES and not isinstance(member.value, (dict, list)):
                _text_or_empty(member)
            else:
                _refuse_untyped(member)


def _is_text_map(key: str, value: Any) -> bool:
    """Whether the API defines the values of this mapping as text; a Service's `selector` is flat, others are not."""
    if not isinstance(value, dict):
        return False
    flat = not any(isinstance(member, (dict, list)) for member in value.values())
    return key in _TEXT_MAPS or (key == "selector" and flat)


def _text_or_empty(at: At, nested: bool = False) -> None:
    if nested and isinstance(at.value, dict):
        _refuse_untyped(at)
    elif at.value != "":
        text(at)


def _logs(at: At) -> dict[str, ContainerLogs]:
    return {key: _container_logs(at, key) for key in mapping(at)}


def _container_logs(logs: At, key: str) -> ContainerLogs:
    at = below(logs, key)
    parts = key.split("/")
    if len(parts) != 3 or not all(part.strip() for part in parts):
        raise refuse(At(at.file, at.path, key), "is no log key", "write namespace/pod/container")
    found = members(at, (), ("current", "previous"))
    return ContainerLogs(
        current=_lines(found["current"]) if "current" in found else (),
        previous=_lines(found["previous"]) if "previous" in found else (),
    )


def _lines(at: At) -> tuple[str, ...]:
    for line in items(at):
        if not isinstance(line.value, str):
            raise refuse(line, "a log line must be text", f'quote it: "{line.value}"')
        if "\n" in line.value:
            raise refuse(line, "a log line holds a line break", "write one entry a line")
    return tuple(at.value)


def _denial(at: At) -> Denial:
    parts = members(at, ("kind",), ("namespace", "name", "subresource"))
    rule = Denial(**{key: text(member) for key, member in parts.items()})
    found = denial_problem(rule)
    if found is not None:
        key, _, rest = found.partition(": ")
        what, _, way_out = rest.rpartition("; ")
        raise refuse(parts[key], f"would deny nothing: {what}", way_out)
    return rule


def _series(at: At) -> MetricSeries:
    parts = members(at, ("signal", "namespace", "unit", "points"), ("workload", "pod"))
    if text(parts["signal"]) not in _SIGNALS:
        raise refuse(parts["signal"], "is no signal that a tool asks for", suggestion(text(parts["signal"]), _SIGNALS))
    return MetricSeries(
        points=tuple(_point(item) for item in items(parts["points"])),
        **{key: text(member) for key, member in parts.items() if key != "points"},
    )


def _point(at: At) -> tuple[str, float]:
    pair = items(at)
    if len(pair) != 2 or isinstance(pair[1].value, bool) or not isinstance(pair[1].value, (int, float)):
        raise refuse(at, "is no sample", 'write ["2026-07-27T07:55:00Z", 0.4]')
    return _stamp(pair[0]), float(pair[1].value)


def _record(at: At) -> LogRecord:
    parts = members(at, ("time", "namespace", "pod", "text"), ("workload",))
    _stamp(parts["time"])
    return LogRecord(**{key: text(member) for key, member in parts.items()})


def _stamp(at: At) -> str:
    if not _STAMP.fullmatch(text(at)):
        raise refuse(at, "is no RFC 3339 timestamp", 'write one in quotes, such as "2026-07-27T07:55:00Z"')
    return text(at)
