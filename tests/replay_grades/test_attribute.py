"""Which change moved a verdict: properties of the search over made-up graders."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from replay.attribute import responsible
from schemas.verdicts import VerdictValue

CHANGES = tuple("abcdefgh")
STATES = st.frozensets(st.sampled_from(CHANGES))


def passes_with(needed: frozenset[str], unless: frozenset[str] = frozenset()):  # type: ignore[no-untyped-def]
    def grade(state: frozenset[str]) -> VerdictValue:
        return "pass" if needed <= state and not unless & state else "fail"

    return grade


def test_the_single_change_that_moves_a_verdict_is_named() -> None:
    for change in CHANGES:
        found = responsible(CHANGES, frozenset(), "pass", passes_with(frozenset(change)))
        assert (found.changes, found.alternatives) == ((change,), ())


def test_a_change_that_is_taken_away_is_responsible_too() -> None:
    found = responsible(CHANGES, frozenset(CHANGES), "pass", passes_with(frozenset(), frozenset("c")))
    assert found.changes == ("c",)


@given(st.frozensets(st.sampled_from(CHANGES), min_size=1))
def test_of_changes_that_only_move_it_together_the_whole_set_is_named_in_order(needed: frozenset[str]) -> None:
    found = responsible(CHANGES, frozenset(), "pass", passes_with(needed))
    assert found.changes == tuple(change for change in CHANGES if change in needed)


@given(st.frozensets(st.sampled_from(CHANGES), min_size=2))
def test_where_several_suffice_each_is_named_once(enough: frozenset[str]) -> None:
    found = responsible(CHANGES, frozenset(), "pass", lambda state: "pass" if enough & state else "fail")
    assert sorted(found.changes + found.alternatives) == sorted(enough)
    assert len(found.changes) == 1


def test_of_several_that_suffice_the_one_is_named_without_which_the_verdict_goes_back() -> None:
    def grade(state: frozenset[str]) -> VerdictValue:
        return "pass" if "b" in state or state == {"a"} else "fail"

    found = responsible("abc", frozenset(), "pass", grade)
    assert (found.changes, found.alternatives) == (("b",), ("a",))


@given(STATES, st.dictionaries(STATES, st.sampled_from(["pass", "fail"]), max_size=40))
def test_what_is_named_moves_the_verdict_and_no_smaller_set_up_to_three_does(
    base: frozenset[str], table: dict[frozenset[str], VerdictValue]
) -> None:
    end = base ^ frozenset(CHANGES)

    def grade(state: frozenset[str]) -> VerdictValue:
        return "pass" if state == end else "fail" if state == base else table.get(state, "fail")

    found = responsible(CHANGES, base, grade(end), grade)
    assert grade(base ^ frozenset(found.changes)) == grade(end)
    for size in range(1, min(len(found.changes), 4)):
        assert all(grade(base ^ frozenset(group)) != grade(end) for group in combinations(CHANGES, size))
