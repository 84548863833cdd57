"""The reader of structured results, with a real YAML library as the oracle."""

import tracemalloc
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grading.structured import fields_met, read_structured

KEYS = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_./-]{0,12}", fullmatch=True)
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029"), max_size=80),
    st.sampled_from(
        ["true", "null", "1.10", "0755", "it's", 'say "x"', "a: b", "# c", "- d", "x" * 200, "a\nb\n", "[]"]
    ),
    st.lists(st.sampled_from(["alpha", "beta", "gamma:", "'q'", '"z"', "12", "-", "#"]), max_size=40).map(" ".join),
)
SCALARS = st.one_of(TEXTS, st.integers(-(10**12), 10**12), st.booleans(), st.none())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=8,
)


def dump(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


@settings(max_examples=60)
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=5))
@example({"a": {"b": [{"c": "x" * 90 + " y"}, [], {}]}})
@example({"message": "first line\n\n  second: line\n", "list": [["a", "b"], [{"k": None}]]})
def test_what_the_tools_print_is_read_as_a_yaml_library_reads_it(value: dict[str, Any]) -> None:
    assert read_structured(dump(value)) == value


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_without_an_error(text: str) -> None:
    assert read_structured(text) == read_structured(text)


def test_a_notice_after_the_document_and_a_cut_end_hide_nothing_before_them() -> None:
    whole = dump({"spec": {"selector": {"app": "web"}}, "status": {"ready": True}})
    value = read_structured(whole + "(truncated, narrow the query)\n")
    assert value == {"spec": {"selector": {"app": "web"}}, "status": {"ready": True}}
    assert read_structured('spec:\n  app: web\nstatus:\n  message: "never ends\n') == {"spec": {"app": "web"}}


def test_json_is_read_too_and_prose_is_not_structured() -> None:
    assert read_structured('{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}
    assert read_structured("{not json") is None
    assert read_structured("just a sentence") is None
    assert read_structured("") is None


def test_large_results_are_not_held_once_they_are_read() -> None:
    tracemalloc.start()
    for number in range(4):
        assert set(read_structured(f"a: {number}" + "x" * (1 << 20))) == {"a"}
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1 << 20


@pytest.mark.parametrize(
    ("fields", "right"),
    [
        ({"outcome": "findings"}, True),
        ({"findings.rule_id": "service.no_ready_endpoints"}, True),
        ({"findings.rule_id": "service.no_ready_endpoints", "findings.severity": "warning"}, True),
        ({"findings.rule_id": "service.no_ready_endpoints", "findings.severity": "info"}, False),
        ({"findings.rule_id": "service.other", "findings.severity": "info"}, True),
        ({"labels.app.kubernetes.io/name": "web"}, True),
        ({"replicas": 2}, True),
        ({"replicas": "2"}, True),
        ({"replicas": True}, False),
        ({"replicas": 20}, False),
        ({"ready": False}, True),
        ({"ready": 0}, False),
        ({"subsets": []}, True),
        ({"gone": None}, True),
        ({"missing": None}, False),
        ({"rule_id": "service.no_ready_endpoints"}, False),
        ({"outcome.more": "findings"}, False),
    ],
)
def test_fields_are_searched_through_lists_and_bound_to_one_element(fields: dict[str, Any], right: bool) -> None:
    value = {
        "outcome": "findings",
        "findings": [
            {"rule_id": "service.other", "severity": "info"},
            {"rule_id": "service.no_ready_endpoints", "severity": "warning"},
        ],
        "labels": {"app.kubernetes.io/name": "web"},
        "replicas": 2,
        "ready": False,
        "subsets": [],
        "gone": None,
    }
    assert fields_met(read_structured(dump(value)), fields) is right


def test_hostile_nesting_is_refused_and_not_followed() -> None:
    deep = "".join(" " * depth + "k:\n" for depth in range(3000))
    assert read_structured(deep) is None
    assert read_structured("a: b\n" + "- " * 5000) == {"a": "b"}
