"""The checks find what is unfair or broken in a case that loads, and say what to do about it."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packs.check import (
    Problem,
    ToolAnswer,
    check_case,
    check_evidence,
    check_fixture,
    check_names,
    check_pins,
    mentions,
    shows,
    words,
)
from schemas.cases import Case, Evidence
from tests.packs.conftest import GOOD, Author

OTHER = "00000000-0000-4000-8000-000000000000"
POD = GOOD["stimulus"]["cluster"]["objects"][0]
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "queue", "namespace": "shop", "uid": OTHER},
    "spec": {"selector": {"app": "queue"}},
}
SLICE = {
    "apiVersion": "discovery.k8s.io/v1",
    "kind": "EndpointSlice",
    "metadata": {
        "name": "queue-x",
        "namespace": "shop",
        "uid": OTHER,
        "labels": {"kubernetes.io/service-name": "queue"},
    },
    "endpoints": [],
}


def _owned(**owner: str) -> list[dict[str, Any]]:
    return [{**POD, "metadata": {**POD["metadata"], "ownerReferences": [owner]}}]


def test_a_sound_case_has_no_problem(author: Author) -> None:
    case = author.load(GOOD)
    assert (
        check_case(case, lambda *_: ToolAnswer(True, "no space left on device"), _grade)
        == [Problem("stopped-queue", "rubric turn 1, expected_evidence[0]", "")][:0]
    )


def _grade(case: Case, turn: int, answer: str) -> str | None:
    return None if "disk" in answer else "no disk"


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("stimulus/cluster/objects/0/metadata/labels", {"state": "disk-is-full"}, "'state=disk-is-full' gives away"),
        ("stimulus/cluster/objects/0/spec/containers/0/name", "DiskIsFull", "'DiskIsFull' gives away 'disk is full'"),
        ("stimulus/cluster/objects/0/spec/containers/0/image", "x/y:full", "gives away 'full'"),
        ("stimulus/cluster/logs", {"shop/queue-0/disk": {}}, "'shop/queue-0/disk' gives away 'disk'"),
        ("stimulus/interaction/focused_pane/scope", "disk", "'disk' gives away 'disk'"),
        ("stimulus/question", "Why is no space left?", "the question already says 'no space left'"),
    ],
)
def test_a_name_or_question_that_tells_the_answer_is_found(author: Author, path: str, value: Any, says: str) -> None:
    assert check_names(author.load(GOOD)) == []
    assert says in " ".join(problem.message for problem in check_names(author.broken(path, value)))


def test_a_label_that_kubernetes_writes_is_nobody_s_hint(author: Author) -> None:
    labels = {"disk.kubernetes.io/is-full": "disk"}
    assert check_names(author.broken("stimulus/cluster/objects/0/metadata/labels", labels)) == []


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("stimulus/cluster/objects/0/metadata/uid", ..., "has no metadata.uid"),
        ("stimulus/cluster/objects", _owned(kind="Job", name="a"), "has an ownerReference without uid"),
        ("stimulus/cluster/objects", _owned(kind="Job", name="a", uid=OTHER), "Job/a, which is not in the fixture"),
        (
            "stimulus/cluster/objects",
            _owned(kind="Pod", name="queue-0", uid=OTHER),
            "another uid for its owner queue-0",
        ),
        ("stimulus/cluster/events/0/involvedObject/name", "queue-1", "an object that is not in the fixture"),
        ("stimulus/cluster/events/0/involvedObject/uid", OTHER, "another uid than its object, so no tool lists it"),
        ("stimulus/cluster/logs", {"shop/queue-1/queue": {}}, "belong to a Pod that is not in the fixture"),
        ("stimulus/cluster/logs", {"shop/queue-0/main": {}}, "none of the Pod's containers (queue)"),
        ("stimulus/cluster/objects", [POD, SERVICE], "has no EndpointSlice"),
        ("stimulus/interaction/focused_pane/selected/name", "queue-1", "selects pods/queue-1, which is not in"),
        ("stimulus/interaction/focused_pane/selected/uid", OTHER, "selects queue-0 with another uid"),
    ],
)
def test_a_fixture_that_contradicts_itself_is_found(author: Author, path: str, value: Any, says: str) -> None:
    assert check_fixture(author.load(GOOD)) == []
    assert says in " ".join(problem.message for problem in check_fixture(author.broken(path, value)))


def test_a_service_with_its_slice_is_whole(author: Author) -> None:
    assert check_fixture(author.broken("stimulus/cluster/objects", [POD, SERVICE, SLICE])) == []


def test_every_alternative_of_evidence_is_tried_with_its_own_arguments(author: Author) -> None:
    dead = {"tool": "get_events", "args": {"name": "queue-9"}, "contains": "no space left on device"}
    live = GOOD["rubric"]["expected_evidence"][0][0]
    case = author.broken("rubric/expected_evidence", [[live, dead]])

    def run(_: Case, tool: str, args: dict[str, Any]) -> ToolAnswer:
        return ToolAnswer(True, "no space left on device" if args.get("pod") == "queue-0" else "(no events)")

    (problem,) = check_evidence(case, run)
    assert problem.where == "rubric turn 1, expected_evidence[0]"
    assert (
        "get_events(name=queue-9) does not show 'no space left on device'; it starts with '(no events)'"
        in problem.message
    )


def test_evidence_from_a_refused_read_is_none(author: Author) -> None:
    (problem,) = check_evidence(author.load(GOOD), lambda *_: ToolAnswer(False, "ERROR: no space left on device"))
    assert "answers with an error (ERROR: no space left on device)" in problem.message


def test_a_group_that_only_a_diagnose_tool_meets_is_found(author: Author) -> None:
    only = {"tool": "diagnose_pod", "args": {"pod": "queue-0", "namespace": "shop"}, "contains": "x"}
    (problem,) = check_evidence(author.broken("rubric/expected_evidence", [[only]]), lambda *_: ToolAnswer(True, "x"))
    assert "only diagnose tools reach it" in problem.message


def test_a_pin_that_is_judged_the_other_way_is_found(author: Author) -> None:
    case = author.load(GOOD)
    passing = check_pins(case, lambda *_: "missing 'disk is full'")
    assert [problem.where for problem in passing] == ["pins turn 1, pass[0]"]
    assert "should pass and fails: missing 'disk is full'" in passing[0].message
    failing = check_pins(case, lambda *_: None)
    assert [problem.where for problem in failing] == ["pins turn 1, fail[0]"]


NESTED = """
status:
  containerStatuses:
  - name: a
    ready: true
    restartCount: 2
  - name: b
    ready: false
    restartCount: 0
