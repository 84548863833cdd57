"""diagnose_workload: a workload with what it owns, in sections.

IDENTITY, REPLICAS, CONDITIONS, WARNING EVENTS, REPLICASETS (of a Deployment), PODS NOT READY as an early index, then a
short report on up to three of them. Ownership is by uid. Source: evaluation semantics 6.3.
"""

from typing import Any

from recorder.cluster.api import ApiError, ClusterReader
from recorder.tools import eventlines, podreport, pods
from recorder.tools.args import Arguments, kind_of, object_name, required
from recorder.tools.fields import age, at, labels, maps, name, namespace, owned_by, owner, pairs, text, uid
from recorder.tools.podreport import condition_lines, section, unavailable
from recorder.tools.results import Produced, ToolFailure
from recorder.tools.rows import replica_counts
from schemas.kinds import Kind, served

Object = dict[str, Any]

_PODS, _REPLICASETS = served("pods"), served("replicasets")

KINDS = ("deployments", "statefulsets", "daemonsets", "replicasets", "jobs")

_MOST_WARNINGS = 10
_MOST_EMBEDDED = 3
_NORMALLY_FALSE = ("ReplicaFailure", "Failed", "FailureTarget", "Suspended")
_REVISION = "deployment.kubernetes.io/revision"


def diagnose_workload(reader: ClusterReader, arguments: Arguments) -> Produced:
    """The report on one workload. Only the workload itself must be readable."""
    kind = kind_of(arguments)
    if kind.plural not in KINDS:
        raise ToolFailure("bad_request", f"{kind.plural} are no workloads; 'kind' is one of {', '.join(KINDS)}")
    item = reader.get(kind, object_name(arguments, "name"), required(arguments, "namespace"))
    replicasets, gap = _owned(reader, item, _REPLICASETS) if kind.plural == "deployments" else ([], None)
    owners = replicasets if kind.plural == "deployments" else [item]
    owned, pod_gap = _owned_by_any(reader, item, owners)
    waiting = [pod for pod in owned if not pods.is_settled(pod)]
    sections = [
        ("IDENTITY", _identity(reader, item, kind)),
        ("REPLICAS", [pairs(replica_counts(item))]),
        ("CONDITIONS", condition_lines(item, _NORMALLY_FALSE)),
        ("WARNING EVENTS", _warnings(reader, item, kind, replicasets)),
    ]
    if kind.plural == "deployments":
        sections.append(("REPLICASETS", [gap] if gap else [_replicaset_line(entry) for entry in replicasets]))
    sections.append((f"PODS NOT READY ({len(waiting)} of {len(owned)})", _index(waiting, pod_gap)))
    lines = [line for title, body in sections for line in section(title, body)]
    embedded = [line for pod in waiting[:_MOST_EMBEDDED] for line in podreport.brief(reader, pod)]
    return Produced(text="\n".join(lines + (section("POD REPORTS", embedded) if embedded else [])), uid=uid(item))


def _identity(reader: ClusterReader, item: Object, kind: Kind) -> list[str]:
    known = {
        "uid": uid(item),
        "age": age(at(item, "metadata", "creationTimestamp"), reader.now),
        "owner": owner(item),
        "images": _images(item),
    }
    return [f"{kind.kind} {namespace(item)}/{name(item)}  {pairs(known)}"]


def _images(item: Object) -> str:
    return ",".join(text(entry, "image") for entry in maps(item, "spec", "template", "spec", "containers"))


def _owned(reader: ClusterReader, item: Object, kind: Kind) -> tuple[list[Object], str | None]:
    try:
        found = reader.list(kind, namespace(item))
    except ApiError as error:
        return [], f"{kind.plural}: {unavailable(error)}"
    owned = [entry for entry in found if owned_by(entry, uid(item))]
    return sorted(owned, key=_revision, reverse=True), None


def _owned_by_any(reader: ClusterReader, item: Object, owners: list[Object]) -> tuple[list[Object], str | None]:
    try:
        found = reader.list(_PODS, namespace(item))
    except ApiError as error:
        return [], f"pods: {unavailable(error)}"
    return [pod for pod in found if any(owned_by(pod, uid(entry)) for entry in owners)], None


def _revision(replicaset: Object) -> int:
    value = labels(replicaset, "metadata", "annotations").get(_REVISION, "")
    return int(value) if value.isdecimal() else 0


def _replicaset_line(replicaset: Object) -> str:
    revision = labels(replicaset, "metadata", "annotations").get(_REVISION)
    return f"{name(replicaset)}:  " + pairs(
        {"revision": revision, **replica_counts(replicaset), "images": _images(replicaset)}
    )


def _warnings(reader: ClusterReader, item: Object, kind: Kind, replicasets: list[Object]) -> list[str]:
    sources = [(item, kind, ""), *((entry, _REPLICASETS, f"{name(entry)}: ") for entry in replicasets)]
    lines: list[str] = []
    for source, source_kind, label in sources:
        try:
            events = eventlines.of_object(reader, source, source_kind)
        except ApiError as error:
            lines.append(label + unavailable(error))
            continue
        lines += [label + line for line in eventlines.warnings(events, reader.now, _MOST_WARNINGS)]
    return lines[:_MOST_WARNINGS]


def _index(waiting: list[Object], gap: str | None) -> list[str]:
    if gap:
        return [gap]
    lines = []
    for pod in waiting:
        ready, total = pods.ready_count(pod)
        columns = {
            "status": pods.status_word(pod),
            "ready": f"{ready}/{total}",
            "restarts": pods.restarts(pod),
            "owner": owner(pod),
        }
        lines.append(f"{name(pod)}:  {pairs(columns)}")
    return lines
