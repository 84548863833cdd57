"""A second copy of a staged campaign, without its private texts: logs rewritten and sealed anew, grades recomputed.

Grades cannot be edited: their digests bind them to logs. They are computed again from the redacted logs, by the same
versions and rubrics, and those that cannot be are left out and named.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from replay.campaigns import LOG_SUFFIX, MANIFEST, RUNS, logs_in
from replay.graders import LoadedGrader, load
from replay.logref import LogRef, as_ref
from replay.publishing.needles import Needles
from replay.publishing.patterns import Names, hits
from replay.publishing.redact import Redacted, redacted_run
from replay.publishing.scan import Scanned, scan
from replay.publishing.staging import JUDGEMENTS, files_of, read_facts, receipts_of
from replay.reader import whole_lines
from replay.receipts import GRADES
from replay.regrade import Options, regrade
from replay.seal import disk
from replay.seal.packing import log_pieces
from replay.seal.sealing import seal
from replay.sql.quoting import literal
from schemas.errors import KorvidError, UsageError, WorkError
from schemas.grades import Receipt, StoredReceipt
from schemas.publication import DIGEST_NOTE, Redaction
from schemas.sealed import SUMS

_ROUNDS = 4
"""A replacement can bring two halves of a text together; more than one further round was never needed."""


class _Tally(msgspec.Struct):
    """What was replaced so far."""

    counts: Counter[str]
    runs: int = 0
    requests: int = 0
    withdrawn: int = 0
    tails: int = 0


def redacted(stage: Path, work: Path, scanned: Scanned, names: Names, note: Callable[[str], None]) -> Redaction:
    """Replace the campaign in `stage` by one without the private texts that were found, using the directory `work`.

    Raises `WorkError` if a private text cannot be taken out: it is in an identity, a file name, or a file that cannot
    be searched.
    """
    needles = scanned.needles
    for number in range(_ROUNDS):
        made = work / f"redacted{number}" / stage.name
        made.mkdir(parents=True)
        tally = _rewritten(stage, made, Needles(needles), names)
        dropped, moved = _regraded(stage, made, note)
        found = scan(made, files_of(made), names)
        if not found.findings:
            redaction = Redaction(
                note=DIGEST_NOTE,
                replaced=dict(sorted(tally.counts.items())),
                runs=tally.runs,
                requests=tally.requests,
                withdrawn=tally.withdrawn,
                tails=tally.tails,
                dropped_grades=tuple(dropped),
                moved_verdicts=moved,
            )
            _note_in_manifest(made / MANIFEST, redaction)
            _replace(stage, made)
            return redaction
        if not found.needles - needles:
            break
        needles = needles | found.needles
    listed = "; ".join(finding.describe() for finding in found.findings[:8])
    raise WorkError(f"{stage.name}: cannot be redacted; what remains: {listed}")


def _rewritten(stage: Path, made: Path, needles: Needles, names: Names) -> _Tally:
    tally = _Tally(Counter())

    def is_private(text: str) -> bool:
        return next(hits(text, names), None) is not None or needles.replace_text(text, Counter()) != text

    (made / RUNS).mkdir()
    for log in logs_in(stage):
        _write_log(log, made / RUNS / f"{log.run_id}{LOG_SUFFIX}", needles, is_private, tally)
    for path in sorted((stage / JUDGEMENTS).glob("*")):
        target = made / JUDGEMENTS / path.name
        target.parent.mkdir(exist_ok=True)
        if path.name.endswith(LOG_SUFFIX):
            _write_log(as_ref(path), target, needles, is_private, tally)
        else:
            target.write_bytes(needles.replace(path.read_bytes(), tally.counts))
    (made / MANIFEST).write_bytes(needles.replace((stage / MANIFEST).read_bytes(), tally.counts))
    if read_facts(made).campaign_id != read_facts(stage).campaign_id:
        raise WorkError(f"{stage.name}: the campaign's id is itself private; record it again under another name")
    seal(made)
    (made / SUMS).unlink()
    return tally


def _write_log(log: LogRef, target: Path, needles: Needles, is_private: Callable[[str], bool], tally: _Tally) -> None:
    done: Redacted = redacted_run(list(whole_lines(log)), needles, is_private, tally.counts)
    closed = done.lines[-1].startswith(b'{"type":"run_finished"')
    disk.write(target, log_pieces(done.lines, closed=closed))
    tally.runs += done.changed
    tally.requests += done.requests
    tally.withdrawn += done.withdrawn
    tally.tails += bool(log.sealed and log.sealed.run.tail)


def _regraded(stage: Path, made: Path, note: Callable[[str], None]) -> tuple[list[str], int]:
    """Compute the grades of `stage` again in `made`: which grade files could not be, and how many verdicts moved."""
    dropped, moved = [], 0
    for receipt in sorted(receipts_of(stage).values(), key=lambda receipt: (receipt.created, receipt.grade_file)):
        grader, why = same_grader(receipt)
        if grader is None:
            note(f"left out {receipt.grade_file}: {why}")
            dropped.append(receipt.grade_file)
            continue
        options = Options(rubric=receipt.rubric, pack=pack_of(receipt), where=receipt.where)
        try:
            result = regrade(made, grader, options)
        except KorvidError as error:
            note(f"left out {receipt.grade_file}: {error}")
            dropped.append(receipt.grade_file)
            continue
        # The grade is that of the first receipt, repeated; another time each time would be other bytes each time.
        beside = made / GRADES / Path(result.receipt.grade_file).with_suffix(".json").name
        stored = msgspec.json.decode(beside.read_bytes(), type=StoredReceipt)
        again = msgspec.structs.replace(stored, created=receipt.created)
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(again), indent=1) + b"\n")
        moved += _moved(stage / GRADES / receipt.grade_file, made / GRADES / again.grade_file)
    others = sorted(path.name for path in (stage / GRADES).iterdir() if path.suffix not in (".parquet", ".json"))
    dropped += others
    if not receipts_of(made):
        raise WorkError(f"{stage.name}: none of its grades can be computed again from the redacted logs")
    return dropped, moved


def same_grader(receipt: Receipt) -> tuple[LoadedGrader | None, str]:
    """The grader and version of a receipt, or None and why it cannot be had here."""
    label = f"{receipt.grader}@{receipt.version}"
    try:
        grader = load(label)
    except UsageError as error:
        return None, f"{label} is not here ({error})"
    if receipt.rubric == "current" and pack_of(receipt) is None:
        return None, f"its rubrics are those of the pack {receipt.pack}, which is not the one here"
    return grader, ""


def pack_of(receipt: Receipt) -> str | None:
    """The bundled pack whose current rubrics a receipt used, if it still is the same; None for recorded rubrics."""
    from packs.loader import bundled, load_pack

    if receipt.rubric == "recorded" or receipt.pack is None:
        return None
    name, _, digest = receipt.pack.rpartition(" ")
    return name if name in bundled() and load_pack(name).sha256 == digest else None


def _moved(before: Path, after: Path) -> int:
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
        found: tuple[Any, ...] | None = connection.execute(
            "SELECT count(*) FROM read_parquet(?) a JOIN read_parquet(?) b USING (run_id) WHERE a.verdict <> b.verdict",
            [literal(before), literal(after)],
        ).fetchone()
    return int(found[0]) if found else 0


def _note_in_manifest(path: Path, redaction: Redaction) -> None:
    members = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    members["redaction"] = msgspec.to_builtins(redaction)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(members), indent=2) + b"\n")


def _replace(stage: Path, made: Path) -> None:
    aside = made.with_name(f"{made.name}.before")
    stage.rename(aside)
    made.rename(stage)
