from typing import Any

import pytest
import yaml

from schemas.cases import Cluster, ContainerLogs, Denial
from tests.tools.fixtures import (
    Object,
    cluster,
    crashing,
    endpoint_slice,
    event,
    meta,
    node,
    owned_by,
    pod,
    pulling,
    running,
    service,
    toolbox,
)


def pod_report(fixture: Cluster, name: str = "api-1") -> str:
    outcome = toolbox(fixture).execute("diagnose_pod", {"pod": name, "namespace": "shop"})
    assert outcome.ok, outcome.text
    assert outcome.object_uid == f"uid-{name}"
    return outcome.shown


def lines_of(report: str, title: str) -> list[str]:
    """The lines of one section, without its heading."""
    lines = report.splitlines()
    start = lines.index(title) + 1
    end = next((at for at in range(start, len(lines)) if not lines[at].startswith(" ")), len(lines))
    return [line[2:] for line in lines[start:end]]


def crash_cluster(**rest: Any) -> Cluster:
    logs = {"shop/api-1/app": ContainerLogs(current=("up",), previous=("start", "panic: nil map"))}
    return cluster(pod("api-1", status=crashing(code=137, reason="OOMKilled")), node(), logs=logs, **rest)


def test_a_pod_report_has_its_sections_in_order() -> None:
    headings = [line for line in pod_report(crash_cluster()).splitlines() if not line.startswith(" ")]
    assert headings == [
        "IDENTITY",
        "CURRENT HEALTH",
        "RELATED",
        "CONDITIONS",
        "CONTAINERS",
        "WARNING EVENTS",
        "LOG EXCERPTS",
    ]


def test_a_container_line_has_state_readiness_restarts_and_last_exit() -> None:
    line = lines_of(pod_report(crash_cluster()), "CONTAINERS")[0]
    assert line == "app:  waiting reason=CrashLoopBackOff  not-ready  restarts=9  last-exit=137 (OOMKilled)"


def test_exit_137_without_a_kill_for_memory_is_not_called_one() -> None:
    report = pod_report(cluster(pod("api-1", status=crashing(code=137, reason="Error"))))
    assert "last-exit=137 (Error)" in report
    assert "OOM" not in report


def test_a_healthy_pod_is_ready_and_shows_no_log() -> None:
    fixture = cluster(pod("api-1"), node(), logs={"shop/api-1/app": ContainerLogs(current=("error: none of this",))})
    report = pod_report(fixture)
    assert "app:  running  ready  restarts=0" in report
    assert lines_of(report, "LOG EXCERPTS") == ["(none)"]
    assert lines_of(report, "RELATED") == ["node node-a: Ready"]


def test_failing_conditions_come_first() -> None:
    status = running(ready=False) | {
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"},
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "containers: [app]"},
        ]
    }
    lines = lines_of(pod_report(cluster(pod("api-1", status=status))), "CONDITIONS")
    assert lines == [
        "DisruptionTarget=True reason=EvictionByEvictionAPI",
        "Ready=False reason=ContainersNotReady: containers: [app]",
        "PodScheduled=True",
    ]


def test_warnings_are_newest_first_each_once_with_summed_counts_and_no_normal_ones() -> None:
    events = (
        event("BackOff", "Pod", "api-1", "back-off", 20, lastTimestamp="2026-07-27T07:00:00Z"),
        event("BackOff", "Pod", "api-1", "back-off", 2),
        event("Pulled", "Pod", "api-1", "pulled", type="Normal"),
        event("Failed", "Pod", "api-1", "other", 1, lastTimestamp="2026-07-27T07:59:30Z"),
    )
    assert lines_of(pod_report(crash_cluster(events=events)), "WARNING EVENTS") == [
        "Failed (1x, last 2026-07-27T07:59:30Z, 30s ago): other",
        "BackOff (22x, last 2026-07-27T07:58:00Z, 2m ago): back-off",
    ]


