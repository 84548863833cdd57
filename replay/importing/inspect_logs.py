"""Import Inspect logs, so that what they recorded can be graded here: one campaign of ours for each `.eval` file.

A sample becomes a run: its id is the case, its epoch the repetition, each user message begins a turn, tool calls and
results are recorded as calls of ours. It is measured by our case of the same id. A log that was exported from here
carries what identifies its runs, and comes back with the same turns, calls and answers. What the samples hold besides
(events, attachments, scores) is named in the receipt.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from replay.campaigns import logs_in
from replay.importing.conversation import conversation
from replay.importing.evalzip import read_header, read_samples
from replay.importing.facts import NO_LIMITS
from replay.importing.shapes import count
from replay.importing.writing import ImportReceipt, RunToWrite, already_imported, draft, keys_of
from replay.unicode import well_formed
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
from schemas.events import SCHEMA_VERSION, RunStarted, RunStatus
from schemas.imported import Imported, Published, PublishedTurn
from schemas.policy import Policy, PromptInfo
from schemas.provenance import Capabilities, Harness, Machine, Manifest, PackInfo, tools_info

GRADER = "inspect-published-"
NOT_RECORDED = ("stimulus", "rubric", "messages", "policy.tier", "policy.limits", "policy.tools", "policy.prompt")
"""What an Inspect log does not hold in a form of ours."""

_SLUG = re.compile(r"[^A-Za-z0-9._-]+")
_SCREEN = Interaction(focused_pane=Pane(kind="not_recorded", scope="not_recorded"))
_KNOWN = frozenset(
    {
        "id", "epoch", "input", "target", "messages", "output", "scores", "metadata", "model_usage", "started_at",
        "completed_at", "total_time", "error", "limit", "uuid",
    }
)  # fmt: skip
_STATES: tuple[RunStatus, ...] = ("completed", "interrupted", "provider_error", "harness_invalid")

Note = Callable[[str], None]


class InspectCampaign(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file: `written` is false where its bytes had been imported before."""

    campaign_id: str
    path: str
    file: str
    model: str
    runs: int
    grader: str
    written: bool
    unknown_cases: tuple[str, ...]
    unmapped: tuple[str, ...]


class InspectResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did, file by file."""

    campaigns: tuple[InspectCampaign, ...]


class _Log(msgspec.Struct, frozen=True, kw_only=True):
    """One file and what its header says."""

    name: str
    sha256: str
    header: dict[str, Any]
    campaign_id: str
    task: str
    model: str

    @property
    def grader(self) -> str:
        return GRADER + self.task


def import_inspect(
    files: Sequence[Path], out: Path, *, pack: str | None = None, note: Note = lambda _: None, graded: bool = True
) -> InspectResult:
    """Import each file as a campaign below `out`. With `graded` its own scores and our verdicts are stored as grades.

    Raises `UsageError` for a file that is no Inspect log, `WorkError` for a damaged one; nothing of it is written then.
    """
    cases = _cases(pack)
    return InspectResult(campaigns=tuple(_import(file, out, cases, note, graded) for file in files))


@cache
def _cases(pack: str | None) -> Mapping[str, Case]:
    from packs.loader import bundled, load_pack

    return {case.id: case for name in ([pack] if pack else bundled()) for case in load_pack(name, "--pack").cases}


def _import(file: Path, out: Path, cases: Mapping[str, Case], note: Note, graded: bool) -> InspectCampaign:
    log = _log(file)
    before = already_imported(out).get(log.sha256)
    if before is not None:
        return InspectCampaign(
            campaign_id=before.name,
            path=str(before),
            file=str(file),
            model=log.model,
            runs=len(logs_in(before)),
            grader=log.grader,
            written=False,
            unknown_cases=(),
            unmapped=(),
        )
    runs = [_run(log, place, sample, cases) for place, sample in read_samples(file)]
    if not runs:
        raise WorkError(f"{file}: holds no sample")
    ids = sorted({run.started.case_id for run in runs})
    unknown = tuple(case_id for case_id in ids if not any(_has_rubric(run, case_id) for run in runs))
    for case_id in unknown:
        note(f"{case_id}: no case has this id, so its answers cannot be graded; give one with --pack")
    unmapped = keys_of([run.started.imported.unmapped for run in runs if run.started.imported])
    receipt = ImportReceipt(
        format="inspect",
        campaign=log.task,
        file=log.name,
        sha256=log.sha256,
        archive=None,
        archive_sha256=None,
        runs=len(runs),
        passed=sum(_passed(run) is True for run in runs),
        not_recorded=tuple(sorted({name for run in runs for name in run.started.not_recorded})),
        unmapped=unmapped,
        metadata={"eval": log.header["eval"]},
    )
    with draft(out, log.campaign_id) as made:
        made.write(_manifest(log, runs, cases), receipt, runs)
        if graded:
            _grade(made.path, log.grader)
        final = made.finish()
    return InspectCampaign(
        campaign_id=log.campaign_id,
        path=str(final),
        file=str(file),
        model=log.model,
        runs=len(runs),
        grader=log.grader,
        written=True,
        unknown_cases=unknown,
        unmapped=unmapped,
    )


def _grade(directory: Path, published: str) -> None:
    from replay.graders import load
    from replay.regrade import Options, regrade

    for grader in (published, "claims"):
        regrade(directory, load(grader), Options())


def _log(file: Path) -> _Log:
    header = well_formed(read_header(file))
    with file.open("rb") as opened:
        sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
    task = _SLUG.sub("-", str(header["eval"].get("task") or "task")).strip("-.")[:80] or "task"
    return _Log(
        name=file.name,
        sha256=sha256,
        header=header,
        campaign_id=f"inspect-{task}-{sha256[:8]}",
        task=task,
        model=str(header["eval"].get("model") or "not_recorded"),
    )


def _has_rubric(run: RunToWrite, case_id: str) -> bool:
    return run.started.case_id == case_id and bool(run.started.rubric.get("turns"))


def _passed(run: RunToWrite) -> bool | None:
    imported = run.started.imported
    return imported.published.passed if imported is not None and imported.published is not None else None


def _run(log: _Log, place: str, sample: dict[str, Any], cases: Mapping[str, Case]) -> RunToWrite:
    ours = _ours(sample)
    try:
        said = conversation(sample, ours)
        repetition = _epoch(sample.get("epoch", 1))
        case_id = _case_id(sample["id"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WorkError(f"{log.name}: {place}: not a sample of Inspect ({type(error).__name__}: {error})") from None
    case = cases.get(case_id)
    kind: Literal["scenario", "journey"] = "journey" if ours.get("case_kind") == "journey" else "scenario"
    if not ours:
        kind = case.kind if case is not None else "scenario" if len(said.turns) == 1 else "journey"
    rubric = Rubric(root_cause=_target(sample), turns=())
    if case is not None and len(case.rubric.turns) >= len(said.turns):
        rubric = case.rubric
    stimulus = Stimulus(
        interaction=_SCREEN,
        turns=tuple(StimulusTurn(user=text) for text in said.turns) or (StimulusTurn(user=""),),
        cluster=Cluster(),
    )
    status, reason = _status(sample, ours)
    started = RunStarted(
        schema_version=SCHEMA_VERSION,
        wall_time=_when(sample.get("started_at") or log.header["eval"].get("created")),
        campaign_id=log.campaign_id,
        run_id=f"{_slug(case_id)}-r{repetition}-{log.sha256[:8]}",
        case_id=case_id,
        case_kind=kind,
        repetition=repetition,
        attempt=1,
        arm=str(well_formed(ours.get("arm")) or ""),
        agent=_agent(ours),
        model=log.model,
        seed=None,
        stimulus_sha256=stimulus_digest(stimulus),
        rubric_sha256=rubric_digest(rubric),
        stimulus=to_wire(stimulus),
        rubric=to_wire(rubric),
        policy=_policy(log),
        not_recorded=tuple(dict.fromkeys((*NOT_RECORDED, *_names(ours.get("not_recorded"))))),
        imported=Imported(
            format="inspect",
            campaign=log.task,
            file=log.name,
            sha256=log.sha256,
            place=place,
            rubric=f"the bundled case {case_id}" if rubric.turns else None,
            published=_published(log, sample, len(said.turns)),
            unmapped=_unmapped(sample),
        ),
    )
    return RunToWrite(started=started, events=said.events, status=status, reason=reason, duration_s=said.duration_s)


def _ours(sample: dict[str, Any]) -> dict[str, Any]:
    """What an export from here left in a sample's metadata; empty in a log of others."""
    metadata = sample.get("metadata")
    found = metadata.get("korvid") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) and isinstance(found.get("turns"), list) else {}


def _names(value: Any) -> tuple[str, ...]:
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


def _agent(ours: dict[str, Any]) -> str:
    """Who answered: a baseline agent of an export from here, else a model."""
    found = ours.get("agent")
    return str(well_formed(found)) if isinstance(found, str) and found else "model"


