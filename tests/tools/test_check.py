import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.tools import READS, WRITES, armed, check_call, refusal
from schemas.cases import Cluster

SPECS = armed("high", cluster=Cluster(metrics=(), log_search=()))
LOW = armed("low", cluster=Cluster(), without=["diagnose_pod"])

POD = {"pod": "api-1", "namespace": "shop"}

_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda part: st.lists(part, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("raw", ["", "  ", "null", "{}"])
def test_no_arguments_in_any_spelling_are_an_empty_object(raw: str) -> None:
    checked = check_call(SPECS, "list_operators", raw)
    assert (checked.disposition, checked.arguments) == ("executed", {})


def test_a_sound_call_is_executed_with_its_arguments() -> None:
    checked = check_call(SPECS, "get_logs", json.dumps({**POD, "tail_lines": 5, "previous": True}))
    assert checked.disposition == "executed"
    assert checked.arguments == {**POD, "tail_lines": 5, "previous": True}
    assert checked.problem is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("{pod: x}", "not valid JSON"),
        ('{"pod": "x"', "not valid JSON"),
        ('{"pod": NaN}', "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "JSON array"),
        ('"{}"', "JSON string"),
        ("7", "JSON integer"),
        ("true", "JSON boolean"),
        ('{"pod": "x"}', "'namespace' is missing"),
        ('{"pod": null, "namespace": "shop"}', "'pod' is missing"),
        ('{"pod": 7, "namespace": "shop"}', "'pod' must be of type string, not integer"),
        ('{"pod": "x", "namespace": ["shop"]}', "type string, not array"),
        ('{"pod": "x", "namespace": "shop", "tail_lines": "5"}', "type integer, not string"),
        ('{"pod": "x", "namespace": "shop", "tail_lines": true}', "type integer, not boolean"),
        ('{"pod": "x", "namespace": "shop", "tail_lines": 5.0}', "type integer, not number"),
        ('{"pod": "x", "namespace": "shop", "previous": 1}', "type boolean, not integer"),
        ('{"pod": {}, "namespace": "shop"}', "type string, not object"),
    ],
)
def test_a_malformed_call_says_what_is_wrong(arguments: str, says: str) -> None:
    checked = check_call(SPECS, "get_logs", arguments)
    assert (checked.disposition, checked.error_class) == ("malformed", "malformed")
    assert checked.problem is not None
    assert says in checked.problem


def test_a_value_outside_an_enum_is_malformed() -> None:
    checked = check_call(SPECS, "query_metrics", '{"signal": "disk", "namespace": "shop"}')
    assert checked.disposition == "malformed"
    assert "latency_p95" in str(checked.problem)


def test_a_null_stands_for_an_optional_argument_left_out() -> None:
    assert check_call(SPECS, "get_logs", json.dumps({**POD, "container": None})).disposition == "executed"


def test_arguments_that_no_schema_names_are_no_fault() -> None:
    checked = check_call(SPECS, "diagnose_pod", json.dumps({**POD, "verbose": [1], "kind": "pods"}))
    assert checked.disposition == "executed"
    assert checked.arguments == {**POD, "verbose": [1], "kind": "pods"}


@pytest.mark.parametrize("name", sorted(WRITES))
@pytest.mark.parametrize("raw", ['{"kind": "pods", "name": "x"}', "{broken", "[]", ""])
def test_a_write_is_an_attempt_to_write_whatever_its_arguments(name: str, raw: str) -> None:
    checked = check_call(SPECS, name, raw)
    assert (checked.disposition, checked.error_class) == ("write_attempt", "write_refused")
    outcome = refusal(checked)
    assert (outcome.ok, outcome.error_class) == (False, "write_refused")
    assert outcome.shown.startswith("ERROR: ")


def test_a_tool_that_was_left_out_is_not_armed() -> None:
    checked = check_call(LOW, "diagnose_pod", json.dumps(POD))
    assert (checked.disposition, checked.error_class) == ("not_armed", "not_armed")
    assert refusal(checked).shown == "ERROR: tool 'diagnose_pod' is not armed for this policy"


@pytest.mark.parametrize("name", ["kubectl", "", "Diagnose_Pod", "get_logs\x00", "x" * 10_000])
def test_a_tool_that_never_was_is_unknown(name: str) -> None:
    checked = check_call(SPECS, name, "{}")
    assert (checked.disposition, checked.error_class) == ("not_armed", "unknown_tool")
    assert len(refusal(checked).shown) <= 1_000


@given(name=st.sampled_from([spec.name for spec in READS]) | st.text(max_size=20), raw=st.text(max_size=80))
def test_any_argument_string_gets_a_disposition(name: str, raw: str) -> None:
    checked = check_call(SPECS, name, raw)
    assert (checked.problem is None) == (checked.disposition == "executed")
    assert (checked.error_class is None) == (checked.disposition == "executed")
    if checked.disposition == "executed":
        assert isinstance(checked.arguments, dict)


@given(st.dictionaries(st.text(max_size=8), _json, max_size=4))
def test_any_object_with_sound_declared_arguments_is_executed_unchanged(extra: dict[str, Any]) -> None:
    arguments = {key: value for key, value in extra.items() if key not in ("container", "tail_lines", "previous")} | POD
    checked = check_call(SPECS, "get_logs", json.dumps(arguments))
    assert (checked.disposition, checked.arguments) == ("executed", arguments)


@given(_json.filter(lambda value: value is not None and not isinstance(value, str)))
def test_a_text_argument_of_any_other_type_is_malformed(value: Any) -> None:
    checked = check_call(SPECS, "diagnose_pod", json.dumps({"pod": value, "namespace": "shop"}))
    assert checked.disposition == "malformed"
