"""What the grader knows of a tool: its effect, the argument that names its object, and the kinds it tells about.

This table restates the surface of the tools as far as verdicts depend on it, so that an old log is graded the same
whatever the recorder's tools have become. Sources: evaluation semantics 5.8, 6.1, 8.
"""

from typing import Literal

import msgspec

from grading.lexicon import words

Effect = Literal["read", "screen", "write"]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool: `identity` is the argument that becomes `name`, `kinds` what its result is evidence about."""

    effect: Effect = "read"
    identity: str | None = None
    kinds: frozenset[str] = frozenset()
    namespaced: bool = True


_PODS = frozenset({"pods"})

TOOLS: dict[str, Tool] = {
    "list_resources": Tool(),
    "get_resource": Tool(),
    "get_logs": Tool(identity="pod", kinds=_PODS),
    "get_events": Tool(),
    "list_operators": Tool(),
    "helm_list_releases": Tool(),
    "diagnose_pod": Tool(identity="pod", kinds=_PODS),
    "diagnose_workload": Tool(),
    "diagnose_service": Tool(identity="service", kinds=frozenset({"services", "endpoints", "endpointslices"})),
    "diagnose_pvc": Tool(identity="pvc", kinds=frozenset({"persistentvolumeclaims"})),
    "query_metrics": Tool(),
    "search_logs": Tool(),
    "navigate": Tool(effect="screen"),
    "set_filter": Tool(effect="screen", namespaced=False),
    "open_logs": Tool(effect="screen"),
    "open_describe": Tool(effect="screen"),
    "drill_down": Tool(effect="screen", namespaced=False),
    "delete_resource": Tool(effect="write"),
    "scale_resource": Tool(effect="write"),
    "rollout_restart": Tool(effect="write"),
    "resize_pod": Tool(effect="write"),
    "propose_write": Tool(effect="write"),
    "cancel_write_proposal": Tool(effect="write"),
}
UNKNOWN = Tool(namespaced=False)

IDENTITY_KEYS = ("pod", "pvc", "service")
"""Every argument that names an object for some tool."""

FIRST_KIND = {"diagnose_service": frozenset({"services"})}
"""What a tool was taken to tell about before kinds became sets."""

CLUSTER_SCOPED = words(
    "nodes persistentvolumes storageclasses namespaces clusterroles clusterrolebindings customresourcedefinitions "
    "priorityclasses ingressclasses"
)

_PLURALS = {
    "pods": "po pod",
    "deployments": "deploy deployment",
    "replicasets": "rs replicaset",
    "statefulsets": "sts statefulset",
    "daemonsets": "ds daemonset",
    "jobs": "job",
    "cronjobs": "cj cronjob",
    "services": "svc service",
    "endpoints": "ep endpoint",
    "endpointslices": "eps endpointslice",
    "nodes": "no node",
    "persistentvolumeclaims": "pvc persistentvolumeclaim",
    "persistentvolumes": "pv persistentvolume",
    "storageclasses": "sc storageclass",
    "resourcequotas": "quota resourcequota",
    "namespaces": "ns namespace",
    "configmaps": "cm configmap",
    "secrets": "secret",
    "events": "ev event",
    "ingresses": "ing ingress",
}
_ALIASES = {alias: plural for plural, aliases in _PLURALS.items() for alias in aliases.split()}


def tool_of(name: str) -> Tool:
    """What is known of a tool; a tool that is not in the table reads, and names no object of its own."""
    return TOOLS.get(name, UNKNOWN)


def plural_of(kind: str) -> str:
    """The plural, lowercase name of a kind, from any alias of it; an unknown kind as it is."""
    kind = kind.strip().lower()
    return _ALIASES.get(kind, kind)


def is_known_kind(kind: str) -> bool:
    """Whether a plural names a kind of the table."""
    return kind in _PLURALS or kind in CLUSTER_SCOPED
