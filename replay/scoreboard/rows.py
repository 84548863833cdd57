"""One row of a board from the verdicts of its runs. Counts are over runs with a verdict pass or fail."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from grading.statistics import Cases, cluster_bootstrap, deviation, over_cases, pass_at_k, pass_hat_k, wilson
from replay.scoreboard.model import CaseResult, Conduct, Cost, Coverage, Rate, Reliability, Row
from replay.scoreboard.provenance import provenance

SEED = 20260727
"""The seed of every bootstrap, so that the same grades give the same intervals."""

MODEL_AGENT = "model"

Record = dict[str, Any]
Key = tuple[str, str, str, str]


def key_of(row: Mapping[str, Any]) -> Key:
    """What tells rows apart: campaign, arm, agent, model."""
    return (row["campaign_id"], row["arm"] or "", row["agent"] or "", row["model"] or "")


def row_of(name: str, covered: Record, verdicts: list[Record], campaign: Record) -> Row:
    """The row `name`: its coverage, its verdicts (newest attempts, one each) and its row of `campaigns`."""
    graded = [verdict for verdict in verdicts if verdict["verdict"] in ("pass", "fail")]
    key = key_of(covered)
    passes = _by_case(graded, "verdict", "pass")
    journeys = [verdict for verdict in graded if verdict["case_kind"] == "journey"] if covered["journeys"] else None
    return Row(
        name=name,
        campaign_id=key[0],
        arm=key[1],
        agent=key[2],
        model=key[3],
        baseline=key[2] != MODEL_AGENT,
        rank=None,
        versions=tuple(sorted({verdict["version"] for verdict in verdicts})),
        rubrics=tuple(sorted({verdict["rubric"] for verdict in verdicts})),
        coverage=_coverage(covered, verdicts, graded, campaign),
        passed=_rate(passes),
        diagnosis=_rate(_by_case(verdicts, "diagnosis_success")),
        evidence=_rate(_by_case(verdicts, "evidence_fetched")),
        successful_journeys=None if journeys is None else sum(run["outcome"] == "success" for run in journeys),
        journeys=None if journeys is None else len(journeys),
        reliability=_reliability(passes, campaign),
        conduct=_conduct(graded),
        cost=_cost(graded),
        failures=_tally(verdict["failure_class"] or "none" for verdict in graded),
        not_gradable=_tally(verdict["reason"] for verdict in verdicts if verdict["verdict"] not in ("pass", "fail")),
        cases=tuple(CaseResult(case_id=case, passed=sum(runs), graded=len(runs)) for case, runs in passes.items()),
        provenance=provenance(covered, campaign),
    )


def _by_case(verdicts: Iterable[Record], column: str, value: object = True) -> dict[str, list[bool]]:
    """Whether the column has the value, for each run where it is known, by case in order."""
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        if verdict[column] is not None:
            found[verdict["case_id"]].append(verdict[column] == value)
    return dict(sorted(found.items()))


def _tally(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _rate(cases: Cases) -> Rate:
    runs = [success for case in cases.values() for success in case]
    return Rate(
        successes=sum(runs),
        trials=len(runs),
        wilson=wilson(sum(runs), len(runs)),
        over_cases=cluster_bootstrap(cases, SEED),
    )


def _reliability(passes: Cases, campaign: Record) -> Reliability | None:
    k = campaign.get("repetitions") or max((len(runs) for runs in passes.values()), default=0)
    if not passes or k < 1:
        return None
    return Reliability(k=k, all_of_k=over_cases(passes, k, pass_hat_k), any_of_k=over_cases(passes, k, pass_at_k))


def _coverage(covered: Record, verdicts: list[Record], graded: list[Record], campaign: Record) -> Coverage:
    return Coverage(
        planned=campaign.get("planned"),
        recorded=covered["recorded"],
        superseded=covered["superseded"],
        interrupted=covered["interrupted"],
        provider_error=covered["provider_error"],
        harness_invalid=covered["harness_invalid"],
        corrupt=covered["corrupt"],
        graded=len(graded),
        not_gradable=len(verdicts) - len(graded),
        not_graded=covered["recorded"] - len(verdicts),
    )


def _conduct(graded: list[Record]) -> Conduct:
    precisions = [verdict["citation_precision"] for verdict in graded if verdict["citation_precision"] is not None]
    coverages = [verdict["citation_coverage"] for verdict in graded if verdict["citation_coverage"] is not None]
    return Conduct(
        tool_calls=_sum(graded, "tool_calls"),
        resolvable=_sum(graded, "resolvable"),
        on_target=_sum(graded, "on_target"),
        malformed=_sum(graded, "malformed"),
        write_attempts=_sum(graded, "write_attempts"),
        safety_violations=_sum(graded, "safety_violations"),
        citing_runs=len(precisions),
        citation_precision=sum(precisions) / len(precisions) if precisions else None,
        citation_coverage=sum(coverages) / len(coverages) if coverages else None,
    )


def _cost(graded: list[Record]) -> Cost:
    known = [verdict for verdict in graded if verdict["input_tokens"] is not None]
    return Cost(
        iterations=deviation([verdict["iterations"] for verdict in graded if verdict["iterations"] is not None]),
        input_tokens=_sum(known, "input_tokens") if known else None,
        output_tokens=_sum(known, "output_tokens") if known else None,
        tokens_estimated=any(verdict["tokens_estimated"] for verdict in graded),
        tokens_unknown=len(graded) - len(known),
        duration_s=deviation([verdict["duration_s"] for verdict in graded if verdict["duration_s"] is not None]),
    )


def _sum(verdicts: Iterable[Record], column: str) -> int:
    return sum(verdict[column] or 0 for verdict in verdicts)
