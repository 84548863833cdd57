"""Import the reference project's published results: one campaign of ours for each result file.

A result file had one model, one list of cases and one number of repetitions, which is what a campaign is. Of a run are
known the answers, times, counts and published grades. Not known are the question, the screen, the fixture, the rubric,
and what tools were called with and gave back; `not_recorded` says so in every log. The rubric in the log is that of our
bundled case of the same id, as it is when importing, and `--rubric current` measures by the id alone.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

import msgspec

from replay.importing import facts as facts_of
from replay.importing.checksums import Checked, check
from replay.importing.facts import Facts, Place
from replay.importing.reading import ResultFile, RunResult, TurnResult, result_file
from replay.importing.reports import Compared, compared
from replay.importing.sources import BRANCH, open_source
from replay.importing.writing import ImportReceipt, RunToWrite, Timed, already_imported, draft, keys_of
from schemas.cases import (
    Case,
    Cluster,
    Interaction,
    Pane,
    Rubric,
    Stimulus,
    StimulusTurn,
    pack_digest,
    rubric_digest,
    stimulus_digest,
    to_wire,
)
from schemas.digest import content_digest
from schemas.errors import WorkError
from schemas.events import SCHEMA_VERSION, RunStarted, RunStatus, TurnFinished, TurnOutcome, TurnStarted, Usage
from schemas.imported import Imported, Published
from schemas.provenance import Harness, Machine, Manifest, PackInfo, tools_info

GRADER = "korvid-published-"
NOT_RECORDED = ("stimulus", "rubric", "tool_arguments", "tool_results", "messages")
"""What no published run of the reference project has."""

_NO_SCREEN = Interaction(focused_pane=Pane(kind="not_recorded", scope="not_recorded"))
_ITERATION_LIMIT = "iteration limit reached"
_SHA_CHARS = 8

Note = Callable[[str], None]


class ImportedCampaign(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one result file: `written` is false where its bytes had been imported before."""

    campaign_id: str
    path: str
    file: str
    kind: str
    model: str
    cases: int
    runs: int
    passed: int
    grader: str
    written: bool
    ungradable_cases: tuple[str, ...]
    reports: tuple[Compared, ...]
    notes: tuple[str, ...]


class ImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did. `skipped` lists JSON files that hold no results; `refused` those with a wrong checksum."""

    campaigns: tuple[ImportedCampaign, ...]
    checksums: Checked
    refused: tuple[str, ...]
    skipped: tuple[str, ...]


def import_korvid(
    path: Path, out: Path, *, branch: str = BRANCH, note: Note = lambda _: None, graded: bool = True
) -> ImportResult:
    """Import every result file at `path` as a campaign below `out`.

    A file whose checksum is wrong is refused and named; the others are imported. With `graded` the published verdicts
    and ours are stored as grades. Raises `UsageError` if nothing is there, `WorkError` for a hostile or damaged source.
    """
    source = open_source(path, branch)
    checked = check(source)
    models = facts_of.known_models(source)
    done: list[ImportedCampaign] = []
    refused: list[str] = []
    skipped: list[str] = []
    known = already_imported(out)
    for place in facts_of.places(source):
        shown = place.file.path if place.archive is None else f"{place.archive.path}!{place.file.path}"
        digests = {place.file.sha256} | ({place.archive.sha256} if place.archive else set())
        results = result_file(place.file.data or b"", shown)
        if results is None:
            skipped += [] if _is_context(place) else [shown]
        elif digests & checked.wrong:
            refused.append(shown)
            note(f"refused {shown}: its checksum is wrong")
        else:
            found = _import(place, results, models, out, known, graded)
            known.setdefault(place.file.sha256, Path(found.path))
            done.append(found)
            for difference in (text for report in found.reports for text in report.differences):
                note(f"{found.campaign_id}: {difference}")
    if not done and not refused:
        raise WorkError(f"{path}: holds no results of the reference project: no list of scenarios or journeys")
    return ImportResult(campaigns=tuple(done), checksums=checked, refused=tuple(refused), skipped=tuple(skipped))


def _is_context(place: Place) -> bool:
    """Whether a file that holds no results was read for its facts: metadata, or the answer to a warm-up."""
    return place.file.path.endswith(("metadata.json", "-warm.json"))


def _import(
    place: Place, results: ResultFile, models: Mapping[str, str], out: Path, known: Mapping[str, Path], graded: bool
) -> ImportedCampaign:
    facts = facts_of.facts(place, results, models)
    campaign_id = f"{place.campaign}.{place.slug}-{place.file.sha256[:_SHA_CHARS]}"
    cases = {case_id: _bundled().get(case_id) for case_id in results.case_ids}
    runs = [_run(place, results, run, facts, campaign_id, cases[run.case_id]) for run in results.runs]
    reports = compared(place, results, facts.policy.model)
    before = known.get(place.file.sha256)
    if before is None:
        receipt = _receipt(place, results, runs, reports, facts)
        with draft(out, campaign_id) as made:
            made.write(_manifest(results, facts, campaign_id, cases), receipt, runs)
            if graded:
                _grade(made.path, GRADER + place.campaign)
            before = made.finish()
        written = True
    else:
        written = False
    return ImportedCampaign(
        campaign_id=before.name,
        path=str(before),
        file=place.file.path,
        kind=results.kind,
        model=facts.model,
        cases=len(results.case_ids),
        runs=len(runs),
        passed=sum(run.passed for run in results.runs),
        grader=GRADER + place.campaign,
        written=written,
        ungradable_cases=tuple(case_id for case_id, case in cases.items() if case is None),
        reports=reports,
        notes=facts.notes,
    )


def _grade(directory: Path, published: str) -> None:
    from replay.graders import load
    from replay.regrade import Options, regrade

    for grader in (published, "claims"):
        regrade(directory, load(grader), Options())


@cache
def _bundled() -> dict[str, Case]:
    """Every bundled case by its id."""
    from packs.loader import bundled, load_pack

    return {case.id: case for name in bundled() for case in load_pack(name).cases}


def _run(
    place: Place, results: ResultFile, run: RunResult, facts: Facts, campaign_id: str, case: Case | None
) -> RunToWrite:
    stimulus = _stimulus(len(run.turns))
    fits = case is not None and len(case.rubric.turns) == len(run.turns)
    rubric = case.rubric if case is not None and fits else Rubric(root_cause=run.root_cause, turns=())
    started = RunStarted(
        schema_version=SCHEMA_VERSION,
        wall_time=f"{facts.date}T00:00:00Z",
        campaign_id=campaign_id,
        run_id=f"{run.case_id}-r{run.repetition}-{place.file.sha256[:_SHA_CHARS]}",
        case_id=run.case_id,
        case_kind=results.kind,
        repetition=run.repetition,
        attempt=1,
        arm="",
        agent="model",
        model=facts.model,
        seed=None,
        stimulus_sha256=stimulus_digest(stimulus),
        rubric_sha256=rubric_digest(rubric),
        stimulus=to_wire(stimulus),
        rubric=to_wire(rubric),
        policy=facts.policy,
        not_recorded=(*NOT_RECORDED, *_unknown(run), *facts.not_recorded),
        imported=Imported(
            format="korvid",
            campaign=place.campaign,
            file=place.file.path,
            sha256=place.file.sha256,
            place=run.place,
            archive=PurePosixPath(place.archive.path).name if place.archive else None,
            archive_sha256=place.archive.sha256 if place.archive else None,
            profile=facts.profile,
            rubric=f"the bundled case {run.case_id}" if fits else None,
            published=Published(
                grader=GRADER + place.campaign,
                passed=run.passed,
                turns=tuple(turn.published for turn in run.turns),
                counts=run.counts,
            ),
            unmapped=run.unmapped | facts.unmapped,
        ),
    )
    duration = sum(turn.duration_s for turn in run.turns)
    status, reason = _status(run)
    return RunToWrite(started=started, events=tuple(_events(run)), status=status, reason=reason, duration_s=duration)


def _unknown(run: RunResult) -> tuple[str, ...]:
    """What this kind of run lacks besides: single calls never, their number or the rounds sometimes."""
    counted = all("tool_calls" in turn.published.counts for turn in run.turns)
    named = all(turn.published.tool_names is not None for turn in run.turns)
    found = ["tool_calls"] + ([] if named else ["tool_names"]) + ([] if counted else ["tool_call_count"])
    found += [] if all(turn.iterations is not None for turn in run.turns) else ["iterations"]
    found += [] if all(turn.input_tokens is not None for turn in run.turns) else ["turn_tokens"]
    return tuple(found)


def _stimulus(turns: int) -> Stimulus:
    return Stimulus(interaction=_NO_SCREEN, turns=(StimulusTurn(user=""),) * turns, cluster=Cluster())


def _status(run: RunResult) -> tuple[RunStatus, str | None]:
    """An error that is not the iteration limit came from the provider: nothing else ended a published run."""
    for number, turn in enumerate(run.turns, 1):
        if _outcome(turn) == "provider_error":
            return "provider_error", f"turn {number}: {turn.error or 'an error without a text'}"
    return "completed", None


def _outcome(turn: TurnResult) -> TurnOutcome:
    if turn.error is not None:
        return "iteration_limit" if turn.error.startswith(_ITERATION_LIMIT) else "provider_error"
    return "answered" if turn.answer.strip() else "empty"


def _events(run: RunResult) -> list[Timed]:
    """Two events a turn. Calls have none: of each no more than its name is known, and often not that."""
    found: list[Timed] = []
    at = 0.0
    for number, turn in enumerate(run.turns, 1):
        found.append(Timed(at, TurnStarted(turn=number, user="")))
        at += turn.duration_s
        finished = TurnFinished(
            turn=number,
            outcome=_outcome(turn),
            answer=turn.answer,
            iterations=turn.iterations or 0,
            tool_calls=turn.published.counts.get("tool_calls", 0),
            duration_s=turn.duration_s,
            usage=Usage(input_tokens=turn.input_tokens, output_tokens=turn.output_tokens),
            usage_estimated=turn.tokens_estimated,
            error=turn.error,
        )
        found.append(Timed(at, finished))
    return found


def _manifest(results: ResultFile, facts: Facts, campaign_id: str, cases: Mapping[str, Case | None]) -> Manifest:
    found = [case for case in cases.values() if case is not None]
    sha256 = pack_digest(found) if len(found) == len(cases) else content_digest(["case_ids", sorted(cases)])
    return Manifest(
        campaign_id=campaign_id,
        created=f"{facts.date}T00:00:00Z",
        arm="",
        agent="model",
        model=facts.model,
        pack=PackInfo(
            name="journeys" if results.kind == "journey" else "scenarios",
            case_ids=tuple(sorted(cases)),
            count=len(cases),
            sha256=sha256,
        ),
        repetitions=results.repetitions,
        durability="run",
        seed=None,
        policy=facts.policy,
        capabilities=facts.capabilities,
        catalog_version=facts.catalog_version,
        tools=tools_info(facts.policy.tools, facts.policy.omitted_tools),
        prompt=facts.policy.prompt,
        machine=Machine(cpu="not recorded", cores=0, memory_bytes=None, os="not recorded", python="not recorded"),
        harness=Harness(version="not recorded", revision=facts.revision or "not recorded"),
        serving_before=facts.serving,
        publishable=False,
        not_publishable_because=("it was imported: inputs of its runs were never recorded",),
    )


def _receipt(
    place: Place, results: ResultFile, runs: list[RunToWrite], reports: tuple[Compared, ...], facts: Facts
) -> ImportReceipt:
    return ImportReceipt(
        format="korvid",
        campaign=place.campaign,
        file=place.file.path,
        sha256=place.file.sha256,
        archive=PurePosixPath(place.archive.path).name if place.archive else None,
        archive_sha256=place.archive.sha256 if place.archive else None,
        runs=len(runs),
        passed=sum(run.passed for run in results.runs),
        not_recorded=tuple(sorted({name for run in runs for name in run.started.not_recorded})),
        unmapped=keys_of([run.unmapped for run in results.runs] + [facts.unmapped]),
        reports=reports,
        notes=facts.notes,
        metadata=place.metadata,
    )
