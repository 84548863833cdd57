from collections.abc import Callable
from typing import Any

import pytest

from recorder.cluster import ApiError, ClusterReader, FakeCluster
from recorder.tools import READS
from schemas.cases import Denial
from schemas.kinds import KINDS, served
from tests.tools.fixtures import everything, toolbox

PODS = served("pods")

DENY_ALL = tuple(Denial(kind=kind.plural) for kind in KINDS)

ENTRY_POINTS: dict[str, Callable[[FakeCluster], Any]] = {
    "list": lambda fake: fake.list(PODS, "shop"),
    "get": lambda fake: fake.get(PODS, "api-1", "shop"),
    "events": lambda fake: fake.events("api-1", "shop"),
    "logs": lambda fake: fake.logs("shop", "api-1"),
    "releases": lambda fake: fake.releases("shop"),
    "metrics": lambda fake: fake.metrics("cpu", "shop"),
    "search_logs": lambda fake: fake.search_logs("shop"),
}

ARGUMENTS: dict[str, dict[str, Any]] = {
    "list_resources": {"kind": "pods", "namespace": "shop"},
    "get_resource": {"kind": "pods", "name": "api-1", "namespace": "shop"},
    "get_logs": {"pod": "api-1", "namespace": "shop"},
    "get_events": {"kind": "pods", "name": "api-1", "namespace": "shop"},
    "helm_list_releases": {"namespace": "shop"},
    "diagnose_pod": {"pod": "api-1", "namespace": "shop"},
    "diagnose_workload": {"kind": "deployments", "name": "api", "namespace": "shop"},
    "diagnose_service": {"service": "web", "namespace": "shop"},
    "diagnose_pvc": {"pvc": "data", "namespace": "shop"},
    "query_metrics": {"signal": "cpu", "namespace": "shop"},
    "search_logs": {"namespace": "shop"},
}


def denied(call: Callable[[], Any]) -> str:
    with pytest.raises(ApiError) as caught:
        call()
    assert caught.value.status == 403
    return caught.value.message


def test_the_test_knows_every_entry_point_of_the_protocol() -> None:
    methods = {name for name in vars(ClusterReader) if not name.startswith("_")} - {"now"}
    assert methods == set(ENTRY_POINTS)


@pytest.mark.parametrize("method", ENTRY_POINTS)
def test_every_read_entry_point_consults_the_denials(method: str) -> None:
    ENTRY_POINTS[method](FakeCluster(everything()))
    assert "is forbidden" in denied(lambda: ENTRY_POINTS[method](FakeCluster(everything(*DENY_ALL))))


@pytest.mark.parametrize("spec", [spec for spec in READS if spec.effect != "ui_only"], ids=lambda spec: spec.name)
def test_no_read_tool_gets_around_a_denial_of_everything(spec: Any) -> None:
    box = toolbox(everything(*DENY_ALL))
    if spec.name == "list_operators":
        assert "unavailable (API 403" in box.execute(spec.name, {}).text
        return
    outcome = box.execute(spec.name, ARGUMENTS[spec.name])
    assert (outcome.ok, outcome.error_class) == (False, "forbidden")


def test_a_refusal_names_verb_resource_group_and_namespace() -> None:
    fake = FakeCluster(everything(*DENY_ALL))
    assert denied(lambda: fake.list(PODS, "shop")) == (
        'pods is forbidden: User "eval" cannot list resource "pods" in API group "" in the namespace "shop"'
    )
    assert denied(lambda: fake.logs("shop", "api-1")) == (
        'pods/log is forbidden: User "eval" cannot get resource "pods/log" in API group "" in the namespace "shop"'
    )
    assert denied(lambda: fake.get(served("nodes"), "node-a")) == (
        'nodes is forbidden: User "eval" cannot get resource "nodes" in API group "" at the cluster scope'
    )
    assert 'API group "apps"' in denied(lambda: fake.list(served("deployments"), "shop"))


def test_an_omitted_subresource_denies_the_log_too() -> None:
    denied(lambda: FakeCluster(everything(Denial(kind="pods", namespace="shop"))).logs("shop", "api-1"))


def test_a_log_rule_leaves_the_pod_readable() -> None:
    fake = FakeCluster(everything(Denial(kind="pods", namespace="shop", subresource="log")))
    assert fake.get(PODS, "api-1", "shop")["metadata"]["name"] == "api-1"
    denied(lambda: fake.logs("shop", "api-1"))
    denied(lambda: fake.search_logs("shop"))


def test_a_rule_on_another_namespace_or_name_changes_nothing() -> None:
    rules = (Denial(kind="pods", namespace="other"), Denial(kind="pods", name="api-10"))
    fake = FakeCluster(everything(*rules))
    assert len(fake.list(PODS, "shop")) == 1
    assert fake.logs("shop", "api-1") == ("starting",)


def test_a_list_is_refused_whole_where_it_would_reach_something_denied() -> None:
    one_namespace = FakeCluster(everything(Denial(kind="pods", namespace="other")))
    assert "at the cluster scope" in denied(lambda: one_namespace.list(PODS))
    one_name = FakeCluster(everything(Denial(kind="pods", name="api-1")))
    denied(lambda: one_name.list(PODS, "shop"))
    denied(lambda: one_name.metrics("cpu", "shop"))


def test_the_name_of_an_event_rule_is_the_involved_object() -> None:
    fake = FakeCluster(everything(Denial(kind="events", name="api-1")))
    denied(lambda: fake.events("api-1", "shop"))
    assert fake.events("web", "shop") == ()
    denied(lambda: fake.list(served("events"), "shop"))


def test_helm_goes_through_the_rule_on_secrets() -> None:
    fake = FakeCluster(everything(Denial(kind="secrets", namespace="shop")))
    assert 'cannot list resource "secrets"' in denied(lambda: fake.releases("shop"))
