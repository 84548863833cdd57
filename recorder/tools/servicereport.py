"""diagnose_service: how one Service reaches its pods, as structured evidence and findings.

EndpointSlices are read first. Only where there is none (or they may not be read) are the older Endpoints read instead;
that is a fact in the evidence, not a fault of the service. Source: evaluation semantics 6.3, with C-03 and C-15 put
right.
"""

from typing import Any

import msgspec

from recorder.cluster.api import ApiError, ClusterReader
from recorder.tools import pods as podstate
from recorder.tools.args import Arguments, object_name, required
from recorder.tools.fields import at, labels, maps, name, namespace, owned_by, text, uid
from recorder.tools.findings import Severity, diagnosis, finding, gap, reference
from recorder.tools.results import Produced
from schemas.kinds import served

Object = dict[str, Any]

_SERVICES, _SLICES, _ENDPOINTS, _PODS = (
    served(plural) for plural in ("services", "endpointslices", "endpoints", "pods")
)
_SERVICE_LABEL = "kubernetes.io/service-name"
_MOST_LISTED = 20


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a Service's addresses: from which kind, whether any such object exists, and its endpoints."""

    source: str
    objects: tuple[Object, ...] = ()
    endpoints: tuple[Object, ...] = ()

    @property
    def ready(self) -> int:
        """How many endpoints are ready."""
        return sum(1 for entry in self.endpoints if entry["ready"])


def diagnose_service(reader: ClusterReader, arguments: Arguments) -> Produced:
    """The diagnosis of one Service. Only the Service itself must be readable."""
    service = reader.get(_SERVICES, object_name(arguments, "service"), required(arguments, "namespace"))
    if text(service, "spec", "type") == "ExternalName":
        evidence = [{"id": "service", "type": "ExternalName", "externalName": text(service, "spec", "externalName")}]
        result = diagnosis("service", reference(service), evidence=evidence, findings=[], gaps=[], applicable=False)
        return Produced(data=result, uid=uid(service))
    gaps: list[Object] = []
    reach = _reach(reader, service, gaps)
    found = _pods(reader, service, gaps)
    evidence = [_service_evidence(service), *([_reach_evidence(reach)] if reach else [])]
    if found is not None:
        evidence.append(_pod_evidence(service, found))
    findings = [*_reach_findings(service, reach), *(_pod_findings(service, found) if found is not None else [])]
    result = diagnosis("service", reference(service), evidence=evidence, findings=findings, gaps=gaps)
    return Produced(data=result, uid=uid(service))


def _reach(reader: ClusterReader, service: Object, gaps: list[Object]) -> Reach | None:
    """What could be read of the addresses, or None where nothing could."""
    slices_read = True
    try:
        slices = [
            item
            for item in reader.list(_SLICES, namespace(service))
            if labels(item).get(_SERVICE_LABEL) == name(service) or owned_by(item, uid(service))
        ]
    except ApiError as error:
        gaps.append(gap("endpointslices", error))
        slices, slices_read = [], False
    if slices:
        endpoints = [_slice_endpoint(entry) for item in slices for entry in maps(item, "endpoints")]
        return Reach(source="endpointslices", objects=tuple(slices), endpoints=tuple(endpoints))
    try:
        legacy = reader.get(_ENDPOINTS, name(service), namespace(service))
    except ApiError as error:
        if error.status == 404:
            return Reach(source="endpointslices") if slices_read else None
        gaps.append(gap("endpoints", error))
        return None
    return Reach(source="endpoints", objects=(legacy,), endpoints=tuple(_legacy_endpoints(legacy)))


def _slice_endpoint(entry: Object) -> Object:
    # A condition that is left out means ready: the API reads "unknown" that way.
    ready = at(entry, "conditions", "ready") is not False
    addresses = at(entry, "addresses")
    first = addresses[0] if isinstance(addresses, list) and addresses else ""
    return {"address": first, "ready": ready, "target": text(entry, "targetRef", "name")}


def _legacy_endpoints(item: Object) -> list[Object]:
    return [
        {"address": text(entry, "ip"), "ready": ready, "target": text(entry, "targetRef", "name")}
        for subset in maps(item, "subsets")
        for key, ready in (("addresses", True), ("notReadyAddresses", False))
        for entry in maps(subset, key)
    ]


def _pods(reader: ClusterReader, service: Object, gaps: list[Object]) -> list[Object] | None:
    try:
        found = reader.list(_PODS, namespace(service))
    except ApiError as error:
        gaps.append(gap("pods", error))
        return None
    return [pod for pod in found if text(pod, "status", "phase") not in ("Succeeded", "Failed")]


def _matches(service: Object, pod: Object) -> bool:
    wanted, have = labels(service, "spec", "selector"), labels(pod)
    return bool(wanted) and all(have.get(key) == value for key, value in wanted.items())


