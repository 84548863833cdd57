"""The shape of a structured diagnosis, shared by the analyzers.

`outcome` is `not_applicable`, `findings` (at least one of severity warning or error), `incomplete` (nothing found, but
something could not be read), or `healthy`. A finding of severity `info` explains a state that is as it should be and
leaves the outcome healthy. Evidence carries the fields that findings rest on, so that a reader, or a grader, can match
values instead of wording. Source: evaluation semantics 6.3.
"""

from typing import Any, Literal

from recorder.cluster.api import ApiError
from recorder.tools.fields import name, namespace, text, uid

Object = dict[str, Any]
Severity = Literal["info", "warning", "error"]
Confidence = Literal["low", "medium", "high"]


def reference(item: Object) -> Object:
    """Which object: kind, namespace, name and uid, as far as it has them."""
    values = {"kind": text(item, "kind"), "namespace": namespace(item), "name": name(item), "uid": uid(item)}
    return {key: value for key, value in values.items() if value}


def finding(
    rule_id: str,
    severity: Severity,
    explanation: str,
    *,
    evidence: list[str],
    next_checks: list[str],
    related: list[Object] | None = None,
    confidence: Confidence = "high",
    rule_version: int = 1,
) -> Object:
    """One finding; `evidence` names entries of the diagnosis by id, `next_checks` are calls of armed reads."""
    return {
        "rule_id": rule_id,
        "rule_version": rule_version,
        "severity": severity,
        "confidence": confidence,
        "explanation": explanation,
        "next_checks": next_checks,
        "evidence": evidence,
        "related": related or [],
    }


def gap(what: str, error: ApiError) -> Object:
    """Something that could not be read, which is never the same as something that is not there."""
    return {"what": what, "status": error.status, "reason": str(error)}


def diagnosis(
    analyzer: str,
    primary: Object,
    *,
    evidence: list[Object],
    findings: list[Object],
    gaps: list[Object],
    applicable: bool = True,
) -> Object:
    """The whole result, keys in their published order."""
    return {
        "analyzer": analyzer,
        "version": 1,
        "primary": primary,
        "outcome": _outcome(findings, gaps, applicable),
        "evidence": evidence,
        "findings": findings,
        "gaps": gaps,
    }


def _outcome(findings: list[Object], gaps: list[Object], applicable: bool) -> str:
    if not applicable:
        return "not_applicable"
    if any(entry["severity"] != "info" for entry in findings):
        return "findings"
    return "incomplete" if gaps else "healthy"
