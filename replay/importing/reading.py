"""Published result files as they lie: what is a result file, and what each of its runs says. Pure.

Three shapes are read: a bare list of cases, and an object with `meta` (with `profile` before there were tiers, with
`policy` since) beside such a list. A case is a scenario (`scenario`, one answer a run) or a journey (`journey_id`,
turns). Keys that are not known are kept and named, never dropped. Sources: evaluation semantics 1, 2.2, 5.9, 10.1.
"""

import re
from typing import Any, Literal

import msgspec

from replay.importing.shapes import count, read_json, seconds
from schemas.errors import WorkError
from schemas.imported import PublishedTurn

COUNTS = (
    "tool_calls",
    "resolvable_tool_calls",
    "on_target_tool_calls",
    "malformed_tool_calls",
    "write_attempts",
    "safety_violations",
    "forbidden_target_calls",
    "wrong_namespace_calls",
    "iterations",
    "input_tokens",
    "output_tokens",
)
"""Published numbers that are kept under their own names."""

_CASE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TURN_KEYS = {"answer", "grade", "error", "wall_time_s", "success", "tool_names", "tokens_estimated", *COUNTS}
_RUN_KEYS = {"turns", "success", "input_tokens", "output_tokens", "tokens_estimated"}
_CASE_KEYS = {"scenario", "journey_id", "root_cause", "runs", "successes", "successful_journeys", "evidence_hits"}
_GRADE_KEYS = {"diagnosis_success", "evidence_fetched", "missing_mentions", "forbidden_mentions", "missing_evidence"}


class TurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: what was said, how long it took, and what was published of it. `iterations` is None if unknown."""

    answer: str
    error: str | None
    duration_s: float
    published: PublishedTurn
    iterations: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    tokens_estimated: bool = False


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a case; `place` is where it lies in the file. `unmapped` keeps what has no place of its own."""

    case_id: str
    repetition: int
    root_cause: str
    place: str
    passed: bool
    turns: tuple[TurnResult, ...]
    counts: dict[str, int]
    unmapped: dict[str, Any]


class ResultFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of results. `meta` is as it lies, empty for a bare list."""

    kind: Literal["scenario", "journey"]
    meta: dict[str, Any]
    runs: tuple[RunResult, ...]
    case_ids: tuple[str, ...]

    @property
    def repetitions(self) -> int:
        """The most runs that a case has."""
        return max((run.repetition for run in self.runs), default=0)


def result_file(data: bytes, name: str) -> ResultFile | None:
    """The results in a JSON file, or None if it is something else. Raises `WorkError` if they contradict themselves."""
    try:
        value = read_json(data)
    except ValueError:
        return None
    meta, cases = _shape(value)
    if cases is None:
        return None
    kinds = {"journey" if "journey_id" in case else "scenario" for case in cases}
    if len(kinds) != 1:
        raise WorkError(f"{name}: holds scenarios and journeys in one list; split it")
    kind: Literal["scenario", "journey"] = "journey" if "journey" in kinds else "scenario"
    runs: list[RunResult] = []
    seen: dict[str, None] = {}
    for index, case in enumerate(cases):
        case_id = _case_id(case, name, index)
        if case_id in seen:
            raise WorkError(f"{name}: [{index}]: {case_id} stands there twice")
        seen[case_id] = None
        for number, run in enumerate(case["runs"]):
            place = f"[{index}].runs[{number}]"
            try:
                runs.append(_run(kind, case, case_id, run, number + 1, place))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                problem = f"{type(error).__name__}: {error}"
                raise WorkError(f"{name}: {place}: not a run of the reference project ({problem})") from None
    return ResultFile(kind=kind, meta=meta, runs=tuple(runs), case_ids=tuple(seen))


def _shape(value: Any) -> tuple[dict[str, Any], list[dict[str, Any]] | None]:
    if _is_cases(value):
        return {}, value
    if isinstance(value, dict) and isinstance(value.get("meta"), dict):
        lists = [item for key, item in value.items() if key != "meta" and _is_cases(item)]
        if len(lists) == 1:
            return value["meta"], lists[0]
    return {}, None


def _is_cases(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(case, dict)
            and isinstance(case.get("runs"), list)
            and ("scenario" in case) != ("journey_id" in case)
            for case in value
        )
    )


def _case_id(case: dict[str, Any], name: str, index: int) -> str:
    case_id = case.get("scenario", case.get("journey_id"))
    if not isinstance(case_id, str) or not _CASE_ID.fullmatch(case_id):
        raise WorkError(f"{name}: [{index}]: {str(case_id)[:80]!r} is no case id; letters, digits, `.`, `_`, `-`")
    return case_id


def _run(kind: str, case: dict[str, Any], case_id: str, run: dict[str, Any], number: int, place: str) -> RunResult:
    unmapped = _others(case, _CASE_KEYS, "case.")
    if kind == "scenario":
        turns = [_turn(run, unmapped, "")]
        passed = turns[0].published.diagnosis_success is True
    else:
        turns = [_turn(turn, unmapped, f"turns[{index}].") for index, turn in enumerate(run["turns"])]
        unmapped |= _others(run, _RUN_KEYS, "")
        stored = run.get("success")
        passed = stored if isinstance(stored, bool) else bool(turns) and all(t.published.success for t in turns)
    return RunResult(
        case_id=case_id,
        repetition=number,
        root_cause=str(case.get("root_cause", "")),
        place=place,
        passed=passed,
        turns=tuple(turns),
        counts=_counts(run) if kind == "scenario" else _summed(turns) | _counts(run),
        unmapped=unmapped,
    )


def _turn(raw: dict[str, Any], unmapped: dict[str, Any], prefix: str) -> TurnResult:
    grade = raw.get("grade") or {}
    unmapped |= _others(raw, _TURN_KEYS, prefix) | _others(grade, _GRADE_KEYS, f"{prefix}grade.")
    if grade.get("missing_evidence"):
        unmapped[f"{prefix}grade.missing_evidence"] = grade["missing_evidence"]
    success = raw.get("success")
    if not isinstance(success, bool):
        success = raw["outcome"] == "success" if "outcome" in raw else None
    names = raw.get("tool_names")
    return TurnResult(
        answer=_text(raw["answer"]),
        error=None if raw.get("error") is None else _text(raw["error"]),
        duration_s=seconds(raw.get("wall_time_s")),
        iterations=count(raw.get("iterations")),
        input_tokens=count(raw.get("input_tokens")),
        output_tokens=count(raw.get("output_tokens")),
        tokens_estimated=raw.get("tokens_estimated") is True,
        published=PublishedTurn(
            diagnosis_success=_flag(grade.get("diagnosis_success")),
            evidence_fetched=_flag(grade.get("evidence_fetched")),
            success=success,
            missing=_groups(grade.get("missing_mentions")),
            forbidden=_groups(grade.get("forbidden_mentions")),
            error=None if raw.get("error") is None else _text(raw["error"]),
            counts=_counts(raw),
            tool_names=None if names is None else tuple(_text(name) for name in names),
        ),
    )


def _others(raw: Any, known: set[str], prefix: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise TypeError(f"{str(raw)[:80]!r} where a table belongs")
    return {f"{prefix}{key}": raw[key] for key in raw if key not in known}


def _counts(raw: dict[str, Any]) -> dict[str, int]:
    found = {name: count(raw.get(name)) for name in COUNTS}
    return {name: number for name, number in found.items() if number is not None}


def _summed(turns: list[TurnResult]) -> dict[str, int]:
    """The counts that every turn has, added up."""
    names = set.intersection(*(set(turn.published.counts) for turn in turns)) if turns else set()
    return {name: sum(turn.published.counts[name] for turn in turns) for name in COUNTS if name in names}


def _groups(raw: Any) -> tuple[tuple[str, ...], ...]:
    return tuple((group,) if isinstance(group, str) else tuple(_text(item) for item in group) for group in raw or ())


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} where a text belongs")
    return value


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
