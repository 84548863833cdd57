"""What may not be read, what is not there, what is empty and what is cut are four things to model and grader."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from grading.changes import rules_of
from grading.evidence import evidence_findings, seen_calls, wanted_groups
from packs.loader import load_case
from recorder.fixture_tools import run_tool
from schemas.cases import Case, Cluster, Denial, Evidence, RubricTurn
from schemas.errors import CaseError
from schemas.recorded import RecordedCall
from tests.journeys.conftest import journeys

BUNDLED = Path(__file__).parents[2] / "packs" / "journeys"
PODS = {"kind": "pods", "namespace": "billing"}


def with_denial(tmp_path: Path, rule: dict[str, Any]) -> Case:
    """The RBAC journey with another denial, loaded from a file as an author would write it."""
    document = yaml.safe_load((BUNDLED / "rbac-evidence-gap.yaml").read_text("utf-8"))
    document["stimulus"]["cluster"]["forbidden"] = [rule]
    file = tmp_path / "case.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")
    return load_case(file)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"kind": "pod"}, "forbidden[0].kind: would deny nothing"),
        ({"kind": "po", "namespace": "billing"}, "write 'pods'"),
        ({"kind": "Pods"}, "forbidden[0].kind: would deny nothing"),
        ({"kind": "widgets"}, "forbidden[0].kind: would deny nothing"),
        ({"kind": "pods", "subresource": "exec"}, "forbidden[0].subresource: would deny nothing"),
        ({"kind": "deployments", "subresource": "log"}, "forbidden[0].subresource: would deny nothing"),
        ({"kind": "nodes", "namespace": "billing"}, "forbidden[0].namespace: would deny nothing"),
        ({"kind": "pods", "namespace": "biling"}, "did you mean billing?"),
        ({"kind": "pods", "namespace": "billing", "name": "ledger-2"}, "did you mean ledger-1?"),
        ({"kind": "events", "namespace": "billing", "name": "ledger-9"}, "the fixture has no events of that name"),
        ({"kind": "secrets", "name": "smtp"}, "forbidden[0].name: would deny nothing"),
        ({"kind": "pods", "namespace": " "}, "must not be blank"),
        ({"kind": "pods", "verb": "get"}, "unknown key"),
        ({"namespace": "billing"}, "kind: missing"),
    ],
)
def test_a_denial_that_would_deny_nothing_is_refused_at_load(
    tmp_path: Path, rule: dict[str, Any], message: str
) -> None:
    with pytest.raises(CaseError) as caught:
        with_denial(tmp_path, rule)
    assert message in str(caught.value)
    assert "case.yaml: stimulus.cluster.forbidden[0]" in str(caught.value)


@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "pods"},
        {"kind": "pods", "namespace": "billing", "name": "ledger-1"},
        {"kind": "pods", "subresource": "log"},
        {"kind": "events", "name": "ledger-1"},
        {"kind": "secrets", "namespace": "billing"},
        {"kind": "nodes", "name": "node-a"},
    ],
)
def test_a_denial_that_can_be_met_loads(tmp_path: Path, rule: dict[str, Any]) -> None:
    assert with_denial(tmp_path, rule).stimulus.cluster.forbidden == (Denial(**rule),)


def case_with(cluster: Cluster) -> Case:
    case = journeys()["rbac-evidence-gap"]
    return msgspec.structs.replace(case, stimulus=msgspec.structs.replace(case.stimulus, cluster=cluster))


def ways() -> dict[str, tuple[bool, str | None, str]]:
    """One list of pods four ways: refused, of another namespace, empty, and longer than fits."""
    cluster = journeys()["rbac-evidence-gap"].stimulus.cluster
    pod = next(item for item in cluster.objects if item["kind"] == "Pod")
    many = tuple(
        {**pod, "metadata": {**pod["metadata"], "name": f"ledger-{number}", "uid": f"uid-{number}"}}
        for number in range(1, 200)
    )
    replace = msgspec.structs.replace
    denied = case_with(replace(cluster, forbidden=(Denial(kind="pods", namespace="billing"),)))
    empty = case_with(replace(cluster, objects=(), events=(), logs={}))
    long = case_with(replace(cluster, objects=many, events=(), logs={}))
    one = {**PODS, "name": "ledger-2"}
    answers = {
        "forbidden": run_tool(denied, "list_resources", PODS),
        "not_found": run_tool(journeys()["rbac-evidence-gap"], "get_resource", one),
        "empty": run_tool(empty, "list_resources", PODS),
        "cut": run_tool(long, "list_resources", PODS),
    }
    return {name: (answer.ok, answer.error, answer.text) for name, answer in answers.items()}


def test_the_model_sees_four_different_things() -> None:
    seen = ways()
    assert [(name, ok, error) for name, (ok, error, _) in seen.items()] == [
        ("forbidden", False, "forbidden"),
        ("not_found", False, "not_found"),
        ("empty", True, None),
        ("cut", True, None),
    ]
    texts = {name: text for name, (_, _, text) in seen.items()}
    assert texts["forbidden"].startswith("ERROR: API 403: pods is forbidden")
    assert texts["not_found"].startswith('ERROR: API 404: pods "ledger-2" not found')
    assert texts["empty"] == "(none)"
    assert "cut at the size limit" in texts["cut"] or "left out" in texts["cut"]
    assert "ledger-1 " in texts["cut"]


def test_the_grader_sees_four_different_things() -> None:
    met = {
        name: {
            "refused": is_met(Evidence(tool="list_resources", args=PODS, error="forbidden"), *way),
            "missing": is_met(Evidence(tool="list_resources", args=PODS, error="not_found"), *way),
            "empty": is_met(Evidence(tool="list_resources", args=PODS, contains="(none)"), *way),
            "shown": is_met(Evidence(tool="list_resources", args=PODS, contains="billing/ledger-1"), *way),
            "cut out": is_met(Evidence(tool="list_resources", args=PODS, contains="billing/ledger-150"), *way),
        }
        for name, way in ways().items()
    }
    assert {name: [what for what, is_so in row.items() if is_so] for name, row in met.items()} == {
        "forbidden": ["refused"],
        "not_found": ["missing"],
        "empty": ["empty"],
        "cut": ["shown"],
    }


def is_met(wanted: Evidence, ok: bool, error: str | None, text: str) -> bool:
    call = msgspec.convert(
        {
            "call": 1,
            "tool": "list_resources",
            "arguments": PODS,
            "arguments_raw": "",
            "disposition": "executed",
            "ok": ok,
            "error_class": error,
            "shown": text,
        },
        RecordedCall,
    )
    rules = rules_of()
    turn = RubricTurn(must_mention=(), expected_evidence=((wanted,),))
    (found,) = evidence_findings(seen_calls((call,), rules), wanted_groups(turn, rules), rules)
    return found.met


def test_a_call_that_was_never_carried_out_is_no_refusal() -> None:
    rules = rules_of()
    wanted = Evidence(tool="get_logs", args={"pod": "ledger-1"}, error="forbidden")
    turn = RubricTurn(must_mention=(), expected_evidence=((wanted,),))
    call = RecordedCall(
        call=1,
        tool="get_logs",
        arguments={"pod": "ledger-1"},
        arguments_raw="",
        disposition="discarded",
        ok=False,
        error_class="discarded",
    )
    (found,) = evidence_findings(seen_calls((call,), rules), wanted_groups(turn, rules), rules)
    assert not found.met
    assert found.near == ("call 1 (get_logs): it failed (discarded)",)
