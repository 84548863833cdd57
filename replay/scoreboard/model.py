"""What a scoreboard says: one row for each campaign, arm, agent and model, and how the rows compare.

None is "could not be told", never 0. A board is a function of logs and grades alone: nothing in it says when or
where it was made, so the same grades give the same bytes in every format.
"""

import msgspec

from grading.statistics import Comparison, Deviation, Interval


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Rate(_Part, frozen=True):
    """`successes` of `trials` runs. `wilson` takes every run as independent; `over_cases` draws whole cases."""

    successes: int
    trials: int
    wilson: Interval | None
    over_cases: Interval | None


class Coverage(_Part, frozen=True):
    """Runs by what became of them. `planned` is None without a manifest. All but `superseded` (earlier attempts of the
    same case and repetition) count newest attempts; `graded` have a verdict pass or fail."""

    planned: int | None
    recorded: int
    superseded: int
    interrupted: int
    provider_error: int
    harness_invalid: int
    corrupt: int
    graded: int
    not_gradable: int
    not_graded: int


class Conduct(_Part, frozen=True):
    """What the graded runs did: counts of calls, and citations (precision over runs that cited at all)."""

    tool_calls: int
    resolvable: int
    on_target: int
    malformed: int
    write_attempts: int
    safety_violations: int
    citing_runs: int
    citation_precision: float | None
    citation_coverage: float | None


class Cost(_Part, frozen=True):
    """What the graded runs cost: round trips, tokens (`tokens_unknown` runs have none known), seconds."""

    iterations: Deviation | None
    input_tokens: int | None
    output_tokens: int | None
    tokens_estimated: bool
    tokens_unknown: int
    duration_s: Deviation | None


class Reliability(_Part, frozen=True):
    """pass^k and pass@k for `k` repetitions; None is not estimable, because a case has fewer graded repetitions."""

    k: int
    all_of_k: float | None
    any_of_k: float | None


class Provenance(_Part, frozen=True):
    """Where a row's numbers come from; None where the manifest does not say."""

    publishable: bool | None
    not_publishable_because: tuple[str, ...]
    engine: str | None
    digest: str | None
    quantization: str | None
    context_length: int | None
    tier: str | None
    prompt: str | None
    pack: str | None
    harness: str | None


class CaseResult(_Part, frozen=True):
    """Passes among the graded repetitions of one case."""

    case_id: str
    passed: int
    graded: int


class Row(_Part, frozen=True):
    """One row. `name` is unique on the board; `rank` is None for baselines and for rows without a verdict.

    `versions` of the grader and `rubrics` (recorded, current) are those of its verdicts: one each where all is well.
    `failures` counts graded runs by failure class, `not_gradable` by reason those that a grader could not judge.
    `successful_journeys` are the graded runs of journeys in which every
    turn was a success, of `journeys` graded runs of journeys; both are None where the campaign holds no journey.
    """

    name: str
    campaign_id: str
    arm: str
    agent: str
    model: str
    baseline: bool
    rank: int | None
    versions: tuple[int, ...]
    rubrics: tuple[str, ...]
    coverage: Coverage
    passed: Rate
    diagnosis: Rate
    evidence: Rate
    successful_journeys: int | None
    journeys: int | None
    reliability: Reliability | None
    conduct: Conduct
    cost: Cost
    failures: dict[str, int]
    not_gradable: dict[str, int]
    cases: tuple[CaseResult, ...]
    provenance: Provenance


class FlipCount(_Part, frozen=True):
    """Verdicts of one case that one version of the grader moved, over all rows."""

    case_id: str
    from_version: int
    to_version: int
    from_verdict: str
    to_verdict: str
    runs: int


class Board(_Part, frozen=True):
    """A scoreboard under one grader. `notes` are what a reader must know before comparing rows."""

    grader: str
    rows: tuple[Row, ...]
    comparisons: tuple[Comparison, ...]
    flips: tuple[FlipCount, ...]
    notes: tuple[str, ...]
