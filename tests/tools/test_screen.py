import msgspec
import pytest

from recorder.cluster import FakeCluster
from recorder.workspace import (
    Action,
    DrillDown,
    Navigate,
    OpenDescribe,
    OpenLogs,
    ScreenError,
    SetFilter,
    Workspace,
    apply,
    describe,
)
from schemas.cases import Denial, Interaction, Pane, Selection
from tests.tools.fixtures import SCREEN, cluster, node, pod, pulling, toolbox

START = Interaction(
    focused_pane=Pane(kind="pods", scope="shop", filter="web", selected=Selection(kind="pods", name="web-1")),
    kube_context="eval-fixture",
    context_epoch=1,
)
READER = FakeCluster(cluster(pod("web-1"), pod("web-1", "other"), pod("db-0"), node()))


@pytest.mark.parametrize(
    ("action", "pane", "message"),
    [
        (Navigate("deploy"), Pane(kind="deployments", scope="shop", filter="web"), "navigated to deployments"),
        (Navigate("pods", "other"), Pane(kind="pods", scope="other", filter="web"), "navigated to pods"),
        (Navigate("nodes", "shop"), Pane(kind="nodes", scope="*", filter="web"), "navigated to nodes"),
        (SetFilter("db"), msgspec.structs.replace(START.focused_pane, filter="db"), "filter set to db"),
        (SetFilter(""), msgspec.structs.replace(START.focused_pane, filter=None), "filter cleared"),
        (
            OpenLogs("db-0", "shop"),
            Pane(
                kind="pods",
                scope="shop",
                selected=Selection(kind="pods", name="db-0", namespace="shop", uid="uid-db-0"),
            ),
            "opened logs for db-0",
        ),
        (
            OpenDescribe("no", "node-a", "shop"),
            Pane(kind="nodes", scope="*", selected=Selection(kind="nodes", name="node-a", uid="uid-node-a")),
            "opened describe for node-a",
        ),
        (
            DrillDown("db-0"),
            Pane(
                kind="pods",
                scope="shop",
                filter="web",
                selected=Selection(kind="pods", name="db-0", namespace="shop", uid="uid-db-0"),
            ),
            "drilled into db-0",
        ),
    ],
)
def test_each_action_changes_the_focused_pane_and_nothing_else(action: Action, pane: Pane, message: str) -> None:
    after = apply(START, action, READER)
    assert after == msgspec.structs.replace(START, focused_pane=pane)
    assert describe(action) == message


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (Navigate("widgets"), "unknown kind"),
        (OpenLogs("nope", "shop"), 'API 404: pods "nope" not found'),
        (OpenLogs("db-0", "shop", "nope"), "not valid for pod"),
        (OpenDescribe("pods", "db-0"), "give the 'namespace' argument"),
        (OpenDescribe("pods", "db-0", "other"), "not found"),
        (DrillDown("nope"), "not found"),
    ],
)
def test_what_is_not_there_cannot_be_opened(action: Action, says: str) -> None:
    with pytest.raises(ScreenError, match=says):
        apply(START, action, READER)


def test_without_a_cluster_names_are_taken_as_they_come() -> None:
    after = apply(START, OpenLogs("anything", "anywhere"))
    assert after.focused_pane.selected == Selection(kind="pods", name="anything", namespace="anywhere")


def test_a_row_over_all_namespaces_must_be_the_only_one_of_its_name() -> None:
    wide = Interaction(focused_pane=Pane(kind="pods", scope="*"))
    selected = apply(wide, DrillDown("db-0"), READER).focused_pane.selected
    assert selected is not None
    assert selected.namespace == "shop"
    with pytest.raises(ScreenError, match=r"several namespaces \(other, shop\)"):
        apply(wide, DrillDown("web-1"), READER)
    assert apply(wide, DrillDown("other/web-1"), READER).focused_pane.selected is not None


def test_drilling_into_a_namespace_shows_its_pods() -> None:
    reader = FakeCluster(cluster({"kind": "Namespace", "metadata": {"name": "shop"}}))
    wide = Interaction(focused_pane=Pane(kind="namespaces", scope="*"))
    assert apply(wide, DrillDown("shop"), reader).focused_pane == Pane(kind="pods", scope="shop")


def test_the_log_pane_of_a_pod_that_never_started_opens() -> None:
    reader = FakeCluster(cluster(pod("web-1", status=pulling())))
    assert apply(START, OpenLogs("web-1", "shop"), reader).focused_pane.selected is not None


def test_a_denied_read_is_denied_on_the_screen_too() -> None:
    rules = (Denial(kind="pods", namespace="shop", subresource="log"),)
    reader = FakeCluster(cluster(pod("web-1"), forbidden=rules))
    with pytest.raises(ScreenError, match="pods/log is forbidden"):
        apply(START, OpenLogs("web-1", "shop"), reader)
    assert apply(START, OpenDescribe("pods", "web-1", "shop"), reader).focused_pane.selected is not None


def test_a_refused_action_is_recorded_and_leaves_the_screen_as_it_was() -> None:
    workspace = Workspace(START, READER)
    record = workspace.perform(OpenLogs("nope", "shop"), "open_logs", {"pod": "nope"})
    assert not record.ok
    assert record.message.startswith("ERROR: ")
    assert workspace.interaction == START
    assert workspace.records == [record]


def test_a_reset_restores_the_authored_screen_and_forgets_the_actions() -> None:
    workspace = Workspace(START, READER)
    workspace.perform(Navigate("nodes"), "navigate", {"view": "nodes"})
    assert workspace.interaction != START
    workspace.reset(START)
    assert (workspace.interaction, workspace.records) == (START, [])


def test_a_screen_tool_gives_an_action_and_not_a_read() -> None:
    box = toolbox(cluster(pod("web-1")))
    outcome = box.execute("open_describe", {"kind": "pods", "name": "web-1", "namespace": "shop"})
    assert (outcome.ok, outcome.shown, outcome.object_uid) == (True, "opened describe for web-1", None)
    assert outcome.action is not None
    assert outcome.action.tool == "open_describe"
    assert outcome.action.arguments == {"kind": "pods", "name": "web-1", "namespace": "shop"}
    assert box.execute("list_resources", {"kind": "pods"}).action is None


def test_a_null_argument_is_dropped_from_the_action() -> None:
    outcome = toolbox(cluster(node())).execute("open_describe", {"kind": "nodes", "name": "node-a", "namespace": None})
    assert outcome.action is not None
    assert outcome.action.arguments == {"kind": "nodes", "name": "node-a"}


@pytest.mark.parametrize(
    ("tool", "arguments", "error_class"),
    [
        ("open_logs", {"pod": "nope", "namespace": "shop"}, "screen"),
        ("open_logs", {"pod": "shop/web-1", "namespace": "shop"}, "bad_request"),
        ("navigate", {"view": " "}, "missing_argument"),
    ],
)
def test_a_screen_tool_that_fails_is_an_action_that_failed(
    tool: str, arguments: dict[str, str], error_class: str
) -> None:
    box = toolbox(cluster(pod("web-1")))
    outcome = box.execute(tool, arguments)
    assert (outcome.ok, outcome.error_class) == (False, error_class)
    assert outcome.action is not None
    assert not outcome.action.ok
    assert box.workspace.interaction == SCREEN


def test_clearing_the_filter_takes_an_empty_pattern() -> None:
    box = toolbox(cluster())
    assert box.execute("set_filter", {"pattern": "web"}).shown == "filter set to web"
    assert box.execute("set_filter", {"pattern": ""}).shown == "filter cleared"
    assert box.workspace.interaction.focused_pane.filter is None
