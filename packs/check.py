"""What an author of cases should know before anyone is measured by them.

The loader refuses what is malformed; these checks find what is unfair or broken: a name that tells the answer, a
fixture that contradicts itself, evidence that no call can reach, an answer that the rubric judges against its own pin.
Tools and graders live in other rooms, so they come in as callables. Each problem says what to do about it.
Source: evaluation semantics 1.1; defects A-15, A-17, A-35, C-03, C-04.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import yaml

from schemas.cases import Case, Cluster, Evidence, Interaction
from schemas.kinds import KINDS

_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[a-z0-9]+")
_KIND_WORDS = frozenset(word for kind in KINDS for word in (kind.kind.lower(), kind.plural, kind.kind.lower() + "s"))
_SHORT = 3
"""Words of a root cause label up to this length (`bad`, `env`, `no`) tell nothing by themselves."""
DIAGNOSE = "diagnose_"


class Problem(msgspec.Struct, frozen=True):
    """Something an author should mend: where in the case, what it is and the way out."""

    case_id: str
    where: str
    message: str


class ToolAnswer(msgspec.Struct, frozen=True):
    """What a tool gave back on a fixture; `ok` is false where it answered with an error, of class `error`."""

    ok: bool
    text: str
    error: str | None = None


RunTool = Callable[[Case, str, dict[str, Any]], ToolAnswer]
"""Runs one tool by name on a case's fixture, as a model's call would."""

GradeClaims = Callable[[Case, int, str], str | None]
"""Judges the claims of an answer to one turn (counted from 0): None if they hold, else why not."""


def check_case(case: Case, run_tool: RunTool, grade_claims: GradeClaims) -> list[Problem]:
    """Everything that is wrong with one case, in the order of its file."""
    return [
        *check_names(case),
        *check_fixture(case),
        *check_evidence(case, run_tool),
        *check_pins(case, grade_claims),
    ]


def check_names(case: Case) -> list[Problem]:
    """Names, labels, images and questions that give the answer away.

    A name must not hold a required alternative or a telling word of the root cause label; a question must not hold a
    required alternative, except where a whole turn restates what an earlier one established.
    """
    label = [word for word in words(case.rubric.root_cause) if len(word) > _SHORT and word not in _KIND_WORDS]
    required = [word for turn in case.rubric.turns for group in turn.must_mention for word in group]
    problems = []
    for where, name in dict.fromkeys(_names(case)):
        for keyword in dict.fromkeys([*required, *label]):
            if mentions(name, keyword):
                what = f"{name!r} gives away {keyword!r}"
                problems.append(Problem(case.id, where, f"{what}; rename it, a model could answer from the name alone"))
    for index, turn in enumerate(case.stimulus.turns[:1]):
        for keyword in dict.fromkeys(word for group in case.rubric.turns[index].must_mention for word in group):
            if mentions(turn.user, keyword):
                way = "ask without it, or move it to `symptom` if it is only what the user sees"
                problems.append(Problem(case.id, "stimulus", f"the question already says {keyword!r}; {way}"))
    return problems


def check_fixture(case: Case) -> list[Problem]:
    """A fixture that contradicts itself: owners, uids, logs, selections, and Services without their EndpointSlice."""
    cluster = case.stimulus.cluster
    found = [*_owners(cluster), *_events(cluster), *_logs(cluster), *_services(cluster), *_selections(case)]
    return [Problem(case.id, where, message) for where, message in found]


def check_evidence(case: Case, run_tool: RunTool) -> list[Problem]:
    """Evidence that its own call does not show, and groups that only a diagnose tool can meet."""
    problems = []
    for number, turn in enumerate(case.rubric.turns):
        for index, group in enumerate(turn.expected_evidence):
            where = f"rubric turn {number + 1}, expected_evidence[{index}]"
            for location in group:
                message = _unreached(case, location, run_tool)
                if message is not None:
                    problems.append(Problem(case.id, where, message))
            if all(location.tool.startswith(DIAGNOSE) for location in group):
                message = "only diagnose tools reach it; add a place where get_resource, get_events, get_logs or "
                problems.append(Problem(case.id, where, message + "list_resources shows the same fact"))
    return problems


def check_pins(case: Case, grade_claims: GradeClaims) -> list[Problem]:
    """Pinned answers that the rubric judges the other way."""
    problems = []
    for number, pins in enumerate(case.pins):
        for index, answer in enumerate(pins.passing):
            reason = grade_claims(case, number, answer)
            if reason is not None:
                message = f"should pass and fails: {reason}; widen the alternatives, or correct the answer"
                problems.append(Problem(case.id, f"pins turn {number + 1}, pass[{index}]", message))
        for index, answer in enumerate(pins.failing):
            if grade_claims(case, number, answer) is None:
                message = "should fail and passes; forbid what is wrong in it, or narrow the alternatives"
                problems.append(Problem(case.id, f"pins turn {number + 1}, fail[{index}]", message))
    return problems


def words(text: str) -> list[str]:
    """The lowercase words of a name or a text: cut at camel case and at everything that is no letter or digit."""
    return _WORD.findall(_BREAK.sub(" ", text).lower())


def mentions(text: str, keyword: str) -> bool:
    """Whether neighbouring words of `text`, written together, are exactly the words of `keyword` written together."""
    found, wanted = words(text), "".join(words(keyword))
    for start in range(len(found)):
        joined = ""
        for word in found[start:]:
            joined += word
            if joined == wanted:
                return True
            if not wanted.startswith(joined):
                break
    return False


def shows(location: Evidence, result: str) -> bool:
    """Whether a tool's result holds what an evidence location expects of it."""
    if location.contains is not None and location.contains not in result:
        return False
    if not location.fields:
        return True
    try:
        value = yaml.safe_load(result)
    except yaml.YAMLError:
        return False
    return _holds(value, location.fields)


