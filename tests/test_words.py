"""Words for people."""

import pytest

from schemas.words import counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (-1, "-1 runs"), (1_000, "1000 runs")]
)
def test_only_one_is_in_the_singular(number: int, text: str) -> None:
    assert counted(number, "run") == text


def test_a_noun_can_bring_its_plural() -> None:
    assert (counted(1, "match", "matches"), counted(3, "match", "matches")) == ("1 match", "3 matches")
