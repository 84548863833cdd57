import base64
import gzip
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from recorder.cluster import ApiError, ClusterReader, FakeCluster
from recorder.cluster.selectors import selects
from schemas.cases import Cluster, ContainerLogs, LogRecord
from schemas.errors import CaseError
from schemas.kinds import served
from tests.tools.fixtures import crashing, event, meta, node, pod, pulling, release_secret, service

PODS, NODES, EVENTS = served("pods"), served("nodes"), served("events")


def refused(call: Any, status: int) -> str:
    with pytest.raises(ApiError) as caught:
        call()
    assert caught.value.status == status
    return caught.value.message


def test_the_fake_is_a_cluster_reader() -> None:
    reader: ClusterReader = FakeCluster(Cluster())
    assert reader.now == datetime(2026, 7, 27, 8, tzinfo=UTC)


def test_a_missing_object_is_a_404_in_the_words_of_the_api_server() -> None:
    fake = FakeCluster(Cluster())
    assert refused(lambda: fake.get(PODS, "web", "shop"), 404) == 'pods "web" not found'
    message = refused(lambda: fake.get(served("deployments"), "web", "shop"), 404)
    assert message == 'deployments.apps "web" not found'


def test_a_list_is_filtered_by_kind_and_namespace_and_sorted() -> None:
    fake = FakeCluster(Cluster(objects=(pod("b"), pod("a"), pod("a", "other"), node())))
    assert [item["metadata"]["name"] for item in fake.list(PODS, "shop")] == ["a", "b"]
    assert [item["metadata"]["namespace"] for item in fake.list(PODS)] == ["other", "shop", "shop"]
    assert len(fake.list(NODES, "shop")) == 1


def test_results_are_copies_that_a_caller_may_change() -> None:
    fake = FakeCluster(Cluster(objects=(pod("a"),), events=(event("Failed", "Pod", "a", "no"),)))
    fake.get(PODS, "a", "shop")["metadata"]["labels"]["app"] = "changed"
    fake.list(PODS)[0]["spec"].clear()
    fake.events("a", "shop")[0]["message"] = "changed"
    assert fake.get(PODS, "a", "shop") == {**pod("a")}
    assert fake.events("a", "shop")[0]["message"] == "no"


def test_a_fixture_is_not_changed_by_the_cluster_over_it() -> None:
    manifest = pod("a")
    fake = FakeCluster(Cluster(objects=(manifest,)))
    fake.objects[0]["spec"]["nodeName"] = "elsewhere"
    assert manifest["spec"]["nodeName"] == "node-a"


def test_timestamps_are_returned_as_authored_in_rfc_3339() -> None:
    manifest = pod("a")
    manifest["metadata"]["creationTimestamp"] = datetime(2026, 7, 27, 9, 30, tzinfo=timezone(timedelta(hours=2)))
    manifest["status"]["startTime"] = datetime(2026, 7, 27, 7, 30)
    found = FakeCluster(Cluster(objects=(manifest,))).get(PODS, "a", "shop")
    assert found["metadata"]["creationTimestamp"] == "2026-07-27T07:30:00Z"
    assert found["status"]["startTime"] == "2026-07-27T07:30:00Z"


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("app=web", ["web"]),
        ("app==web", ["web"]),
        ("app!=web", ["db"]),
        ("app in (web, db)", ["db", "web"]),
        ("app notin (web)", ["db"]),
        ("app,app!=db", ["web"]),
        ("!app", []),
    ],
)
def test_label_selectors_are_honoured(selector: str, names: list[str]) -> None:
    fake = FakeCluster(Cluster(objects=(pod("web"), pod("db"))))
    assert [item["metadata"]["name"] for item in fake.list(PODS, labels=selector)] == names


