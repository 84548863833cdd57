"""Evidence: the right object, a read that succeeded, the whole name, the field at its path; and what came near."""

from typing import Any

import pytest

from grading.changes import rules_of
from grading.evidence import evidence_findings, seen_calls, wanted_groups
from grading.grader import grade
from grading.pins.build import call, recorded
from grading.rules import Rules
from schemas.cases import Evidence, RubricTurn
from schemas.recorded import RecordedCall
from schemas.verdicts import EvidenceFinding

POD = {"pod": "web-1", "namespace": "shop"}


def find(group: tuple[Evidence, ...], *calls: RecordedCall, rules: Rules | None = None) -> EvidenceFinding:
    used = rules or rules_of()
    rubric = RubricTurn(must_mention=(), expected_evidence=(group,))
    return evidence_findings(seen_calls(calls, used), wanted_groups(rubric, used), used)[0]


def met(contains: str, shown: str, **fields: Any) -> bool:
    location = Evidence(tool="get_logs", args=POD, contains=contains)
    return find((location,), call("get_logs", POD, shown, **fields)).met


def test_any_tool_that_read_the_same_object_is_evidence() -> None:
    location = Evidence(tool="diagnose_pod", args=POD, contains="OOMKilled")
    made = call("get_resource", {"kind": "po", "name": "WEB-1 ", "namespace": "shop", "extra": 1}, "OOMKilled")
    assert find((location,), made).met


def test_swapped_arguments_and_another_namespace_are_another_object() -> None:
    location = Evidence(tool="diagnose_pod", args=POD, contains="x")
    assert not find((location,), call("diagnose_pod", {"pod": "shop", "namespace": "web-1"}, "x")).met
    assert not find((location,), call("diagnose_pod", {"pod": "web-1", "namespace": "prod"}, "x")).met
    assert not find((location,), call("diagnose_pod", {"pod": "web-1"}, "x")).met


def test_a_group_is_met_by_any_of_its_locations_and_says_which_and_by_which_call() -> None:
    group = (Evidence(tool="get_logs", args=POD, contains="a"), Evidence(tool="diagnose_pod", args=POD, contains="b"))
    finding = find(group, call("get_logs", POD, "x", 4), call("get_logs", POD, "b", 7))
    assert (finding.met, finding.call, finding.location) == (True, 7, 1)


@pytest.mark.parametrize(
    ("contains", "shown"),
    [
        ("api-1", "shop/api-1  -  age=3h"),
        ("api-1", "api-10\napi-1\n"),
        ("exit=137", "last-exit=137 (OOMKilled)"),
        ("app: web", "  app: web\n"),
        ("10.0.3.1", "ip: 10.0.3.1."),
        ("DATABASE_URL", "variable DATABASE_URL"),
        ("subsets: []", "subsets: []\n"),
        ("Liveness probe failed", "Liveness probe failed: HTTP"),
        ("(no events)", "(no events)"),
        ("ready  restarts=2", "cache:  ready  restarts=2  "),
    ],
)
def test_a_whole_name_or_number_is_met(contains: str, shown: str) -> None:
    assert met(contains, shown)


@pytest.mark.parametrize(
    ("contains", "shown"),
    [
        ("api-1", "shop/api-10  -  age=3h"),
        ("api-1", "my-api-1"),
        ("api-1", "api-1-0"),
        ("exit=13", "exit=137"),
        ("restarts=2", "restarts=22"),
        ("app: web", "app: web-v2"),
        ("10.0.3.1", "10.0.3.11"),
        ("0.3.1", "10.0.3.1"),
        ("DATABASE_URL", "DATABASE_URL_RO"),
        ("ready  restarts=0", "app:  not-ready  restarts=0"),
        ("3 Insufficient cpu", "13 Insufficient cpu"),
        ("oomkilled", "OOMKilled"),
    ],
)
def test_a_part_of_a_longer_name_or_number_is_not(contains: str, shown: str) -> None:
    assert not met(contains, shown)


def test_the_recorded_flag_decides_and_the_text_only_without_one() -> None:
    assert met("refused", "ERROR: refused")
    assert not met("refused", "refused", ok=False)
    assert not met("refused", "ERROR: refused", ok=None)
    assert met("refused", "connection refused", ok=None)


def test_a_screen_action_is_evidence_only_where_that_action_is_asked_for() -> None:
    pod = {"kind": "pods", "name": "web-1", "namespace": "shop"}
    action = call("open_describe", pod, "opened describe for web-1", screen_action=True)
    assert find((Evidence(tool="open_describe", args=pod, contains="opened describe"),), action).met
    assert not find((Evidence(tool="open_logs", args=pod, contains="opened"),), action).met
    assert not find((Evidence(tool="get_resource", args=pod, contains="web-1"),), action).met


def test_a_null_namespace_of_a_read_is_a_missing_one() -> None:
    location = Evidence(tool="list_resources", args={"kind": "pods", "namespace": "shop"}, contains="x")
    assert not find((location,), call("list_resources", {"kind": "pods", "namespace": None}, "x")).met


def test_an_empty_namespace_in_the_rubric_asks_for_none() -> None:
    location = Evidence(tool="get_resource", args={"kind": "sc", "name": "fast", "namespace": ""}, contains="x")
    assert find((location,), call("get_resource", {"kind": "storageclasses", "name": "fast"}, "x")).met


def test_fields_are_met_at_their_path_only() -> None:
    shown = "spec:\n  selector:\n    app: web-v2\nadvice: compare spec.selector.app web\n"
    for value, right in (("web-v2", True), ("web", False)):
        location = Evidence(tool="diagnose_service", args={"service": "web"}, fields={"spec.selector.app": value})
        assert find((location,), call("diagnose_service", {"service": "web"}, shown)).met is right


def test_an_unmet_group_says_why_the_nearest_calls_fell_short() -> None:
    group = (Evidence(tool="get_logs", args=POD, contains="api-1"),)
    near = find(
        group,
        call("get_logs", {**POD, "namespace": "prod"}, "api-1", 1),
        call("get_logs", POD, "api-10", 2),
        call("get_logs", POD, "", 3, ok=False, error_class="forbidden"),
    ).near
    assert near == (
        "call 2 (get_logs): its result shows 'api-1' only inside a longer name",
        "call 3 (get_logs): it failed (forbidden)",
        "call 1 (get_logs): namespace is 'prod', not 'shop'",
    )


def test_the_order_of_arguments_never_changes_a_verdict() -> None:
    rubric = RubricTurn(
        must_mention=(), expected_evidence=((Evidence(tool="diagnose_pvc", args={"pvc": "data"}, contains="x"),),)
    )
    for arguments in ({"pvc": "data", "name": "web"}, {"name": "web", "pvc": "data"}):
        run = recorded("done", rubric, (call("diagnose_pvc", arguments, "x"),))
        assert grade(run, run.rubric).evidence_fetched is True