metadata:
  labels:
    app.kubernetes.io/name: web
    app: web-v2
"""


@pytest.mark.parametrize(
    ("fields", "met"),
    [
        ({"status.containerStatuses.ready": True}, True),
        ({"status.containerStatuses.ready": True, "status.containerStatuses.restartCount": 2}, True),
        ({"status.containerStatuses.ready": True, "status.containerStatuses.restartCount": 0}, False),
        ({"status.containerStatuses.restartCount": True}, False),
        ({"metadata.labels.app.kubernetes.io/name": "web"}, True),
        ({"metadata.labels.app": "web"}, False),
        ({"status.phase": "Running"}, False),
    ],
)
def test_fields_are_met_at_their_path_and_in_one_element_of_a_list(fields: dict[str, Any], met: bool) -> None:
    assert shows(Evidence(tool="get_resource", args={"kind": "pods"}, fields=fields), NESTED) is met


def test_a_result_that_is_no_yaml_meets_no_fields() -> None:
    location = Evidence(tool="t", args={"a": "b"}, fields={"a": 1})
    assert not shows(location, "a: [")
    assert shows(msgspec.structs.replace(location, fields={}, contains="["), "a: [")


def test_names_are_cut_into_words_where_people_see_words() -> None:
    assert words("OOMKilled v9-typo nginxProbe2Fails") == ["oom", "killed", "v9", "typo", "nginx", "probe2", "fails"]


@given(st.lists(st.text("abz09", min_size=1, max_size=5), min_size=1, max_size=4))
def test_a_keyword_is_found_however_its_words_are_joined(parts: list[str]) -> None:
    for joined in ("".join(parts), "-".join(parts), " ".join(parts)):
        assert mentions(f"x {'_'.join(parts)} y", joined)
        assert not mentions(f"x{'_'.join(parts)}y", joined)