def test_field_selectors_are_honoured_and_an_unknown_field_is_refused() -> None:
    fake = FakeCluster(Cluster(objects=(pod("a"), pod("b", nodeName="node-b"))))
    assert [item["metadata"]["name"] for item in fake.list(PODS, fields="spec.nodeName=node-b")] == ["b"]
    assert [item["metadata"]["name"] for item in fake.list(PODS, fields="metadata.name!=b")] == ["a"]
    assert "spec.colour" in refused(lambda: fake.list(PODS, fields="spec.colour=red"), 400)


@pytest.mark.parametrize("selector", ["a b", "app in web", "=x", "app in ()"])
def test_a_label_selector_that_does_not_parse_is_a_400(selector: str) -> None:
    refused(lambda: FakeCluster(Cluster()).list(PODS, labels=selector), 400)


def test_a_label_selector_object_needs_all_its_terms() -> None:
    expressions = [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "canary", "operator": "DoesNotExist"},
    ]
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": expressions}
    assert selects(selector, {"app": "web", "tier": "a"})
    assert not selects(selector, {"app": "web", "tier": "c"})
    assert not selects(selector, {"app": "web", "tier": "a", "canary": "yes"})
    assert not selects({}, {"app": "web"})


def test_events_are_those_of_the_exact_object() -> None:
    fake = FakeCluster(
        Cluster(
            events=(
                event("One", "Pod", "web", "1"),
                event("Two", "Deployment", "web", "2"),
                event("Three", "Pod", "web-1", "3"),
                event("Four", "Pod", "web", "4", namespace="other"),
            )
        )
    )
    assert [item["reason"] for item in fake.events("web", "shop", kind="Pod")] == ["One"]
    assert [item["reason"] for item in fake.events("web", "shop")] == ["One", "Two"]
    assert fake.events("web", "shop", kind="Pod", uid="uid-of-its-successor") == ()


def test_an_event_without_uid_belongs_to_any_object_of_the_name() -> None:
    plain = event("One", "Pod", "web", "1")
    del plain["involvedObject"]["uid"]
    assert len(FakeCluster(Cluster(events=(plain,))).events("web", "shop", uid="uid-web")) == 1


def test_events_can_be_listed_and_read_as_objects() -> None:
    fake = FakeCluster(Cluster(events=(event("Failed", "Pod", "web", "no"),)))
    (found,) = fake.list(EVENTS, "shop")
    assert fake.get(EVENTS, found["metadata"]["name"], "shop")["reason"] == "Failed"
    assert fake.list(EVENTS, fields="involvedObject.name=web,type=Warning") == (found,)


def logs_cluster(**status: Any) -> FakeCluster:
    two = pod("two", containers=[{"name": "app"}, {"name": "proxy"}], initContainers=[{"name": "migrate"}])
    return FakeCluster(
        Cluster(
            objects=(pod("one", **status), two, pod("unscheduled", nodeName=None)),
            logs={
                "shop/one/app": ContainerLogs(current=("1", "2", "3")),
                "shop/two/migrate": ContainerLogs(current=("m",), previous=("p",)),
            },
        )
    )


def test_logs_of_a_single_container_need_no_container_name() -> None:
    fake = logs_cluster()
    assert fake.logs("shop", "one") == ("1", "2", "3")
    assert fake.logs("shop", "one", tail_lines=2) == ("2", "3")
    assert fake.logs("shop", "two", "migrate", previous=True) == ("p",)


def test_log_refusals_use_the_words_of_the_api_server() -> None:
    fake = logs_cluster()
    assert refused(lambda: fake.logs("shop", "nope"), 404) == 'pods "nope" not found'
    assert refused(lambda: fake.logs("shop", "one", "nope"), 400) == "container nope is not valid for pod one"
    assert refused(lambda: fake.logs("shop", "one", previous=True), 400) == (
        'previous terminated container "app" in pod "one" not found'
    )
    assert refused(lambda: fake.logs("shop", "two"), 400) == (
        "a container name must be specified for pod two, choose one of: [app proxy]"
        " or one of the init containers: [migrate]"
    )
    assert refused(lambda: fake.logs("shop", "unscheduled"), 400) == "pod unscheduled does not have a host assigned"
    refused(lambda: fake.logs("shop", "two", "app"), 404)


