"""The kinds of Kubernetes object that fixtures may hold, their names, and what a denial rule may say of them.

One table serves the case loader (which kinds and denials load), the fake cluster (what is served), the tools (which
words name a kind) and graders (two words for one kind are one target). Source: evaluation semantics 8 and 2.1.
"""

from functools import cache

import msgspec

from schemas.cases import Denial


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind: `kind` as manifests spell it, `plural` as the API path does, `group` empty for the core group."""

    kind: str
    plural: str
    namespaced: bool = True
    group: str = ""
    version: str = "v1"
    short: tuple[str, ...] = ()


KINDS: tuple[Kind, ...] = (
    Kind(kind="Pod", plural="pods", short=("po",)),
    Kind(kind="Deployment", plural="deployments", group="apps", short=("deploy",)),
    Kind(kind="ReplicaSet", plural="replicasets", group="apps", short=("rs",)),
    Kind(kind="StatefulSet", plural="statefulsets", group="apps", short=("sts",)),
    Kind(kind="DaemonSet", plural="daemonsets", group="apps", short=("ds",)),
    Kind(kind="Job", plural="jobs", group="batch"),
    Kind(kind="Service", plural="services", short=("svc",)),
    Kind(kind="Endpoints", plural="endpoints", short=("ep",)),
    Kind(kind="EndpointSlice", plural="endpointslices", group="discovery.k8s.io", short=("eps",)),
    Kind(kind="Node", plural="nodes", namespaced=False, short=("no",)),
    Kind(kind="PersistentVolumeClaim", plural="persistentvolumeclaims", short=("pvc",)),
    Kind(kind="PersistentVolume", plural="persistentvolumes", namespaced=False, short=("pv",)),
    Kind(kind="StorageClass", plural="storageclasses", namespaced=False, group="storage.k8s.io", short=("sc",)),
    Kind(kind="ResourceQuota", plural="resourcequotas", short=("quota",)),
    Kind(kind="Namespace", plural="namespaces", namespaced=False, short=("ns",)),
    Kind(kind="ConfigMap", plural="configmaps", short=("cm",)),
    Kind(kind="Secret", plural="secrets"),
    Kind(kind="Event", plural="events", short=("ev",)),
)

_SUBRESOURCES = {"pods": ("log",)}
"""The subresources that a denial can name: the only one that a read reaches is a pod's log."""


def api_version(kind: Kind) -> str:
    """`apps/v1`, or `v1` for the core group."""
    return f"{kind.group}/{kind.version}" if kind.group else kind.version


def resource(kind: Kind) -> str:
    """The name that API messages use: `deployments.apps`, or `pods` for the core group."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def find_kind(word: str) -> Kind | None:
    """The kind that `word` names, in any case: plural, kind, short name, or plural with its group; else None."""
    return _by_alias().get(word.strip().lower())


def served(plural: str) -> Kind:
    """The kind of a plural that is in the table. Raises `KeyError` if it is not: a mistake in our own code."""
    return _by_plural()[plural]


def denial_problem(rule: Denial) -> str | None:
    """Why a denial rule must not load, or None.

    A rule that loads and matches nothing would publish a gap that never existed, so kinds are exact plurals, a
    subresource must exist, a cluster-scoped kind takes no namespace, and nothing is blank.
    """
    for key in ("kind", "namespace", "name", "subresource"):
        value = getattr(rule, key)
        if value is not None and (not value.strip() or value != value.strip()):
            return f"{key}: {value!r} is blank or padded; leave the key out to match everything"
    kind = _by_plural().get(rule.kind)
    if kind is None:
        near = find_kind(rule.kind)
        hint = f"write {near.plural!r}" if near else "one of " + ", ".join(_by_plural())
        return f"kind: {rule.kind!r} is no plural that the fake cluster serves; {hint}"
    if rule.namespace is not None and not kind.namespaced:
        return f"namespace: {kind.plural} are cluster-scoped, so a rule with a namespace matches nothing; leave it out"
    allowed = _SUBRESOURCES.get(kind.plural, ())
    if rule.subresource is not None and rule.subresource not in allowed:
        return f"subresource: {kind.plural}/{rule.subresource} is never read; only pods/log can be denied"
    return None


@cache
def _by_alias() -> dict[str, Kind]:
    table: dict[str, Kind] = {}
    for kind in KINDS:
        for word in (kind.plural, kind.kind.lower(), *kind.short, resource(kind)):
            table.setdefault(word, kind)
    return table


@cache
def _by_plural() -> dict[str, Kind]:
    return {kind.plural: kind for kind in KINDS}
