"""diagnose_pvc: one PersistentVolumeClaim with its class, volume, events and consumers, as evidence and findings.

A claim that waits for its first consumer is as it should be: that is a finding of severity info, and the outcome stays
healthy. Source: evaluation semantics 6.3.
"""

from typing import Any

import msgspec

from recorder.cluster.api import ApiError, ClusterReader
from recorder.tools import eventlines
from recorder.tools.args import Arguments, object_name, required
from recorder.tools.fields import age, at, labels, name, namespace, text, uid
from recorder.tools.findings import diagnosis, finding, gap, reference
from recorder.tools.pods import claims, status_word
from recorder.tools.results import Produced
from schemas.kinds import Kind, served

Object = dict[str, Any]

_CLAIMS, _VOLUMES, _CLASSES, _PODS = (
    served(plural) for plural in ("persistentvolumeclaims", "persistentvolumes", "storageclasses", "pods")
)
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_FAILED_REASONS = ("ProvisioningFailed", "FailedBinding")
_MOST_EVENTS = 10


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim depends on and who uses it; None is unknown, `missing_*` says that a named object is not there."""

    storage_class: Object | None = None
    missing_class: bool = False
    no_default_class: bool = False
    volume: Object | None = None
    missing_volume: bool = False
    consumers: tuple[Object, ...] | None = None
    events: tuple[Object, ...] = ()


def diagnose_pvc(reader: ClusterReader, arguments: Arguments) -> Produced:
    """The diagnosis of one claim. Only the claim itself must be readable."""
    claim = reader.get(_CLAIMS, object_name(arguments, "pvc"), required(arguments, "namespace"))
    gaps: list[Object] = []
    around = _surroundings(reader, claim, gaps)
    result = diagnosis(
        "pvc",
        reference(claim),
        evidence=_evidence(reader, claim, around),
        findings=_findings(claim, around),
        gaps=gaps,
    )
    return Produced(data=result, uid=uid(claim))


def _surroundings(reader: ClusterReader, claim: Object, gaps: list[Object]) -> Surroundings:
    class_name = at(claim, "spec", "storageClassName")
    storage_class, missing_class, no_default = None, False, False
    if class_name:
        storage_class, missing_class = _one(reader, _CLASSES, str(class_name), gaps)
    elif class_name is None:
        storage_class, no_default = _default_class(reader, gaps)
    volume, missing_volume = None, False
    if text(claim, "spec", "volumeName"):
        volume, missing_volume = _one(reader, _VOLUMES, text(claim, "spec", "volumeName"), gaps)
    return Surroundings(
        storage_class=storage_class,
        missing_class=missing_class,
        no_default_class=no_default,
        volume=volume,
        missing_volume=missing_volume,
        consumers=_consumers(reader, claim, gaps),
        events=_events(reader, claim, gaps),
    )


def _one(reader: ClusterReader, kind: Kind, wanted: str, gaps: list[Object]) -> tuple[Object | None, bool]:
    try:
        return reader.get(kind, wanted), False
    except ApiError as error:
        if error.status == 404:
            return None, True
        gaps.append(gap(f"{kind.plural}/{wanted}", error))
        return None, False


def _default_class(reader: ClusterReader, gaps: list[Object]) -> tuple[Object | None, bool]:
    try:
        found = reader.list(_CLASSES)
    except ApiError as error:
        gaps.append(gap(_CLASSES.plural, error))
        return None, False
    marked = [item for item in found if labels(item, "metadata", "annotations").get(_DEFAULT_CLASS) == "true"]
    return (marked[0], False) if marked else (None, True)


def _consumers(reader: ClusterReader, claim: Object, gaps: list[Object]) -> tuple[Object, ...] | None:
    try:
        found = reader.list(_PODS, namespace(claim))
    except ApiError as error:
        gaps.append(gap(_PODS.plural, error))
        return None
    return tuple(pod for pod in found if name(claim) in claims(pod))


def _events(reader: ClusterReader, claim: Object, gaps: list[Object]) -> tuple[Object, ...]:
    try:
        return tuple(eventlines.of_object(reader, claim, _CLAIMS))
    except ApiError as error:
        gaps.append(gap("events", error))
        return ()


def _evidence(reader: ClusterReader, claim: Object, around: Surroundings) -> list[Object]:
    result: list[Object] = [
        {
            "id": "claim",
            "phase": text(claim, "status", "phase"),
            "storageClassName": at(claim, "spec", "storageClassName"),
            "volumeName": text(claim, "spec", "volumeName") or None,
            "accessModes": at(claim, "spec", "accessModes"),
            "requested": text(claim, "spec", "resources", "requests", "storage"),
            "age": age(at(claim, "metadata", "creationTimestamp"), reader.now),
        }
    ]
    if around.storage_class is not None:
        result.append(
            {
                "id": "storage_class",
                "name": name(around.storage_class),
                "provisioner": text(around.storage_class, "provisioner"),
                "volumeBindingMode": _binding_mode(around.storage_class),
            }
        )
    elif around.missing_class:
        result.append({"id": "storage_class", "name": text(claim, "spec", "storageClassName"), "exists": False})
    if around.volume is not None:
        result.append({"id": "volume", "name": name(around.volume), "phase": text(around.volume, "status", "phase")})
    elif around.missing_volume:
        result.append({"id": "volume", "name": text(claim, "spec", "volumeName"), "exists": False})
    if around.consumers is not None:
        consumers = [{"name": name(pod), "status": status_word(pod)} for pod in around.consumers]
        result.append({"id": "consumers", "count": len(consumers), "pods": consumers})
    result.append({"id": "events", "events": [_event(event) for event in around.events[:_MOST_EVENTS]]})
    return result


def _event(event: Object) -> Object:
    return {
        "type": text(event, "type"),
        "reason": text(event, "reason"),
        "count": eventlines.occurrences(event),
        "last": eventlines.last_seen(event),
        "message": text(event, "message"),
    }


def _binding_mode(storage_class: Object) -> str:
    return text(storage_class, "volumeBindingMode") or "Immediate"


def _findings(claim: Object, around: Surroundings) -> list[Object]:
    phase = text(claim, "status", "phase")
    if phase == "Lost":
        return [_simple(claim, "pvc.lost", "error", "The claim is Lost: its volume is gone.", ["claim"])]
    if phase == "Bound":
        if not around.missing_volume:
            return []
        text_ = "The claim is Bound to a PersistentVolume that does not exist."
        return [_simple(claim, "pvc.volume_not_found", "error", text_, ["claim", "volume"])]
    return _pending_findings(claim, around)


def _pending_findings(claim: Object, around: Surroundings) -> list[Object]:
    failed = [event for event in around.events if text(event, "reason") in _FAILED_REASONS]
    found: list[Object] = []
    if around.missing_class:
        text_ = f"StorageClass {text(claim, 'spec', 'storageClassName')!r} does not exist."
        found.append(_simple(claim, "pvc.storage_class_not_found", "error", text_, ["claim", "storage_class"]))
    if around.no_default_class:
        text_ = "The claim names no StorageClass and no class is marked as the default."
        found.append(_simple(claim, "pvc.no_default_storage_class", "error", text_, ["claim"]))
    if failed:
        text_ = f"The newest {text(failed[0], 'reason')} event says: {text(failed[0], 'message')}"
        found.append(_simple(claim, "pvc.provisioning_failed", "error", text_, ["claim", "events"]))
    return found or [_waiting(claim, around)]


def _waiting(claim: Object, around: Surroundings) -> Object:
    storage_class = around.storage_class
    delayed = storage_class is not None and _binding_mode(storage_class) == "WaitForFirstConsumer"
    if storage_class is not None and delayed and not around.consumers:
        unknown = around.consumers is None
        text_ = (
            f"StorageClass {name(storage_class)} binds with WaitForFirstConsumer: a volume is provisioned once a pod "
            + ("that uses the claim is scheduled. Pods could not be read." if unknown else "uses the claim. None does.")
        )
        return finding(
            "pvc.waiting_for_first_consumer",
            "info",
            text_,
            evidence=["claim", "storage_class", *([] if unknown else ["consumers"])],
            next_checks=[f"list_resources(kind=pods, namespace={namespace(claim)})"],
            related=[reference(storage_class)],
            confidence="medium" if unknown else "high",
        )
    text_ = "The claim is Pending and no event reports a failure."
    evidence = ["claim", "events", *(["storage_class"] if storage_class is not None else [])]
    return _simple(claim, "pvc.provisioning_pending", "warning", text_, evidence)


def _simple(claim: Object, rule: str, severity: Any, explanation: str, evidence: list[str]) -> Object:
    target = f"name={name(claim)}, namespace={namespace(claim)}"
    checks = [f"get_events(kind=persistentvolumeclaims, {target})"]
    if "storage_class" in evidence:
        checks.append("list_resources(kind=storageclasses)")
    if "volume" in evidence:
        checks.append("list_resources(kind=persistentvolumes)")
    return finding(rule, severity, explanation, evidence=evidence, next_checks=checks)
