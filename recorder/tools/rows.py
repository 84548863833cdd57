"""List rows: one object a line, with the columns that its kind is known by.

`ns/name  -  age=3h  key=value  ...`. Every column is read off the object; nothing is concluded.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from recorder.tools.eventlines import last_seen
from recorder.tools.fields import age, at, condition, count, labels, maps, name, namespace, owner, pairs, text
from recorder.tools.pods import ready_count, restarts, status_word
from schemas.kinds import Kind

Object = dict[str, Any]


def row(item: Object, kind: Kind, now: datetime) -> str:
    """The line of one object."""
    where = f"{namespace(item)}/{name(item)}" if kind.namespaced else name(item)
    columns = _COLUMNS[kind.plural](item)
    born = last_seen(item) if kind.plural == "events" else at(item, "metadata", "creationTimestamp")
    return f"{where}  -  " + pairs({"age": age(born, now), **columns})


def _pod(item: Object) -> Object:
    phase, status = text(item, "status", "phase"), status_word(item)
    ready, total = ready_count(item)
    return {
        "phase": phase,
        "status": status if status != phase else "",
        "ready": f"{ready}/{total}",
        "restarts": restarts(item),
        "node": text(item, "spec", "nodeName"),
    }


def replica_counts(item: Object) -> Object:
    """The replica counts of a workload as its status gives them; a counter left out is 0."""
    kind = item.get("kind")
    if kind == "DaemonSet":
        return {
            "desired": count(item, "status", "desiredNumberScheduled"),
            "updated": count(item, "status", "updatedNumberScheduled"),
            "ready": count(item, "status", "numberReady"),
            "available": count(item, "status", "numberAvailable"),
            "unavailable": count(item, "status", "numberUnavailable"),
        }
    if kind == "Job":
        wanted = at(item, "spec", "completions")
        return {
            "completions": f"{count(item, 'status', 'succeeded')}/{1 if wanted is None else wanted}",
            "active": count(item, "status", "active"),
            "failed_attempts": count(item, "status", "failed"),
            "backoff_limit": at(item, "spec", "backoffLimit"),
        }
    wanted = at(item, "spec", "replicas")
    counts: Object = {"desired": 1 if wanted is None else wanted}
    if kind != "ReplicaSet":
        counts["updated"] = count(item, "status", "updatedReplicas")
    counts["ready"] = count(item, "status", "readyReplicas")
    counts["available"] = count(item, "status", "availableReplicas")
    if kind == "Deployment":
        counts["unavailable"] = count(item, "status", "unavailableReplicas")
    return counts


def _workload(item: Object) -> Object:
    return {**replica_counts(item), "owner": owner(item)}


def _job(item: Object) -> Object:
    ended = [kind for kind in ("Complete", "Failed") if condition(item, kind).get("status") == "True"]
    return {
        **replica_counts(item),
        "condition": "".join(ended),
        "reason": text(condition(item, ended[0]), "reason") if ended else "",
    }


def _service(item: Object) -> Object:
    ports = [f"{text(port, 'port')}/{text(port, 'protocol') or 'TCP'}" for port in maps(item, "spec", "ports")]
    return {
        "type": text(item, "spec", "type") or "ClusterIP",
        "cluster_ip": text(item, "spec", "clusterIP"),
        "ports": ",".join(ports),
    }


def _endpoints(item: Object) -> Object:
    subsets = maps(item, "subsets")
    return {
        "ready_addresses": sum(len(maps(subset, "addresses")) for subset in subsets),
        "not_ready_addresses": sum(len(maps(subset, "notReadyAddresses")) for subset in subsets),
    }


def _slice(item: Object) -> Object:
    endpoints = maps(item, "endpoints")
    ready = [entry for entry in endpoints if at(entry, "conditions", "ready") is not False]
    return {
        "service": labels(item).get("kubernetes.io/service-name", ""),
        "endpoints": len(endpoints),
        "ready": len(ready),
    }


def _node(item: Object) -> Object:
    pressure = [
        text(entry, "type")
        for entry in maps(item, "status", "conditions")
        if entry.get("type") != "Ready" and entry.get("status") == "True"
    ]
    return {
        "ready": text(condition(item, "Ready"), "status"),
        "conditions": ",".join(pressure),
        "unschedulable": text(item, "spec", "unschedulable"),
        "version": text(item, "status", "nodeInfo", "kubeletVersion"),
    }


def _claim(item: Object) -> Object:
    return {
        "phase": text(item, "status", "phase"),
        "volume": text(item, "spec", "volumeName"),
        "capacity": text(item, "status", "capacity", "storage"),
        "storageclass": text(item, "spec", "storageClassName"),
    }


def _volume(item: Object) -> Object:
    claim = at(item, "spec", "claimRef")
    return {
        "phase": text(item, "status", "phase"),
        "capacity": text(item, "spec", "capacity", "storage"),
        "claim": f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else "",
        "storageclass": text(item, "spec", "storageClassName"),
    }


def _class(item: Object) -> Object:
    default = labels(item, "metadata", "annotations").get("storageclass.kubernetes.io/is-default-class")
    return {
        "provisioner": text(item, "provisioner"),
        "binding_mode": text(item, "volumeBindingMode") or "Immediate",
        "default": default if default == "true" else "",
    }


def _quota(item: Object) -> Object:
    used = labels(item, "status", "used")
    return {key: f"{used.get(key, '0')}/{hard}" for key, hard in labels(item, "status", "hard").items()}


def _phase(item: Object) -> Object:
    return {"phase": text(item, "status", "phase")}


def _config_map(item: Object) -> Object:
    return {"keys": len(labels(item, "data")) + len(labels(item, "binaryData"))}


def _secret(item: Object) -> Object:
    return {"type": text(item, "type"), "keys": len(labels(item, "data"))}


def _event(item: Object) -> Object:
    return {
        "type": text(item, "type"),
        "reason": text(item, "reason"),
        "object": f"{text(item, 'involvedObject', 'kind')}/{text(item, 'involvedObject', 'name')}",
        "count": text(item, "count"),
        "message": text(item, "message"),
    }


_COLUMNS: dict[str, Callable[[Object], Object]] = {
    "pods": _pod,
    "deployments": _workload,
    "replicasets": _workload,
    "statefulsets": _workload,
    "daemonsets": _workload,
    "jobs": _job,
    "services": _service,
    "endpoints": _endpoints,
    "endpointslices": _slice,
    "nodes": _node,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "storageclasses": _class,
    "resourcequotas": _quota,
    "namespaces": _phase,
    "configmaps": _config_map,
    "secrets": _secret,
    "events": _event,
}
