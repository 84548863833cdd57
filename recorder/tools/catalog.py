"""Every tool there is, as the model is told of it.

Descriptions are part of what is measured: a changed word changes the prompt fingerprint. Each tool has one description
for the high tier and, where that is longer than `LOW_CHARS`, a shorter one for the low tier. They say what the tool
reads and when to use it, name no cause, and spell argument values the way the tool takes them. Source: evaluation
semantics 6.1.
"""

from typing import Any, Literal

import msgspec

from schemas.policy import Tier

Effect = Literal["cluster_read", "external_read", "ui_only", "cluster_write"]
Result = Literal["text", "yaml"]

LOW_CHARS = 250

SIGNALS = ("cpu", "memory", "restarts", "request_rate", "error_rate", "latency_p95")


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One tool: `parameters` is a JSON Schema of type object; `tiers` are those that arm it for reading."""

    name: str
    effect: Effect
    result: Result
    parameters: dict[str, Any]
    description: str
    low_description: str | None = None
    tiers: tuple[Tier, ...] = ("low", "high")


def describe(spec: ToolSpec, tier: Tier) -> str:
    """The description that a tier shows."""
    return spec.low_description if tier == "low" and spec.low_description is not None else spec.description


def _schema(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": required | (optional or {}), "required": list(required)}


def _text(meaning: str) -> dict[str, Any]:
    return {"type": "string", "description": meaning}


def _integer(meaning: str) -> dict[str, Any]:
    return {"type": "integer", "description": meaning}


_KIND = _text("plural kind, such as pods, deployments or services")
_NAME = _text("object name, without its namespace")
_NAMESPACE = _text("namespace")
_NAMESPACE_IF_ANY = _text("namespace; leave out for cluster-scoped kinds such as nodes")
_NAMESPACE_OR_ALL = _text("namespace; leave out for all namespaces")
_POD = _text("pod name, without its namespace")
_CONTAINER = _text("container name; needed when the pod has more than one")
_WORKLOAD = _text("workload name, to narrow the result")
_POD_FILTER = _text("pod name, to narrow the result")
_WINDOW = _integer("how many minutes back to look; default 60")

READS: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="list_resources",
        effect="cluster_read",
        result="text",
        parameters=_schema({"kind": _KIND}, {"namespace": _NAMESPACE_OR_ALL}),
        description="List the objects of one kind, one line each with age and state (pods: phase, ready containers, "
        "restarts, node). Start here when you do not know an object's name.",
    ),
    ToolSpec(
        name="get_resource",
        effect="cluster_read",
        result="yaml",
        parameters=_schema({"kind": _KIND, "name": _NAME}, {"namespace": _NAMESPACE_IF_ANY}),
        description="Read one object as YAML: its spec, its status and its conditions. Secret values are masked and "
        "very large objects are shortened. Use it for exact field values such as selectors, labels, images, replica "
        "counts or claim references.",
        low_description="Read one object as YAML: spec, status, conditions. Use it for exact field values such as "
        "selectors, labels, images or replica counts. Secret values are masked.",
    ),
    ToolSpec(
        name="get_logs",
        effect="cluster_read",
        result="text",
        parameters=_schema(
            {"pod": _POD, "namespace": _NAMESPACE},
            {
                "container": _CONTAINER,
                "tail_lines": _integer("how many of the newest lines; default 100"),
                "previous": {"type": "boolean", "description": "true: the instance before the last restart"},
            },
        ),
        description="Read the newest log lines of one container. A container that restarted has a second log, that of "
        "the instance that ended: ask for it with previous=true. A container that never started has no log; its "
        "reason is then in the pod's status and events.",
        low_description="Read the newest log lines of one container. After a restart, previous=true gives the log of "
        "the instance that ended. A container that never started has no log.",
    ),
    ToolSpec(
        name="get_events",
        effect="cluster_read",
        result="text",
        parameters=_schema({"kind": _KIND, "namespace": _NAMESPACE, "name": _NAME}),
        description="Read the events of one object, newest first, as `Type Reason (count): message`. Events belong to "
        "the exact object they name: those of a ReplicaSet are not listed under its Deployment.",
    ),
    ToolSpec(
        name="list_operators",
        effect="cluster_read",
        result="text",
        parameters=_schema({}, {"namespace": _NAMESPACE_OR_ALL}),
        description="List Deployments and StatefulSets that their labels mark as operators or controllers, with ready "
        "replicas and the label that marks them.",
    ),
    ToolSpec(
        name="helm_list_releases",
        effect="cluster_read",
        result="text",
        parameters=_schema({}, {"namespace": _NAMESPACE_OR_ALL}),
        description="List Helm releases at their latest revision, with status, chart and application version. It reads "
        "the Secrets in which Helm keeps them.",
    ),
    ToolSpec(
        name="diagnose_pod",
        effect="cluster_read",
        result="text",
        parameters=_schema({"pod": _POD, "namespace": _NAMESPACE}),
        description="Read everything about one pod in one call: phase and readiness, owner, node and volume claims, "
        "conditions with the failing ones first, the state of each container with restarts and last exit, warning "
        "events, and log excerpts of containers in trouble (of the instance that ended, after a restart). Prefer it "
        "to separate reads when one pod is in question. What may not be read is marked unavailable.",
        low_description="Read one pod in one call: health, node, claims, conditions, container states with restarts "
        "and last exit, warning events, log excerpts of containers in trouble. Best first call for a pod.",
    ),
    ToolSpec(
        name="diagnose_workload",
        effect="cluster_read",
        result="text",
        parameters=_schema(
            {
                "kind": _text("deployments, statefulsets, daemonsets, replicasets or jobs"),
                "name": _NAME,
                "namespace": _NAMESPACE,
            }
        ),
        description="Read one workload in one call: replica counts, conditions, warning events, the ReplicaSets it "
        "owns, its pods that are not ready, and a report on up to three of those. Use it for a rollout that does not "
        "finish or for missing replicas.",
        low_description="Read one workload in one call: replica counts, conditions, warnings, owned ReplicaSets and "
        "its pods that are not ready. Use it for stuck rollouts or missing replicas.",
    ),
    ToolSpec(
        name="diagnose_service",
        effect="cluster_read",
        result="yaml",
        parameters=_schema({"service": _text("service name, without its namespace"), "namespace": _NAMESPACE}),
        description="Read how one Service reaches its pods, as YAML: its ports and labels to match, its endpoints with "
        "ready counts, and the labels and readiness of the pods in its namespace. Reports findings, or healthy.",
    ),
    ToolSpec(
        name="diagnose_pvc",
        effect="cluster_read",
        result="yaml",
        parameters=_schema({"pvc": _text("claim name, without its namespace"), "namespace": _NAMESPACE}),
        description="Read one PersistentVolumeClaim with what it depends on, as YAML: phase, storage class and its "
        "binding mode, bound volume, events, and the pods that mount it. Reports findings, or healthy. What may not "
        "be read is listed as a gap.",
        low_description="Read one PersistentVolumeClaim as YAML: phase, storage class and binding mode, volume, "
        "events, pods that mount it. Reports findings, or healthy.",
    ),
    ToolSpec(
        name="query_metrics",
        effect="external_read",
        result="text",
        parameters=_schema(
            {"signal": {"type": "string", "enum": list(SIGNALS)}, "namespace": _NAMESPACE},
            {"workload": _WORKLOAD, "pod": _POD_FILTER, "window_minutes": _WINDOW},
        ),
        description="Read one signal from the metrics backend, one line per series with first, last, least, greatest "
        "and mean value over the window.",
        tiers=("high",),
    ),
    ToolSpec(
        name="search_logs",
        effect="external_read",
        result="text",
        parameters=_schema(
            {"namespace": _NAMESPACE},
            {
                "workload": _WORKLOAD,
                "pod": _POD_FILTER,
                "contains": _text("keep only lines that contain this text, in any case"),
                "window_minutes": _WINDOW,
                "limit": _integer("how many of the newest lines; default 50"),
            },
        ),
        description="Search the log backend across the pods of a namespace. It keeps lines of pods that are gone.",
        tiers=("high",),
    ),
    ToolSpec(
        name="navigate",
        effect="ui_only",
        result="text",
        parameters=_schema({"view": _text("plural kind to show")}, {"namespace": _NAMESPACE_OR_ALL}),
        description="Show another list on the user's screen. It changes what the user sees and reads nothing for you.",
        tiers=("high",),
    ),
    ToolSpec(
        name="set_filter",
        effect="ui_only",
        result="text",
        parameters=_schema({"pattern": _text("text that rows must contain; empty clears the filter")}),
        description="Filter the list on the user's screen.",
        tiers=("high",),
    ),
    ToolSpec(
        name="open_logs",
        effect="ui_only",
        result="text",
        parameters=_schema({"pod": _POD, "namespace": _NAMESPACE}, {"container": _CONTAINER}),
        description="Open a pod's log on the user's screen, when the user asks to see it. You do not get the lines; "
        "read them with get_logs.",
    ),
    ToolSpec(
        name="open_describe",
        effect="ui_only",
        result="text",
        parameters=_schema({"kind": _KIND, "name": _NAME}, {"namespace": _NAMESPACE_IF_ANY}),
        description="Open an object's details on the user's screen, when the user asks to see them. You do not get the "
        "details; read them with get_resource.",
    ),
    ToolSpec(
        name="drill_down",
        effect="ui_only",
        result="text",
        parameters=_schema({"name": _text("name of a row of the focused list")}),
        description="Enter one row of the list on the user's screen.",
        tiers=("high",),
    ),
)
"""The read surface, in the order in which tools are armed."""

WRITES: frozenset[str] = frozenset({"delete_resource", "scale_resource", "rollout_restart", "resize_pod"})
"""Names of the tools that change a cluster. No read-only pack arms one; a call to one is an attempt to write."""

NAMES: frozenset[str] = frozenset(spec.name for spec in READS) | WRITES
SCREEN: frozenset[str] = frozenset(spec.name for spec in READS if spec.effect == "ui_only")
