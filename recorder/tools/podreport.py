"""diagnose_pod: everything the API states about one pod, in sections.

IDENTITY, CURRENT HEALTH, RELATED, CONDITIONS, CONTAINERS, WARNING EVENTS, LOG EXCERPTS. A direct projection: it states
what was read and what could not be read, and concludes nothing. Source: evaluation semantics 6.3.
"""

import re
from typing import Any

from recorder.cluster.api import ApiError, ClusterReader
from recorder.tools import eventlines, pods
from recorder.tools.args import Arguments, object_name, required
from recorder.tools.fields import age, at, condition, maps, name, namespace, owner, pairs, text, uid
from recorder.tools.results import Produced
from schemas.kinds import served

Object = dict[str, Any]

_PODS, _NODES, _CLAIMS = served("pods"), served("nodes"), served("persistentvolumeclaims")

_MOST_WARNINGS = 10
_MOST_CLAIM_WARNINGS = 3
_MOST_EXCERPTS = 3
_TAIL_LINES = 200
_LAST_LINES = 10
_CONTEXT_LINES = 5
_TROUBLE = re.compile(r"error|fatal|panic|exception|traceback", re.IGNORECASE)

_NORMALLY_FALSE = ("DisruptionTarget", "PodResizePending", "PodResizeInProgress")
"""Pod conditions that are good when they are not True."""


def diagnose_pod(reader: ClusterReader, arguments: Arguments) -> Produced:
    """The report on one pod. Only the pod itself must be readable; whatever else is refused is a line of the report."""
    pod = reader.get(_PODS, object_name(arguments, "pod"), required(arguments, "namespace"))
    return Produced(text="\n".join(report(reader, pod)), uid=uid(pod))


def report(reader: ClusterReader, pod: Object) -> list[str]:
    """The lines of the whole report."""
    sections = [
        ("IDENTITY", _identity(reader, pod)),
        ("CURRENT HEALTH", _health(pod)),
        ("RELATED", _related(reader, pod)),
        ("CONDITIONS", _conditions(pod)),
        ("CONTAINERS", _containers(pod)),
        ("WARNING EVENTS", warning_lines(reader, pod)),
        ("LOG EXCERPTS", _excerpts(reader, pod)),
    ]
    return [line for title, lines in sections for line in section(title, lines)]


def brief(reader: ClusterReader, pod: Object) -> list[str]:
    """What a report on a workload embeds of one pod: containers, warnings and log excerpts."""
    lines = [f"pod {name(pod)}", *indent(_health(pod)), *indent(_containers(pod))]
    lines += [f"  warning {line}" for line in warning_lines(reader, pod)]
    return lines + indent(_excerpts(reader, pod))


def section(title: str, lines: list[str]) -> list[str]:
    """A heading and its lines, indented; a section of nothing says `(none)`."""
    return [title, *indent(lines or ["(none)"])]


def indent(lines: list[str]) -> list[str]:
    """Each line two spaces further in."""
    return [f"  {line}" for line in lines]


def unavailable(error: ApiError) -> str:
    """How a report says that something could not be read."""
    return f"unavailable ({error})"


def condition_lines(item: Object, normally_false: tuple[str, ...]) -> list[str]:
    """`Type=False reason=R: message`, the failing ones first. `normally_false` are good when they are not True."""
    found = maps(item, "status", "conditions")
    failing = [entry for entry in found if (entry.get("status") == "True") == (entry.get("type") in normally_false)]
    ordered = failing + [entry for entry in found if entry not in failing]
    lines = []
    for entry in ordered:
        line = f"{text(entry, 'type')}={text(entry, 'status')}"
        line += f" reason={text(entry, 'reason')}" if text(entry, "reason") else ""
        lines.append(line + (f": {text(entry, 'message')}" if text(entry, "message") else ""))
    return lines


def warning_lines(reader: ClusterReader, pod: Object) -> list[str]:
    """The pod's warning events, newest first, each once."""
    try:
        return eventlines.warnings(eventlines.of_object(reader, pod, _PODS), reader.now, _MOST_WARNINGS)
    except ApiError as error:
        return [unavailable(error)]


def _identity(reader: ClusterReader, pod: Object) -> list[str]:
    born = at(pod, "metadata", "creationTimestamp")
    known = {"uid": uid(pod), "age": age(born, reader.now), "owner": owner(pod)}
    return [f"pod {namespace(pod)}/{name(pod)}  {pairs(known)}"]


def _health(pod: Object) -> list[str]:
    ready, total = pods.ready_count(pod)
    columns = {
        "phase": text(pod, "status", "phase"),
        "status": pods.status_word(pod),
        "ready": f"{ready}/{total}",
        "restarts": pods.restarts(pod),
        "reason": text(pod, "status", "reason"),
    }
    message = text(pod, "status", "message")
    return [pairs(columns), *([f"message: {message}"] if message else [])]


