"""Everything wrong in a case is refused before anything runs, with file, path, value and the way out."""

from typing import Any

import pytest

from packs.loader import load_case
from schemas.errors import CaseError
from tests.packs.conftest import GOOD, JOURNEY, Author

POD = "stimulus/cluster/objects/0"
PANE = "stimulus/interaction/focused_pane"
POD_DATA = GOOD["stimulus"]["cluster"]["objects"][0]
LOCATION = "rubric/expected_evidence/0/0"

REFUSED: list[tuple[str, str, Any, str]] = [
    ("an id with capitals", "id", "Stopped", "id: is no case id ('Stopped')"),
    ("an id that is too long", "id", "a" * 64, "id: is no case id"),
    ("an id that is a path", "id", "../etc", "id: is no case id ('../etc')"),
    ("an id that ends in a hyphen", "id", "queue-", "id: is no case id"),
    ("a missing id", "id", ..., "id: missing"),
    ("a reserved key", f"{POD}/metadata/annotations", {"$date": "x"}, "annotations.$date: the key is reserved"),
    ("an unknown key of a case", "rubrics", {}, "rubrics: unknown key ('rubrics') - did you mean rubric?"),
    ("an unknown key of a stimulus", "stimulus/screen", "pods", "stimulus.screen: unknown key"),
    ("an unknown key of an interaction", "stimulus/interaction/pane", {}, "stimulus.interaction.pane: unknown key"),
    ("an unknown key of a pane", f"{PANE}/filters", "x", "focused_pane.filters: unknown key"),
    ("an unknown key of a selection", f"{PANE}/selected/id", "x", "selected.id: unknown key"),
    ("an unknown key of a cluster", "stimulus/cluster/pods", [], "stimulus.cluster.pods: unknown key"),
    ("an unknown key of a rubric", "rubric/must_say", [["x"]], "rubric.must_say: unknown key"),
    ("an unknown key of evidence", f"{LOCATION}/contain", "x", "did you mean contains?"),
    ("an unknown key of pins", "pins/passing", ["x"], "pins.passing: unknown key ('passing') - did you mean pass?"),
    ("an unknown key of logs", "stimulus/cluster/logs/shop~queue-0~queue/last", [], "last: unknown key"),
    ("a blank question", "stimulus/question", "  ", "stimulus.question: must not be blank"),
    ("a number as question", "stimulus/question", 42, "stimulus.question: must be text, not a number (42)"),
    ("a missing focused pane", PANE, ..., "stimulus.interaction.focused_pane: missing"),
    ("a pane without scope", f"{PANE}/scope", ..., "focused_pane.scope: missing"),
    ("a nameless selection", f"{PANE}/selected/name", ..., "selected.name: missing"),
    ("a singular pane kind", f"{PANE}/kind", "pod", "focused_pane.kind: a pane shows the plural of a kind ('pod')"),
    ("a short pane kind", f"{PANE}/kind", "po", "- write pods"),
    ("a boolean epoch", "stimulus/interaction/context_epoch", True, "context_epoch: must be a whole number"),
    ("a negative epoch", "stimulus/interaction/context_epoch", -1, "context_epoch: must be at least 0 (-1)"),
    ("a blank context", "stimulus/interaction/kube_context", "", "kube_context: must not be blank"),
    ("a missing root cause", "rubric/root_cause", ..., "rubric.root_cause: missing"),
    ("no required group", "rubric/must_mention", [], "rubric.must_mention: has 0 of at least 1 entries"),
    ("an empty group", "rubric/must_mention", [[]], "rubric.must_mention[0]: has 0 of at least 1 entries"),
    ("a keyword that is no group", "rubric/must_mention", ["x"], '- write ["x"]'),
    ("a number as keyword", "rubric/must_mention", [[137]], "must_mention[0][0]: must be text, not a number (137)"),
    ("a boolean as keyword", "rubric/must_mention", [[True]], "must_mention[0][0]: must be text, not a boolean"),
    ("a keyword without letters", "rubric/must_mention", [["--"]], "would match nothing"),
    (
        "a control that forbids nothing",
        "rubric",
        {**GOOD["rubric"], "root_cause": "none", "must_not_mention": None},
        "rubric.must_not_mention: missing: a control that forbids nothing",
    ),
    ("no evidence", "rubric/expected_evidence", [], "rubric.expected_evidence: has 0 of at least 1"),
    ("evidence without tool", f"{LOCATION}/tool", ..., "expected_evidence[0][0].tool: missing"),
    ("evidence that says nothing", f"{LOCATION}/contains", ..., "expected_evidence[0][0]: says nothing"),
    ("evidence on everything", f"{LOCATION}/args", {}, "args: is empty, so it would match everything"),
    ("evidence with a list argument", f"{LOCATION}/args", {"pod": ["a"]}, "args.pod: must be text, a number"),
    ("a budget in a scenario", "rubric/max_tool_calls", 3, "rubric.max_tool_calls: unknown key"),
    ("no pins", "pins", ..., "pins: missing"),
    ("no passing pin", "pins/pass", [], "pins.pass: has 0 of at least 1 entries"),
    ("no failing pin", "pins/fail", ..., "pins.fail: missing"),
    ("a blank pin", "pins/fail", [" "], "pins.fail[0]: must not be blank"),
    ("an object without kind", f"{POD}/kind", ..., "objects[0].kind: must be text, not nothing"),
    ("an object of an unknown kind", f"{POD}/kind", "Pods", "objects[0].kind: the fake cluster does not serve"),
    ("an object without name", f"{POD}/metadata/name", ..., "objects[0].metadata.name: must be text"),
    ("an object without namespace", f"{POD}/metadata/namespace", ..., "objects[0].metadata.namespace: must be text"),
    (
        "a label that is a number",
        f"{POD}/metadata/labels",
        {"version": 2},
        "labels.version: must be text, not a number (2)",
    ),
    (
        "an environment value that is a number",
        f"{POD}/spec/containers/0/env",
        [{"name": "PORT", "value": 80}],
        "containers[0].env[0].value: must be text, not a number (80)",
    ),
    (
        "a quantity that is a number",
        f"{POD}/spec/containers/0/resources",
        {"limits": {"cpu": 1}},
        "limits.cpu: must be",
    ),
    ("an argument that is a number", f"{POD}/spec/containers/0/args", ["--port", 80], "args[1]: must be text"),
    (
        "an object that stands twice",
        "stimulus/cluster/objects",
        GOOD["stimulus"]["cluster"]["objects"] * 2,
        "objects[1]: the object stands at stimulus.cluster.objects[0] too ('Pod/shop/queue-0')",
    ),
    (
        "a Service selector that is a number",
        "stimulus/cluster/objects",
        [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "a", "namespace": "b"},
                "spec": {"selector": {"v": 2}},
            }
        ],
        "spec.selector.v: must be text",
    ),
    ("an event on nothing", "stimulus/cluster/events/0/involvedObject", ..., "involvedObject: must be a mapping"),
    ("an event without message", "stimulus/cluster/events/0/message", ..., "events[0].message: must be text"),
    ("a log key without container", "stimulus/cluster/logs", {"shop/queue-0": {}}, "is no log key ('shop/queue-0')"),
    ("a log key with four parts", "stimulus/cluster/logs", {"a/b/c/d": {}}, "- write namespace/pod/container"),
    ("a log key with a blank part", "stimulus/cluster/logs", {"a//c": {}}, "is no log key"),
    (
        "a log line that is a number",
        "stimulus/cluster/logs",
        {"a/b/c": {"current": [1]}},
        "current[0]: a log line must",
    ),
    ("a log line with a break", "stimulus/cluster/logs", {"a/b/c": {"current": ["x\ny"]}}, "holds a line break"),
    (
        "a future timestamp in a manifest",
        f"{POD}/status/startTime",
        "2026-07-27T08:00:01Z",
        "objects[0].status.startTime: lies after 2026-07-27T08:00:00Z",
    ),
    ("a future timestamp in another zone", f"{POD}/status/startTime", "2026-07-27T07:00:00-02:00", "lies after"),
    ("a future timestamp without zone", f"{POD}/status/startTime", "2026-07-27 09:00:00", "lies after"),
    (
        "a future timestamp in a log line",
        "stimulus/cluster/logs",
        {"a/b/c": {"current": ["2027-01-01T00:00:00Z x"]}},
        "current[0]: lies after",
    ),
    (
        "a future timestamp in an annotation",
        f"{POD}/metadata/annotations",
        {"at": "2026-08-01T00:00:00Z"},
        "lies after",
    ),
    (
        "a timestamp that is none",
        f"{POD}/status/startTime",
        "2026-02-31T00:00:00Z",
        "looks like a timestamp and is none",
    ),
    ("a denial of a singular kind", "stimulus/cluster/forbidden", [{"kind": "pod"}], "forbidden[0].kind: would deny"),
    ("a denial of an unknown kind", "stimulus/cluster/forbidden", [{"kind": "widgets"}], "would deny nothing"),
    (
        "a denial of an unread subresource",
        "stimulus/cluster/forbidden",
        [{"kind": "pods", "subresource": "exec"}],
        "forbidden[0].subresource: would deny nothing",
    ),
    (
        "denied logs of nodes",
        "stimulus/cluster/forbidden",
        [{"kind": "nodes", "subresource": "log"}],
        "would deny",
    ),
    (
        "a denial of nodes in a namespace",
        "stimulus/cluster/forbidden",
        [{"kind": "nodes", "namespace": "a"}],
        "forbidden[0].namespace: would deny nothing",
    ),
    ("a denial without kind", "stimulus/cluster/forbidden", [{"name": "a"}], "forbidden[0].kind: missing"),
    (
        "an unknown signal",
        "stimulus/cluster/metrics",
        [{"signal": "cpus", "namespace": "a", "unit": "cores", "points": []}],
        "signal: is no signal",
    ),
    (
        "a sample that is none",
        "stimulus/cluster/metrics",
        [{"signal": "cpu", "namespace": "a", "unit": "cores", "points": [["2026-07-27T07:00:00Z", True]]}],
        "is no sample",
    ),
    (
        "a record without time",
        "stimulus/cluster/log_search",
        [{"time": "yesterday", "namespace": "a", "pod": "b", "text": "c"}],
        "time: is no RFC 3339 timestamp ('yesterday')",
    ),
]

