"""Statistics over grades, with the case as the unit.

Repetitions of one case are not independent, so intervals and comparisons are taken over cases: a case counts by its
share of passes, or by its majority where a method needs a yes or a no. What cannot be estimated is None, not a number.
Methods come from scipy where it has them; nothing here draws a random number without a seed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, pstdev, stdev

import msgspec

Cases = Mapping[str, Sequence[bool]]
"""The passes of every graded repetition, by case."""
CONFIDENCE = 0.95
"""Of every interval."""
ALPHA = 0.05
"""The adjusted p value up to which a difference is supported."""


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate with its confidence interval; `n` counts the units that it rests on."""

    estimate: float
    low: float
    high: float
    n: int
    confidence: float = CONFIDENCE


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """Mean and both deviations. `sample` divides by n - 1 and is None for fewer than two values."""

    n: int
    mean: float
    population: float
    sample: float | None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two rows over the cases they share: exact McNemar on the cases that only one of them passes.

    `p_value` is two-sided; `p_holm` is adjusted for the family it was compared in; both are None if no case is shared.
    """

    first: str
    second: str
    cases: int
    only_first: int
    only_second: int
    p_value: float | None
    p_holm: float | None = None
    supported: bool = False


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """A row with its place. Rows that no supported difference sets apart share a rank."""

    name: str
    rank: int
    rate: float


def wilson(successes: int, trials: int) -> Interval | None:
    """The Wilson score interval of a proportion, or None without trials. Raises `ValueError` for impossible counts."""
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials is impossible")
    if trials == 0:
        return None
    from scipy.stats import binomtest

    bounds = binomtest(successes, trials).proportion_ci(confidence_level=CONFIDENCE, method="wilson")
    return Interval(
        estimate=successes / trials, low=float(bounds.low), high=float(bounds.high), n=trials, confidence=CONFIDENCE
    )


def deviation(values: Sequence[float]) -> Deviation | None:
    """Mean and deviations of some values, or None without any."""
    if not values:
        return None
    return Deviation(
        n=len(values), mean=fmean(values), population=pstdev(values), sample=stdev(values) if len(values) > 1 else None
    )


def case_rates(cases: Cases) -> dict[str, float]:
    """The share of passes of each case that has a repetition, by name in order."""
    return {name: sum(cases[name]) / len(cases[name]) for name in sorted(cases) if cases[name]}


def cluster_bootstrap(cases: Cases, seed: int, resamples: int = 2000) -> Interval | None:
    """The mean pass rate over cases with a percentile interval, cases drawn with replacement and kept whole.

    None without a case. With one case the interval is the estimate alone: nothing is known of the spread over cases.
    The same cases, seed and number of resamples give the same interval whatever the order of the mapping.
    """
    rates = list(case_rates(cases).values())
    if not rates:
        return None
    estimate = fmean(rates)
    if len(set(rates)) == 1:
        return Interval(estimate=estimate, low=estimate, high=estimate, n=len(rates), confidence=CONFIDENCE)
    import numpy
    from scipy.stats import bootstrap

    result = bootstrap(
        (numpy.asarray(rates),),
        numpy.mean,
        n_resamples=resamples,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=numpy.random.default_rng(seed),
    )
    bounds = result.confidence_interval
    return Interval(
        estimate=estimate, low=float(bounds.low), high=float(bounds.high), n=len(rates), confidence=CONFIDENCE
    )


def pass_at_k(passes: int, trials: int, k: int) -> float | None:
    """The unbiased chance that at least one of `k` draws passes; None (not estimable) for fewer than `k` trials."""
    if not _estimable(passes, trials, k):
        return None
    return 1.0 - math.comb(trials - passes, k) / math.comb(trials, k)


def pass_hat_k(passes: int, trials: int, k: int) -> float | None:
    """pass^k: the unbiased chance that all of `k` draws pass; None (not estimable) for fewer than `k` trials."""
    if not _estimable(passes, trials, k):
        return None
    return math.comb(passes, k) / math.comb(trials, k)


def over_cases(cases: Cases, k: int, of: Callable[[int, int, int], float | None]) -> float | None:
    """The mean of `pass_at_k` or `pass_hat_k` over all cases; None if it is not estimable for any one of them."""
    parts = [of(sum(runs), len(runs), k) for runs in cases.values()]
    known = [part for part in parts if part is not None]
    return fmean(known) if parts and len(known) == len(parts) else None


def majority(cases: Cases) -> dict[str, bool]:
    """Whether more than half of a case's repetitions passed, by case; a tie is no pass."""
    return {name: rate > 0.5 for name, rate in case_rates(cases).items()}


def compare(first: str, second: str, rows: Mapping[str, Cases]) -> Comparison:
    """The paired comparison of two rows over the cases that both have, by exact McNemar."""
    one, other = majority(rows[first]), majority(rows[second])
    shared = [name for name in one if name in other]
    only_first = sum(one[name] and not other[name] for name in shared)
    only_second = sum(other[name] and not one[name] for name in shared)
    return Comparison(
        first=first,
        second=second,
        cases=len(shared),
        only_first=only_first,
        only_second=only_second,
        p_value=mcnemar(only_first, only_second) if shared else None,
    )


def mcnemar(only_first: int, only_second: int) -> float:
    """The two-sided p-value of exact McNemar on discordant counts; 1.0 where there are none."""
    if only_first + only_second == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(only_first, only_first + only_second, 0.5).pvalue)


def compare_all(rows: Mapping[str, Cases]) -> tuple[Comparison, ...]:
    """Every pair of rows in order of name, with Holm's adjustment over the family of pairs that share a case."""
    names = sorted(rows)
    pairs = [compare(first, second, rows) for at, first in enumerate(names) for second in names[at + 1 :]]
    adjusted = iter(holm([pair.p_value for pair in pairs if pair.p_value is not None]))
    told = (pair if pair.p_value is None else _supported(pair, next(adjusted)) for pair in pairs)
    return tuple(told)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given."""
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted


def supported_order(rows: Mapping[str, Cases]) -> tuple[Ranked, ...]:
    """The rows from best to worst by mean case rate, ranked only as far as the differences are supported.

    A row's rank is one more than the number of rows that are better than it with support, so that two rows without a
    supported difference to anything share a rank. Rows without a graded case are left out.
    """
    rates = {name: fmean(shares) for name in rows if (shares := list(case_rates(rows[name]).values()))}
    beaten = dict.fromkeys(rates, 0)
    for pair in compare_all({name: rows[name] for name in rates}):
        if pair.supported:
            beaten[pair.second if pair.only_first > pair.only_second else pair.first] += 1
    order = sorted(rates, key=lambda name: (beaten[name], -rates[name], name))
    return tuple(Ranked(name=name, rank=1 + beaten[name], rate=rates[name]) for name in order)


def _supported(pair: Comparison, p_holm: float) -> Comparison:
    return msgspec.structs.replace(pair, p_holm=p_holm, supported=p_holm <= ALPHA)


def _estimable(passes: int, trials: int, k: int) -> bool:
    if not 0 <= passes <= trials or k < 1:
        raise ValueError(f"{passes} passes in {trials} trials drawn {k} at a time is impossible")
    return trials >= k
