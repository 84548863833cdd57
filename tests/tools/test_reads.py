import pytest
import yaml

from schemas.cases import Cluster, ContainerLogs, Denial, LogRecord, MetricSeries
from schemas.kinds import KINDS
from tests.tools.fixtures import (
    cluster,
    crashing,
    event,
    everything,
    meta,
    node,
    owned_by,
    pod,
    pulling,
    release_secret,
    running,
    service,
    toolbox,
)


def read(fixture: Cluster, tool: str, **arguments: object) -> str:
    outcome = toolbox(fixture).execute(tool, dict(arguments))
    assert outcome.ok, outcome.text
    return outcome.shown


def test_a_pod_row_has_phase_status_readiness_restarts_and_node() -> None:
    text = read(cluster(pod("api-1", status=crashing()), pod("web-1")), "list_resources", kind="pods", namespace="shop")
    assert text.splitlines() == [
        "shop/api-1  -  age=3h  phase=Running  status=CrashLoopBackOff  ready=0/1  restarts=9  node=node-a",
        "shop/web-1  -  age=3h  phase=Running  ready=1/1  restarts=0  node=node-a",
    ]


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (pulling(), "ImagePullBackOff"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        (running(ready=False, state={"terminated": {"exitCode": 3}}), "ExitCode:3"),
        ({"phase": "Pending", "initContainerStatuses": [{"state": {"waiting": {"reason": "Error"}}}]}, "Init:Error"),
        ({"phase": "Pending", "initContainerStatuses": [{"state": {"running": {}}}]}, "Init:0/1"),
    ],
)
def test_the_status_of_a_pod_is_the_most_specific_reason_it_states(status: dict[str, object], word: str) -> None:
    text = read(cluster(pod("a", status=status)), "list_resources", kind="pods")
    assert f"status={word}  " in text


def test_a_deployment_row_counts_a_missing_counter_as_zero() -> None:
    deployment = {
        "kind": "Deployment",
        "metadata": meta("api"),
        "spec": {"replicas": 3},
        "status": {"updatedReplicas": 3},
    }
    text = read(cluster(deployment), "list_resources", kind="deploy")
    assert text == "shop/api  -  age=3h  desired=3  updated=3  ready=0  available=0  unavailable=0"


def test_a_job_row_tells_attempts_from_its_end() -> None:
    conditions = [{"type": "Complete", "status": "True"}]
    job = {
        "kind": "Job",
        "metadata": meta("report"),
        "spec": {"backoffLimit": 4},
        "status": {"failed": 2, "succeeded": 1, "conditions": conditions},
    }
    text = read(cluster(job), "list_resources", kind="jobs")
    assert "completions=1/1" in text
    assert "failed_attempts=2" in text
    assert "condition=Complete" in text


def test_every_kind_has_a_row_even_where_everything_is_missing() -> None:
    for kind in KINDS:
        if kind.plural == "events":
            fixture = cluster(events=(event("Failed", "Pod", "a", "no"),))
        else:
            fixture = cluster({"kind": kind.kind, "metadata": meta("bare", "shop" if kind.namespaced else None)})
        assert read(fixture, "list_resources", kind=kind.plural).count("  -  age=") == 1


def test_a_list_of_nothing_says_none_and_events_of_nothing_say_so() -> None:
    assert read(cluster(), "list_resources", kind="pods") == "(none)"
    assert read(cluster(), "list_operators") == "(none)"
    assert read(cluster(), "helm_list_releases") == "(none)"
    assert read(cluster(pod("a")), "get_events", kind="pods", name="a", namespace="shop") == "(no events)"


def test_a_star_means_all_namespaces() -> None:
    fixture = cluster(pod("a"), pod("a", "other"))
    assert len(read(fixture, "list_resources", kind="pods", namespace="*").splitlines()) == 2


def test_an_object_is_yaml_with_its_identity_in_front() -> None:
    text = read(cluster(service()), "get_resource", kind="svc", name="web", namespace="shop")
    assert list(yaml.safe_load(text)) == ["apiVersion", "kind", "metadata", "spec"]
    assert list(yaml.safe_load(text)["metadata"])[:2] == ["namespace", "name"]
    assert "\n    app: web\n" in text