REFUSED_JOURNEYS: list[tuple[str, str, Any, str]] = [
    ("a journey of one turn", "stimulus/turns", [{"user": "a"}], "stimulus.turns: has 1 of at least 2 entries"),
    ("a turn without words", "stimulus/turns/0/user", ..., "stimulus.turns[0].user: missing"),
    ("an unknown key of a turn", "stimulus/turns/0/ask", "x", "stimulus.turns[0].ask: unknown key"),
    ("fewer graded turns than turns", "stimulus/turns", [{"user": "a"}] * 3, "rubric.turns: has 2 turns and stimulus"),
    ("a budget of zero", "rubric/turns/0/max_tool_calls", 0, "max_tool_calls: must be at least 1 (0)"),
    ("a boolean budget", "rubric/turns/0/max_tool_calls", True, "max_tool_calls: must be a whole number"),
    ("a target that is everything", "rubric/turns/0/forbidden_targets", [{}], "would match everything"),
    ("a turn without pins", "pins", JOURNEY["pins"][:1], "pins: has 1 entries for 2 turns"),
    ("a turn without failing pin", "pins/1/fail", ..., "pins[1].fail: missing"),
    ("a question in a journey", "stimulus/question", "a", "stimulus.question: unknown key"),
]


@pytest.mark.parametrize(("path", "value", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_scenario_is_refused_that_has(author: Author, path: str, value: Any, says: str) -> None:
    _refused(author, path, value, says, GOOD)


@pytest.mark.parametrize(
    ("path", "value", "says"), [row[1:] for row in REFUSED_JOURNEYS], ids=[row[0] for row in REFUSED_JOURNEYS]
)
def test_a_journey_is_refused_that_has(author: Author, path: str, value: Any, says: str) -> None:
    _refused(author, path, value, says, JOURNEY)


def _refused(author: Author, path: str, value: Any, says: str, document: dict[str, Any]) -> None:
    author.load(document)
    with pytest.raises(CaseError) as refusal:
        author.broken(path, value, document)
    message = str(refusal.value)
    assert message.startswith(f"{author.folder / 'case.yaml'}: ")
    assert says in message
    assert " - " in message


def test_an_unquoted_future_timestamp_is_refused_like_a_quoted_one(author: Author) -> None:
    text = (
        author.write(GOOD).read_text().replace("startTime: '2026-07-27T07:00:00Z'", "startTime: 2026-07-27T08:00:01Z")
    )
    file = author.text(text)
    with pytest.raises(CaseError, match=r"startTime: lies after .*2026-07-27T08:00:01"):
        load_case(file)


@pytest.mark.parametrize("word", ["no", "1.10", "0755", "22:22"])
def test_an_unquoted_word_that_yaml_changes_is_refused_where_text_is_meant(author: Author, word: str) -> None:
    file = author.text(author.write(GOOD).read_text().replace("app: queue", f"app: {word}"))
    with pytest.raises(CaseError, match=r"objects\[0\]\.metadata\.labels\.app: .*quote it"):
        load_case(file)
