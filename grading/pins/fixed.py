"""Pins of the changes that restate fixes of the reference."""

from grading.pins.build import Pin, call, cited, claim, fetched
from schemas.cases import Evidence

_SHOP = {"namespace": "shop"}
_PROBE = (("liveness probe",),)
_PULL = (("image pull",),)

FIXED: dict[str, tuple[Pin, ...]] = {
    "A-01": (
        fetched(
            "diagnosing a Service is evidence on that Service",
            Evidence(tool="get_resource", args={"kind": "services", "name": "web", **_SHOP}, contains="text"),
            call("diagnose_service", {"service": "web", **_SHOP}),
            right=True,
        ),
        fetched(
            "diagnosing a claim is evidence on that claim",
            Evidence(tool="get_resource", args={"kind": "pvc", "name": "data", **_SHOP}, contains="text"),
            call("diagnose_pvc", {"pvc": "data", **_SHOP}),
            right=True,
        ),
    ),
    "A-02": (
        fetched(
            "diagnosing a claim is no evidence on a Service of the same name",
            Evidence(tool="get_resource", args={"kind": "services", "name": "web", **_SHOP}, contains="text"),
            call("diagnose_pvc", {"pvc": "web", **_SHOP}),
            right=False,
        ),
        fetched(
            "the log of a pod is no evidence on a Deployment of the same name",
            Evidence(tool="get_resource", args={"kind": "deployments", "name": "web", **_SHOP}, contains="text"),
            call("get_logs", {"pod": "web", **_SHOP}),
            right=False,
        ),
    ),
    "A-03": (
        fetched(
            "a stray kind does not turn the diagnosis of a claim into one of a Service",
            Evidence(tool="get_resource", args={"kind": "services", "name": "web", **_SHOP}, contains="text"),
            call("diagnose_pvc", {"pvc": "web", "kind": "services", **_SHOP}),
            right=False,
        ),
    ),
    "A-04": (
        fetched(
            "a Service diagnosis is evidence on its endpoints",
            Evidence(tool="get_resource", args={"kind": "endpoints", "name": "web", **_SHOP}, contains="text"),
            call("diagnose_service", {"service": "web", **_SHOP}),
            right=True,
        ),
        fetched(
            "a stray service argument does not rename the claim that was diagnosed",
            Evidence(tool="diagnose_pvc", args={"pvc": "data", **_SHOP}, contains="text"),
            call("diagnose_pvc", {"pvc": "data", "service": "web", **_SHOP}),
            right=True,
        ),
    ),
    "A-05": (
        fetched(
            "a stray name after the identity does not overwrite it",
            Evidence(tool="diagnose_pvc", args={"pvc": "data", **_SHOP}, contains="text"),
            call("diagnose_pvc", {"pvc": "data", "name": "web", **_SHOP}),
            right=True,
        ),
    ),
    "A-06": (
        claim("a dash ends the denial", "Not restarted — it was OOMKilled", False, forbidden=(("oomkilled",),)),
        claim("a spaced hyphen ends the denial", "Not restarted - it was OOMKilled", True, required=(("oomkilled",),)),
    ),
    "A-16": (
        claim(
            "no endpoints are ready does not say that there are none",
            "No endpoints are ready: the readiness probe returns 503.",
            True,
            required=(("readiness probe",),),
            forbidden=(("no endpoints",),),
        ),
        claim(
            "no storage class problem is not a missing storage class",
            "There is no storage class problem.",
            True,
            forbidden=(("no storage class",),),
            control=True,
        ),
        claim(
            "what does not exist yet is not missing",
            "The consumer pod does not exist yet.",
            True,
            forbidden=(("does not exist",),),
            control=True,
        ),
        claim(
            "none of its endpoints is about the endpoints", "None of its endpoints are ready.", True, (("endpoints",),)
        ),
    ),
    "A-21": (
        claim("clearing the probe is not blaming it", "The liveness probe is fine.", False, _PROBE),
        claim("clearing a distractor is not blaming it", "The image pull is normal.", True, forbidden=_PULL),
    ),
    "A-24": (
        claim(
            "a control may say that its subject is healthy",
            "The service endpoints are healthy.",
            True,
            (("endpoints",),),
            control=True,
        ),
    ),
    "A-25": (
        claim(
            "a control may clear a forbidden topic",
            "The image pull looks normal.",
            True,
            forbidden=_PULL,
            control=True,
        ),
    ),
    "A-26": (
        claim("working too slowly is a fault", "The liveness probe is working too slowly.", True, _PROBE),
        claim("good at nothing is a fault", "The liveness probe looks good only on paper.", True, _PROBE),
    ),
    "A-34": (
        claim("a contraction is accepted for its long form", "DATABASE_DSN isn't set.", True, (("not set",),)),
        claim("so is one with a curly apostrophe", "DATABASE_DSN isn’t set.", True, (("is not set",),)),
        claim("can't denies as cannot does", "This can't be an OOM.", True, forbidden=(("oom",),)),
    ),
    "A-36": (cited("each list item needs its reference", "- a fails [E1]\n- b hangs", "coverage", 0.5),),
    "A-37": (
        cited("a list number is no claim", "1. The pod fails [E1]\n2. It restarts [E1]", "claims", 2),
        cited("a trailing reference belongs to its sentence", "The pod failed. [E1]", "coverage", 1.0),
    ),
    "A-38": (cited("citing nothing has no precision", "The pod failed.", "precision", None),),
    "A-39": (
        fetched(
            "a screen action is no read of the object it names",
            Evidence(tool="get_resource", args={"kind": "pods", "name": "worker-1", **_SHOP}, contains="worker-1"),
            call(
                "open_describe",
                {"kind": "pods", "name": "worker-1", **_SHOP},
                "opened describe for worker-1",
                screen_action=True,
            ),
            right=False,
        ),
        fetched(
            "a read is no screen action",
            Evidence(tool="open_describe", args={"kind": "pods", "name": "worker-1", **_SHOP}, contains="worker-1"),
            call("get_resource", {"kind": "pods", "name": "worker-1", **_SHOP}, "name: worker-1"),
            right=False,
        ),
    ),
}
