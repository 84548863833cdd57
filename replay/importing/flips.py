"""Every published verdict on claims that ours is not, and why: the source of `docs/published.md`.

Claims are the part of a published verdict that can be graded again (tool arguments and results were never recorded), so
each turn's published finding on them is compared with ours under our bundled case. The reason is found, not written: if
the first version of our grammar still agreed with the published finding, it is the change of the grader's history that
moved it; if not, it is our case, which asks with other words or for other things.

    python -m replay.importing.flips SOURCE --out docs/published.md
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from replay.attribute import responsible
from replay.campaigns import run_files
from replay.fold import fold
from replay.graders import LoadedGrader, load
from replay.importing.korvid import ImportedCampaign, ImportResult, import_korvid
from replay.importing.published import CLAIMS_ONLY, groups_text
from schemas.errors import KorvidError
from schemas.imported import PublishedTurn
from schemas.recorded import RecordedRun
from schemas.verdicts import ClaimFinding, TurnVerdict, VerdictValue

_EXAMPLE_CHARS = 90


class TurnFlip(msgspec.Struct, frozen=True, kw_only=True):
    """One turn whose claims came out differently. `detail` says it with the words of the case and the answer."""

    case_id: str
    turn: int
    turns: int
    before: VerdictValue
    after: VerdictValue
    reason: str
    detail: str
    run: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All turns compared. `not_compared` counts turns of cases that we do not have."""

    grader: str
    campaigns: tuple[ImportedCampaign, ...]
    turns: int
    agreed: int
    not_compared: int
    not_compared_cases: tuple[str, ...]
    flips: tuple[TurnFlip, ...]


def compare(result: ImportResult) -> Comparison:
    """Published claims against ours over imported campaigns."""
    grader = load(CLAIMS_ONLY)
    flips: list[TurnFlip] = []
    turns = not_compared = 0
    missing: set[str] = set()
    for campaign in result.campaigns:
        for log in run_files(Path(campaign.path)):
            run = fold(log)
            if not run.rubric.turns:
                not_compared += len(run.turns)
                missing.add(run.case_id)
                continue
            turns += len(run.turns)
            flips += _flips(run, campaign, grader)
    return Comparison(
        grader=grader.label,
        campaigns=result.campaigns,
        turns=turns,
        agreed=turns - len(flips),
        not_compared=not_compared,
        not_compared_cases=tuple(sorted(missing)),
        flips=tuple(flips),
    )


def _flips(run: RecordedRun, campaign: ImportedCampaign, grader: LoadedGrader) -> Iterator[TurnFlip]:
    assert run.published is not None
    verdict = grader.grade(run, run.rubric)
    ours = {turn.turn: turn for turn in verdict.turns}
    for number, published in enumerate(run.published.turns, 1):
        before = _value(published.diagnosis_success)
        turn = ours.get(number)
        after = turn.verdict if turn is not None else verdict.verdict
        if before == after:
            continue
        reason, detail = _why(run, number, published, turn, (before, after), grader)
        yield TurnFlip(
            case_id=run.case_id,
            turn=number,
            turns=len(run.published.turns),
            before=before,
            after=after,
            reason=reason,
            detail=detail,
            run=f"{campaign.campaign_id} r{run.repetition}",
        )


def _value(holds: bool | None) -> VerdictValue:
    return "not_gradable" if holds is None else "pass" if holds else "fail"


def _why(
    run: RecordedRun,
    number: int,
    published: PublishedTurn,
    turn: TurnVerdict | None,
    verdicts: tuple[VerdictValue, VerdictValue],
    grader: LoadedGrader,
) -> tuple[str, str]:
    """The reason of a flip and what shows it."""
    before, after = verdicts
    if turn is None or after == "not_gradable":
        return "The provider failed: that is not charged to the model", published.error or "an error without a text"
    assert grader.grade_changes is not None
    grade_changes = grader.grade_changes

    def grade(state: frozenset[str]) -> VerdictValue:
        turns = {found.turn: found for found in grade_changes(run, run.rubric, state).turns}
        return turns[number].verdict

    if grade(frozenset()) == before:
        cause = responsible([change.id for change in grader.changes], frozenset(), after, grade)
        titles = {change.id: change.title for change in grader.changes}
        return "; ".join(f"{change}: {titles[change]}" for change in cause.changes), _shown(published, turn)
    return _case_reason(published, turn), _shown(published, turn)


def _case_reason(published: PublishedTurn, turn: TurnVerdict) -> str:
    """Why our case judges otherwise: by what each side found wrong."""
    if turn.verdict == "pass":
        if published.forbidden:
            return "Our case does not forbid what the published one took for a wrong claim"
        symptoms = {word for claim in turn.claims if claim.role == "symptom" for word in claim.group}
        if any(symptoms.intersection(group) for group in published.missing):
            return "The published case wanted the symptom in the question said again; ours asks for the cause"
        return "Our case knows the claim in these words as well"
    if any(claim.role == "forbidden" and claim.holds for claim in turn.claims):
        return "Our case forbids a false claim that the published one let pass"
    if any(claim.role == "bound" and not claim.holds for claim in turn.claims):
        return "Our case wants the claim said of the right object"
    if any(claim.role == "required" and not claim.holds for claim in turn.claims):
        return "Our case asks for a claim that the published one did not"
    return "The answer is none"