def test_more_than_ten_warnings_are_counted() -> None:
    events = tuple(event("Failed", "Pod", "api-1", f"number {index}") for index in range(13))
    lines = lines_of(pod_report(crash_cluster(events=events)), "WARNING EVENTS")
    assert len(lines) == 11
    assert lines[-1] == "(3 more warnings not shown)"


def test_the_log_of_the_instance_that_ended_is_shown_after_a_restart() -> None:
    assert lines_of(pod_report(crash_cluster()), "LOG EXCERPTS") == [
        "app (previous instance):",
        "  start",
        "  panic: nil map",
    ]


def test_the_running_log_is_shown_where_the_previous_one_is_gone() -> None:
    fixture = cluster(pod("api-1", status=running(3)), logs={"shop/api-1/app": ContainerLogs(current=("up",))})
    lines = lines_of(pod_report(fixture), "LOG EXCERPTS")
    assert lines[0].startswith('app (previous instance): unavailable (API 400: previous terminated container "app"')
    assert lines[1:] == ["app (current instance):", "  up"]


def test_the_log_of_a_container_that_failed_and_stays_down_is_its_current_one() -> None:
    status = running(2, ready=False, state={"terminated": {"exitCode": 1, "reason": "Error"}})
    fixture = cluster(pod("api-1", status=status), logs={"shop/api-1/app": ContainerLogs(("fatal: now",), ("before",))})
    assert lines_of(pod_report(fixture), "LOG EXCERPTS") == ["app (current instance):", "  fatal: now"]


def test_a_long_log_is_cut_to_the_last_trouble_with_its_context_and_the_final_lines() -> None:
    log = [f"line {index}" for index in range(200)]
    log[50], log[100] = "an ERROR long ago", "Traceback (most recent call last)"
    fixture = cluster(pod("api-1", status=crashing()), logs={"shop/api-1/app": ContainerLogs(previous=tuple(log))})
    lines = [line.strip() for line in lines_of(pod_report(fixture), "LOG EXCERPTS")[1:]]
    assert lines == [*log[95:106], "...", *log[190:]]


def test_at_most_three_containers_give_a_log_and_the_others_are_named() -> None:
    names = [f"c{index}" for index in range(5)]
    statuses = [crashing()["containerStatuses"][0] | {"name": name} for name in names]
    fixture = cluster(
        pod("api-1", containers=[{"name": name} for name in names], status={"containerStatuses": statuses}),
        logs={f"shop/api-1/{name}": ContainerLogs(previous=(f"last of {name}",)) for name in names},
    )
    lines = lines_of(pod_report(fixture), "LOG EXCERPTS")
    assert sum(line.endswith("(previous instance):") for line in lines) == 3
    assert lines[-1] == "(not shown: c3, c4)"


def test_a_failing_init_container_is_reported_with_its_log() -> None:
    init = {
        "name": "migrate",
        "ready": False,
        **{key: crashing()["containerStatuses"][0][key] for key in ("state", "lastState", "restartCount")},
    }
    status = pulling("PodInitializing") | {"initContainerStatuses": [init]}
    fixture = cluster(
        pod("api-1", initContainers=[{"name": "migrate"}], status=status),
        logs={"shop/api-1/migrate": ContainerLogs(previous=("migration failed",))},
    )
    report = pod_report(fixture)
    assert "status=Init:CrashLoopBackOff" in report
    assert lines_of(report, "CONTAINERS")[0].startswith("init migrate:  waiting reason=CrashLoopBackOff")
    assert "migrate (previous instance):\n    migration failed" in report


