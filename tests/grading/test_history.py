"""The grader's history: every change proves itself, and any version or set of changes runs today."""

import pytest

from grading.changes import CHANGES, LATEST, changes_of, in_order, rules_of
from grading.grader import grade
from grading.pins import Pin, pins_of, read
from grading.rules import Rules
from schemas.errors import UsageError

PINS = [(change.id, pin) for change in CHANGES for pin in pins_of(change.id)]


def graded(pin: Pin, changes: frozenset[str]) -> object:
    return read(grade(pin.run, pin.run.rubric, changes=changes), pin.reads)


@pytest.mark.parametrize(("change", "pin"), PINS, ids=lambda item: item if isinstance(item, str) else item.name)
def test_a_pin_is_wrong_without_its_change_and_right_from_it_on(change: str, pin: Pin) -> None:
    ids = [known.id for known in CHANGES]
    before = frozenset(ids[: ids.index(change)])
    assert graded(pin, before) != pin.right
    assert graded(pin, before | {change}) == pin.right
    assert graded(pin, frozenset(ids)) == pin.right


def test_every_change_has_a_story_a_switch_of_its_own_and_pins() -> None:
    assert [change.switch for change in CHANGES] == list(Rules.__struct_fields__)
    assert len({change.id for change in CHANGES}) == len(CHANGES)
    assert all(len(change.story) > 40 and pins_of(change.id) for change in CHANGES)


def test_version_one_applies_nothing_and_each_version_adds_one_change() -> None:
    assert rules_of(1) == Rules()
    assert [len(changes_of(version)) for version in range(1, LATEST + 1)] == list(range(LATEST))
    assert rules_of() == rules_of(LATEST) == Rules(**{change.switch: True for change in CHANGES})


@pytest.mark.parametrize("version", range(1, LATEST + 1))
def test_any_version_grades_every_pinned_run(version: int) -> None:
    for _, pin in PINS:
        verdict = grade(pin.run, pin.run.rubric, version)
        assert verdict.verdict in ("pass", "fail")
        assert verdict == grade(pin.run, pin.run.rubric, changes=frozenset(changes_of(version)))


def test_any_single_change_and_any_all_but_one_can_be_applied() -> None:
    ids = frozenset(change.id for change in CHANGES)
    for change in ids:
        for subset in (frozenset({change}), ids - {change}):
            assert all(grade(pin.run, pin.run.rubric, changes=subset).outcome for _, pin in PINS[::7])


def test_a_version_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match=f"from 1 to {LATEST}"):
        rules_of(LATEST + 1)
    with pytest.raises(UsageError, match="from 1 to"):
        rules_of(0)


def test_an_unknown_change_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="Z-99"):
        rules_of(changes=frozenset({"A-01", "Z-99"}))
    with pytest.raises(UsageError, match="not both"):
        rules_of(1, frozenset())


def test_changes_are_told_in_the_order_of_the_history() -> None:
    assert [change.id for change in in_order(frozenset({"C-05", "A-01", "A-21"}))] == ["A-01", "A-21", "C-05"]