def test_a_container_that_never_started_says_what_it_waits_for() -> None:
    fake = FakeCluster(Cluster(objects=(pod("web", status=pulling()), pod("db", status=pulling("PodInitializing")))))
    assert refused(lambda: fake.logs("shop", "web"), 400) == (
        'container "app" in pod "web" is waiting to start: trying and failing to pull image'
    )
    assert refused(lambda: fake.logs("shop", "db"), 400).endswith("is waiting to start: PodInitializing")


def test_logs_that_outlive_their_pod_can_be_read() -> None:
    fake = FakeCluster(Cluster(logs={"shop/gone/app": ContainerLogs(current=("bye",))}))
    assert fake.logs("shop", "gone") == ("bye",)


def test_a_release_is_its_latest_revision_with_the_chart_of_its_payload() -> None:
    newest = release_secret("shop", 12)
    payload = json.dumps({"chart": {"metadata": {"name": "shop", "version": "1.4.0", "appVersion": "7"}}}).encode()
    newest["data"]["release"] = base64.b64encode(base64.b64encode(gzip.compress(payload))).decode()
    other = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta("not-a-release")}
    fake = FakeCluster(Cluster(objects=(release_secret("shop", 9), newest, other)))
    (release,) = fake.releases("shop")
    assert (release.name, release.revision, release.chart, release.app_version) == ("shop", 12, "shop-1.4.0", "7")


@pytest.mark.parametrize("payload", ["", "not base64!", base64.b64encode(b"eA==").decode(), 5])
def test_a_release_with_an_unreadable_payload_still_counts(payload: Any) -> None:
    secret = release_secret("shop", 1)
    secret["data"]["release"] = payload
    (release,) = FakeCluster(Cluster(objects=(secret,))).releases()
    assert release.chart is None


def test_backends_that_are_not_there_are_a_503() -> None:
    fake = FakeCluster(Cluster())
    refused(lambda: fake.metrics("cpu", "shop"), 503)
    refused(lambda: fake.search_logs("shop"), 503)


def test_log_search_returns_lines_oldest_first() -> None:
    records = tuple(LogRecord(time=f"2026-07-27T07:5{n}:00Z", namespace="shop", pod="a", text=str(n)) for n in (2, 1))
    fake = FakeCluster(Cluster(log_search=records))
    assert [record.text for record in fake.search_logs("shop")] == ["1", "2"]
    assert fake.search_logs("shop", pod="b") == ()


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"kind": "Widget"}, "kind"),
        ({"kind": "pod"}, "kind"),
        ({"apiVersion": "apps/v1"}, "apiVersion"),
        ({"metadata": {"namespace": "shop"}}, "metadata.name"),
        ({"metadata": {"name": "a"}}, "metadata.namespace"),
        ({"kind": "Node"}, "metadata.namespace"),
    ],
)
def test_a_manifest_that_no_api_server_would_hold_is_refused(change: dict[str, Any], where: str) -> None:
    with pytest.raises(CaseError, match=rf"cluster\.objects\[0\]\.{where}"):
        FakeCluster(Cluster(objects=({**pod("a"), **change},)))


def test_the_same_object_twice_is_refused() -> None:
    with pytest.raises(CaseError, match=r"cluster\.objects\[1\].*twice"):
        FakeCluster(Cluster(objects=(service(), service())))
    FakeCluster(Cluster(objects=(service(), service(namespace="other"), pod("web", status=crashing()))))


def test_an_event_about_nothing_is_refused() -> None:
    with pytest.raises(CaseError, match=r"cluster\.events\[0\]"):
        FakeCluster(Cluster(events=({"reason": "Failed"},)))
