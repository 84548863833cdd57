"""Publish campaigns: stage, search, redact if asked to, check the size, and land them on the branch.

Nothing is stored in the repository before every campaign has passed; the campaigns themselves are only read.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from replay.campaigns import MANIFEST
from replay.publishing import landing
from replay.publishing.landing import Landed, Target
from replay.publishing.limits import DEFAULT_MAX_MIB
from replay.publishing.patterns import Names, machine_names
from replay.publishing.redacting import redacted
from replay.publishing.repository import opened
from replay.publishing.scan import Finding, Scanned, scan
from replay.publishing.staging import Facts, completed, copied, files_of, read_facts
from replay.publishing.trees import Staged
from replay.receipts import GRADES
from replay.seal.disk import file_sha256
from schemas.errors import UsageError, WorkError
from schemas.publication import CAMPAIGNS, PUBLICATION, SCOREBOARD_HTML, SCOREBOARD_MD, Publication
from schemas.sealed import EVENTS, SUMS

Note = Callable[[str], None]
_MIB = 1 << 20
_LISTED = 50
_MADE = (MANIFEST, SCOREBOARD_MD, SCOREBOARD_HTML, PUBLICATION, SUMS)
"""What is written after the search, and searched by itself."""
_LARGEST = 6


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to publish. `words` are private texts that the publisher knows of, beside what is found by its form."""

    target: Target
    redact: bool = False
    dry_run: bool = False
    allow_unpublishable: bool = False
    supersedes: str | None = None
    max_mib: int = DEFAULT_MAX_MIB
    words: tuple[str, ...] = ()


