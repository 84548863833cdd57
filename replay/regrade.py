"""Grade recorded campaigns again: from logs to a grade file and a receipt, without one model call.

The log is evidence and is only read. The grades of a campaign are appended: a file and a receipt for each combination
of grader, version, source, rubric and logs, which a second regrade finds made. What was stored under a version binds
it: another result under the same version, rubric and log is an error that names the run. Sources: design (Graders,
Validity).
"""

import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from replay.campaigns import MANIFEST, run_files
from replay.graders import LoadedGrader
from replay.grades import CurrentCase, GraderFailure
from replay.guard import no_network
from replay.logref import LogRef, unreadable
from replay.pool import Bar, each_log, emitted
from replay.receipts import GRADES, stored_receipt
from replay.seal.disk import file_sha256
from replay.sorted_rows import SortedRows, sort_rows
from replay.store import GradeStore, Move, publish
from replay.work import BROKEN, CORRUPT, FLIP, ROW, UNSTARTED, CauseWork, Earlier, GradeWork, Moved, ref
from schemas.cases import rubric_digest, stimulus_digest
from schemas.errors import UsageError, WorkError
from schemas.grades import Cause, Corrupt, Coverage, Flip, Receipt, RubricChoice

RECEIPT_VERSION = 1
DEFAULT_PACK = "scenarios"
"""Where current rubrics come from if the campaign's own pack is not a bundled one."""