def _service_evidence(service: Object) -> Object:
    ports = [
        {key: port[key] for key in ("name", "port", "targetPort", "protocol") if key in port}
        for port in maps(service, "spec", "ports")
    ]
    return {
        "id": "service",
        "type": text(service, "spec", "type") or "ClusterIP",
        "selector": labels(service, "spec", "selector"),
        "ports": ports,
    }


def _reach_evidence(reach: Reach) -> Object:
    result: Object = {
        "id": "endpoints",
        "source": reach.source,
        "objects": [name(item) for item in reach.objects],
        "total": len(reach.endpoints),
        "ready": reach.ready,
        "not_ready": len(reach.endpoints) - reach.ready,
        "addresses": list(reach.endpoints[:_MOST_LISTED]),
    }
    if reach.source == "endpoints":
        result["note"] = "read from the older Endpoints object; no slice was available"
    return result


def _pod_evidence(service: Object, found: list[Object]) -> Object:
    ordered = sorted(found, key=lambda pod: not _matches(service, pod))
    return {
        "id": "pods",
        "in_namespace": len(found),
        "matching": sum(1 for pod in found if _matches(service, pod)),
        "ready_and_matching": sum(1 for pod in found if _matches(service, pod) and podstate.is_ready(pod)),
        "pods": [
            {
                "name": name(pod),
                "labels": labels(pod),
                "matches": _matches(service, pod),
                "ready": podstate.is_ready(pod),
            }
            for pod in ordered[:_MOST_LISTED]
        ],
    }


def _reach_findings(service: Object, reach: Reach | None) -> list[Object]:
    if reach is None:
        return []
    where = f"namespace={namespace(service)}"
    if not reach.objects:
        return [
            finding(
                "service.no_endpoint_slices",
                "error",
                f"No EndpointSlice and no Endpoints object exists for Service {name(service)}.",
                evidence=["service", "endpoints"],
                next_checks=[f"list_resources(kind=endpointslices, {where})", f"list_resources(kind=pods, {where})"],
            )
        ]
    if not reach.endpoints:
        return [
            finding(
                "service.no_endpoints",
                "error",
                f"Service {name(service)} has 0 addresses.",
                evidence=["service", "endpoints"],
                next_checks=[f"list_resources(kind=pods, {where})"],
                related=[reference(item) for item in reach.objects],
            )
        ]
    unready = [entry["target"] for entry in reach.endpoints if not entry["ready"] and entry["target"]]
    checks = [f"diagnose_pod(pod={target}, {where})" for target in unready[:3]]
    if reach.ready == 0:
        text_ = f"{len(reach.endpoints)} addresses exist for Service {name(service)} and 0 of them are ready."
        rule = "service.no_ready_endpoints"
    elif reach.ready < len(reach.endpoints):
        text_ = f"{reach.ready} of {len(reach.endpoints)} addresses of Service {name(service)} are ready."
        rule = "service.some_endpoints_not_ready"
    else:
        return []
    severity: Severity = "error" if reach.ready == 0 else "warning"
    related = [{"kind": "Pod", "namespace": namespace(service), "name": target} for target in unready[:_MOST_LISTED]]
    return [finding(rule, severity, text_, evidence=["endpoints"], next_checks=checks, related=related)]


def _pod_findings(service: Object, found: list[Object]) -> list[Object]:
    wanted = labels(service, "spec", "selector")
    if not wanted:
        return []
    matching = [pod for pod in found if _matches(service, pod)]
    if not matching:
        checks = [f"get_resource(kind=services, name={name(service)}, namespace={namespace(service)})"]
        checks += [f"get_resource(kind=pods, name={name(pod)}, namespace={namespace(service)})" for pod in found[:2]]
        return [
            finding(
                "service.selector_matches_no_pods",
                "error",
                f"0 of {len(found)} pods in the namespace carry all labels of the selector of Service {name(service)}.",
                evidence=["service", "pods"],
                next_checks=checks,
                related=[reference(pod) for pod in found[:_MOST_LISTED]],
            )
        ]
    return _port_findings(service, matching)


def _port_findings(service: Object, matching: list[Object]) -> list[Object]:
    """Named target ports that no container of a matching pod declares. A number needs no declaration."""
    declared = {
        text(port, "name")
        for pod in matching
        for container in maps(pod, "spec", "containers")
        for port in maps(container, "ports")
    }
    missing = [
        port["targetPort"]
        for port in maps(service, "spec", "ports")
        if isinstance(port.get("targetPort"), str) and port["targetPort"] not in declared
    ]
    return [
        finding(
            "service.target_port_not_declared",
            "error",
            f"No container of the matching pods declares a port named {port!r}.",
            evidence=["service", "pods"],
            next_checks=[f"get_resource(kind=pods, name={name(matching[0])}, namespace={namespace(service)})"],
            related=[reference(pod) for pod in matching[:_MOST_LISTED]],
        )
        for port in missing
    ]