def _shown(published: PublishedTurn, turn: TurnVerdict) -> str:
    theirs = []
    if published.missing:
        theirs.append(f"published missed {groups_text(published.missing)}")
    if published.forbidden:
        theirs.append(f"published counted as forbidden {groups_text(published.forbidden)}")
    ours = [text for claim in turn.claims if (text := _finding(claim, turn.verdict == "pass"))]
    return "; ".join(theirs + ours) or turn.reason


def _finding(claim: ClaimFinding, passed: bool) -> str:
    group = groups_text((claim.group,))
    if claim.role in ("required", "bound"):
        if claim.holds and passed and claim.span is not None:
            return f"ours heard «{claim.span.text}»"
        if not claim.holds and not passed:
            why = ", ".join(f"«{span.text}» is {reason}" for reason, span in claim.rejected[:2])
            return f"ours missed {group}" + (f": {why}" if why else "")
    if claim.role == "forbidden":
        if claim.holds and claim.span is not None:
            return f"ours heard the forbidden «{claim.span.text}»"
        if passed and claim.rejected:
            reason, span = claim.rejected[0]
            return f"ours: «{span.text}» is {reason}, not claimed"
    return ""


def render(found: Comparison) -> Iterator[str]:
    """`docs/published.md`, line by line."""
    yield from _HEAD.format(grader=found.grader).splitlines()
    yield ""
    yield from _campaign_table(found.campaigns)
    yield ""
    flips = found.flips
    up, down = (sum((flip.before, flip.after) == pair for flip in flips) for pair in (_UP, _DOWN))
    yield (
        f"Of {found.turns} turns compared, {found.agreed} agree and {len(flips)} differ: {up} from fail to pass, "
        f"{down} from pass to fail, {len(flips) - up - down} otherwise."
    )
    if found.not_compared:
        yield f"{found.not_compared} turns are of cases that are not bundled: {', '.join(found.not_compared_cases)}."
    yield ""
    yield from _CAVEAT.splitlines()
    by_case: defaultdict[str, list[TurnFlip]] = defaultdict(list)
    for flip in flips:
        by_case[flip.case_id].append(flip)
    for case_id, of_case in sorted(by_case.items()):
        yield ""
        yield f"## {case_id}"
        yield from _case_lines(of_case)


_HEAD = """\
# Published verdicts against ours

Three publications of the reference project came with their answers. This page lists every turn whose claims
`{grader}` judges otherwise than was published, and why. It is made by a script from the published files, and a
test makes it again: a change of a case or of the grammar that moves one of these verdicts shows here first.

    korvid-replay import korvid SOURCE --out imported
    python -m replay.importing.flips SOURCE --out docs/published.md

Evidence is not compared: the arguments and results of tool calls were never published. A success in a published task
report is a success on claims. In a journey it is one on everything, so there the claims of its turns are compared.
[How an import works](import.md)."""
_CAVEAT = """\
A case in our pack is not the published case: its question, fixture and words are our own. An answer was given to the
published question, so a disagreement that our case explains is one of measure, not of the model."""
_UP = ("fail", "pass")
_DOWN = ("pass", "fail")


def _campaign_table(campaigns: Iterable[ImportedCampaign]) -> Iterator[str]:
    yield "| campaign | model | cases | runs | published successes |"
    yield "|---|---|---:|---:|---:|"
    for campaign in campaigns:
        row = (campaign.campaign_id, campaign.model, str(campaign.cases), str(campaign.runs), str(campaign.passed))
        yield f"| {' | '.join(row)} |"


def _case_lines(flips: list[TurnFlip]) -> Iterator[str]:
    groups: defaultdict[tuple[int, str, str, str], list[TurnFlip]] = defaultdict(list)
    for flip in flips:
        groups[flip.turn, flip.before, flip.after, flip.reason].append(flip)
    for (turn, before, after, reason), of_reason in sorted(groups.items()):
        where = f"Turn {turn}, " if of_reason[0].turns > 1 else ""
        yield ""
        yield f"**{where}{before} → {after}** ({len(of_reason)}). {_escaped(reason)}."
        yield ""
        for flip in sorted(of_reason, key=lambda flip: flip.run):
            yield f"- `{flip.run}`: {_escaped(_clipped(flip.detail))}"


def _clipped(text: str) -> str:
    parts = [" ".join(part.split()) for part in text.split("; ")]
    return "; ".join(part if len(part) <= 2 * _EXAMPLE_CHARS else part[: 2 * _EXAMPLE_CHARS] + " ..." for part in parts)


def _escaped(text: str) -> str:
    """Text as Markdown shows it: no tables, tags, emphasis or links of its own."""
    return "".join("\\" + character if character in "\\`*_[]<>|" else character for character in text)


def page(source: Path) -> str:
    """The page for a source. Raises what `import_korvid` raises."""
    with tempfile.TemporaryDirectory(prefix="korvid-flips-") as scratch:
        found = compare(import_korvid(source, Path(scratch), graded=False))
    return "\n".join(render(found)) + "\n"


def main() -> int:
    """Write the page; 1 if it cannot be made."""
    parser = argparse.ArgumentParser(description="List the published verdicts on claims that ours are not.")
    parser.add_argument("source", type=Path, help="archive, directory or git repository with published results")
    parser.add_argument("--out", type=Path, required=True, help="the Markdown file to write")
    asked = parser.parse_args()
    try:
        text = page(asked.source)
    except KorvidError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    asked.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
