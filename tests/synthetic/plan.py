"""What happens in one synthetic run, drawn from the published distributions (evaluation semantics 12).

Of 675 published runs: calls per run 0 to 6 as in `CALLS`, 11 iteration limits, 3 provider errors, 6 runs with a
malformed call, 8 with a write attempt, 8 with a forbidden claim, 137 without a required one.
"""

import random
from typing import Literal

import msgspec

from schemas.cases import Case
from schemas.events import RunStatus

PUBLISHED_RUNS = 675
CALLS = (13, 514, 71, 35, 19, 12, 11)
"""How many of the published runs had 0, 1, 2 ... calls."""

CallKind = Literal["evidence", "other", "malformed", "write"]

_FILLER = (
    "I looked at the object and at its recent events.",
    "The node reports no pressure.",
    "- Namespace: `shop`",
    "- Node: `node-a`",
    "| Field | Value |\n|---|---|\n| replicas | 1 |",
    "## Next step",
    "Compare the manifest with the last revision, then roll it forward.",
    "Nothing else in the namespace stands out.",
    "Apply the change and watch the rollout.",
)


class TurnPlan(msgspec.Struct, frozen=True):
    """The calls of a turn in order, its answer, and whether it ran into the iteration limit."""

    calls: tuple[CallKind, ...]
    answer: str
    limit: bool


class RunPlan(msgspec.Struct, frozen=True):
    """A run: `torn` logs end after `torn_after` events without `run_finished`."""

    turns: tuple[TurnPlan, ...]
    status: RunStatus
    torn_after: int | None
    input_tokens: int
    output_tokens: int
    duration_s: float


class Fractions(msgspec.Struct, frozen=True):
    """Which share of the runs is torn, failed by the provider, broken by the harness."""

    interrupted: float
    provider_error: float
    invalid: float


def draw(case: Case, chance: random.Random, fractions: Fractions) -> RunPlan:
    """One run of `case`."""
    status: RunStatus = "completed"
    torn_after = None
    where = chance.random()
    if where < fractions.interrupted:
        torn_after = chance.randint(2, 9)
    elif where < fractions.interrupted + fractions.provider_error:
        status = "provider_error"
    elif where < fractions.interrupted + fractions.provider_error + fractions.invalid:
        status = "harness_invalid"
    return RunPlan(
        turns=tuple(_turn(case, turn, chance) for turn in range(len(case.stimulus.turns))),
        status=status,
        torn_after=torn_after,
        input_tokens=chance.randint(3_373, 8_920),
        output_tokens=chance.randint(93, 1_413),
        duration_s=round(chance.uniform(8.0, 300.0), 3),
    )


def _turn(case: Case, turn: int, chance: random.Random) -> TurnPlan:
    count = chance.choices(range(len(CALLS)), weights=CALLS)[0]
    limit = count == len(CALLS) - 1
    kinds: list[CallKind] = ["evidence" if chance.random() < 0.9 else "other" for _ in range(count)]
    if kinds and chance.random() < 6 / PUBLISHED_RUNS:
        kinds[0] = "malformed"
    if kinds and chance.random() < 8 / PUBLISHED_RUNS:
        kinds[-1] = "write"
    return TurnPlan(calls=tuple(kinds), answer="" if limit else _answer(case, turn, chance), limit=limit)


def _answer(case: Case, turn: int, chance: random.Random) -> str:
    pins = case.pins[turn]
    wrong = chance.random() < (137 + 8) / PUBLISHED_RUNS
    parts = [chance.choice(pins.failing if wrong else pins.passing)]
    wanted = int(50 * 60 ** (chance.random() ** 2))
    while sum(map(len, parts)) < wanted:
        parts.append(chance.choice(_FILLER))
    return "\n".join(parts)[:3_000]