def test_a_cluster_scoped_object_needs_no_namespace_and_ignores_one() -> None:
    for namespace in (None, "shop"):
        text = read(cluster(node()), "get_resource", kind="nodes", name="node-a", namespace=namespace)
        assert yaml.safe_load(text)["kind"] == "Node"


def test_events_are_lines_newest_first_with_their_count() -> None:
    older = event("Pulled", "Pod", "a", "pulled", type="Normal", lastTimestamp="2026-07-27T07:00:00Z")
    newer = event("Unhealthy", "Pod", "a", "Liveness probe failed", 27)
    text = read(cluster(pod("a"), events=(older, newer)), "get_events", kind="pods", name="a", namespace="shop")
    assert text.splitlines() == [
        "Warning Unhealthy (27x): Liveness probe failed [last 2026-07-27T07:58:00Z, 2m ago]",
        "Normal Pulled: pulled [last 2026-07-27T07:00:00Z, 60m ago]",
    ]


def test_events_of_an_object_that_is_gone_can_still_be_read() -> None:
    text = read(
        cluster(events=(event("Killed", "Pod", "a", "x"),)), "get_events", kind="pod", name="a", namespace="shop"
    )
    assert text.startswith("Warning Killed: x")


def test_events_of_an_earlier_incarnation_are_not_shown() -> None:
    fixture = cluster(
        pod("a"),
        events=(
            event(
                "Killed",
                "Pod",
                "a",
                "x",
                involvedObject={"kind": "Pod", "name": "a", "namespace": "shop", "uid": "old"},
            ),
        ),
    )
    assert read(fixture, "get_events", kind="pods", name="a", namespace="shop") == "(no events)"


def test_events_of_a_node_are_found_though_the_tool_asks_for_a_namespace() -> None:
    happened = event("NodeHasMemoryPressure", "Node", "node-a", "low")
    happened["involvedObject"] = {"kind": "Node", "name": "node-a", "uid": "node-a"}
    text = read(cluster(node(), events=(happened,)), "get_events", kind="nodes", name="node-a", namespace="shop")
    assert "NodeHasMemoryPressure" in text


def test_logs_are_plain_lines_of_the_instance_asked_for() -> None:
    fixture = everything()
    assert read(fixture, "get_logs", pod="api-1", namespace="shop") == "starting"
    assert read(fixture, "get_logs", pod="api-1", namespace="shop", previous=True) == "starting\npanic: nil map"
    assert read(fixture, "get_logs", pod="api-1", namespace="shop", previous=True, tail_lines=1) == "panic: nil map"


def test_a_log_that_begins_with_error_is_a_good_result() -> None:
    fixture = cluster(pod("a"), logs={"shop/a/app": ContainerLogs(current=("ERROR: disk full",))})
    outcome = toolbox(fixture).execute("get_logs", {"pod": "a", "namespace": "shop"})
    assert (outcome.ok, outcome.error_class, outcome.shown) == (True, None, "ERROR: disk full")


def test_an_empty_log_says_so() -> None:
    fixture = cluster(pod("a"), logs={"shop/a/app": ContainerLogs()})
    assert read(fixture, "get_logs", pod="a", namespace="shop") == "(no log lines)"


def test_operators_are_listed_by_the_label_that_marks_them() -> None:
    labels = {"control-plane": "controller-manager", "app.kubernetes.io/version": "1.4"}
    manager = {"kind": "Deployment", "metadata": meta("certs", labels=labels), "status": {"readyReplicas": 1}}
    plain = {"kind": "Deployment", "metadata": meta("operator-of-nothing")}
    text = read(cluster(manager, plain), "list_operators")
    assert text == "shop/certs  -  kind=Deployment  ready=1/1  version=1.4  label=control-plane=controller-manager"


def test_a_helm_row_has_revision_and_status() -> None:
    text = read(cluster(release_secret("shop", 9), release_secret("shop", 10)), "helm_list_releases", namespace="shop")
    assert text == "shop/shop  -  revision=10  status=deployed  updated=2026-07-27T05:00:00Z"


