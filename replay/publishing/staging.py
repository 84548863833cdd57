"""Build the directory that is published from a campaign, without touching the campaign.

The copy holds the sealed events, the index, the manifest, the grades with their receipts and recorded judgements, the
scoreboard, `publication.json` and SHA256SUMS over all of it. The same campaign gives the same bytes.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from replay.campaigns import MANIFEST, RUNS, is_campaign, logs_in
from replay.logref import LOG_SUFFIX
from replay.receipts import GRADES
from replay.seal import disk
from replay.seal.sealing import seal
from replay.sealed import is_sealed, read_index
from replay.verify import verify_run
from schemas.errors import LogError, UsageError, WorkError
from schemas.grades import StoredReceipt
from schemas.provenance import decode_manifest, publishability
from schemas.publication import (
    PUBLICATION,
    SCOREBOARD_HTML,
    SCOREBOARD_MD,
    Graded,
    Publication,
    Redaction,
    encode_publication,
)
from schemas.sealed import EVENTS, INDEX, SUMS
from schemas.words import counted

JUDGEMENTS = "judgements"
Note = Callable[[str], None]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_NAMED = 8


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What of a manifest a publication needs; a manifest of another build may lack some of it."""

    campaign_id: str
    created: str | None = None
    agent: str = ""
    model: str = ""
    arm: str = ""
    repetitions: int | None = None
    pack: dict[str, Any] = {}
    publishable: bool | None = None
    not_publishable_because: tuple[str, ...] = ()

    @property
    def planned(self) -> int | None:
        """The number of runs that were planned, if the manifest says."""
        count = self.pack.get("count")
        return count * self.repetitions if isinstance(count, int) and self.repetitions is not None else None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the campaign should not be published; empty if it may."""
        if self.publishable:
            return ()
        return self.not_publishable_because or ("the manifest does not say that it may be published",)


def copied(source: Path, work: Path) -> Path:
    """A sealed copy of the campaign at `source` in the empty directory `work`, with its grades.

    Raises `UsageError` if it is no campaign or is being recorded, `LogError` if a log or a grade file cannot be
    trusted.
    """
    if not is_campaign(source):
        raise UsageError(f"{source}: not a campaign; give the directory that holds {MANIFEST}")
    facts = read_facts(source)
    stage = work / facts.campaign_id
    stage.mkdir(parents=True)
    with disk.locked(source):
        _copy(source, stage)
    if is_sealed(stage):
        _check_sealed(source, stage)
    else:
        # It checks every log, as `verify` does, and refuses those that cannot be trusted.
        seal(stage)
    (stage / SUMS).unlink(missing_ok=True)
    _check_grades(source, stage)
    return stage


def read_facts(directory: Path) -> Facts:
    """What the manifest says.

    Raises `UsageError` without one, `LogError` if it does not read, contradicts itself, or its id is no file name.
    """
    path = directory / MANIFEST
    try:
        data = path.read_bytes()
        facts = msgspec.json.decode(data, type=Facts)
    except FileNotFoundError:
        raise UsageError(f"{path}: missing; give the directory of one campaign, with its manifest") from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LogError(f"{path}: not a campaign manifest ({error}); restore it from a copy") from None
    if _NAME.fullmatch(facts.campaign_id) is None:
        raise LogError(
            f"{path}: campaign_id {facts.campaign_id[:80]!r} cannot name a directory everywhere; only letters, digits, "
            "points, underscores and hyphens can"
        )
    if facts.publishable:
        _check_publishable(data, path)
    return facts


def graded_of(stage: Path) -> Graded:
    """Write the scoreboard of `stage` in both forms and give its totals. Raises `UsageError` if nothing is graded."""
    from replay.scoreboard.command import render
    from replay.scoreboard.gather import Choice, gather

    board = gather([stage], Choice(grader=_grader(stage)))
    (stage / SCOREBOARD_MD).write_bytes(render(board, "md"))
    (stage / SCOREBOARD_HTML).write_bytes(render(board, "html"))
    versions = {version for row in board.rows for version in row.versions}
    label = f"{board.grader}@{versions.pop()}" if len(versions) == 1 else board.grader
    return Graded(
        grader=label,
        graded=sum(row.passed.trials for row in board.rows),
        passed=sum(row.passed.successes for row in board.rows),
    )


def completed(stage: Path, *, supersedes: str | None, redaction: Redaction | None) -> Publication:
    """Add the scoreboard, `publication.json` and SHA256SUMS to a copy; what was published."""
    facts, index = read_facts(stage), read_index(stage)
    publication = Publication(
        campaign_id=facts.campaign_id,
        created=facts.created,
        agent=facts.agent,
        model=facts.model,
        arm=facts.arm,
        planned=facts.planned,
        runs=index.run_count,
        interrupted=sum(run.state == "interrupted" for _, run in index.runs()),
        grades=graded_of(stage),
        publishable=facts.publishable,
        not_publishable_because=facts.reasons,
        chain=index.chain,
        supersedes=supersedes,
        redaction=redaction,
    )
    (stage / PUBLICATION).write_bytes(encode_publication(publication))
    write_sums(stage)
    return publication


def write_sums(stage: Path) -> None:
    """Write SHA256SUMS over every file of `stage`. Raises `UsageError` for a name that `sha256sum` could not read."""
    (stage / SUMS).unlink(missing_ok=True)
    lines = []
    for path in files_of(stage):
        name = path.relative_to(stage).as_posix()
        if not name.isprintable() or "\\" in name:
            raise UsageError(f"{stage.name}: the file name {name!r} does not fit into {SUMS}; rename it")
        lines.append(f"{disk.file_sha256(path)}  {name}\n")
    (stage / SUMS).write_text("".join(sorted(lines, key=lambda line: line[66:])), encoding="utf-8")


def files_of(directory: Path) -> list[Path]:
    """Every file below a directory, by name."""
    return sorted(path for path in directory.rglob("*") if path.is_file())


def receipts_of(directory: Path) -> dict[str, StoredReceipt]:
    """The receipts of a campaign by file name. Raises `LogError` for one that does not read."""
    found = {}
    for path in sorted((directory / GRADES).glob("*.json")):
        try:
            found[path.name] = msgspec.json.decode(path.read_bytes(), type=StoredReceipt)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise LogError(f"{path}: not a receipt of grades ({error}); move it away and regrade") from None
    return found


def _copy(source: Path, stage: Path) -> None:
    names = (MANIFEST, EVENTS, INDEX) if is_sealed(source) else (MANIFEST,)
    try:
        for name in names:
            shutil.copyfile(source / name, stage / name)
        patterns = [f"{GRADES}/[!.]*", f"{JUDGEMENTS}/[!.]*"]
        if not is_sealed(source):
            patterns.append(f"{RUNS}/*{LOG_SUFFIX}")
        for pattern in patterns:
            for path in sorted(source.glob(pattern)):
                target = stage / path.relative_to(source)
                target.parent.mkdir(exist_ok=True)
                if path.is_file() and not path.is_symlink():
                    shutil.copyfile(path, target)
    except OSError as error:
        raise WorkError(f"{error.filename or source}: cannot be copied: {error.strerror}") from None


def _check_sealed(source: Path, stage: Path) -> None:
    """Refuse logs that cannot be trusted, and runs that were recorded after a campaign was sealed."""
    sealed = {log.run_id for log in logs_in(stage)}
    extra = [log.run_id for log in logs_in(source) if log.run_id not in sealed]
    if extra:
        raise UsageError(
            f"{source}: runs are not sealed yet ({', '.join(extra[:_NAMED])}); run korvid-replay unseal and seal"
        )
    corrupt = [check for check in map(verify_run, logs_in(stage)) if check.state == "corrupt"]
    if corrupt:
        named = "; ".join(f"{check.run_id}: {check.detail}" for check in corrupt[:_NAMED])
        raise LogError(f"{source}: {counted(len(corrupt), 'log')} cannot be trusted and nothing is published: {named}")


def _check_grades(source: Path, stage: Path) -> None:
    receipts = receipts_of(stage)
    by_grades = {receipt.grade_file: receipt for receipt in receipts.values()}
    grades = {path.name: path for path in sorted((stage / GRADES).glob("*.parquet"))}
    if not grades:
        raise UsageError(f"{source}: nothing is graded yet; run: korvid-replay regrade {source}")
    for name, path in grades.items():
        receipt = by_grades.get(name)
        if receipt is None:
            raise LogError(f"{source / GRADES / name}: has no receipt; regrade, or move it away")
        if disk.file_sha256(path) != receipt.grade_file_sha256:
            raise LogError(f"{source / GRADES / name}: is not what its receipt says; move both away and regrade")
    for name in by_grades.keys() - grades.keys():
        raise LogError(f"{source / GRADES / name}: is missing and its receipt is there; restore it from a copy")


def _check_publishable(data: bytes, path: Path) -> None:
    """A manifest that calls itself publishable must be so by what it says itself."""
    try:
        reasons = publishability(decode_manifest(data, str(path)))
    except LogError:
        # A manifest of an import has other members; what it says of itself stands.
        return
    if reasons:
        raise LogError(f"{path}: says that it is publishable, and {'; '.join(reasons)}; restore it from a copy")


def _grader(stage: Path) -> str | None:
    """The grader that the scoreboard shows: None for the usual one, the first by name where that did not grade."""
    from replay.graders import DEFAULT

    graders = sorted({receipt.grader for receipt in receipts_of(stage).values()})
    return None if DEFAULT in graders or len(graders) == 1 else graders[0]
