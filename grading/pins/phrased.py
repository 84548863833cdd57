"""Pins of the changes on how things are phrased: names, quantities, judgements, distances, exceptions."""

from grading.pins.build import Pin, claim, recorded
from schemas.cases import Evidence, RubricTurn

_OOM = (("oomkilled",),)
_QUOTA = (("quota",),)
_NAMED = (("api-1",),)
_READ = Evidence(tool="get_resource", args={"kind": "deployments", "name": "web", "namespace": "shop"})


def _read(name: str, answer: str, right: bool) -> Pin:
    """A pin on a plain word that the case's own evidence reads as a name."""
    rubric = RubricTurn(must_mention=(("web",),), expected_evidence=((_READ,),))
    return Pin(name=name, run=recorded(answer, rubric), reads="diagnosis_success", right=right)


PHRASED: dict[str, tuple[Pin, ...]] = {
    "R-13": (
        claim("a longer name is another object", "The pod api-1-canary crashed.", False, _NAMED),
        claim("so is one that only ends like it", "my-api-1 crashed.", True, forbidden=_NAMED),
        claim("and the name of a host", "api-1.prod does not answer.", False, _NAMED),
        _read("a plain word is a name where the evidence reads it", "web-frontend crashed.", False),
    ),
    "R-14": (
        claim("zero of a fault is none", "There were zero OOMKilled events.", True, forbidden=_OOM),
        claim("a count of zero is none", "OOMKilled count: 0", False, _OOM),
        claim("little evidence is no claim", "There is little evidence that it was OOMKilled.", False, _OOM),
    ),
    "R-15": (
        claim("an unfounded suspicion is none", "The suspicion that it was OOMKilled is unfounded.", False, _OOM),
        claim("what would be wrong to call it is not meant", "It would be wrong to call this OOMKilled.", False, _OOM),
        claim("a theory that falls apart is dropped", "The OOMKilled theory falls apart.", True, forbidden=_OOM),
        claim("what is wrongly blamed is not", "The ticket wrongly blames the quota.", True, forbidden=_QUOTA),
        claim("a belief that is not wrong is held", "The idea that it was OOMKilled is not wrong.", True, _OOM),
    ),
    "R-16": (
        claim("anything but X is not X", "It is anything but OOMKilled.", True, forbidden=_OOM),
        claim("usage under its limit is no fault", "Memory stays well under its limit.", False, (("memory",),)),
        claim("nowhere near is not there", "The namespace is nowhere near its quota.", False, _QUOTA),
    ),
    "R-17": (
        claim("no other cause than X is X", "There is no other cause than OOMKilled.", True, _OOM),
        claim("no cause except X is X", "I found no cause except the quota.", True, _QUOTA),
        claim("another cause than X is not X", "It has another cause than the quota.", True, forbidden=_QUOTA),
    ),
    "R-18": (
        claim("the missing thing's name is named", "There is no Secret named smtp-login.", True, (("smtp-login",),)),
    ),
    "R-19": (
        claim("what went through is fine", "The image pull went through.", True, forbidden=(("image pull",),)),
        claim("what leaves plenty is no limit", "The quota leaves plenty of room.", False, _QUOTA),
    ),
}