def metrics_cluster() -> Cluster:
    points = tuple((f"2026-07-27T07:{minute:02}:00Z", float(minute)) for minute in (5, 30, 45, 50))
    return cluster(
        metrics=(MetricSeries(signal="memory", namespace="shop", unit="MiB", pod="api-1", points=points),),
        log_search=(
            LogRecord(time="2026-07-27T06:00:00Z", namespace="shop", pod="api-0", text="old Timeout"),
            LogRecord(time="2026-07-27T07:55:00Z", namespace="shop", pod="api-1", text="a timeout"),
            LogRecord(time="2026-07-27T07:56:00Z", namespace="shop", pod="api-1", text="fine"),
        ),
    )


def test_metrics_are_summed_up_over_the_window() -> None:
    text = read(metrics_cluster(), "query_metrics", signal="memory", namespace="shop", window_minutes=30)
    assert text.splitlines()[0] == (
        "memory shop  pod=api-1  unit=MiB  points=3  first=30  last=50  min=30  max=50  mean=41.6667"
    )
    assert text.splitlines()[-1] == "  2026-07-27T07:50:00Z 50"
    assert read(metrics_cluster(), "query_metrics", signal="cpu", namespace="shop") == "(no data)"


def test_log_search_matches_in_any_case_within_window_and_limit() -> None:
    fixture = metrics_cluster()
    assert read(fixture, "search_logs", namespace="shop", contains="TIMEOUT") == (
        "2026-07-27T07:55:00Z shop/api-1: a timeout"
    )
    wide = read(fixture, "search_logs", namespace="shop", contains="timeout", window_minutes=240)
    assert len(wide.splitlines()) == 2
    assert read(fixture, "search_logs", namespace="shop", limit=1).endswith("fine")
    assert read(fixture, "search_logs", namespace="shop", contains="nothing") == "(no matches)"


@pytest.mark.parametrize(
    ("tool", "arguments", "error_class", "says"),
    [
        ("list_resources", {"kind": "widgets"}, "unknown_kind", "unknown kind 'widgets'"),
        ("list_resources", {}, "missing_argument", "'kind' is required"),
        ("list_resources", {"kind": "  "}, "missing_argument", "'kind' is required"),
        ("get_resource", {"kind": "pods", "name": "a"}, "missing_argument", "give the 'namespace'"),
        ("get_resource", {"kind": "pods", "name": "shop/a"}, "bad_request", "separate arguments"),
        (
            "get_resource",
            {"kind": "pods", "name": "a", "namespace": "shop"},
            "not_found",
            'API 404: pods "a" not found',
        ),
        ("get_logs", {"pod": "a", "namespace": "shop", "tail_lines": 0}, "bad_request", "1 or more"),
        ("get_logs", {"pod": "a", "namespace": 5}, "bad_request", "must be a string"),
        ("diagnose_workload", {"kind": "pods", "name": "a", "namespace": "shop"}, "bad_request", "no workloads"),
        ("query_metrics", {"signal": "disk", "namespace": "shop"}, "bad_request", "unknown signal"),
    ],
)
def test_an_error_is_a_class_and_a_sentence(
    tool: str, arguments: dict[str, object], error_class: str, says: str
) -> None:
    outcome = toolbox(metrics_cluster()).execute(tool, arguments)
    assert (outcome.ok, outcome.error_class) == (False, error_class)
    assert outcome.shown.startswith("ERROR: ")
    assert says in outcome.shown


def test_a_denied_list_of_operators_is_a_gap_in_the_result() -> None:
    text = read(cluster(forbidden=(Denial(kind="statefulsets"),)), "list_operators")
    assert text.startswith("statefulsets: unavailable (API 403: statefulsets is forbidden")


def test_ownership_of_pods_is_shown_by_the_workload_report_not_guessed_from_names() -> None:
    replicaset = {"kind": "ReplicaSet", "metadata": meta("api-1", ownerReferences=owned_by("Deployment", "api"))}
    deployment = {"kind": "Deployment", "metadata": meta("api")}
    mine = pod("api-1-x", status=crashing(), owners=owned_by("ReplicaSet", "api-1"))
    lookalike = pod("api-1-y", status=crashing())
    text = read(
        cluster(deployment, replicaset, mine, lookalike),
        "diagnose_workload",
        kind="deploy",
        name="api",
        namespace="shop",
    )
    assert "api-1-x" in text
    assert "api-1-y" not in text
