"""The claims grammar and the evidence matcher as SQL functions, so that a what-if over all answers is one query.

Each is a macro with named defaults over a Python function of the same rules that grade. `version` is a version of the
claims grader; 0 is the newest. A NULL argument gives NULL. They are registered when a statement first names one, since
the grading rules take time to import.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec

from schemas.errors import UsageError
from schemas.words import counted

if TYPE_CHECKING:
    from grading.rules import Rules
    from schemas.cases import Evidence, RubricTurn
    from schemas.verdicts import ClaimFinding


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One function as it is called in SQL. `parameters` are names with their SQL types and defaults (None: required);
    `implementation` takes them by position."""

    name: str
    parameters: tuple[tuple[str, str, str | None], ...]
    returns: str
    meaning: str
    implementation: Callable[..., Any]


def signature(function: Function) -> str:
    """The function as a person calls it."""
    shown = (f"{name} {kind}" + (f" := {default}" if default else "") for name, kind, default in function.parameters)
    return f"{function.name}({', '.join(shown)}) -> {function.returns}"


def mentions_function(statement: str) -> bool:
    """Whether a statement may call one of the functions."""
    return _CALLED.search(statement) is not None


def register_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the functions callable on a connection."""
    for function in FUNCTIONS:
        inner = f"_{function.name}"
        connection.create_function(  # the types are DuckDB's own spelling
            inner, function.implementation, [kind for _, kind, _ in function.parameters], function.returns
        )
        heads = (name + (f" := {default}" if default else "") for name, _, default in function.parameters)
        casts = (f"{name}::{kind}" for name, kind, _ in function.parameters)
        connection.execute(
            f"CREATE MACRO main.{function.name}({', '.join(heads)}) AS {inner}({', '.join(casts)})::{function.returns}"
        )


def _mentions(answer: str, alternatives: list[str], control: bool, version: int) -> bool:
    return _finding(answer, tuple(alternatives), control, version).holds


def _mention(answer: str, alternatives: list[str], control: bool, version: int) -> str:
    span = _finding(answer, tuple(alternatives), control, version).span
    return "" if span is None else span.text


def _finding(answer: str, group: tuple[str, ...], control: bool, version: int) -> "ClaimFinding":
    from grading.claims import claim_findings
    from schemas.cases import RubricTurn

    return claim_findings(answer, RubricTurn(must_mention=(group,)), control, _rules(version))[0]


def _passes_claims(
    answer: str, must_mention: list[list[str]], must_not_mention: list[list[str]], control: bool, version: int
) -> bool:
    from schemas.cases import RubricTurn

    turn = RubricTurn(
        must_mention=tuple(map(tuple, must_mention)), must_not_mention=tuple(map(tuple, must_not_mention))
    )
    return _hold(answer, turn, control, version)


def _passes_rubric(answer: str, rubric: str, turn: int, version: int) -> bool:
    found, control = _rubric(rubric)
    if not 1 <= turn <= len(found):
        raise UsageError(f"passes_rubric: the rubric has {counted(len(found), 'turn')}, not {turn}")
    return _hold(answer, found[turn - 1], control, version)


def _hold(answer: str, turn: "RubricTurn", control: bool, version: int) -> bool:
    from grading.claims import claim_findings, claims_hold

    rules = _rules(version)
    return claims_hold(claim_findings(answer, turn, control, rules), rules)


def _meets_evidence(tool: str, arguments: str, shown: str, location: str, ok: bool, version: int) -> bool:
    from grading.evidence import evidence_findings, seen_calls, wanted_groups
    from schemas.cases import RubricTurn
    from schemas.recorded import RecordedCall

    given = _object(arguments)
    if given is None:
        return False
    rules = _rules(version)
    call = RecordedCall(
        call=1, tool=tool, arguments=given, arguments_raw=arguments, disposition="executed", ok=ok, shown=shown
    )
    wanted = wanted_groups(RubricTurn(must_mention=(), expected_evidence=((_location(location),),)), rules)
    return evidence_findings(seen_calls((call,), rules), wanted, rules)[0].met


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return value if isinstance(value, dict) else None


@lru_cache(maxsize=64)
def _rules(version: int) -> "Rules":
    from grading.changes import rules_of

    return rules_of(version or None, None)


@lru_cache(maxsize=1024)
def _rubric(text: str) -> tuple[tuple["RubricTurn", ...], bool]:
    from schemas.cases import rubric_from_wire

    try:
        rubric = rubric_from_wire(msgspec.json.decode(text))
    except (msgspec.DecodeError, msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"passes_rubric: not a rubric as the view cases has it: {error}") from None
    return rubric.turns, rubric.root_cause == "none"


@lru_cache(maxsize=1024)
def _location(text: str) -> "Evidence":
    from schemas.cases import Evidence

    try:
        return msgspec.json.decode(text, type=Evidence)
    except msgspec.DecodeError as error:
        raise UsageError(f"meets_evidence: not an evidence location: {error}") from None


_VERSION = ("version", "INTEGER", "0")
_CONTROL = ("control", "BOOLEAN", "false")

FUNCTIONS: tuple[Function, ...] = (
    Function(
        name="mentions",
        parameters=(("answer", "VARCHAR", None), ("alternatives", "VARCHAR[]", None), _CONTROL, _VERSION),
        returns="BOOLEAN",
        meaning="the answer claims one of the alternatives: it stands there, and is neither negated nor called fine "
        "(in a control, `control := true`, being called fine is no objection)",
        implementation=_mentions,
    ),
    Function(
        name="mention",
        parameters=(("answer", "VARCHAR", None), ("alternatives", "VARCHAR[]", None), _CONTROL, _VERSION),
        returns="VARCHAR",
        meaning="the words of the answer by which `mentions` holds, or an empty text",
        implementation=_mention,
    ),
    Function(
        name="passes_claims",
        parameters=(
            ("answer", "VARCHAR", None),
            ("must_mention", "VARCHAR[][]", None),
            ("must_not_mention", "VARCHAR[][]", "[]"),
            _CONTROL,
            _VERSION,
        ),
        returns="BOOLEAN",
        meaning="every required group of alternatives is claimed and no forbidden one",
        implementation=_passes_claims,
    ),
    Function(
        name="passes_rubric",
        parameters=(("answer", "VARCHAR", None), ("rubric", "VARCHAR", None), ("turn", "INTEGER", "1"), _VERSION),
        returns="BOOLEAN",
        meaning="the answer holds the claims of one turn (1-based) of a rubric as the view `cases` has it",
        implementation=_passes_rubric,
    ),
    Function(
        name="meets_evidence",
        parameters=(
            ("tool", "VARCHAR", None),
            ("arguments", "VARCHAR", None),
            ("shown", "VARCHAR", None),
            ("location", "VARCHAR", None),
            ("ok", "BOOLEAN", "true"),
            _VERSION,
        ),
        returns="BOOLEAN",
        meaning="a call with this result is evidence for a location such as "
        """`{"tool": "get_logs", "args": {"pod": "web-1", "namespace": "shop"}, "contains": "panic"}`""",
        implementation=_meets_evidence,
    ),
)

_CALLED = re.compile(r"\b(" + "|".join(function.name for function in FUNCTIONS) + r")\s*\(", re.IGNORECASE)
