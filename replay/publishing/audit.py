"""Check what was published, wherever it lies: every byte, the chain of frames, the manifest, and the grades.

`audit` takes one published directory, a directory of them, or a whole fetched branch with its RESULTS.md. Nothing is
believed because it says so, and each problem names a file. Who rewrites a whole publication, digests and all, is found
out by RESULTS.md, and by the git history, not here.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from replay.campaigns import MANIFEST, RUNS, logs_in
from replay.publishing import results
from replay.publishing.receipts import ReceiptCheck, check_receipts
from replay.publishing.staging import files_of, read_facts, receipts_of
from replay.receipts import GRADES
from replay.seal.disk import file_sha256
from replay.sealed import read_index
from replay.verify import RunCheck, verify_run
from schemas.errors import KorvidError, LogError, UsageError
from schemas.publication import (
    CAMPAIGNS,
    PUBLICATION,
    PUBLICATION_VERSION,
    RESULTS,
    SCOREBOARD_HTML,
    SCOREBOARD_MD,
    Publication,
    decode_publication,
)
from schemas.sealed import EVENTS, INDEX, SUMS

_REQUIRED = (MANIFEST, EVENTS, INDEX, PUBLICATION, SCOREBOARD_MD, SCOREBOARD_HTML)
_SUM = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<name>[^\n]+)")


class Problem(msgspec.Struct, frozen=True, order=True):
    """Something that does not hold: the file (below the audited path) and what is wrong with it."""

    file: str
    reason: str


class DirectoryAudit(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one published directory.

    `files` and `bytes` are of what SHA256SUMS names and itself. `runs` are the checks of its logs,
    `receipts` those of its grades. `notes` say what could not be checked here, and what was added since.
    """

    directory: str
    campaign_id: str
    files: int
    bytes: int
    runs: tuple[RunCheck, ...]
    receipts: tuple[ReceiptCheck, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What was found at one path. `problems` are all, those of the directories and those of RESULTS.md."""

    path: str
    directories: tuple[DirectoryAudit, ...]
    problems: tuple[Problem, ...]

    @property
    def clean(self) -> bool:
        """Whether everything holds."""
        return not self.problems


def is_published(path: Path) -> bool:
    """Whether `audit` applies to a path: it is a published directory, holds such, or is a branch of results."""
    return (path / RESULTS).is_file() or any(True for _ in _directories(path))


def audit(path: Path, *, regrade: bool = True) -> Audit:
    """Check everything published at `path`; without `regrade` all but the grades themselves.

    Raises `UsageError` if nothing is published there.
    """
    directories = list(_directories(path))
    if not directories and not (path / RESULTS).is_file():
        raise UsageError(f"{path}: nothing is published there: no {PUBLICATION}, and no {RESULTS}")
    done = [_audit(directory, _name(directory, path), regrade=regrade) for directory in directories]
    problems = [problem for one in done for problem in one.problems]
    problems += _index_problems(path, directories)
    return Audit(path=str(path), directories=tuple(done), problems=tuple(problems))


def _directories(path: Path) -> Iterator[Path]:
    """The published directories at a path, also those that miss a file or two."""
    if _looks_published(path):
        yield path
        return
    for parent in (path / CAMPAIGNS, path):
        found = [child for child in sorted(parent.glob("[!.]*")) if _looks_published(child)]
        if found or parent.name == CAMPAIGNS:
            yield from found
            if found:
                return


def _looks_published(path: Path) -> bool:
    return path.is_dir() and any((path / name).is_file() for name in (PUBLICATION, SCOREBOARD_HTML, SCOREBOARD_MD))


def _name(directory: Path, path: Path) -> str:
    return "" if directory == path else f"{directory.relative_to(path).as_posix()}/"


def _audit(directory: Path, prefix: str, *, regrade: bool) -> DirectoryAudit:
    found = _Found(prefix)
    names = _check_sums(directory, found)
    files = [path for path in (directory / name for name in {*names, SUMS}) if path.is_file()]
    publication = _publication(directory, found)
    runs: tuple[RunCheck, ...] = ()
    receipts: tuple[ReceiptCheck, ...] = ()
    if not found.damaged(MANIFEST, EVENTS, INDEX):
        runs = _check_runs(directory, found)
        if publication is not None:
            _check_publication(directory, publication, found)
        receipts = _check_grades(directory, runs, found, regrade=regrade and not found.problems)
    return DirectoryAudit(
        directory=str(directory),
        campaign_id=publication.campaign_id if publication else "",
        files=len(files),
        bytes=sum(path.stat().st_size for path in files),
        runs=runs,
        receipts=receipts,
        problems=tuple(sorted(set(found.problems))),
        notes=tuple(found.notes),
    )


class _Found:
    """The problems of one directory, with names as seen from the audited path."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def problem(self, file: str, reason: str) -> None:
        self.problems.append(Problem(f"{self._prefix}{file}", reason))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def damaged(self, *names: str) -> bool:
        """Whether one of these files has a problem."""
        return bool({problem.file for problem in self.problems} & {f"{self._prefix}{name}" for name in names})


def _check_sums(directory: Path, found: _Found) -> list[str]:
    """Compare every file with SHA256SUMS; the names that stand in it."""
    try:
        text = (directory / SUMS).read_bytes().decode()
    except FileNotFoundError:
        found.problem(SUMS, "is missing")
        return []
    except (OSError, UnicodeDecodeError) as error:
        found.problem(SUMS, f"cannot be read: {error}")
        return []
    sums: dict[str, str] = {}
    for number, line in enumerate(text.split("\n")[:-1], 1):
        entry = _SUM.fullmatch(line)
        if entry is None or entry["name"] in sums or not _is_below(entry["name"]):
            found.problem(SUMS, f"line {number} is not a digest and the name of a file")
        else:
            sums[entry["name"]] = entry["sha256"]
    if not text.endswith("\n") or list(sums) != sorted(sums):
        found.problem(SUMS, "is not as it was written: it was edited")
    for name, digest in sums.items():
        _check_file(directory, name, digest, found)
    for name in _REQUIRED:
        if name not in sums:
            found.problem(SUMS, f"does not name {name}")
    for path in files_of(directory):
        name = path.relative_to(directory).as_posix()
        if name != SUMS and name not in sums:
            if name.startswith(f"{GRADES}/") or name == "index.duckdb":
                found.note(f"{name} was added since: {SUMS} does not name it")
            else:
                found.problem(name, f"was not published: {SUMS} does not name it")
    return list(sums)


def _check_file(directory: Path, name: str, digest: str, found: _Found) -> None:
    path = directory / name
    if path.is_symlink() or not path.is_file():
        found.problem(name, f"is missing, and {SUMS} names it")
        return
    actual = file_sha256(path)
    if actual != digest:
        found.problem(name, f"has SHA-256 {actual}, {SUMS} says {digest}: one of the two files was changed")


def _is_below(name: str) -> bool:
    parts = name.split("/")
    return all(part not in ("", ".", "..") for part in parts) and name.isprintable()


def _publication(directory: Path, found: _Found) -> Publication | None:
    try:
        return decode_publication((directory / PUBLICATION).read_bytes())
    except FileNotFoundError:
        found.problem(PUBLICATION, "is missing")
    except (LogError, OSError) as error:
        found.problem(PUBLICATION, str(error))
    return None


def _check_runs(directory: Path, found: _Found) -> tuple[RunCheck, ...]:
    """The index against its chain, the frames against the index, and every digest within the logs."""
    try:
        index, logs = read_index(directory), logs_in(directory)
    except KorvidError as error:
        found.problem(INDEX, _short(error, directory))
        return ()
    size = (directory / EVENTS).stat().st_size
    if size != index.bytes:
        found.problem(EVENTS, f"has {size} bytes, its frames end at byte {index.bytes}")
    if (directory / RUNS).exists():
        found.problem(RUNS, "was not published")
    checks = tuple(verify_run(log) for log in logs)
    for check in checks:
        if check.state == "corrupt":
            found.problem(EVENTS, f"run {check.run_id}: {check.detail}")
    return checks


def _check_publication(directory: Path, publication: Publication, found: _Found) -> None:
    try:
        facts, index = read_facts(directory), read_index(directory)
    except KorvidError as error:
        found.problem(MANIFEST, _short(error, directory))
        return
    interrupted = sum(run.state == "interrupted" for _, run in index.runs())
    expected = {
        "campaign_id": facts.campaign_id,
        "created": facts.created,
        "agent": facts.agent,
        "model": facts.model,
        "arm": facts.arm,
        "planned": facts.planned,
        "publishable": facts.publishable,
        "not_publishable_because": facts.reasons,
        "runs": index.run_count,
        "interrupted": interrupted,
        "chain": index.chain,
    }
    for name, value in expected.items():
        if getattr(publication, name) != value:
            found.problem(PUBLICATION, f"{name} is {getattr(publication, name)!r}, the campaign says {value!r}")


def _check_grades(
    directory: Path, runs: tuple[RunCheck, ...], found: _Found, *, regrade: bool
) -> tuple[ReceiptCheck, ...]:
    try:
        receipts = receipts_of(directory)
    except LogError as error:
        found.problem(GRADES, _short(error, directory))
        return ()
    graded = {receipt.grade_file: name for name, receipt in receipts.items()}
    for path in sorted((directory / GRADES).glob("*.parquet")):
        if path.name not in graded:
            found.problem(f"{GRADES}/{path.name}", "has no receipt")
            continue
        digest = file_sha256(path)
        if digest != receipts[graded[path.name]].grade_file_sha256:
            found.problem(f"{GRADES}/{path.name}", f"has SHA-256 {digest}, its receipt says another")
    if not regrade:
        return ()
    checks = tuple(check_receipts(directory, receipts, {check.run_id: check.sha256 for check in runs}))
    for check in checks:
        if check.problem is not None:
            found.problem(check.file, check.problem)
        if check.note is not None:
            found.note(f"{check.file}: {check.note}")
    return checks


def _index_problems(path: Path, directories: list[Path]) -> Iterator[Problem]:
    """RESULTS.md against the directories: every line must be what its directory gives, and none may be missing."""
    file = path / RESULTS
    if not file.is_file():
        return
    try:
        rows = dict(results.parse(file.read_bytes()).rows)
    except (LogError, OSError) as error:
        yield Problem(RESULTS, str(error).removeprefix(f"{RESULTS}: "))
        return
    for directory in directories:
        row = rows.pop(directory.name, None)
        problem = _row_problem(directory, row)
        if problem is not None:
            yield problem
    for name in rows:
        yield Problem(RESULTS, f"names {CAMPAIGNS}/{name}, which is not there")


def _row_problem(directory: Path, row: str | None) -> Problem | None:
    if row is None:
        return Problem(RESULTS, f"does not name {CAMPAIGNS}/{directory.name}")
    try:
        sums = hashlib.sha256((directory / SUMS).read_bytes()).hexdigest()
        publication = decode_publication((directory / PUBLICATION).read_bytes())
    except (LogError, OSError):
        # The directory's own audit has named what is missing or does not read.
        return None
    if not row.endswith(f"| `{sums}` |"):
        return Problem(f"{CAMPAIGNS}/{directory.name}/{SUMS}", f"has SHA-256 {sums}, {RESULTS} says another")
    if publication.schema_version == PUBLICATION_VERSION and row != results.row(directory.name, publication, sums):
        return Problem(RESULTS, f"the line of {CAMPAIGNS}/{directory.name} is not what {PUBLICATION} there says")
    return None


def _short(error: KorvidError, directory: Path) -> str:
    return str(error).replace(f"{directory}/", "")