def test_an_unbound_claim_is_related_with_its_warnings() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}}]
    claim = {"kind": "PersistentVolumeClaim", "metadata": meta("data-0"), "status": {"phase": "Pending"}}
    events = (event("ProvisioningFailed", "PersistentVolumeClaim", "data-0", 'class "fast" not found', 9),)
    fixture = cluster(pod("api-1", volumes=volumes, nodeName=None), claim, events=events)
    lines = lines_of(pod_report(fixture), "RELATED")
    assert lines[:2] == ["node: not assigned", "pvc data-0: Pending"]
    assert lines[2].startswith("  warning ProvisioningFailed (9x")


def test_what_is_missing_is_not_found_and_what_is_denied_is_unavailable() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}}]
    rules = (
        Denial(kind="nodes"),
        Denial(kind="events"),
        Denial(kind="pods", namespace="shop", subresource="log"),
    )
    fixture = cluster(pod("api-1", status=crashing(), volumes=volumes), forbidden=rules)
    report = pod_report(fixture)
    assert lines_of(report, "RELATED")[0].startswith("node node-a: unavailable (API 403: nodes is forbidden")
    assert lines_of(report, "RELATED")[1] == "pvc data-0: not found"
    assert lines_of(report, "WARNING EVENTS")[0].startswith("unavailable (API 403: events is forbidden")
    logs = lines_of(report, "LOG EXCERPTS")
    assert len(logs) == 1
    assert "unavailable (API 403: pods/log is forbidden" in logs[0]


def test_a_pod_that_may_not_be_read_gives_no_report() -> None:
    box = toolbox(cluster(pod("api-1"), forbidden=(Denial(kind="pods", namespace="shop"),)))
    outcome = box.execute("diagnose_pod", {"pod": "api-1", "namespace": "shop"})
    assert (outcome.ok, outcome.error_class) == (False, "forbidden")


def rollout(**rest: Any) -> Cluster:
    def replicaset(name: str, revision: str, ready: int) -> Object:
        annotations = {"deployment.kubernetes.io/revision": revision}
        owners = owned_by("Deployment", "api")
        return {
            "kind": "ReplicaSet",
            "metadata": meta(name, annotations=annotations, ownerReferences=owners),
            "spec": {"replicas": 2},
            "status": {"readyReplicas": ready},
        }

    deployment = {
        "kind": "Deployment",
        "metadata": meta("api"),
        "spec": {"replicas": 2},
        "status": {
            "readyReplicas": 2,
            "conditions": [
                {"type": "Available", "status": "True"},
                {
                    "type": "Progressing",
                    "status": "False",
                    "reason": "ProgressDeadlineExceeded",
                    "message": "timed out",
                },
            ],
        },
    }
    new = [pod(f"api-new-{index}", status=pulling(), owners=owned_by("ReplicaSet", "api-new")) for index in range(4)]
    old = pod("api-old-0", owners=owned_by("ReplicaSet", "api-old"))
    return cluster(deployment, replicaset("api-old", "9", 2), replicaset("api-new", "10", 0), *new, old, **rest)


def workload_report(fixture: Cluster, **arguments: str) -> str:
    given = {"kind": "deployments", "name": "api", "namespace": "shop", **arguments}
    outcome = toolbox(fixture).execute("diagnose_workload", given)
    assert outcome.ok, outcome.text
    return outcome.shown


def test_a_workload_report_indexes_unready_pods_and_embeds_three() -> None:
    report = workload_report(rollout())
    assert "ready=2" in lines_of(report, "REPLICAS")[0]
    assert lines_of(report, "CONDITIONS")[0] == "Progressing=False reason=ProgressDeadlineExceeded: timed out"
    assert [line.split(":")[0] for line in lines_of(report, "REPLICASETS")] == ["api-new", "api-old"]
    index = lines_of(report, "PODS NOT READY (4 of 5)")
    assert len(index) == 4
    assert index[0] == "api-new-0:  status=ImagePullBackOff  ready=0/1  restarts=0  owner=ReplicaSet/api-new"
    embedded = [line for line in lines_of(report, "POD REPORTS") if line.startswith("pod ")]
    assert embedded == ["pod api-new-0", "pod api-new-1", "pod api-new-2"]
    assert report.index("PODS NOT READY") < report.index("POD REPORTS")