def _holds(value: Any, fields: Mapping[str, Any]) -> bool:
    """Whether dotted paths lead to their scalars; lists are searched through, all paths in the same element."""
    if isinstance(value, list):
        return any(_holds(item, fields) for item in value)
    if not isinstance(value, dict):
        return all(path == "" and _same(value, expected) for path, expected in fields.items())
    below: dict[str, dict[str, Any]] = {}
    for path, expected in fields.items():
        key = next((key for key in value if path == key or path.startswith(f"{key}.")), None)
        if key is None:
            return False
        below.setdefault(key, {})[path[len(key) + 1 :]] = expected
    return all(_holds(value[key], rest) for key, rest in below.items())


def _same(value: Any, expected: Any) -> bool:
    return isinstance(value, bool) == isinstance(expected, bool) and bool(value == expected)


def _unreached(case: Case, location: Evidence, run_tool: RunTool) -> str | None:
    call = f"{location.tool}({', '.join(f'{key}={value}' for key, value in location.args.items())})"
    answer = run_tool(case, location.tool, dict(location.args))
    if location.error is not None and answer.error != location.error:
        came = f"an error of class {answer.error}" if answer.error else "a result"
        return f"{call} gives {came}, not an error of class {location.error}; correct `error` or the fixture"
    if not answer.ok and location.error is None:
        return f"{call} answers with an error ({_start(answer.text)}); correct its arguments or the fixture"
    if shows(location, answer.text):
        return None
    wanted = location.contains if location.contains is not None else ", ".join(location.fields)
    return f"{call} does not show {wanted!r}; it starts with {_start(answer.text)!r}: quote what the tool prints"


def _start(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line[:120]


def _names(case: Case) -> Iterator[tuple[str, str]]:
    for item in case.stimulus.cluster.objects:
        yield from _names_in(item)
    for key in case.stimulus.cluster.logs:
        yield "logs", key
    for interaction in _interactions(case):
        pane = interaction.focused_pane
        yield "interaction", pane.scope
        if pane.selected is not None:
            yield "interaction", pane.selected.name


def _names_in(value: Any) -> Iterator[tuple[str, str]]:
    """Every name, namespace, label, image and container in a manifest."""
    if isinstance(value, list):
        for item in value:
            yield from _names_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in {"name", "namespace", "image", "generateName"} and isinstance(item, str):
                yield key, item
            elif key in {"labels", "matchLabels", "nodeSelector"} and isinstance(item, dict):
                yield from (("labels", f"{label}={text}") for label, text in item.items() if not _is_reserved(label))
            else:
                yield from _names_in(item)


def _is_reserved(label: str) -> bool:
    """Whether Kubernetes itself writes this label, so that no author chose its words."""
    return label.partition("/")[0].endswith(("kubernetes.io", "k8s.io"))


def _interactions(case: Case) -> list[Interaction]:
    moved = [turn.interaction for turn in case.stimulus.turns if turn.interaction is not None]
    return [case.stimulus.interaction, *moved]


def _title(item: Mapping[str, Any]) -> str:
    metadata = item["metadata"]
    return "/".join(part for part in (item["kind"], metadata.get("namespace"), metadata["name"]) if part)


def _by_identity(cluster: Cluster) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(item["kind"], _home(item), item["metadata"]["name"]): item for item in cluster.objects}


