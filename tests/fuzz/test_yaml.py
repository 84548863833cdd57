"""The YAML reader takes any text and gives plain data or one error that names the file."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packs.yaml_strict import load
from schemas.errors import CaseError
from tests.fuzz.counting import lines_run

PLAIN = (dict, list, str, int, float, bool, date, type(None))
WORDS = st.sampled_from(
    [
        "a: ",
        "- ",
        "\n",
        "  ",
        "? ",
        ": ",
        "&x ",
        "*x",
        "!!python/object:os.system ",
        "<<: ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "'",
        '"',
        "|\n",
        ">-\n",
        "#",
        "%YAML 1.1\n",
        "---\n",
        "...\n",
        "no",
        "0x1F",
        "1_000",
        "22:22",
        "2026-13-45",
        "2026-01-01T00:00:00Z",
        "1.10",
        ".inf",
        "\t",
        "\ufeff",
        "\x07",
        "=",
    ]
)


def assert_plain(value: object) -> None:
    """Nothing but plain data, all the way down."""
    assert isinstance(value, PLAIN)
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        assert_plain(item)


@settings(max_examples=250)
@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=25).map("".join)))
def test_any_text_is_plain_data_or_one_error_that_names_the_file(text: str) -> None:
    said = None
    try:
        assert_plain(load(text, "case.yaml"))
    except CaseError as error:
        said = str(error)
    assert said is None or (said.startswith("case.yaml: ") and len(said) < 10_000)


def test_a_long_key_is_not_spelled_out_for_each_of_many_items() -> None:
    def shown(size: int) -> str:
        with pytest.raises(CaseError) as caught:
            load(f'? "{"k" * size}"\n: [{"1, " * 50} no]\n', "case.yaml")
        return str(caught.value)

    assert len(shown(100_000)) == len(shown(1_000)) < 1_000


def test_work_grows_with_the_document() -> None:
    few, many = (lines_run(lambda size=size: load("- [a, {b: 1}]\n" * size, "f")) for size in (200, 800))  # type: ignore[misc]
    assert many < 4.4 * few


def test_depth_without_end_is_refused() -> None:
    for text in ("[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 10_000):
        with pytest.raises(CaseError):
            load(text, "case.yaml")
