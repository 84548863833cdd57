"""What one grade costs: CPU of the newest claims grader for a run of six calls and an answer of a thousand characters.

`python -m tests.benchmarks.grade [--runs 150] [--rounds 20]` prints the median and the mean over the runs, once with
the rubrics of the bundled scenarios and once with those of the bundled journeys, of which each turn has six calls. No
two runs have the same texts, the rubrics repeat, as in a campaign. On a busy machine the best of many rounds is the
cost; a run at a time is measured, so that a disturbed one spoils no other. This is the grader alone: nothing is read
or written.
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence

import msgspec

from grading.grader import grade
from packs.loader import load_pack
from schemas.cases import Case
from schemas.recorded import RecordedCall, RecordedRun, RecordedTurn

CALLS = 6
RESULT_CHARS = 3_000
ANSWER_CHARS = 1_000
_WORDS = (
    "the pod container node is was not and because of its image memory limit probe restarts events show that exit code "
    "registry service endpoints selector secret namespace Deployment ReplicaSet Warning BackOff reason message kubelet "
    "killed failed ready healthy normal checked logs last state previous minutes ago 137 503 10.0.3.11 it this likely"
)
_TALK = _WORDS.split()
_JOINTS = (*[" "] * 30, ", ", ", ", ". ", ".\n", "\n- ", ": ", " (", ") ", " **", "** ", " `", "` ")


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds of CPU a run: the median and the mean over the runs, each run at the best of its rounds."""

    median_ms: float
    mean_ms: float


def prose(random_: random.Random, size: int, said: str = "") -> str:
    """About `size` characters of talk with `said` somewhere in it."""
    pieces: list[str] = []
    length = len(said)
    while length < size:
        piece = random_.choice(_TALK) + random_.choice(_JOINTS)
        pieces.append(piece)
        length += len(piece)
    pieces.insert(random_.randrange(len(pieces) + 1), said)
    return "".join(pieces)[:size]


def run_of(case: Case, number: int) -> RecordedRun:
    """A recorded run of a case; whether it finds and says the right things differs from run to run."""
    random_ = random.Random(f"{case.id}:{number}")
    turns = []
    for index, part in enumerate(case.rubric.turns, 1):
        locations = [location for group in part.expected_evidence for location in group]
        calls = []
        for call in range(1, CALLS + 1):
            location = random_.choice(locations)
            found = location.contains or "" if random_.random() < 0.5 else ""
            calls.append(
                RecordedCall(
                    call=call,
                    tool=location.tool,
                    arguments=dict(location.args),
                    arguments_raw="",
                    disposition="executed",
                    ok=True,
                    shown=prose(random_, RESULT_CHARS, found),
                )
            )
        pins = case.pins[index - 1] if index <= len(case.pins) else None
        said = random_.choice((*pins.passing, *pins.failing)) if pins else ""
        turns.append(
            RecordedTurn(
                turn=index,
                user="what is wrong?",
                answer=prose(random_, ANSWER_CHARS, f" {said} "),
                outcome="answered",
                calls=tuple(calls),
                iterations=2,
            )
        )
    return RecordedRun(
        campaign_id="bench",
        run_id=f"{case.id}-{number}",
        case_id=case.id,
        case_kind="scenario" if len(turns) == 1 else "journey",
        repetition=1,
        arm="",
        agent="model",
        model="bench",
        status="completed",
        stimulus_sha256="",
        rubric_sha256="",
        log_sha256="",
        rubric=case.rubric,
        armed_tools=(),
        turns=tuple(turns),
    )


def grading(pack: str, runs: int, rounds: int) -> Cost:
    """The CPU of grading `runs` runs of a bundled pack. Rounds go over all runs, so no text is in a cache."""
    cases: Sequence[Case] = load_pack(pack).cases
    recorded = [run_of(cases[number % len(cases)], number) for number in range(runs)]
    best = [float("inf")] * runs
    for _ in range(rounds):
        for number, run in enumerate(recorded):
            before = time.process_time_ns()
            grade(run, run.rubric)
            best[number] = min(best[number], (time.process_time_ns() - before) / 1e6)
    return Cost(median_ms=statistics.median(best), mean_ms=statistics.mean(best))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.grade", description=__doc__)
    parser.add_argument("--runs", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    for pack in ("scenarios", "journeys"):
        found = grading(pack, asked.runs, asked.rounds)
        print(f"{pack}: median {found.median_ms:.3f} ms, mean {found.mean_ms:.3f} ms of CPU a run")


if __name__ == "__main__":
    main()
