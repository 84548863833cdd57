"""Pins of the changes that answer what the reference still gets wrong, and of what else was found."""

from grading.pins.build import Pin, call, claim, fetched
from schemas.cases import Evidence

_WEB = {"kind": "pods", "name": "web-1", "namespace": "front"}
_SERVICE = {"service": "web", "namespace": "front"}
_FINDINGS = """\
analyzer: service
outcome: healthy
findings: []
advice:
- rule_id: service.selector_mismatch is reported where the selector names no pod
"""
_OOM = (("oomkilled",),)
_SELECTOR = (("selector",),)
_PROBE = (("liveness probe",),)
_PULL = (("image pull",),)


def _listed(name: str, contains: str, shown: str, right: bool) -> Pin:
    place = {"kind": "pods", "namespace": "shop"}
    location = Evidence(tool="list_resources", args=place, contains=contains)
    return fetched(name, location, call("list_resources", place, shown), right)


FOUND: dict[str, tuple[Pin, ...]] = {
    "C-05": (
        claim(
            "due to opens a cause",
            "The pod cannot be scheduled due to 3 Insufficient cpu.",
            True,
            (("insufficient",),),
        ),
        claim("as opens a reason", "It is not ready as the liveness probe fails.", True, _PROBE),
        claim("not because of denies", "It restarts, but not because of OOMKilled.", True, forbidden=_OOM),
    ),
    "C-06": (
        claim("an imperative check clears nothing", "Check that the selector is correct.", True, _SELECTOR),
        claim("an advised check clears nothing", "You should confirm the selector is correct.", True, _SELECTOR),
    ),
    "C-08": (
        claim("a denied cause is not blamed", "OOMKilled is not the cause.", True, forbidden=_OOM),
        claim("what was ruled out is not blamed", "OOMKilled was ruled out.", True, forbidden=_OOM),
        claim("what is not failing is not blamed", "The liveness probe is not failing.", False, _PROBE),
    ),
    "C-13": (
        claim(
            "the cause is enough",
            "The application panics on a nil map.",
            True,
            required=(("panic", "panics"),),
            symptom=(("crashloopbackoff",),),
        ),
    ),
    "C-15": (
        fetched(
            "advice that mentions a finding is not the finding",
            Evidence(
                tool="diagnose_service",
                args=_SERVICE,
                contains="service.selector_mismatch",
                fields={"findings.rule_id": "service.selector_mismatch"},
            ),
            call("diagnose_service", _SERVICE, _FINDINGS),
            right=False,
        ),
        fetched(
            "a field needs its own path",
            Evidence(tool="diagnose_service", args=_SERVICE, fields={"findings.outcome": "healthy"}),
            call("diagnose_service", _SERVICE, _FINDINGS),
            right=False,
        ),
    ),
    "C-17": (
        fetched(
            "a log that begins with ERROR: is a result",
            Evidence(tool="get_logs", args={"pod": "web-1", "namespace": "front"}, contains="refused"),
            call("get_logs", {"pod": "web-1", "namespace": "front"}, "ERROR: connection refused"),
            right=True,
        ),
        fetched(
            "a call that failed is no evidence whatever it says",
            Evidence(tool="get_logs", args={"pod": "web-1", "namespace": "front"}, contains="refused"),
            call("get_logs", {"pod": "web-1", "namespace": "front"}, "request refused", ok=False),
            right=False,
        ),
    ),
    "C-18": (
        fetched(
            "a screen action without a namespace takes it from the screen",
            Evidence(tool="open_describe", args=_WEB, contains="opened"),
            call("open_describe", {**_WEB, "namespace": None}, "opened describe for web-1", screen_action=True),
            right=True,
        ),
    ),
    "R-01": (
        claim("a decimal is one number", "It uses 1.37 cores.", False, (("137",),)),
        claim("a number with a unit is another", "The limit is 137Mi.", False, (("137",),)),
        claim("a longer version is another", "The tag 3.1.4 is pulled.", True, forbidden=(("3.1",),)),
    ),
    "R-02": (
        claim("a phrase ends with its sentence", "Look at the image. Pull it again.", True, forbidden=_PULL),
        claim("a denial passes a dotted name", "No pod of shop.example was OOMKilled.", True, forbidden=_OOM),
    ),
    "R-03": (
        _listed("api-10 is not api-1", "api-1", "shop/api-10  -  age=3h", False),
        _listed("web-v2 is not web", "app: web", "labels:\n  app: web-v2", False),
        _listed("not-ready is not ready", "ready  restarts=0", "app:  not-ready  restarts=0", False),
    ),
    "R-04": (
        claim("what cannot be reached is blamed", "The app cannot reach the database.", True, (("database",),)),
        claim("what no node matches is blamed", "No node matches the selector.", True, _SELECTOR),
    ),
    "R-05": (
        claim("not only adds", "It is not only OOMKilled, the node is full.", True, _OOM),
        claim("not enough is a shortage", "There is not enough cpu.", True, (("cpu",),)),
    ),
    "R-06": (
        claim("rather than sets aside", "It was evicted rather than OOMKilled.", True, forbidden=_OOM),
        claim("ruling out sets aside", "The exit code rules out OOMKilled.", True, forbidden=_OOM),
    ),
    "R-07": (
        claim(
            "a denial reaches the end of its list",
            "I see no evidence of OOMKilled, an image pull error, or a crash loop.",
            True,
            forbidden=(("image pull",), ("crash loop",)),
        ),
    ),
    "R-08": (
        claim("a label sets its items aside", "Ruled out: OOMKilled, image pull.", True, forbidden=(*_OOM, *_PULL)),
        claim("a cell denies its row", "| OOMKilled | no |", True, forbidden=_OOM),
    ),
    "R-09": (
        claim("so is a fine configuration", "The liveness probe configuration is fine.", False, _PROBE),
        claim("healthy until then is none", "The liveness probe was healthy until 10:03.", True, _PROBE),
    ),
    "R-10": (
        claim("a question claims nothing", "Was it OOMKilled?", True, forbidden=_OOM),
        claim("a supposition claims nothing", "If it were OOMKilled, we would know.", True, forbidden=_OOM),
    ),
    "R-11": (
        claim(
            "thinking that leaked is not the answer",
            "<think>Maybe OOMKilled.</think>The liveness probe fails.",
            True,
            _PROBE,
            forbidden=_OOM,
        ),
    ),
    "R-12": (
        claim("a missing object is blamed", "There is no Secret named smtp.", True, (("secret",),)),
        claim("so is one that does not exist", "No StorageClass exists.", True, (("storageclass",),)),
    ),
}
