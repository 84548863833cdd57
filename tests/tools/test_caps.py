from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from recorder.tools.caps import LADDER, cap_data, cap_text, cap_yaml, cut_text, shrink, with_note
from recorder.tools.redact import normalise, redact_data
from recorder.tools.yamltext import dump

_text = st.text(max_size=60).map(normalise)
_scalar = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _text
_data = st.recursive(
    _scalar,
    lambda part: st.lists(part, max_size=12) | st.dictionaries(_text, part, max_size=12),
    max_leaves=60,
)
_words = st.sampled_from(
    ["yes", "no", "null", "0755", "1.10", "22:22", "2026-07-27T08:00:00Z", "~", "=", "<<", "*a", "- x"]
)


@given(_data | _words | st.lists(_words))
def test_yaml_reads_back_as_what_was_written(value: Any) -> None:
    assert yaml.safe_load(dump(value)) == value


def test_a_long_message_stays_on_one_line() -> None:
    message = "0/3 nodes are available: 3 Insufficient cpu. " * 40
    assert message.strip() in dump({"message": message.strip() + "!"}).replace("'", "")
    assert len(dump({"message": "word " * 400}).splitlines()) == 1


def test_text_of_several_lines_is_written_as_a_block() -> None:
    assert dump({"config": "a: 1\nb: 2\n"}) == "config: |\n  a: 1\n  b: 2\n"


def test_shared_parts_are_written_out_without_anchors() -> None:
    part = {"app": "web"}
    assert "&" not in dump({"a": part, "b": part})


@given(st.text(max_size=400), st.integers(0, 300))
def test_capped_text_is_within_its_limit_and_capping_again_changes_nothing(text: str, limit: int) -> None:
    once = cap_text(text, limit)
    assert len(once) <= limit or once == text[:limit]
    assert cap_text(once, limit) == once
    assert (once == text) == (len(text) <= limit)


@given(st.text(max_size=400), st.integers(0, 300), st.sampled_from(["head", "tail"]))
def test_cut_text_is_within_its_limit_and_cutting_again_changes_nothing(text: str, limit: int, keep: Any) -> None:
    once = cut_text(text, limit, keep)
    assert len(once) <= limit
    assert cut_text(once, limit, keep) == once


def test_capped_text_keeps_two_fifths_of_its_head_and_three_of_its_tail() -> None:
    text = "".join(chr(0x4E00 + index) for index in range(5_000))
    capped = cap_text(text, 3_000)
    head, _, rest = capped.partition("\n[... ")
    tail = rest.rpartition("...]\n")[2]
    assert len(capped) == 3_000
    assert text.startswith(head)
    assert text.endswith(tail)
    assert 0.39 < len(head) / (len(head) + len(tail)) <= 0.4


def test_a_cut_says_so_at_the_end_that_was_cut() -> None:
    lines = "\n".join(f"line {index}" for index in range(2_000))
    assert cut_text(lines).startswith("line 0\n")
    assert cut_text(lines).endswith("narrow the query to see the rest]")
    assert cut_text(lines, keep="tail").endswith("line 1999")
    assert cut_text(lines, keep="tail").startswith("[earlier lines cut")


@given(_data, st.integers(0, 600))
def test_capped_yaml_parses_is_within_its_limit_and_capping_again_changes_nothing(value: Any, limit: int) -> None:
    text, record = cap_data(value, limit)
    assert len(text) <= limit
    yaml.safe_load(text)
    assert cap_yaml(text, limit) == text
    assert (record is None) == (text == dump(value))


def test_yaml_that_is_too_large_keeps_identity_and_structure() -> None:
    manifest = {
        "spec": {"containers": [{"name": f"c{index}", "image": "x" * 200} for index in range(60)]},
        "status": {"phase": "Running"},
        "kind": "Pod",
        "metadata": {
            "annotations": {f"a{index}": "y" * 50 for index in range(100)},
            "name": "web",
            "namespace": "shop",
        },
    }
    text, record = cap_data(manifest, 3_000)
    shown = yaml.safe_load(text)
    assert len(text) <= 3_000
    assert shown["kind"] == "Pod"
    assert next(iter(shown)) == "kind"
    assert shown["metadata"]["name"] == "web"
    assert shown["status"] == {"phase": "Running"}
    assert "more left out" in shown["spec"]["containers"][-1]
    assert record is not None
    assert record.reason.startswith("size: at most")


def test_below_the_ladder_stands_the_name_of_the_object() -> None:
    wide = {f"key {index}": {f"key {inner}": "z" * 30 for inner in range(9)} for index in range(9)}
    text, record = cap_data({**wide, "kind": "ConfigMap", "metadata": {"name": "big", "namespace": "shop"}}, 130)
    assert yaml.safe_load(text)["name"] == "big"
    assert record is not None
    assert record.reason == "size: identity only"


@pytest.mark.parametrize("rung", LADDER)
def test_a_rung_holds_its_limits(rung: Any) -> None:
    deep: Any = "leaf"
    for _ in range(40):
        deep = {"in": deep}
    wide = shrink({"list": list(range(500)), "text": "x" * 9_000, "deep": deep}, rung)
    assert len(wide["list"]) == rung.entries + 1
    assert wide["text"].startswith("x" * rung.scalar + "...")
    assert str(wide["deep"]).count("in") <= rung.depth


@given(st.text(max_size=200), st.integers(80, 300))
def test_a_note_stays_within_the_cap_of_a_text(text: str, limit: int) -> None:
    noted = with_note(text, "NOTE: 2 discarded", limit, "text")
    assert len(noted) <= limit or len(text) <= limit - 18
    assert noted.endswith("NOTE: 2 discarded")


@given(_data, st.integers(80, 600))
def test_a_note_leaves_yaml_parseable(value: Any, limit: int) -> None:
    text = cap_data(value, limit)[0]
    noted = with_note(text, "NOTE: 2 discarded", limit, "yaml")
    assert len(noted) <= limit
    assert noted.endswith("# NOTE: 2 discarded\n")
    yaml.safe_load(noted)


@given(_data)
def test_redacted_data_still_writes_as_yaml(value: Any) -> None:
    clean, _ = redact_data(value)
    assert yaml.safe_load(dump(clean)) == clean