def test_warnings_of_owned_replicasets_are_shown_under_their_name() -> None:
    events = (event("FailedCreate", "ReplicaSet", "api-new", "exceeded quota", 17),)
    lines = lines_of(workload_report(rollout(events=events)), "WARNING EVENTS")
    assert lines == ["api-new: FailedCreate (17x, last 2026-07-27T07:58:00Z, 2m ago): exceeded quota"]


def test_denied_parts_of_a_workload_are_gaps() -> None:
    report = workload_report(rollout(forbidden=(Denial(kind="replicasets"), Denial(kind="events"))))
    assert lines_of(report, "REPLICASETS")[0].startswith("replicasets: unavailable (API 403")
    assert lines_of(report, "WARNING EVENTS")[0].startswith("unavailable (API 403")


def test_a_workload_that_owns_its_pods_directly_is_reported_too() -> None:
    job = {"kind": "Job", "metadata": meta("report"), "status": {"failed": 1}}
    worker = pod("report-x", status={"phase": "Failed"}, owners=owned_by("Job", "report"))
    report = workload_report(cluster(job, worker), kind="jobs", name="report")
    assert "REPLICASETS" not in report
    assert "report-x:  status=Failed" in lines_of(report, "PODS NOT READY (1 of 1)")[0]


def structured(fixture: Cluster, tool: str, **arguments: str) -> Object:
    outcome = toolbox(fixture).execute(tool, {**arguments, "namespace": "shop"})
    assert outcome.ok, outcome.text
    result: Object = yaml.safe_load(outcome.shown)
    assert list(result) == ["analyzer", "version", "primary", "outcome", "evidence", "findings", "gaps"]
    ids = [entry["id"] for entry in result["evidence"]]
    for entry in result["findings"]:
        assert set(entry["evidence"]) <= set(ids)
        assert set(entry) == {
            "rule_id",
            "rule_version",
            "severity",
            "confidence",
            "explanation",
            "next_checks",
            "evidence",
            "related",
        }
    return result


def diagnosed_service(*objects: Object, **rest: Any) -> Object:
    return structured(cluster(*objects, **rest), "diagnose_service", service="web")


def rules(result: Object) -> list[str]:
    return [entry["rule_id"] for entry in result["findings"]]


def evidence(result: Object, wanted: str) -> Object:
    found: Object = next(entry for entry in result["evidence"] if entry["id"] == wanted)
    return found