def _case_id(value: Any) -> str:
    if not isinstance(value, str | int) or isinstance(value, bool) or not str(value):
        raise ValueError(f"the id {value!r} is neither a text nor a number")
    return str(well_formed(str(value)))


def _epoch(value: Any) -> int:
    found = count(value)
    if found is None:
        raise ValueError(f"the epoch {str(value)[:80]!r} is no number of a repetition")
    return found


def _slug(case_id: str) -> str:
    """A case id as a part of a file name; one that had to be changed carries a digest, so that none become equal."""
    slug = _SLUG.sub("-", case_id).strip("-.")[:80] or "sample"
    return slug if slug == case_id else f"{slug}-{hashlib.sha256(case_id.encode()).hexdigest()[:8]}"


def _target(sample: dict[str, Any]) -> str:
    target = sample.get("target")
    found = target if isinstance(target, str) else ", ".join(map(str, target)) if isinstance(target, list) else ""
    return str(well_formed(found))


def _status(sample: dict[str, Any], ours: dict[str, Any]) -> tuple[RunStatus, str | None]:
    """A sample that ended in an error says nothing of the model, unless our own export says what it was."""
    error = sample.get("error")
    reason = str(error.get("message") or "") if isinstance(error, dict) else None
    for status in _STATES:
        if ours.get("status") == status:
            return status, reason
    return ("completed", None) if error is None else ("harness_invalid", reason)


def _published(log: _Log, sample: dict[str, Any], turns: int) -> Published | None:
    """The verdict of the first scorer, by name, whose value says correct or incorrect."""
    scores = sample.get("scores")
    if not isinstance(scores, dict):
        return None
    for name in sorted(scores):
        value = scores[name].get("value") if isinstance(scores[name], dict) else None
        passed = _correct(value)
        if passed is not None:
            turn = PublishedTurn(success=passed if turns == 1 else None)
            return Published(grader=log.grader, passed=passed, turns=(turn,) * turns)
    return None


def _correct(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if value in ("C", "I"):
        return bool(value == "C")
    return bool(value == 1) if isinstance(value, int | float) and value in (0, 1) else None


def _unmapped(sample: dict[str, Any]) -> dict[str, Any]:
    """Scores whole, because graders may ask for them; of what is bulky only that it was there."""
    found: dict[str, Any] = {"scores": sample["scores"]} if sample.get("scores") else {}
    for key, value in sample.items():
        if key not in _KNOWN and value not in (None, [], {}, ""):
            found[key] = f"{len(value)} items" if isinstance(value, list | dict) else value
    metadata = sample.get("metadata")
    if isinstance(metadata, dict):
        found |= {f"metadata.{key}": value for key, value in metadata.items() if key != "korvid"}
    return found


def _when(value: Any) -> str:
    """RFC 3339 in UTC; a moment that does not read is the start of 1970."""
    try:
        read = datetime.fromisoformat(str(value))
        moment = read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _policy(log: _Log) -> Policy:
    provider, _, tag = log.model.partition("/")
    return Policy(
        provider=provider if tag else "not_recorded",
        model=tag or log.model,
        dialect="none",
        tier=None,
        route_source="not_recorded",
        limits=NO_LIMITS,
        tools=(),
        prompt=PromptInfo(pack=""),
    )


def _manifest(log: _Log, runs: list[RunToWrite], cases: Mapping[str, Case]) -> Manifest:
    ids = tuple(sorted({run.started.case_id for run in runs}))
    known = [cases[case_id] for case_id in ids if case_id in cases]
    policy = runs[0].started.policy
    return Manifest(
        campaign_id=log.campaign_id,
        created=_when(log.header["eval"].get("created")),
        arm=runs[0].started.arm,
        agent=runs[0].started.agent,
        model=log.model,
        pack=PackInfo(
            name="journeys" if all(run.started.case_kind == "journey" for run in runs) else "scenarios",
            case_ids=ids,
            count=len(ids),
            sha256=pack_digest(known) if len(known) == len(ids) else content_digest(["case_ids", list(ids)]),
        ),
        repetitions=max(run.started.repetition for run in runs),
        durability="run",
        seed=None,
        policy=policy,
        capabilities=Capabilities(),
        catalog_version=None,
        tools=tools_info((), ()),
        prompt=policy.prompt,
        machine=Machine(cpu="not recorded", cores=0, memory_bytes=None, os="not recorded", python="not recorded"),
        harness=Harness(version="not recorded", revision="not recorded"),
        publishable=False,
        not_publishable_because=("it was imported: inputs of its runs were never recorded",),
    )
