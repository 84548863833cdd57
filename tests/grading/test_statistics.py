"""Statistics against values worked out by hand, and what must hold of them for any grades."""

import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.statistics import (
    case_rates,
    cluster_bootstrap,
    compare,
    compare_all,
    deviation,
    holm,
    majority,
    mcnemar,
    over_cases,
    pass_at_k,
    pass_hat_k,
    supported_order,
    wilson,
)

RUNS = st.lists(st.booleans(), min_size=1, max_size=5)
CASES = st.dictionaries(st.sampled_from("abcdefgh"), RUNS, min_size=1)


def row(passed: str, failed: str = "") -> dict[str, list[bool]]:
    return {**{name: [True] * 3 for name in passed}, **{name: [False] * 3 for name in failed}}


def test_wilson_is_the_published_interval() -> None:
    found = wilson(8, 10)
    assert found is not None
    z = 1.959963984540054
    centre = (0.8 + z * z / 20) / (1 + z * z / 10)
    half = z * math.sqrt(0.8 * 0.2 / 10 + z * z / 400) / (1 + z * z / 10)
    assert found.low == pytest.approx(centre - half)
    assert found.high == pytest.approx(centre + half)
    assert (found.estimate, found.n) == (0.8, 10)


def test_nothing_tried_has_no_interval_and_impossible_counts_are_refused() -> None:
    assert wilson(0, 0) is None
    with pytest.raises(ValueError, match="impossible"):
        wilson(3, 2)


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_wilson_interval_holds_its_estimate_and_stays_in_range(passed: int, failed: int) -> None:
    found = wilson(passed, passed + failed)
    if found is not None:
        assert -1e-9 <= found.low <= found.estimate + 1e-9
        assert found.estimate - 1e-9 <= found.high <= 1 + 1e-9


def test_both_deviations_are_named() -> None:
    found = deviation([1.0, 2.0, 3.0, 4.0])
    assert found is not None
    assert found.mean == 2.5
    assert found.population == pytest.approx(math.sqrt(1.25))
    assert found.sample == pytest.approx(math.sqrt(5 / 3))
    single = deviation([5.0])
    assert single is not None
    assert (single.population, single.sample) == (0.0, None)
    assert deviation([]) is None


def test_the_case_is_the_unit_however_often_it_was_run() -> None:
    assert case_rates({"b": [True], "a": [True, False, False, False], "c": []}) == {"a": 0.25, "b": 1.0}
    found = cluster_bootstrap({"b": [True] * 100, "a": [False]}, seed=1)
    assert found is not None
    assert (found.estimate, found.n) == (0.5, 2)


@settings(max_examples=25)
@given(CASES, st.integers(0, 2**32 - 1))
def test_the_bootstrap_is_seeded_ordered_and_holds_its_estimate(cases: dict[str, list[bool]], seed: int) -> None:
    found = cluster_bootstrap(cases, seed, resamples=200)
    assert found is not None
    assert found == cluster_bootstrap(dict(reversed(cases.items())), seed, resamples=200)
    rates = list(case_rates(cases).values())
    assert min(rates) - 1e-9 <= found.low <= found.high <= max(rates) + 1e-9


def test_a_bootstrap_of_nothing_is_none_and_of_one_case_has_no_spread() -> None:
    assert cluster_bootstrap({}, seed=1) is None
    found = cluster_bootstrap({"a": [True, False]}, seed=1)
    assert found is not None
    assert (found.low, found.high) == (0.5, 0.5)


@given(st.integers(1, 8), st.data())
def test_pass_at_k_and_pass_hat_k_are_the_shares_over_all_draws(trials: int, data: st.DataObject) -> None:
    passes = data.draw(st.integers(0, trials))
    k = data.draw(st.integers(1, trials))
    runs = [True] * passes + [False] * (trials - passes)
    draws = list(combinations(runs, k))
    assert pass_at_k(passes, trials, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))
    assert pass_hat_k(passes, trials, k) == pytest.approx(sum(all(draw) for draw in draws) / len(draws))


def test_fewer_trials_than_draws_are_not_estimable() -> None:
    assert pass_at_k(1, 2, 3) is None
    assert over_cases({"a": [True] * 3, "b": [True]}, 3, pass_hat_k) is None
    assert over_cases({"a": [True] * 3, "b": [True, True, False]}, 2, pass_hat_k) == pytest.approx((1 + 1 / 3) / 2)
    assert over_cases({}, 1, pass_at_k) is None


def test_exact_mcnemar_is_the_binomial_on_discordant_cases() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(6, 0) == pytest.approx(2 * 0.5**6)
    assert mcnemar(5, 1) == pytest.approx(2 * (1 + 6) / 64)


def test_rows_are_paired_over_the_cases_they_share_by_majority() -> None:
    rows = {"one": {"a": [True, True, False], "b": [True, False], "x": [True]}, "two": row("", "ab")}
    assert majority(rows["one"]) == {"a": True, "b": False, "x": True}
    found = compare("one", "two", rows)
    assert (found.cases, found.only_first, found.only_second) == (2, 1, 0)
    assert compare("one", "two", {"one": row("a"), "two": row("b")}).p_value is None


def test_holm_steps_down() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.5]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    pairs = sorted(zip(p_values, adjusted, strict=True))
    assert [q for _, q in pairs] == sorted(adjusted)


def test_only_a_supported_difference_is_ranked() -> None:
    letters = "abcdefghijklmnopqrst"
    rows = {"best": row(letters), "worst": row("", letters), "middle": row(letters[:17], letters[17:])}
    order = supported_order(rows)
    assert [(one.name, one.rank) for one in order] == [("best", 1), ("middle", 1), ("worst", 3)]
    assert all(pair.supported == (pair.p_holm is not None and pair.p_holm <= 0.05) for pair in compare_all(rows))


def test_rows_that_share_no_case_share_a_rank() -> None:
    order = supported_order({"one": row("abc"), "two": row("", "xyz"), "none": {}})
    assert [(one.name, one.rank) for one in order] == [("one", 1), ("two", 1)]
    assert [pair.p_holm for pair in compare_all({"one": row("abc"), "two": row("", "xyz")})] == [None]


@given(st.dictionaries(st.sampled_from(["m1", "m2", "m3", "m4"]), CASES, min_size=1))
def test_some_row_is_always_first_and_the_order_is_deterministic(rows: dict[str, dict[str, list[bool]]]) -> None:
    order = supported_order(rows)
    assert order == supported_order(dict(reversed(rows.items())))
    assert order[0].rank == 1
