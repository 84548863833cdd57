"""The deterministic fake cluster, read side.

It holds what a fixture says and answers as the API server would. Its clock stands at the authoring instant and
timestamps are returned as authored, so every read gives the same bytes in every run. Every read asks the denial rules
first. Source: evaluation semantics 8, with the clock frozen where the reference shifts timestamps.
"""

import copy
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from recorder.cluster import helm
from recorder.cluster.api import ApiError, Release, bad_request, not_found
from recorder.cluster.denials import Denials
from recorder.cluster.selectors import fields_match, labels_match, parse_fields, parse_labels
from schemas.cases import ANCHOR, Cluster, LogRecord, MetricSeries
from schemas.errors import CaseError
from schemas.kinds import Kind, api_version, find_kind, served

_PODS, _EVENTS, _SECRETS = served("pods"), served("events"), served("secrets")

_PULL_FAILURES = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}
"""How the kubelet words these two reasons when it is asked for the log; every other reason is given as it is."""


class FakeCluster:
    """A cluster that a fixture describes. `objects` is the live list: a write side may share and change it.

    Raises `CaseError` at construction for a manifest that no API server would hold: an unknown kind, a wrong
    `apiVersion`, no name, no namespace where one is due, the same object twice.
    """

    def __init__(self, cluster: Cluster, *, user: str = "eval") -> None:
        self.objects: list[dict[str, Any]] = [_stored(item, at) for at, item in enumerate(cluster.objects)]
        self._events = [_stored_event(item, at) for at, item in enumerate(cluster.events)]
        self._logs = cluster.logs
        self._metrics = cluster.metrics
        self._log_search = cluster.log_search
        self._denials = Denials(cluster.forbidden, user)
        _refuse_duplicates(self.objects)

    @property
    def now(self) -> datetime:
        """The authoring instant."""
        return datetime.fromisoformat(ANCHOR)

    def list(
        self, kind: Kind, namespace: str | None = None, *, labels: str | None = None, fields: str | None = None
    ) -> tuple[dict[str, Any], ...]:
        """See `ClusterReader`. The namespace of a cluster-scoped kind is ignored."""
        scope = namespace if kind.namespaced else None
        self._denials.check("list", kind, scope, None)
        label_terms = parse_labels(labels or "")
        field_terms = parse_fields(fields, kind) if fields else ()
        found = [
            item
            for item in self._of(kind)
            if (scope is None or item["metadata"].get("namespace") == scope)
            and labels_match(label_terms, item["metadata"].get("labels") or {})
            and fields_match(field_terms, item)
        ]
        for item in found:
            self._denials.check("list", kind, _home(item, kind), _rule_name(item, kind))
        found.sort(key=lambda item: (item["metadata"].get("namespace") or "", item["metadata"]["name"]))
        return tuple(copy.deepcopy(found))

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> dict[str, Any]:
        """See `ClusterReader`. Raises a 400 for a namespaced kind without a namespace."""
        if kind.namespaced and not namespace:
            raise bad_request(f"an empty namespace may not be set when a {kind.kind} is read by name")
        scope = namespace if kind.namespaced else None
        self._denials.check("get", kind, scope, name)
        for item in self._of(kind):
            if item["metadata"]["name"] == name and (scope is None or item["metadata"].get("namespace") == scope):
                self._denials.check("get", kind, scope, _rule_name(item, kind))
                return copy.deepcopy(item)
        raise not_found(kind, name)

    def events(
        self, name: str, namespace: str | None, *, kind: str | None = None, uid: str | None = None
    ) -> tuple[dict[str, Any], ...]:
        """See `ClusterReader`. A rule's `name` is the involved object's. An event that states no uid matches any."""
        self._denials.check("list", _EVENTS, namespace, name)
        return tuple(copy.deepcopy([item for item in self._events if _involves(item, name, namespace, kind, uid)]))

    def logs(
        self,
        namespace: str,
        pod: str,
        container: str | None = None,
        *,
        previous: bool = False,
        tail_lines: int | None = None,
    ) -> tuple[str, ...]:
        """See `ClusterReader`. Without `container` the pod must have exactly one, init containers not counted."""
        self._denials.check("get", _PODS, namespace, pod, "log")
        manifest = self._find(_PODS, pod, namespace)
        if manifest is None and not any(key.startswith(f"{namespace}/{pod}/") for key in self._logs):
            raise not_found(_PODS, pod)
        chosen = container or _only_container(pod, self._containers(namespace, pod, manifest))
        kept = self._logs.get(f"{namespace}/{pod}/{chosen}")
        if kept is None:
            raise _no_log(pod, chosen, manifest, previous)
        lines = kept.previous if previous else kept.current
        if previous and not lines:
            raise _no_previous(pod, chosen)
        return lines[-tail_lines:] if tail_lines else lines

    def releases(self, namespace: str | None = None) -> tuple[Release, ...]:
        """See `ClusterReader`. It is a list of Secrets, and is denied as one."""
        return helm.latest_releases(self.list(_SECRETS, namespace, fields=f"type={helm.SECRET_TYPE}"))

    def metrics(
        self, signal: str, namespace: str, *, workload: str | None = None, pod: str | None = None
    ) -> tuple[MetricSeries, ...]:
        """See `ClusterReader`. Who may not read a pod may not read its metrics. Raises a 503 without a backend."""
        if self._metrics is None:
            raise ApiError(503, "ServiceUnavailable", "this cluster has no metrics backend")
        self._denials.check("get", _PODS, namespace, pod)
        found = [
            series
            for series in self._metrics
            if series.signal == signal and _in_scope(series, namespace, workload, pod)
        ]
        for series in found:
            self._denials.check("get", _PODS, namespace, series.pod)
        return tuple(found)

    def search_logs(
        self, namespace: str, *, workload: str | None = None, pod: str | None = None
    ) -> tuple[LogRecord, ...]:
        """See `ClusterReader`. Who may not read a pod's log may not search it. Raises a 503 without a backend."""
        if self._log_search is None:
            raise ApiError(503, "ServiceUnavailable", "this cluster has no log search backend")
        self._denials.check("get", _PODS, namespace, pod, "log")
        found = [record for record in self._log_search if _in_scope(record, namespace, workload, pod)]
        for record in found:
            self._denials.check("get", _PODS, namespace, record.pod, "log")
        return tuple(sorted(found, key=lambda record: record.time))

    def _of(self, kind: Kind) -> Iterator[dict[str, Any]]:
        stored = self._events if kind.plural == _EVENTS.plural else self.objects
        return (item for item in stored if item["kind"] == kind.kind)

    def _find(self, kind: Kind, name: str, namespace: str) -> dict[str, Any] | None:
        for item in self._of(kind):
            if item["metadata"]["name"] == name and item["metadata"].get("namespace") == namespace:
                return item
        return None

    def _containers(
        self, namespace: str, pod: str, manifest: dict[str, Any] | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if manifest is None:
            prefix = f"{namespace}/{pod}/"
            return tuple(sorted(key[len(prefix) :] for key in self._logs if key.startswith(prefix))), ()
        return _names(manifest, "containers"), _names(manifest, "initContainers")


def _stored(manifest: dict[str, Any], index: int) -> dict[str, Any]:
    where = f"cluster.objects[{index}]"
    item: dict[str, Any] = _plain(manifest)
    kind = find_kind(str(item.get("kind", "")))
    if kind is None or kind.kind != item["kind"] or kind.plural == _EVENTS.plural:
        raise CaseError(f"{where}.kind: {item.get('kind')!r} is no kind that the fake cluster holds as an object")
    if item.get("apiVersion", api_version(kind)) != api_version(kind):
        raise CaseError(f"{where}.apiVersion: {item['apiVersion']!r} for a {kind.kind}; write {api_version(kind)!r}")
    metadata = item.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise CaseError(f"{where}.metadata.name: a {kind.kind} needs a name")
    if kind.namespaced != bool(metadata.get("namespace")):
        rule = "needs a namespace" if kind.namespaced else "is cluster-scoped and takes no namespace"
        raise CaseError(f"{where}.metadata.namespace: {kind.kind} {metadata['name']!r} {rule}")
    return {"apiVersion": api_version(kind)} | item


def _stored_event(event: dict[str, Any], index: int) -> dict[str, Any]:
    item = _plain(event)
    involved = item.get("involvedObject")
    if not isinstance(involved, dict) or not involved.get("name") or not involved.get("kind"):
        raise CaseError(f"cluster.events[{index}].involvedObject: an event names the kind and name of its object")
    metadata = item.get("metadata") or {}
    # Events about cluster-scoped objects live in the namespace `default`.
    home = metadata.get("namespace") or involved.get("namespace") or "default"
    name = metadata.get("name") or f"{involved['name']}.{index:04x}"
    named = {**metadata, "name": name, "namespace": home}
    return {**item, "apiVersion": api_version(_EVENTS), "kind": _EVENTS.kind, "metadata": named}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return moment.replace(tzinfo=None).isoformat() + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _refuse_duplicates(objects: list[dict[str, Any]]) -> None:
    seen: set[tuple[str, str, str]] = set()
    for index, item in enumerate(objects):
        key = (item["kind"], item["metadata"].get("namespace") or "", item["metadata"]["name"])
        if key in seen:
            raise CaseError(f"cluster.objects[{index}]: {' '.join(part for part in key if part)} is there twice")
        seen.add(key)


def _home(item: dict[str, Any], kind: Kind) -> str | None:
    return item["metadata"].get("namespace") if kind.namespaced else None


def _rule_name(item: dict[str, Any], kind: Kind) -> str:
    """The name that a denial rule means: an event's is its involved object's."""
    return str(item["involvedObject"]["name"] if kind.plural == _EVENTS.plural else item["metadata"]["name"])


def _involves(event: dict[str, Any], name: str, namespace: str | None, kind: str | None, uid: str | None) -> bool:
    involved = event["involvedObject"]
    if involved["name"] != name or (kind is not None and involved["kind"] != kind):
        return False
    if namespace is not None and (involved.get("namespace") or event["metadata"]["namespace"]) != namespace:
        return False
    # The kubelet reports a node's events with the node's name for a uid.
    return uid is None or involved.get("uid") in (None, "", uid, name)


def _in_scope(item: MetricSeries | LogRecord, namespace: str, workload: str | None, pod: str | None) -> bool:
    return item.namespace == namespace and workload in (None, item.workload) and pod in (None, item.pod)


def _names(manifest: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(str(item["name"]) for item in (manifest.get("spec") or {}).get(key) or ())


def _only_container(pod: str, known: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    containers, init = known
    if len(containers) == 1:
        return containers[0]
    text = f"a container name must be specified for pod {pod}, choose one of: [{' '.join(containers)}]"
    raise bad_request(text + (f" or one of the init containers: [{' '.join(init)}]" if init else ""))


def _no_log(pod: str, container: str, manifest: dict[str, Any] | None, previous: bool) -> ApiError:
    if manifest is None or container not in (*_names(manifest, "containers"), *_names(manifest, "initContainers")):
        return bad_request(f"container {container} is not valid for pod {pod}")
    if not (manifest.get("spec") or {}).get("nodeName"):
        return bad_request(f"pod {pod} does not have a host assigned")
    if previous:
        return _no_previous(pod, container)
    status = manifest.get("status") or {}
    for entry in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        waiting = (entry.get("state") or {}).get("waiting")
        if entry.get("name") == container and waiting and not entry.get("lastState"):
            reason = str(waiting.get("reason", "ContainerCreating"))
            return bad_request(
                f'container "{container}" in pod "{pod}" is waiting to start: {_PULL_FAILURES.get(reason, reason)}'
            )
    return ApiError(404, "NotFound", f"the server could not find the requested resource ( pods/log {pod})")


def _no_previous(pod: str, container: str) -> ApiError:
    return bad_request(f'previous terminated container "{container}" in pod "{pod}" not found')