WEB_POD = pod("web-0", labels={"app": "web"})
LEGACY = {"kind": "Endpoints", "metadata": meta("web"), "subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]}


def test_a_service_with_ready_endpoints_is_healthy() -> None:
    result = diagnosed_service(service(), endpoint_slice("web", (True, True)), WEB_POD)
    assert (result["outcome"], result["findings"], result["gaps"]) == ("healthy", [], [])
    assert evidence(result, "endpoints")["source"] == "endpointslices"
    assert evidence(result, "endpoints")["ready"] == 2


def test_a_service_with_older_endpoints_only_is_just_as_healthy() -> None:
    result = diagnosed_service(service(), LEGACY, WEB_POD)
    assert (result["outcome"], result["findings"]) == ("healthy", [])
    assert evidence(result, "endpoints")["source"] == "endpoints"
    assert evidence(result, "endpoints")["ready"] == 1


def test_slices_are_believed_over_older_endpoints() -> None:
    result = diagnosed_service(service(), endpoint_slice("web", (False,)), LEGACY, WEB_POD)
    assert rules(result) == ["service.no_ready_endpoints"]


def test_an_endpoint_whose_readiness_is_left_out_counts_as_ready() -> None:
    found = endpoint_slice("web", (True,))
    found["endpoints"][0]["conditions"] = {}
    assert diagnosed_service(service(), found, WEB_POD)["outcome"] == "healthy"


def test_endpoints_of_a_service_with_a_longer_name_are_not_its_own() -> None:
    result = diagnosed_service(service(), endpoint_slice("web-2", (True,)), WEB_POD)
    assert rules(result) == ["service.no_endpoint_slices"]


@pytest.mark.parametrize(
    ("ready", "rule", "severity"),
    [
        ((False, False), "service.no_ready_endpoints", "error"),
        ((True, False), "service.some_endpoints_not_ready", "warning"),
        ((), "service.no_endpoints", "error"),
    ],
)
def test_endpoints_that_are_not_ready_or_not_there_are_findings(
    ready: tuple[bool, ...], rule: str, severity: str
) -> None:
    result = diagnosed_service(service(), endpoint_slice("web", ready), WEB_POD)
    assert (result["outcome"], rules(result)) == ("findings", [rule])
    assert result["findings"][0]["severity"] == severity


def test_a_selector_that_selects_nothing_is_shown_as_fields_on_both_sides() -> None:
    other = pod("web-0", labels={"app": "web"})
    result = diagnosed_service(service(selector={"app": "web-v2"}), endpoint_slice("web", ()), other)
    assert "service.selector_matches_no_pods" in rules(result)
    assert evidence(result, "service")["selector"] == {"app": "web-v2"}
    pods = evidence(result, "pods")
    assert (pods["in_namespace"], pods["matching"]) == (1, 0)
    assert pods["pods"] == [{"name": "web-0", "labels": {"app": "web"}, "matches": False, "ready": True}]


def test_pods_that_ended_and_pods_elsewhere_are_not_counted() -> None:
    ended = pod("done", labels={"app": "web"}, status={"phase": "Succeeded"})
    elsewhere = pod("web-0", "other", labels={"app": "web"})
    result = diagnosed_service(service(), endpoint_slice("web", ()), ended, elsewhere)
    assert evidence(result, "pods")["in_namespace"] == 0


def test_a_named_target_port_must_be_declared_and_a_number_need_not() -> None:
    named = service(ports=[{"port": 80, "targetPort": "http"}])
    assert rules(diagnosed_service(named, endpoint_slice("web", (True,)), WEB_POD)) == [
        "service.target_port_not_declared"
    ]
    ports = [{"name": "http", "containerPort": 8080}]
    declared = pod("web-0", labels={"app": "web"}, containers=[{"name": "app", "ports": ports}])
    assert rules(diagnosed_service(named, endpoint_slice("web", (True,)), declared)) == []


def test_a_service_without_selector_is_judged_by_its_endpoints() -> None:
    assert diagnosed_service(service(selector=None), endpoint_slice("web", (True,)), WEB_POD)["outcome"] == "healthy"


def test_an_external_name_has_no_endpoints_to_judge() -> None:
    assert diagnosed_service(service(type="ExternalName", externalName="db.example.com"))["outcome"] == "not_applicable"


@pytest.mark.parametrize("plural", ["endpointslices", "pods"])
def test_a_denied_read_is_a_gap_and_never_an_absence(plural: str) -> None:
    objects = (service(), endpoint_slice("web", (True,)), WEB_POD)
    result = diagnosed_service(*objects, forbidden=(Denial(kind=plural),))
    assert (result["outcome"], result["findings"]) == ("incomplete", [])
    assert [(entry["what"], entry["status"]) for entry in result["gaps"]] == [(plural, 403)]


def test_older_endpoints_serve_where_slices_may_not_be_read() -> None:
    result = diagnosed_service(service(), LEGACY, WEB_POD, forbidden=(Denial(kind="endpointslices"),))
    assert result["outcome"] == "incomplete"
    assert evidence(result, "endpoints")["ready"] == 1


def claim(phase: str = "Pending", **spec: Any) -> Object:
    return {"kind": "PersistentVolumeClaim", "metadata": meta("data"), "spec": spec, "status": {"phase": phase}}


def storage_class(mode: str = "Immediate", **metadata: Any) -> Object:
    return {
        "kind": "StorageClass",
        "metadata": meta("fast", None, **metadata),
        "provisioner": "csi.example.com",
        "volumeBindingMode": mode,
    }


def diagnosed_claim(*objects: Object, **rest: Any) -> Object:
    return structured(cluster(*objects, **rest), "diagnose_pvc", pvc="data")


USER = pod("db-0", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
FAILED = event("ProvisioningFailed", "PersistentVolumeClaim", "data", 'storageclass "fast" not found', 9)


def test_a_bound_claim_is_healthy() -> None:
    volume = {"kind": "PersistentVolume", "metadata": meta("pv-1", None), "status": {"phase": "Bound"}}
    result = diagnosed_claim(claim("Bound", volumeName="pv-1"), volume, USER)
    assert result["outcome"] == "healthy"
    assert evidence(result, "consumers")["count"] == 1


def test_waiting_for_the_first_consumer_is_explained_and_healthy() -> None:
    result = diagnosed_claim(claim(storageClassName="fast"), storage_class("WaitForFirstConsumer"))
    assert (result["outcome"], rules(result)) == ("healthy", ["pvc.waiting_for_first_consumer"])
    assert result["findings"][0]["severity"] == "info"
    assert evidence(result, "storage_class")["volumeBindingMode"] == "WaitForFirstConsumer"


def test_waiting_although_a_pod_uses_the_claim_is_not_waiting_for_one() -> None:
    result = diagnosed_claim(claim(storageClassName="fast"), storage_class("WaitForFirstConsumer"), USER)
    assert rules(result) == ["pvc.provisioning_pending"]


def test_a_failed_provisioning_is_quoted_from_its_event() -> None:
    result = diagnosed_claim(claim(storageClassName="fast"), storage_class(), events=(FAILED,))
    assert rules(result) == ["pvc.provisioning_failed"]
    assert 'storageclass "fast" not found' in result["findings"][0]["explanation"]
    assert evidence(result, "events")["events"][0]["count"] == 9


@pytest.mark.parametrize(
    ("objects", "rule"),
    [
        ((claim(storageClassName="fast"),), "pvc.storage_class_not_found"),
        ((claim(), storage_class()), "pvc.no_default_storage_class"),
        ((claim(storageClassName=""),), "pvc.provisioning_pending"),
        ((claim(storageClassName="fast"), storage_class()), "pvc.provisioning_pending"),
        ((claim("Lost"),), "pvc.lost"),
        ((claim("Bound", volumeName="gone"),), "pvc.volume_not_found"),
    ],
)
def test_each_state_of_a_claim_has_its_rule(objects: tuple[Object, ...], rule: str) -> None:
    result = diagnosed_claim(*objects)
    assert (result["outcome"], rules(result)) == ("findings", [rule])


def test_the_default_class_is_used_where_the_claim_names_none() -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    result = diagnosed_claim(claim(), storage_class("WaitForFirstConsumer", annotations=annotations))
    assert rules(result) == ["pvc.waiting_for_first_consumer"]


def test_a_class_that_may_not_be_read_is_a_gap_and_not_missing() -> None:
    result = diagnosed_claim(claim(storageClassName="fast"), forbidden=(Denial(kind="storageclasses"),))
    assert "pvc.storage_class_not_found" not in rules(result)
    assert result["gaps"][0]["what"] == "storageclasses/fast"


def test_unknown_consumers_lower_the_confidence() -> None:
    result = diagnosed_claim(
        claim(storageClassName="fast"),
        storage_class("WaitForFirstConsumer"),
        forbidden=(Denial(kind="pods", namespace="shop"),),
    )
    assert result["findings"][0]["confidence"] == "medium"
    assert result["outcome"] == "incomplete"
