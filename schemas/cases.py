"""What is asked (stimulus) and what it is measured by (rubric).

A case is a conversation of one or more turns over one fixture cluster; a scenario is a case of one turn. Everything the
model could perceive is in the stimulus, everything only a grader reads is in the rubric, and each has its own digest.
Sources: design (Cases), evaluation semantics 1 and 2.
"""

from datetime import date, datetime
from typing import Any, Literal

import msgspec

from schemas.digest import content_digest, from_json, to_json

ANCHOR = "2026-07-27T08:00:00Z"
"""The authoring instant: the frozen clock of every fixture. No fixture timestamp may lie after it."""

CaseKind = Literal["scenario", "journey"]


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    pass


class Selection(_Data, frozen=True):
    """The object a pane has selected; `kind` is the plural, lowercase."""

    kind: str
    name: str
    namespace: str | None = None
    uid: str | None = None


class Pane(_Data, frozen=True):
    """One pane of the screen: `scope` is a namespace, or `*` for all."""

    kind: str
    scope: str
    filter: str | None = None
    selected: Selection | None = None


class Interaction(_Data, frozen=True):
    """The screen as the model is told of it."""

    focused_pane: Pane
    kube_context: str | None = None
    context_epoch: int = 0
    secondary_pane: Pane | None = None
    timeline_cursor: str | None = None


class ContainerLogs(_Data, frozen=True):
    """Lines of the running and of the previous instance of one container."""

    current: tuple[str, ...] = ()
    previous: tuple[str, ...] = ()


class Denial(_Data, frozen=True):
    """One denied read; an omitted key is a wildcard. `kind` is a plural that the fake cluster serves."""

    kind: str
    namespace: str | None = None
    name: str | None = None
    subresource: str | None = None


class MetricSeries(_Data, frozen=True):
    """Samples a metrics backend would return: `points` are (RFC 3339 time, value)."""

    signal: str
    namespace: str
    unit: str
    points: tuple[tuple[str, float], ...]
    workload: str | None = None
    pod: str | None = None


class LogRecord(_Data, frozen=True):
    """One line that a log search backend would return."""

    time: str
    namespace: str
    pod: str
    text: str
    workload: str | None = None


class Cluster(_Data, frozen=True):
    """The fixture: manifests and events as the API server stores them, logs by `namespace/pod/container`.

    `metrics` and `log_search` are None where the cluster has no such backend.
    """

    objects: tuple[dict[str, Any], ...] = ()
    events: tuple[dict[str, Any], ...] = ()
    logs: dict[str, ContainerLogs] = {}
    forbidden: tuple[Denial, ...] = ()
    metrics: tuple[MetricSeries, ...] | None = None
    log_search: tuple[LogRecord, ...] | None = None


class StimulusTurn(_Data, frozen=True):
    """What the user says; `interaction` restates the screen where the operator moved it."""

    user: str
    interaction: Interaction | None = None


class Stimulus(_Data, frozen=True):
    """Everything that the model could perceive."""

    interaction: Interaction
    turns: tuple[StimulusTurn, ...]
    cluster: Cluster


class Evidence(_Data, frozen=True):
    """One location where a fact can be read.

    The call is `tool` with `args` (extra arguments are fine). `contains` is a case-sensitive substring of the result.
    `fields` matches a structured (YAML) result instead of or beside it: dotted path to expected scalar, lists searched
    through, so that advice text can never meet it. `error` asks for the refusal itself: the call must have failed with
    that error class, as a denied read does with `forbidden`; a location without it is never met by a failed call.
    """

    tool: str
    args: dict[str, Any]
    contains: str | None = None
    fields: dict[str, Any] = {}
    error: str | None = None


class Bound(_Data, frozen=True):
    """A claim with its subject: one of `claim` must be said of one of `subject`.

    `others` are the objects that it could be said of instead. If `exclusive`, saying it of one of them in the same
    sentence fails the answer, whatever else it says.
    """

    subject: tuple[str, ...]
    others: tuple[str, ...]
    claim: tuple[str, ...]
    exclusive: bool = True


class RubricTurn(_Data, frozen=True):
    """How one turn is graded.

    `must_mention` and `must_not_mention` are groups of alternatives; groups are ANDed. `bound` is groups of alternative
    bound claims: of each group one must hold, and none may be said of the wrong object. `symptom` groups restate what
    the question already said: they are reported, and never fail an answer whose cause groups hold.
    `expected_evidence` is groups of alternative locations.
    """

    must_mention: tuple[tuple[str, ...], ...]
    must_not_mention: tuple[tuple[str, ...], ...] = ()
    symptom: tuple[tuple[str, ...], ...] = ()
    expected_evidence: tuple[tuple[Evidence, ...], ...] = ()
    max_tool_calls: int | None = None
    forbidden_targets: tuple[dict[str, Any], ...] = ()
    bound: tuple[tuple[Bound, ...], ...] = ()


class Rubric(_Data, frozen=True):
    """Everything that only a grader reads. `root_cause` is a label; the literal `none` means negative control."""

    root_cause: str
    turns: tuple[RubricTurn, ...]


class Pins(_Data, frozen=True):
    """Answers to one turn whose verdict on claims is known: `passing` must pass, `failing` must fail."""

    passing: tuple[str, ...]
    failing: tuple[str, ...]


class Case(_Data, frozen=True):
    """One case as loaded. `pins` has one entry a turn; `notes` say where and why a case departs from the reference."""

    id: str
    kind: CaseKind
    stimulus: Stimulus
    rubric: Rubric
    pins: tuple[Pins, ...]
    notes: str = ""


def plain(value: Any) -> Any:
    """A struct as plain data with its timestamps intact: what digests are taken over."""
    return msgspec.to_builtins(value, builtin_types=(datetime, date))


def stimulus_digest(stimulus: Stimulus) -> str:
    """SHA-256 over the type-tagged content of a stimulus."""
    return content_digest(["stimulus", plain(stimulus)])


def rubric_digest(rubric: Rubric) -> str:
    """SHA-256 over the type-tagged content of a rubric."""
    return content_digest(["rubric", plain(rubric)])


def to_wire(value: Stimulus | Rubric) -> dict[str, Any]:
    """JSON-ready form for `run_started`, from which `stimulus_from_wire` and `rubric_from_wire` read the same value."""
    wire = to_json(plain(value))
    assert isinstance(wire, dict)
    return wire


def stimulus_from_wire(wire: dict[str, Any]) -> Stimulus:
    """The stimulus recorded in a log. Raises `msgspec.ValidationError` if the data is not one."""
    return msgspec.convert(from_json(wire), Stimulus)


def rubric_from_wire(wire: dict[str, Any]) -> Rubric:
    """The rubric recorded in a log. Raises `msgspec.ValidationError` if the data is not one."""
    return msgspec.convert(from_json(wire), Rubric)


def pack_digest(cases: list[Case]) -> str:
    """SHA-256 over the ids and both digests of the cases, whatever their order, path or mtime."""
    rows = sorted([case.id, stimulus_digest(case.stimulus), rubric_digest(case.rubric)] for case in cases)
    return content_digest(["case_pack", rows])
