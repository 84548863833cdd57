"""The plain reads: lists, one object, logs, events, operators, Helm releases."""

from recorder.cluster.api import ApiError, ClusterReader
from recorder.tools import eventlines
from recorder.tools.args import Arguments, flag, kind_of, list_scope, object_name, object_scope, optional, required
from recorder.tools.args import whole_number as number
from recorder.tools.caps import identity_first
from recorder.tools.fields import at, labels, name, namespace, pairs, text, uid
from recorder.tools.results import Produced
from recorder.tools.rows import replica_counts, row
from schemas.kinds import served

NOTHING = "(none)"
NO_EVENTS = "(no events)"
NO_LINES = "(no log lines)"

_DEFAULT_TAIL = 100
_MOST_LINES = 1_000

_OPERATOR_MARKS: dict[str, tuple[str, ...]] = {
    "app.kubernetes.io/component": ("operator", "controller", "controller-manager"),
    "control-plane": ("controller-manager", "operator"),
    "olm.owner": (),
}
"""Labels by which operators mark themselves, with the values that count; an empty tuple takes any value."""


def list_resources(reader: ClusterReader, arguments: Arguments) -> Produced:
    """Rows of one kind, in one namespace or in all."""
    kind = kind_of(arguments)
    found = reader.list(kind, list_scope(arguments, kind))
    return Produced(text="\n".join(row(item, kind, reader.now) for item in found) or NOTHING)


def get_resource(reader: ClusterReader, arguments: Arguments) -> Produced:
    """One object, whole, with its identity in front."""
    kind = kind_of(arguments)
    item = reader.get(kind, object_name(arguments, "name"), object_scope(arguments, kind))
    ordered = identity_first(item)
    if isinstance(ordered.get("metadata"), dict):
        ordered["metadata"] = identity_first(ordered["metadata"])
    return Produced(data=ordered, uid=uid(item))


def get_logs(reader: ClusterReader, arguments: Arguments) -> Produced:
    """The newest lines of one container, of the running instance or of the one before it."""
    lines = reader.logs(
        required(arguments, "namespace"),
        object_name(arguments, "pod"),
        optional(arguments, "container"),
        previous=flag(arguments, "previous"),
        tail_lines=number(arguments, "tail_lines", _DEFAULT_TAIL, _MOST_LINES),
    )
    return Produced(text="\n".join(lines) or NO_LINES, keep="tail")


def get_events(reader: ClusterReader, arguments: Arguments) -> Produced:
    """The events of one object, newest first; of its present incarnation where that can be known."""
    kind = kind_of(arguments)
    target, scope = object_name(arguments, "name"), object_scope(arguments, kind)
    known = eventlines.known_uid(reader, kind, target, scope)
    found = eventlines.of_name(reader, kind, target, scope, known)
    return Produced(text="\n".join(eventlines.line(event, reader.now) for event in found) or NO_EVENTS, uid=known)


def list_operators(reader: ClusterReader, arguments: Arguments) -> Produced:
    """Workloads whose labels mark them as operators, with the label that does."""
    scope = list_scope(arguments)
    rows: list[str] = []
    gaps: list[str] = []
    for plural in ("deployments", "statefulsets"):
        try:
            found = reader.list(served(plural), scope)
        except ApiError as error:
            gaps.append(f"{plural}: unavailable ({error})")
            continue
        for item in found:
            mark = _operator_mark(labels(item))
            if mark:
                counts = replica_counts(item)
                ready = f"{counts['ready']}/{counts['desired']}"
                version = text(item, "metadata", "labels", "app.kubernetes.io/version")
                columns = pairs({"kind": at(item, "kind"), "ready": ready, "version": version, "label": mark})
                rows.append(f"{namespace(item)}/{name(item)}  -  {columns}")
    return Produced(text="\n".join(sorted(rows) + gaps) or NOTHING)


def helm_list_releases(reader: ClusterReader, arguments: Arguments) -> Produced:
    """Helm releases at their latest revision."""
    rows = []
    for release in reader.releases(list_scope(arguments)):
        columns = {
            "revision": release.revision,
            "status": release.status,
            "chart": release.chart,
            "app_version": release.app_version,
            "updated": release.updated,
        }
        rows.append(f"{release.namespace}/{release.name}  -  {pairs(columns)}")
    return Produced(text="\n".join(rows) or NOTHING)


def _operator_mark(found: dict[str, str]) -> str:
    for key, values in _OPERATOR_MARKS.items():
        if key in found and (not values or found[key] in values):
            return f"{key}={found[key]}"
    return ""
