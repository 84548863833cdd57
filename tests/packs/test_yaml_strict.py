"""What stands in a file is what every reader of YAML would see there; everything else is refused with its place."""

import json
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from packs import yaml_strict
from packs.loader import load_pack
from packs.yaml_strict import MAX_DEPTH, load
from schemas.errors import CaseError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: true", {"a": True}),
        ("a: null", {"a": None}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: 42", {"a": 42}),
        ("a: -7", {"a": -7}),
        ("a: 0.5", {"a": 0.5}),
        ("a: 10.96.14.3", {"a": "10.96.14.3"}),
        ("a: 500m", {"a": "500m"}),
        ('a: "no"', {"a": "no"}),
        ("a: 'on'", {"a": "on"}),
        ('a: "0755"', {"a": "0755"}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("a: [x, [z]]", {"a": ["x", ["z"]]}),
        ("a: 2026-07-27", {"a": date(2026, 7, 27)}),
        ("a: 2026-07-27T07:00:00Z", {"a": datetime(2026, 7, 27, 7, tzinfo=UTC)}),
        ("a: 2026-07-27 07:00:00", {"a": datetime(2026, 7, 27, 7, tzinfo=UTC)}),
    ],
)
def test_what_all_readers_agree_on_is_read(text: str, value: Any) -> None:
    assert load(text, "f.yaml") == value


@pytest.mark.parametrize(
    "word",
    [
        *["no", "Yes", "ON", "off", "y", "N", "True", "FALSE", "1.10", "0755", "22:22", "1_000", "0x1f", "0o17", "0b1"],
        *[
            "1e3",
            "+5",
            ".5",
            "5.",
            ".inf",
            ".nan",
            "190:20:30",
            "=",
            "NULL",
            "9" * 19,
            "2026-13-40",
            "2026-07-27T99:00:00Z",
        ],
    ],
)
def test_a_word_that_readers_read_differently_is_refused_with_its_place(word: str) -> None:
    with pytest.raises(CaseError, match=r"^f\.yaml: a\.b\[1\]: .+ - .+") as refusal:
        load(f"a:\n  b:\n    - x\n    - {word}\n", "f.yaml")
    assert repr(word) in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: 2\na: 3", "a: the key stands here twice"),
        ("a: {b: 1, b: 2}", "a.b: the key stands here twice"),
        ("a: &x 1", "a: anchors and aliases are refused"),
        ("a: *x", "anchors and aliases are refused"),
        ("a: !!str 1", "a: tags are refused"),
        ("a: !!python/object/apply:os.system [ls]", "a: tags are refused"),
        ("<<: {a: 1}", "merge keys are refused"),
        ("8080: a", "a key must be text"),
        ("no: a", "some YAML readers take this word for a boolean"),
        ("? [a]\n: b", "a key must be text"),
        ("a: 1\n---\nb: 2", "more than one document"),
        ("", "the file is empty"),
        ("a: [1", "not YAML: "),
        ("a: b: c", "line 1, column 5: not YAML"),
        ("\x00", "not YAML"),
    ],
)
def test_each_trick_of_yaml_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(CaseError) as refusal:
        load(text, "f.yaml")
    assert str(refusal.value).startswith("f.yaml: ")
    assert says in str(refusal.value)


def test_depth_is_bounded() -> None:
    with pytest.raises(CaseError, match=f"nested deeper than {MAX_DEPTH} levels"):
        load("a: " + "[" * 60 + "]" * 60, "f.yaml")
    with pytest.raises(CaseError):
        load("a: " + "[" * 5_000, "f.yaml")


def test_size_is_bounded() -> None:
    with pytest.raises(CaseError, match="more than 4000000 characters"):
        load("a" * 4_000_001, "f.yaml")


def test_a_pack_reads_alike_with_and_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = set()
    for name in ("CSafeLoader", "SafeLoader"):
        monkeypatch.setattr(yaml_strict, "_LOADER", getattr(yaml, name, yaml.SafeLoader))
        digests.add(load_pack("scenarios").sha256)
    assert len(digests) == 1


def test_a_number_without_end_is_refused_in_a_short_message() -> None:
    with pytest.raises(CaseError) as refused:
        load("n: " + "9" * 5_000, "f.yaml")
    assert len(str(refused.value)) < 400


_PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**16), 10**16)
    | st.text(st.characters(max_codepoint=0xD7FF), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcXYZ-_ .:", max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text("abcdefgh", min_size=3, max_size=8), _PLAIN, max_size=4))
def test_json_is_read_as_it_stands(value: dict[str, Any]) -> None:
    assert load(json.dumps(value), "f.yaml") == value


@given(st.from_regex(r"[-+.]?[a-zA-Z0-9_][a-zA-Z0-9_.+-]{0,8}(:[0-9]{1,2}){0,2}", fullmatch=True))
@example("1_0:30")
@example("0x_1")
@example("6.8523015e+5")
@example("-2001-12-14")
def test_what_is_read_as_text_is_text_to_a_lenient_reader_too(text: str) -> None:
    with suppress(CaseError):
        if load(f"- {text}", "f.yaml") == [text]:
            assert yaml.safe_load(f"- {text}") == [text]
