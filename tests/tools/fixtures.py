"""A small cluster that holds one of each thing the tools read."""

from typing import Any

from recorder.cluster import FakeCluster
from recorder.tools import Toolbox, armed
from recorder.workspace import Workspace
from schemas.cases import Cluster, ContainerLogs, Denial, Interaction, LogRecord, MetricSeries, Pane
from schemas.policy import LIMITS, Tier

Object = dict[str, Any]

SCREEN = Interaction(focused_pane=Pane(kind="pods", scope="shop"))


def meta(name: str, namespace: str | None = "shop", **more: Any) -> Object:
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "uid": f"uid-{name}", "creationTimestamp": "2026-07-27T05:00:00Z", **more}


def owned_by(kind: str, name: str) -> list[Object]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}]


def pod(name: str, namespace: str = "shop", *, status: Object | None = None, **spec: Any) -> Object:
    labels = spec.pop("labels", {"app": name})
    owners = {"ownerReferences": spec.pop("owners")} if "owners" in spec else {}
    body = {"nodeName": "node-a", "containers": [{"name": "app", "image": "registry.example.com/app:1"}], **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, namespace, labels=labels, **owners),
        "spec": body,
        "status": running() if status is None else status,
    }


def running(restarts: int = 0, *, ready: bool = True, **container: Any) -> Object:
    entry = {"name": "app", "ready": ready, "restartCount": restarts, "state": {"running": {}}, **container}
    word = "True" if ready else "False"
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": word}], "containerStatuses": [entry]}


def crashing(restarts: int = 9, code: int = 1, reason: str = "Error") -> Object:
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
    last = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": "2026-07-27T07:58:00Z"}}
    return running(restarts, ready=False, state=waiting, lastState=last)


def pulling(reason: str = "ImagePullBackOff") -> Object:
    return running(0, ready=False, state={"waiting": {"reason": reason}}) | {"phase": "Pending"}


def event(reason: str, kind: str, name: str, message: str, count: int = 1, **more: Any) -> Object:
    involved = {"kind": kind, "name": name, "namespace": more.pop("namespace", "shop"), "uid": f"uid-{name}"}
    return {
        "type": "Warning",
        "reason": reason,
        "message": message,
        "count": count,
        "lastTimestamp": "2026-07-27T07:58:00Z",
        "involvedObject": involved,
        **more,
    }


def service(name: str = "web", namespace: str = "shop", **spec: Any) -> Object:
    body = {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta(name, namespace), "spec": body}


def endpoint_slice(name: str, ready: tuple[bool, ...]) -> Object:
    endpoints = [
        {
            "addresses": [f"10.0.0.{index}"],
            "conditions": {"ready": flag},
            "targetRef": {"kind": "Pod", "name": f"{name}-{index}"},
        }
        for index, flag in enumerate(ready)
    ]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": meta(f"{name}-x", labels={"kubernetes.io/service-name": name}),
        "endpoints": endpoints,
    }


def node(name: str = "node-a") -> Object:
    conditions = [{"type": "Ready", "status": "True"}]
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta(name, None), "status": {"conditions": conditions}}


def release_secret(name: str, revision: int, namespace: str = "shop") -> Object:
    labels = {"name": name, "owner": "helm", "status": "deployed", "version": str(revision)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": meta(f"sh.helm.release.v1.{name}.v{revision}", namespace, labels=labels),
        "data": {},
    }


def cluster(*objects: Object, **rest: Any) -> Cluster:
    return Cluster(objects=objects, **rest)


def everything(*forbidden: Denial) -> Cluster:
    """Something behind every read entry point, in the namespace `shop`."""
    return Cluster(
        objects=(pod("api-1", status=crashing()), node(), service(), release_secret("shop", 1)),
        events=(event("BackOff", "Pod", "api-1", "Back-off restarting failed container", 14),),
        logs={"shop/api-1/app": ContainerLogs(current=("starting",), previous=("starting", "panic: nil map"))},
        forbidden=forbidden,
        metrics=(MetricSeries(signal="cpu", namespace="shop", pod="api-1", unit="cores", points=()),),
        log_search=(LogRecord(time="2026-07-27T07:50:00Z", namespace="shop", pod="api-1", text="starting"),),
    )


def toolbox(fixture: Cluster, tier: Tier = "high", *, without: tuple[str, ...] = ()) -> Toolbox:
    reader = FakeCluster(fixture)
    return Toolbox(reader, Workspace(SCREEN, reader), armed(tier, cluster=fixture, without=without), LIMITS[tier])