class PublishedFile(msgspec.Struct, frozen=True):
    """A file of a publication: its name within the directory, bytes, SHA-256."""

    name: str
    bytes: int
    sha256: str


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """One campaign as it is published. `found` is what was found and replaced; `row` the line of RESULTS.md."""

    campaign: str
    directory: str
    files: tuple[PublishedFile, ...]
    bytes: int
    found: tuple[Finding, ...]
    row: str
    publication: Publication


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a publication; `landed` is None for a dry run."""

    campaigns: tuple[Ready, ...]
    landed: Landed | None


class PrivateTextsError(WorkError):
    """Private texts were found. `findings` are all of them."""

    def __init__(self, message: str, findings: tuple[Finding, ...]) -> None:
        super().__init__(message)
        self.findings = findings


def publish(campaigns: Sequence[Path], options: Options, note: Note = lambda _: None) -> Published:
    """Publish these campaigns in one commit.

    Raises `UsageError` for what cannot be published as asked, `LogError` for a campaign that cannot be trusted,
    `PrivateTextsError` for what must not leave, `WorkError` for a size, a redaction or a remote in the way.
    """
    git = opened(options.target.repository)
    landing.check_target(git, options.target)
    _check_options(campaigns, options)
    machine = machine_names()
    names = Names(machine.users, machine.hosts, frozenset(options.words))
    with tempfile.TemporaryDirectory(prefix="korvid-publish-") as scratch:
        prepared = []
        for number, source in enumerate(campaigns):
            work = Path(scratch) / str(number)
            work.mkdir()
            prepared.append(_prepared(source, work, options, names, note))
        staged = [Staged(directory, publication) for directory, publication, _ in prepared]
        _refuse_twice(staged)
        if options.dry_run:
            placed, landed = landing.preview(git, options.target, staged), None
        else:
            landed = landing.land(git, options.target, staged, note)
            placed = [one.directory.rpartition("/")[2] for one in landed.placed]
        ready = [
            _ready(source, one, name, found)
            for source, one, name, (_, _, found) in zip(campaigns, staged, placed, prepared, strict=True)
        ]
    return Published(campaigns=tuple(ready), landed=landed)


def _check_options(campaigns: Sequence[Path], options: Options) -> None:
    if options.supersedes is not None and len(campaigns) > 1:
        raise UsageError("--supersedes: says which publication one campaign corrects; publish them one by one")
    for word in options.words:
        if len(word.strip()) < 3 or not any(char.isalpha() for char in word):
            raise UsageError(f"--private {word!r}: give at least three characters with a letter among them")


def _prepared(
    source: Path, work: Path, options: Options, names: Names, note: Note
) -> tuple[Path, Publication, tuple[Finding, ...]]:
    facts = read_facts(source) if source.is_dir() else None
    if facts is not None and facts.reasons and not options.allow_unpublishable:
        raise WorkError(_unpublishable(source, facts))
    note(f"{source}: packing and searching for private texts")
    stage = copied(source, work)
    scanned = scan(stage, files_of(stage), names)
    redaction = None
    if scanned.findings:
        if not options.redact or not scanned.searchable:
            raise PrivateTextsError(_private(source, scanned), scanned.findings)
        note(f"{source}: replacing {len(scanned.findings)} private texts and grading again")
        redaction = redacted(stage, work, scanned, names, note)
    publication = completed(stage, supersedes=options.supersedes, redaction=redaction)
    last = scan(stage, [stage / name for name in _MADE], names)
    if last.findings:
        raise PrivateTextsError(_private(source, last), last.findings)
    _check_size(source, stage, options.max_mib)
    return stage, publication, scanned.findings


def _unpublishable(source: Path, facts: Facts) -> str:
    return (
        f"{source}: not publishable: {'; '.join(facts.reasons)}; record it again without that, or publish it with "
        "--allow-unpublishable, which says so in RESULTS.md"
    )


def _private(source: Path, scanned: Scanned) -> str:
    shown = "".join(f"\n  {finding.describe()}" for finding in scanned.findings[:_LISTED])
    more = len(scanned.findings) - _LISTED
    rest = f"\n  ... and {more} more (--json lists all)" if more > 0 else ""
    way = (
        "publish with --redact to replace them" if scanned.searchable else "move the files away that cannot be searched"
    )
    return f"{source}: {len(scanned.findings)} private texts found, nothing was published; {way}:{shown}{rest}"


def _check_size(source: Path, stage: Path, max_mib: int) -> None:
    sizes = sorted(
        ((path.stat().st_size, path.relative_to(stage).as_posix()) for path in files_of(stage)), reverse=True
    )
    total = sum(size for size, _ in sizes)
    if total <= max_mib * _MIB:
        return
    listed = ", ".join(f"{name} {size / _MIB:.1f} MiB" for size, name in sizes[:_LARGEST])
    grades = sum(size for size, name in sizes if name.startswith(f"{GRADES}/"))
    events = sum(size for size, name in sizes if name == EVENTS)
    if total - grades <= max_mib * _MIB:
        way = (
            f"drop older grades: move files of versions that nobody needs out of {source / GRADES}, with their receipts"
        )
    elif events > max_mib * _MIB:
        way = "drop runs: record or import fewer cases or repetitions into each campaign"
    else:
        way = f"drop grades and judgements from a copy of {source}"
    raise WorkError(
        f"{source}: {total / _MIB:.1f} MiB are more than --max-mib {max_mib} ({listed}); {way}, or raise --max-mib"
    )


def _refuse_twice(staged: Sequence[Staged]) -> None:
    seen: set[str] = set()
    for one in staged:
        if one.publication.campaign_id in seen:
            raise UsageError(f"campaign {one.publication.campaign_id} is given twice; name each once")
        seen.add(one.publication.campaign_id)


def _ready(source: Path, one: Staged, name: str, found: tuple[Finding, ...]) -> Ready:
    files = tuple(
        PublishedFile(path.relative_to(one.directory).as_posix(), path.stat().st_size, file_sha256(path))
        for path in files_of(one.directory)
    )
    return Ready(
        campaign=str(source),
        directory=f"{CAMPAIGNS}/{name}",
        files=files,
        bytes=sum(file.bytes for file in files),
        found=found,
        row=one.row(name),
        publication=one.publication,
    )


__all__ = ["Options", "PrivateTextsError", "Published", "Ready", "publish"]