Note = Callable[[str], None]
Found = TypeVar("Found")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to regrade. `pack` is a bundled pack's name or a directory, for current rubrics; `where` is a condition over
    the SQL view `runs`."""

    rubric: RubricChoice = "recorded"
    pack: str | None = None
    where: str | None = None
    jobs: int = 1


class Regraded(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one campaign. `written` is false where the very same grades had been stored before.

    `failures` tells of the runs on which the grader raised.
    """

    campaign: str
    written: bool
    receipt: Receipt
    failures: tuple[GraderFailure, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether every log could be read and every run be handed to the grader without it raising."""
        return not self.receipt.corrupt and not self.receipt.grader_errors


def regrade(directory: Path, grader: LoadedGrader, options: Options, note: Note = lambda _: None) -> Regraded:
    """Grade the campaign at `directory` and store what is new.

    Raises `UsageError` for a wrong condition or pack and `WorkError` for a grader that was edited under its version,
    gave another result than before, or reached for the network; nothing is stored then.
    """
    logs = run_files(directory)
    if not logs:
        raise WorkError(f"{directory}: nothing is recorded there yet; record runs with korvid-rec run")
    selected = logs if options.where is None else select(directory, logs, options.where)
    pack = _Pack(directory, options)
    with no_network(), GradeStore(directory, note) as store:
        _refuse_edited(store, grader)
        bar = Bar(f"grading {directory.name}", len(selected))
        try:
            each_log(selected, GradeWork(ref(grader), pack.cases), store.scratch, jobs=options.jobs, progress=bar)
        finally:
            bar.close()
        counts = len(logs), len(selected)
        # What is held of each log is given back before the rows need room.
        del logs, selected
        return _store(directory, store, grader, options, pack, counts, note)


class NoneSelected(UsageError):
    """No run of a campaign meets the condition."""


def select(directory: Path, logs: Sequence[LogRef], where: str) -> list[LogRef]:
    """The logs whose row in the SQL view `runs` meets a condition.

    Raises `NoneSelected` if none does, and `UsageError` for what is not one condition over `runs`.
    """
    from replay.sql.errors import check_condition, of_condition
    from replay.sql.session import Session

    check_condition(where)
    with Session([directory]) as session:
        try:
            # The condition begins in the first line, so that a line that is told is one of the condition.
            answer = session.query(f"SELECT run_id FROM runs WHERE ({where}\n)")
            wanted = {run_id for (run_id,) in answer.rows()}
        except UsageError as error:
            raise of_condition(error) from None
    chosen = [log for log in logs if log.run_id in wanted]
    if not chosen:
        raise NoneSelected(f"--where: no run of {directory} meets {where!r}; look at them with korvid-replay ls")
    return chosen


class _Pack:
    """The rubrics of today where those are asked for; `cases` is None where the recorded ones are."""

    def __init__(self, directory: Path, options: Options) -> None:
        self.cases: dict[str, CurrentCase] | None = None
        self.label: str | None = None
        if options.rubric == "recorded":
            if options.pack is not None:
                raise UsageError("--pack: only --rubric current reads a pack; add it or leave --pack out")
            return
        from packs.loader import bundled, load_pack

        name = options.pack or _manifest_value(directory, "pack", "name")
        pack = load_pack(
            name if isinstance(name, str) and (options.pack or name in bundled()) else DEFAULT_PACK, "--pack"
        )
        self.label = f"{pack.name} {pack.sha256}"
        self.cases = {
            case.id: CurrentCase(stimulus_digest(case.stimulus), rubric_digest(case.rubric), case.rubric)
            for case in pack.cases
        }


def _refuse_edited(store: GradeStore, grader: LoadedGrader) -> None:
    """A grader without a history is its source: edited, it is another version.

    One with a history grows, and its source digest with it; there the results are compared (`_refuse_different`).
    """
    if grader.changes:
        return
    for sha256, file in store.digests_of(grader.name, grader.version).items():
        if sha256 != grader.sha256:
            raise WorkError(
                f"{grader.label} was edited: {GRADES}/{file} was graded with source {sha256[:12]}, "
                f"{grader.origin} is now {grader.sha256[:12]}; set VERSION = {grader.version + 1} in it"
            )


def _store(
    directory: Path,
    store: GradeStore,
    grader: LoadedGrader,
    options: Options,
    pack: _Pack,
    counts: tuple[int, int],
    note: Note,
) -> Regraded:
    corrupt = tuple(sorted(_decoded(store, CORRUPT, Corrupt), key=lambda found: found.file))
    failures = tuple(sorted(_decoded(store, BROKEN, GraderFailure), key=lambda found: found.run_id))
    identity = msgspec.json.encode([grader.name, grader.version, grader.sha256, options.rubric])
    rows = sort_rows(emitted(store.scratch, ROW), store.scratch, identity)
    unstarted = sum(file.read_bytes().count(b"\n") for file in emitted(store.scratch, UNSTARTED))
    if rows is None:
        if not corrupt:
            raise WorkError(f"{directory}: every log is torn before its first event ends; record again with --resume")
        raise WorkError(f"{directory}: no log can be read; {corrupt[0].file}: {corrupt[0].reason}")
    made = store.write_new(rows)
    _refuse_different(store, grader)
    edited_from = _edited_from(store, grader)
    if edited_from:
        known = ", ".join(sha256[:12] for sha256 in edited_from)
        note(f"the source of {grader.label} is not that of earlier grades ({known}); the results are the same")
    name = f"{grader.label}-{options.rubric}-{rows.inputs_sha256[:16]}.parquet"
    flips = _flips(directory, store, grader, options, pack)
    receipt = Receipt(
        schema_version=RECEIPT_VERSION,
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        campaign_id=rows.campaign_id,
        grade_file=name,
        grade_file_sha256=file_sha256(made),
        inputs_sha256=rows.inputs_sha256,
        grader=grader.name,
        version=grader.version,
        grader_sha256=grader.sha256,
        changes=grader.applied,
        rubric=options.rubric,
        pack=pack.label,
        where=options.where,
        tool_version=_tool_version(),
        coverage=_coverage(directory, rows, *counts, len(corrupt), unstarted),
        flips=flips,
        superseded=rows.superseded,
        grader_errors=tuple(failure.run_id for failure in failures),
        corrupt=corrupt,
        edited_from=edited_from,
        rubrics=rows.rubrics,
    )
    written, receipt = _publish(store, made, receipt, rows.inputs)
    return Regraded(campaign=str(directory), written=written, receipt=receipt, failures=failures)


def _tool_version() -> str:
    from importlib.metadata import version

    return version("korvid-rec")


def _publish(store: GradeStore, made: Path, receipt: Receipt, inputs: Path) -> tuple[bool, Receipt]:
    """Name the grade file, then its receipt. Where both were there already, the stored receipt counts."""
    final = store.grades / receipt.grade_file
    fresh = publish(made, final)
    if not fresh and not store.same_rows(final):
        raise WorkError(f"{final}: does not hold what these logs give under {receipt.grader}; move it away")
    beside = final.with_suffix(".json")
    draft = store.scratch / "receipt.json"
    stored_sha256 = file_sha256(final)
    receipt = msgspec.structs.replace(receipt, grade_file_sha256=stored_sha256)
    _write_receipt(draft, receipt, inputs)
    if not publish(draft, beside):
        stored = stored_receipt(final)
        if stored is None or stored.inputs_sha256 != receipt.inputs_sha256:
            raise WorkError(f"{beside}: is not the receipt of {final.name}; move both away")
        receipt = msgspec.structs.replace(receipt, created=stored.created)
    return fresh, receipt


def _write_receipt(draft: Path, receipt: Receipt, inputs: Path) -> None:
    """Write a `StoredReceipt`, whose inputs are copied from a file: they may be many."""
    first = msgspec.json.format(msgspec.json.encode(receipt), indent=1).removesuffix(b"\n}")
    with draft.open("wb") as out, inputs.open("rb") as members:
        out.write(first + b',\n "inputs": {\n')
        shutil.copyfileobj(members, out)
        out.write(b"\n }\n}\n")


def _refuse_different(store: GradeStore, grader: LoadedGrader) -> None:
    for difference in store.differences(same_source=True):
        raise WorkError(
            f"run {difference.run_id}: {grader.label} now gives {difference.found} where {GRADES}/{difference.file} "
            f"has {difference.stored}, for the same log, rubric and grading source: the grader is not deterministic, "
            "or that file was changed; move it away"
        )
    for difference in store.differences(same_source=False):
        raise WorkError(
            f"run {difference.run_id}: {grader.label} was edited: it gives {difference.found} where "
            f"{GRADES}/{difference.file} has {difference.stored} under the same version; {_new_version(grader)}"
        )


def _new_version(grader: LoadedGrader) -> str:
    return f"give the edited grader a new version (the newest is {grader.latest})"


def _edited_from(store: GradeStore, grader: LoadedGrader) -> tuple[str, ...]:
    return tuple(sha256 for sha256 in store.digests_of(grader.name, grader.version) if sha256 != grader.sha256)


def _flips(directory: Path, store: GradeStore, grader: LoadedGrader, options: Options, pack: _Pack) -> tuple[Flip, ...]:
    moves = store.moves()
    causes = _causes(directory, store, grader, options, pack, moves)
    return tuple(
        Flip(
            run_id=move.run_id,
            case_id=move.case_id,
            before=move.before,
            after=move.after,
            from_grader=f"{grader.name}@{move.version}",
            to_grader=grader.label,
            cause=causes[move.run_id],
        )
        for move in moves
    )


def _causes(
    directory: Path, store: GradeStore, grader: LoadedGrader, options: Options, pack: _Pack, moves: Sequence[Move]
) -> dict[str, Cause]:
    if not moves:
        return {}
    moved = {
        move.run_id: Earlier(move.version, move.rubric == "current", move.same_rubric, move.before, move.after)
        for move in moves
    }
    # An earlier grade under a current rubric is explained with the pack at hand, the only one there is.
    work = CauseWork(ref(grader), moved, pack.cases, options.rubric == "current")
    spool = store.scratch / "causes"
    spool.mkdir()
    logs = [log for log in run_files(directory) if log.run_id in moved]
    bar = Bar("explaining flips", len(logs))
    try:
        each_log(logs, work, spool, jobs=options.jobs, progress=bar)
    finally:
        bar.close()
    lines = (line for file in emitted(spool, FLIP) for line in file.read_bytes().splitlines())
    found = [msgspec.json.decode(line, type=Moved) for line in lines]
    return {moved.run_id: moved.cause for moved in found}


def _coverage(
    directory: Path, rows: SortedRows, recorded: int, selected: int, corrupt: int, unstarted: int
) -> Coverage:
    passed, failed = rows.verdicts.get("pass", 0), rows.verdicts.get("fail", 0)
    superseded = len(rows.superseded)
    planned = _planned(directory)
    whole = planned if planned is not None else recorded - superseded
    return Coverage(
        planned=planned,
        recorded=recorded,
        superseded=superseded,
        corrupt=corrupt,
        interrupted=rows.statuses.get("interrupted", 0) + unstarted,
        provider_error=rows.statuses.get("provider_error", 0),
        harness_invalid=rows.statuses.get("harness_invalid", 0),
        graded=passed + failed,
        passed=passed,
        failed=failed,
        not_gradable=rows.verdicts.get("not_gradable", 0),
        not_selected=recorded - selected,
        fraction=round((passed + failed) / whole, 6) if whole else None,
    )


def _planned(directory: Path) -> int | None:
    """The number of runs that the manifest planned, if it says so."""
    cases = _manifest_value(directory, "pack", "count")
    repetitions = _manifest_value(directory, "repetitions")
    if isinstance(cases, int) and isinstance(repetitions, int):
        return cases * repetitions
    return None


def _manifest_value(directory: Path, *keys: str) -> object:
    """A value of campaign.json, or None if it or the file is missing."""
    path = directory / MANIFEST
    if not path.is_file():
        return None
    try:
        value = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise unreadable(f"{path}: cannot read the manifest", error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WorkError(f"{path}: not a campaign manifest ({error}); restore it from a copy") from None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _decoded(store: GradeStore, kind: str, type: type[Found]) -> list[Found]:
    lines = (line for file in emitted(store.scratch, kind) for line in file.read_bytes().splitlines())
    return [msgspec.json.decode(line, type=type) for line in lines]