def _home(item: Mapping[str, Any]) -> str:
    return str(item["metadata"].get("namespace", ""))


def _owners(cluster: Cluster) -> Iterator[tuple[str, str]]:
    known = _by_identity(cluster)
    for item in cluster.objects:
        if not item["metadata"].get("uid"):
            yield _title(item), "has no metadata.uid; every stored object has one, give it a UUID"
        for owner in item["metadata"].get("ownerReferences", ()):
            if not owner.get("uid"):
                yield _title(item), "has an ownerReference without uid; copy the owner's metadata.uid"
                continue
            found = known.get((owner["kind"], _home(item), owner["name"]))
            if found is None:
                yield _title(item), f"is owned by {owner['kind']}/{owner['name']}, which is not in the fixture; add it"
            elif found["metadata"].get("uid") != owner["uid"]:
                yield _title(item), f"names another uid for its owner {owner['name']}; copy the owner's metadata.uid"


def _events(cluster: Cluster) -> Iterator[tuple[str, str]]:
    known = _by_identity(cluster)
    for event in cluster.events:
        involved = event["involvedObject"]
        where = f"event {event['reason']} of {involved['kind']}/{involved['name']}"
        found = known.get((involved["kind"], str(involved.get("namespace", "")), involved["name"]))
        if found is None:
            if involved["kind"] != "Node":
                yield where, "involves an object that is not in the fixture; add the object or drop the event"
        elif involved.get("uid") != found["metadata"].get("uid"):
            yield where, "carries another uid than its object, so no tool lists it; copy the object's metadata.uid"


def _logs(cluster: Cluster) -> Iterator[tuple[str, str]]:
    known = _by_identity(cluster)
    for key in cluster.logs:
        namespace, pod, container = key.split("/")
        found = known.get(("Pod", namespace, pod))
        if found is None:
            yield f"logs {key}", "belong to a Pod that is not in the fixture; correct the key or add the Pod"
        elif container not in _containers(found):
            yield (
                f"logs {key}",
                f"belong to none of the Pod's containers ({', '.join(_containers(found))}); correct the key",
            )


def _containers(pod: Mapping[str, Any]) -> list[str]:
    spec = pod.get("spec", {})
    return [item["name"] for key in ("initContainers", "containers") for item in spec.get(key, ())]


def _services(cluster: Cluster) -> Iterator[tuple[str, str]]:
    slices = {
        (_home(item), item["metadata"].get("labels", {}).get("kubernetes.io/service-name"))
        for item in cluster.objects
        if item["kind"] == "EndpointSlice"
    }
    for item in cluster.objects:
        selects = item["kind"] == "Service" and item.get("spec", {}).get("selector")
        if selects and (_home(item), item["metadata"]["name"]) not in slices:
            yield _title(item), "has no EndpointSlice; the control plane always makes one, if only an empty one: add it"


def _selections(case: Case) -> Iterator[tuple[str, str]]:
    known = {(kind.plural, _home(item), item["metadata"]["name"]): item for kind, item in _with_kind(case)}
    for interaction in _interactions(case):
        selected = interaction.focused_pane.selected
        if selected is None:
            continue
        found = known.get((selected.kind, selected.namespace or "", selected.name))
        if found is None:
            yield "interaction", f"selects {selected.kind}/{selected.name}, which is not in the fixture; add it"
        elif selected.uid is not None and selected.uid != found["metadata"].get("uid"):
            yield "interaction", f"selects {selected.name} with another uid; copy the object's metadata.uid"


def _with_kind(case: Case) -> Iterator[tuple[Any, dict[str, Any]]]:
    kinds = {kind.kind: kind for kind in KINDS}
    for item in case.stimulus.cluster.objects:
        yield kinds[item["kind"]], item
