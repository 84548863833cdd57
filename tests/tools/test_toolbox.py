from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from recorder.cluster import FakeCluster
from recorder.tools import Toolbox, armed
from recorder.tools.redact import MASK
from recorder.workspace import Workspace
from schemas.cases import Cluster, ContainerLogs
from schemas.policy import LIMITS
from tests.tools.fixtures import SCREEN, cluster, everything, meta, pod, toolbox

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("list_resources", {"kind": "pods"}),
    ("get_resource", {"kind": "pods", "name": "api-1", "namespace": "shop"}),
    ("get_logs", {"pod": "api-1", "namespace": "shop"}),
    ("get_events", {"kind": "pods", "name": "api-1", "namespace": "shop"}),
    ("helm_list_releases", {}),
    ("diagnose_pod", {"pod": "api-1", "namespace": "shop"}),
    ("diagnose_service", {"service": "web", "namespace": "shop"}),
    ("query_metrics", {"signal": "cpu", "namespace": "shop"}),
    ("search_logs", {"namespace": "shop"}),
)


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[name for name, _ in CALLS])
def test_every_read_gives_the_same_result_every_time(name: str, arguments: dict[str, Any]) -> None:
    first = toolbox(everything()).execute(name, arguments)
    assert first.ok
    assert toolbox(everything()).execute(name, arguments) == first


@pytest.mark.parametrize("name", ["diagnose_pod", "get_logs", "open_logs"])
def test_a_tool_that_was_left_out_is_refused_at_dispatch(name: str) -> None:
    outcome = toolbox(everything(), without=(name,)).execute(name, {"pod": "api-1", "namespace": "shop"})
    assert (outcome.ok, outcome.error_class) == (False, "not_armed")
    assert outcome.shown == f"ERROR: tool {name!r} is not armed for this policy"
    assert outcome.action is None


def test_a_write_is_refused_at_dispatch_and_is_never_ok() -> None:
    outcome = toolbox(everything()).execute("delete_resource", {"kind": "pods", "name": "api-1"})
    assert (outcome.ok, outcome.error_class) == (False, "write_refused")


def test_an_unknown_tool_is_an_unknown_tool() -> None:
    assert toolbox(cluster()).execute("kubectl", {}).error_class == "unknown_tool"


class Broken(FakeCluster):
    """A cluster whose reads end in a defect."""

    def get(self, *arguments: Any, **more: Any) -> dict[str, Any]:
        raise KeyError("something private")


def test_a_crash_inside_a_tool_names_its_type_only() -> None:
    reader = Broken(Cluster())
    box = Toolbox(reader, Workspace(SCREEN), armed("high", cluster=Cluster()), LIMITS["high"])
    outcome = box.execute("diagnose_pod", {"pod": "a", "namespace": "shop"})
    assert (outcome.ok, outcome.error_class) == (False, "internal")
    assert outcome.shown == "ERROR: the tool failed: KeyError"


def long_log(lines: int) -> Cluster:
    log = tuple(f"2026-07-27T07:00:00Z line {index} " + "x" * 40 for index in range(lines))
    return cluster(pod("a"), logs={"shop/a/app": ContainerLogs(current=log)})


LOG_CALL = {"pod": "a", "namespace": "shop", "tail_lines": 1000}


def test_a_long_log_is_recorded_whole_and_shown_cut_with_its_newest_lines() -> None:
    outcome = toolbox(long_log(400)).execute("get_logs", LOG_CALL)
    assert outcome.text.count("\n") == 399
    assert len(outcome.shown) == 8_000
    assert outcome.shown.endswith(outcome.text[-100:])
    assert outcome.shown.startswith("[earlier lines cut")
    assert outcome.redactions[-1].reason == f"size: 8000 of {len(outcome.text)} characters shown"


def test_the_low_tier_shows_head_and_tail_within_its_cap() -> None:
    outcome = toolbox(long_log(100), "low").execute("get_logs", LOG_CALL)
    assert len(outcome.shown) == 3_000
    assert outcome.text.startswith(outcome.shown[:1_000])
    assert outcome.text.endswith(outcome.shown[-1_500:])


def test_what_fits_is_shown_as_it_is_without_a_record() -> None:
    outcome = toolbox(long_log(3), "low").execute("get_logs", LOG_CALL)
    assert outcome.shown == outcome.text
    assert outcome.redactions == ()


