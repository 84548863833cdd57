"""Published journey answers under our rules: where do the verdicts on their claims differ?

Run `python -m tests.journeys.replay_answers ARCHIVE...` with archives (`.tar.gz`) of published results. Every
`journeys*/MODEL.json` in them is read: a list of journeys with `journey_id` and `runs`, each run with `turns`, each
turn with `answer` and `grade.diagnosis_success`. Only claims are compared: what the tools returned was not published.
Prints one line for each disagreement, `--markdown` as the rows of a table, and the counts last. The answers are data
from elsewhere; nothing of them is kept.
"""

import argparse
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from grading.changes import rules_of
from grading.claims import claim_findings, claims_hold
from packs.loader import load_pack
from schemas.cases import Case
from schemas.verdicts import ClaimFinding


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One published answer: the published verdict on its claims beside ours, with what ours rests on."""

    source: str
    model: str
    journey: str
    repetition: int
    turn: int
    answer: str
    published: bool
    ours: bool
    reasons: tuple[str, ...]


def published_answers(archive: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The (model, journeys) of every journey file in an archive."""
    with tarfile.open(archive) as opened:
        for member in opened:
            path = PurePosixPath(member.name)
            is_result = path.suffix == ".json" and not path.name.startswith("._") and not path.stem.endswith("-warm")
            if not (member.isfile() and is_result and path.parent.name.startswith("journeys")):
                continue
            stored = opened.extractfile(member)
            if stored is not None:
                yield path.stem, json.load(stored)


def judge(archive: Path) -> Iterator[Judged]:
    """Every answer of an archive to a turn of a bundled journey."""
    cases = {case.id: case for case in load_pack("journeys").cases}
    stem = archive.name.removesuffix(".tar.gz")
    source = archive.parent.name if stem == "artifacts" else stem.removesuffix("-artifacts")
    for model, journeys in published_answers(archive):
        for journey in journeys:
            case = cases[journey["journey_id"]]
            for repetition, run in enumerate(journey["runs"], 1):
                for turn, played in enumerate(run["turns"], 1):
                    ours, reasons = claims(case, turn, played["answer"])
                    yield Judged(
                        source=source,
                        model=model,
                        journey=case.id,
                        repetition=repetition,
                        turn=turn,
                        answer=played["answer"],
                        published=played["grade"]["diagnosis_success"],
                        ours=ours,
                        reasons=reasons,
                    )


def claims(case: Case, turn: int, answer: str) -> tuple[bool, tuple[str, ...]]:
    """Whether the claims of an answer to a turn (counted from 1) hold, and why not."""
    rules = rules_of()
    findings = claim_findings(answer, case.rubric.turns[turn - 1], case.rubric.root_cause == "none", rules)
    wrong = [finding for finding in findings if finding.role != "symptom" and _decides(finding)]
    return claims_hold(findings, rules), tuple(_reason(finding) for finding in wrong)


def _decides(finding: ClaimFinding) -> bool:
    return finding.holds if finding.role == "forbidden" else not finding.holds


def _reason(finding: ClaimFinding) -> str:
    if finding.role == "forbidden":
        return f"forbidden: {finding.span.text!r}" if finding.span else "forbidden"
    told = ", ".join(f"{span.text!r} {reason}" for reason, span in finding.rejected[:2])
    where = f" of {finding.subject.text!r}" if finding.subject else ""
    return f"{finding.role} {finding.group[0][:60]}: {told or 'nothing said'}{where}"


def main(arguments: list[str]) -> int:
    """Compare the archives named on the command line."""
    parser = argparse.ArgumentParser(description="Published journey answers under our rules.")
    parser.add_argument("archives", nargs="+", type=Path, metavar="ARCHIVE")
    parser.add_argument("--markdown", action="store_true", help="print rows of a table")
    parser.add_argument("--answers", action="store_true", help="print the answers too")
    options = parser.parse_args(arguments)
    judged = [item for archive in options.archives for item in judge(archive)]
    for item in judged:
        if item.published == item.ours:
            continue
        verdicts = f"{_word(item.published)} -> {_word(item.ours)}"
        place = (item.source, item.model, item.journey, f"{item.turn}.{item.repetition}", verdicts)
        reasons = "; ".join(item.reasons)
        print(f"| {' | '.join(place)} | {reasons} |" if options.markdown else f"{'  '.join(place)}  {reasons}")
        if options.answers:
            print(item.answer, end="\n\n")
    differ = sum(item.published != item.ours for item in judged)
    print(f"{len(judged)} answers, {differ} disagreements", file=sys.stderr)
    return 0


def _word(holds: bool) -> str:
    return "pass" if holds else "fail"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
