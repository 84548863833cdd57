"""Pins of the changes on what is enough, denied labels, first suspicions, denied events and causes left out."""

from grading.pins.build import Pin, claim

_OOM = (("oomkilled",),)
_QUOTA = (("quota",),)
_MEMORY = (("memory limit",),)
_SELECTOR = (("selector",),)
_PROBE = (("probe",),)
_DNS = (("dns",),)

SECOND: dict[str, tuple[Pin, ...]] = {
    "R-20": (
        claim("what is generous is no cause", "The memory limit is generous.", True, forbidden=_MEMORY),
        claim("what is as it should be is fine", "The selector is exactly as it should be.", False, _SELECTOR),
        claim("what has headroom is fine", "The quota has plenty of headroom.", True, forbidden=_QUOTA),
        claim("what there is enough of is fine", "The node has ample memory.", False, (("memory",),)),
        claim("so is a label's value", "Memory limit: sufficient", False, _MEMORY),
    ),
    "R-21": (
        claim("a label is denied by a pronoun", "OOMKilled: no sign of it.", True, forbidden=_OOM),
        claim("and by nothing of the sort", "DNS - nothing of the sort.", False, _DNS),
        claim("none of an object is the fault", "Endpoints: none", True, (("endpoints",),)),
    ),
    "R-22": (
        claim(
            "a suspicion that turned out wrong is none",
            "The quota was suspected at first, but that turned out to be wrong.",
            True,
            forbidden=_QUOTA,
        ),
        claim(
            "another real cause ends a first suspicion",
            "While the probe was my first suspicion, the real cause is a missing key.",
            False,
            _PROBE,
        ),
        claim("what was well at first is not cleared", "Initially DNS was fine.", True, _DNS),
        claim("what only looks well is not denied", "The probe looks fine, but it isn't.", True, _PROBE),
    ),
    "R-23": (
        claim("no failure has no cause", "The pod did not fail due to the quota.", True, forbidden=_QUOTA),
        claim("nor has no eviction", "No pod was evicted because of the quota.", False, _QUOTA),
    ),
    "R-24": (
        claim("what is left out is set aside", "That leaves DNS out.", True, forbidden=_DNS),
        claim("least of all is not at all", "Nothing is wrong, the selector least of all.", False, _SELECTOR),
        claim("nowhere near the cause is not the cause", "DNS is nowhere near the cause.", False, _DNS),
        claim("what cannot be left out stands", "I cannot rule the quota out.", True, _QUOTA),
    ),
    "R-25": (
        claim("the only one left is named", "Every other cause than the quota is excluded.", True, _QUOTA),
        claim("and not cleared with the rest", "Everything except the quota is fine.", True, _QUOTA),
    ),
    "R-26": (claim("a zero counts a part", "Of 3 containers 0 were OOMKilled.", True, forbidden=_OOM),),
    "R-27": (
        claim("a pod is named by its workload", "queue-2-6f5b9c7d4f-k8x2z crashed.", True, (("queue-2",),)),
        claim("a wrong one too", "The culprit is db-0-4xk9d.", False, forbidden=(("db-0",),)),
    ),
}