@pytest.mark.parametrize("tier", ["low", "high"])
def test_a_large_manifest_stays_yaml(tier: Any) -> None:
    data = {f"key-{index}": "value: 'quoted' \"text\" # " + "y" * 300 for index in range(200)}
    fixture = cluster({"kind": "ConfigMap", "metadata": meta("big"), "data": data})
    outcome = toolbox(fixture, tier).execute("get_resource", {"kind": "cm", "name": "big", "namespace": "shop"})
    assert len(outcome.shown) <= int(LIMITS[tier].max_result_chars or 0)
    assert yaml.safe_load(outcome.shown)["metadata"]["name"] == "big"
    assert yaml.safe_load(outcome.text)["data"] == data
    assert outcome.redactions[-1].path == "$"
    assert outcome.object_uid == "uid-big"


def test_a_secret_is_masked_in_what_is_recorded_and_in_what_is_shown() -> None:
    secret = {"kind": "Secret", "metadata": meta("db"), "data": {"password": "aHVudGVyMg=="}}
    outcome = toolbox(cluster(secret)).execute("get_resource", {"kind": "secrets", "name": "db", "namespace": "shop"})
    assert "aHVudGVyMg==" not in outcome.text + outcome.shown
    assert yaml.safe_load(outcome.shown)["data"] == {"password": MASK}
    assert [(record.path, record.reason) for record in outcome.redactions] == [("data.password", "secret_data")]


def test_a_password_in_a_log_is_masked_in_reports_too() -> None:
    logs = {"shop/api-1/app": ContainerLogs(previous=("fatal: password=hunter2 refused",))}
    fixture = cluster(pod("api-1", status={"containerStatuses": [{"name": "app", "restartCount": 1}]}), logs=logs)
    text = toolbox(fixture).execute("diagnose_pod", {"pod": "api-1", "namespace": "shop"}).text
    assert f"fatal: password={MASK} refused" in text


def test_an_error_that_quotes_a_huge_argument_stays_short() -> None:
    outcome = toolbox(cluster(), "low").execute("list_resources", {"kind": "x" * 50_000})
    assert outcome.error_class == "unknown_kind"
    assert len(outcome.shown) <= 1_000


def test_a_note_is_added_in_the_form_of_the_result() -> None:
    box = toolbox(everything(), "low")
    manifest = box.execute("get_resource", {"kind": "pods", "name": "api-1", "namespace": "shop"}).shown
    noted = box.with_note("get_resource", manifest, "NOTE: 1 discarded")
    assert yaml.safe_load(noted) == yaml.safe_load(manifest)
    assert noted.endswith("# NOTE: 1 discarded\n")
    assert box.with_note("get_logs", "line", "NOTE: 1 discarded") == "line\nNOTE: 1 discarded"


_value = st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.lists(st.integers(), max_size=2)


@given(
    name=st.sampled_from([spec.name for spec in armed("high", cluster=everything())]),
    arguments=st.dictionaries(
        st.sampled_from(["kind", "name", "namespace", "pod", "view", "pattern", "tail_lines", "service", "signal"]),
        _value | st.sampled_from(["pods", "shop", "api-1", "*", "nodes", "cpu"]),
    ),
)
def test_no_arguments_whatever_crash_a_tool(name: str, arguments: dict[str, Any]) -> None:
    outcome = toolbox(everything()).execute(name, arguments)
    assert outcome.error_class != "internal"
    assert outcome.ok == (outcome.error_class is None)
    assert outcome.ok != outcome.shown.startswith("ERROR: ")


_junk = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda part: (
        st.lists(part, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "state",
                    "lastState",
                    "terminated",
                    "conditions",
                    "containerStatuses",
                    "type",
                    "status",
                    "exitCode",
                ]
            ),
            part,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(status=_junk, spec=_junk)
def test_no_manifest_whatever_crashes_a_pod_report(status: Any, spec: Any) -> None:
    fixture = cluster({"kind": "Pod", "metadata": meta("a"), "spec": spec, "status": status})
    box = toolbox(fixture)
    for name, arguments in (
        ("diagnose_pod", {"pod": "a", "namespace": "shop"}),
        ("list_resources", {"kind": "pods"}),
        ("get_resource", {"kind": "pods", "name": "a", "namespace": "shop"}),
    ):
        outcome = box.execute(name, arguments)
        assert outcome.ok, outcome.text