def _related(reader: ClusterReader, pod: Object) -> list[str]:
    lines = [_node_line(reader, text(pod, "spec", "nodeName"))]
    selector = at(pod, "spec", "nodeSelector")
    if isinstance(selector, dict) and selector:
        lines.append("node selector: " + ", ".join(f"{key}={value}" for key, value in selector.items()))
    for claim in pods.claims(pod):
        lines += _claim_lines(reader, namespace(pod), claim)
    return lines


def _node_line(reader: ClusterReader, node_name: str) -> str:
    if not node_name:
        return "node: not assigned"
    try:
        node = reader.get(_NODES, node_name)
    except ApiError as error:
        return f"node {node_name}: {'not found' if error.status == 404 else unavailable(error)}"
    ready = {"True": "Ready", "False": "NotReady"}.get(text(condition(node, "Ready"), "status"), "Ready=Unknown")
    others = [
        f"{text(entry, 'type')}=True"
        for entry in maps(node, "status", "conditions")
        if entry.get("type") != "Ready" and entry.get("status") == "True"
    ]
    return f"node {node_name}: " + "  ".join([ready, *others])


def _claim_lines(reader: ClusterReader, scope: str, claim_name: str) -> list[str]:
    try:
        claim = reader.get(_CLAIMS, claim_name, scope)
    except ApiError as error:
        return [f"pvc {claim_name}: {'not found' if error.status == 404 else unavailable(error)}"]
    phase = text(claim, "status", "phase")
    columns = pairs({"storageclass": text(claim, "spec", "storageClassName")})
    lines = [f"pvc {claim_name}: " + "  ".join(part for part in (phase, columns) if part)]
    if phase == "Bound":
        return lines
    try:
        events = eventlines.of_object(reader, claim, _CLAIMS)
    except ApiError as error:
        return [*lines, f"  pvc events: {unavailable(error)}"]
    return lines + [f"  warning {line}" for line in eventlines.warnings(events, reader.now, _MOST_CLAIM_WARNINGS)]


def _conditions(pod: Object) -> list[str]:
    return condition_lines(pod, _NORMALLY_FALSE)


def _containers(pod: Object) -> list[str]:
    known = pods.statuses(pod)
    lines: list[str] = []
    for key, label in (("initContainers", "init "), ("containers", "")):
        for container in pods.container_names(pod, key):
            entry = known.get(container)
            lines.append(label + pods.container_line(container, entry))
            lines += indent(pods.container_details(entry))
            lines += indent(_spec_lines(pod, key, container))
    return lines


def _spec_lines(pod: Object, key: str, container: str) -> list[str]:
    spec = next((entry for entry in maps(pod, "spec", key) if entry.get("name") == container), {})
    limits = at(spec, "resources", "limits")
    requests = at(spec, "resources", "requests")
    parts = {"image": text(spec, "image"), "limits": _quantities(limits), "requests": _quantities(requests)}
    return [pairs(parts)] if any(parts.values()) else []


def _quantities(values: Any) -> str:
    return ",".join(f"{key}:{value}" for key, value in values.items()) if isinstance(values, dict) else ""


def _excerpts(reader: ClusterReader, pod: Object) -> list[str]:
    order = [*pods.container_names(pod, "initContainers"), *pods.container_names(pod)]
    known = pods.statuses(pod)
    troubled = [container for container in order if container in known and pods.in_trouble(known[container])]
    lines: list[str] = []
    for container in troubled[:_MOST_EXCERPTS]:
        lines += _excerpt(reader, pod, container, known[container])
    left = troubled[_MOST_EXCERPTS:]
    return [*lines, f"(not shown: {', '.join(left)})"] if left else lines


def _excerpt(reader: ClusterReader, pod: Object, container: str, entry: Object) -> list[str]:
    if pods.restarted(entry) and not pods.failed_now(entry):
        try:
            return _instance(reader, pod, container, previous=True)
        except ApiError as error:
            lines = [f"{container} (previous instance): {unavailable(error)}"]
            if error.status != 400:
                return lines
    else:
        lines = []
    try:
        return lines + _instance(reader, pod, container, previous=False)
    except ApiError as error:
        return [*lines, f"{container} (current instance): {unavailable(error)}"]


def _instance(reader: ClusterReader, pod: Object, container: str, *, previous: bool) -> list[str]:
    lines = reader.logs(namespace(pod), name(pod), container, previous=previous, tail_lines=_TAIL_LINES)
    label = "previous" if previous else "current"
    return [f"{container} ({label} instance):", *indent(_chosen(lines) or ["(no log lines)"])]


def _chosen(lines: tuple[str, ...]) -> list[str]:
    """The last line that reads like trouble with its surroundings, and the final lines; a gap is marked."""
    keep = set(range(max(0, len(lines) - _LAST_LINES), len(lines)))
    matching = [index for index, line in enumerate(lines) if _TROUBLE.search(line)]
    if matching:
        keep |= set(range(max(0, matching[-1] - _CONTEXT_LINES), min(len(lines), matching[-1] + _CONTEXT_LINES + 1)))
    chosen: list[str] = []
    before = min(keep, default=0) - 1
    for index in sorted(keep):
        if index != before + 1:
            chosen.append("...")
        chosen.append(lines[index])
        before = index
    return chosen
