"""The cases that synthetic runs are about: the bundled scenarios, or four small ones that need no file.

The small ones never change, so a test that counts verdicts on them does not depend on the wording of a bundled case.
"""

from functools import cache
from typing import Any, Literal

from packs.loader import load_pack
from schemas.cases import (
    Case,
    Cluster,
    Evidence,
    Interaction,
    Pane,
    Pins,
    Rubric,
    RubricTurn,
    Selection,
    Stimulus,
    StimulusTurn,
)

PackName = Literal["inline", "bundled"]


@cache
def cases(pack: PackName) -> tuple[Case, ...]:
    """The cases of a pack in order of id."""
    if pack == "bundled":
        return load_pack("scenarios").cases
    return tuple(sorted(_inline(), key=lambda case: case.id))


def _inline() -> list[Case]:
    return [
        _case(
            "memory-limit",
            "api-1",
            "oom_killed",
            required=(("OOMKilled", "out of memory"), ("memory limit", "limit of 64Mi")),
            forbidden=(("image pull",),),
            evidence="reason: OOMKilled",
            passing=(
                "The container was OOMKilled: it went over its memory limit.",
                "It was not evicted \u2014 it was OOMKilled at its memory limit.",
                "The pod cannot stay up due to its memory limit: OOMKilled. No doubt.",
                "`api-1` runs **out of memory**. The limit of 64Mi is too small for the cache it loads.",
            ),
            failing=(
                "The readiness probe fails.",
                "It was OOMKilled because of a failed image pull.",
                "OOMKilled is not the cause, and the memory limit has been ruled out.",
                "The container was not OOMKilled; the memory limit is fine.",
            ),
        ),
        _case(
            "wrong-tag",
            "web-1",
            "image_pull_typo",
            required=(("image pull", "ImagePullBackOff"), ("tag", "manifest unknown")),
            forbidden=(("OOMKilled",),),
            evidence="manifest for registry.local/web:v9-typo not found",
            passing=(
                "The image pull fails: the tag v9-typo does not exist.",
                "ImagePullBackOff. The registry answers manifest unknown.",
            ),
            failing=("The node is full.", "OOMKilled, and the tag is wrong, so the image pull fails."),
        ),
        _case(
            "no-secret",
            "db-1",
            "missing_secret",
            required=(("secret",), ("missing", "not found", "does not exist")),
            forbidden=(("liveness",),),
            evidence='secret "db-credentials" not found',
            passing=("The secret db-credentials does not exist.", "A secret is missing: db-credentials."),
            failing=("The liveness probe kills it; a secret is missing.", "No idea."),
        ),
        _case(
            "all-well",
            "cache-1",
            "none",
            required=(("healthy", "no problem"),),
            forbidden=(("OOMKilled",), ("crash",)),
            evidence="phase: Running",
            passing=("The pod is healthy.", "There is no problem with `cache-1`."),
            failing=("It will crash soon.", "The pod was OOMKilled."),
        ),
    ]


def _case(
    case_id: str,
    pod: str,
    root_cause: str,
    *,
    required: tuple[tuple[str, ...], ...],
    forbidden: tuple[tuple[str, ...], ...],
    evidence: str,
    passing: tuple[str, ...],
    failing: tuple[str, ...],
) -> Case:
    where = {"pod": pod, "namespace": "shop"}
    selected = Selection(kind="pods", name=pod, namespace="shop")
    return Case(
        id=case_id,
        kind="scenario",
        stimulus=Stimulus(
            interaction=Interaction(focused_pane=Pane(kind="pods", scope="shop", selected=selected)),
            turns=(StimulusTurn(user=f"What is the matter with {pod}?"),),
            cluster=Cluster(objects=tuple(_pod(name) for name in (pod, "other-1", "other-2")), events=(_event(pod),)),
        ),
        rubric=Rubric(
            root_cause=root_cause,
            turns=(
                RubricTurn(
                    must_mention=required,
                    must_not_mention=forbidden,
                    expected_evidence=((Evidence(tool="diagnose_pod", args=where, contains=evidence),),),
                ),
            ),
        ),
        pins=(Pins(passing=passing, failing=failing),),
    )


def _pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": name.rsplit("-", 1)[0]}},
        "spec": {
            "nodeName": "node-a",
            "containers": [
                {"name": "app", "image": f"registry.local/{name}:v9", "resources": {"limits": {"cpu": "1"}}}
            ],
        },
        "status": {"phase": "Running", "containerStatuses": [{"name": "app", "restartCount": 7, "ready": False}]},
    }


def _event(pod: str) -> dict[str, Any]:
    return {
        "type": "Warning",
        "reason": "BackOff",
        "message": "Back-off restarting failed container",
        "count": 14,
        "involvedObject": {"kind": "Pod", "name": pod, "namespace": "shop"},
    }
