"""Re-derive every digest of a log: nothing in it is believed because it says so."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from replay.bodies import rebuilt_body
from replay.campaigns import MANIFEST, RUNS, campaign_directories, logs_in, run_files
from replay.logref import LogRef, as_ref
from replay.reader import RunReader
from replay.receipts import problems
from replay.seal.leftovers import leftovers
from replay.seal.sums import check_sums
from replay.sealed import is_sealed, manifest_campaign_id, read_index
from schemas.cases import rubric_digest, rubric_from_wire, stimulus_digest, stimulus_from_wire
from schemas.errors import CaseError, LogError
from schemas.events import Event, Message, ModelRequest, RunStarted, Toolset, Unknown
from schemas.sealed import EVENTS, INDEX
from schemas.words import counted


class RunCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What `verify` found of one log. Byte counts are raw (uncompressed) unless named `file_bytes`."""

    run_id: str
    path: str
    state: Literal["complete", "interrupted", "corrupt"]
    detail: str
    events: int
    raw_bytes: int
    file_bytes: int
    requests: int
    unknown_events: int
    sha256: str
    status: str | None = None

    def describe(self) -> str:
        """One line for a person."""
        status = f", {self.status}" if self.state == "complete" else ""
        return f"{self.run_id}: {self.detail}{status}"


class FileCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A file beside the logs of a campaign that is not what it should be, or that a seal left unfinished."""

    file: str
    path: str
    state: Literal["corrupt", "unfinished"]
    detail: str

    def describe(self) -> str:
        """One line for a person."""
        return f"{self.file}: {self.detail}"


def verify(path: Path) -> Iterator[RunCheck | FileCheck]:
    """Check each log at `path` in turn, then grades with their receipts and what a seal made: those only if wrong.

    Raises `UsageError` if nothing is there, `WorkError` if a file cannot be read: nothing can be said of it then.
    """
    if path.is_file() and path.name != EVENTS:
        yield from map(verify_run, run_files(path))
        return
    for directory in campaign_directories(path.parent if path.is_file() else path):
        yield from _verify_campaign(directory)


def _verify_campaign(directory: Path) -> Iterator[RunCheck | FileCheck]:
    try:
        manifest_campaign_id(directory)
    except LogError as error:
        path = str(directory / MANIFEST)
        yield FileCheck(file=MANIFEST, path=path, state="corrupt", detail=str(error).removeprefix(f"{path}: "))
        if is_sealed(directory):
            return
    try:
        logs = logs_in(directory)
    except LogError as error:
        name = INDEX if is_sealed(directory) else EVENTS
        yield FileCheck(file=name, path=str(directory / name), state="corrupt", detail=str(error))
        return
    yield from map(verify_run, logs)
    of_seal = list(_verify_files(directory)) if is_sealed(directory) else []
    yield from of_seal
    yield from _verify_grades(directory, {found.path for found in of_seal})


def _verify_grades(directory: Path, told: set[str]) -> Iterator[FileCheck]:
    """The receipts and grade files that do not hold, but for those that were `told` of."""
    for path, problem in problems(directory):
        if str(path) not in told:
            name = path.relative_to(directory).as_posix()
            yield FileCheck(file=name, path=str(path), state="corrupt", detail=problem)


def _verify_files(directory: Path) -> Iterator[FileCheck]:
    """The files of a sealed campaign beside the frames."""
    expected = read_index(directory).bytes
    events = directory / EVENTS
    found = events.stat().st_size if events.is_file() else 0
    if found > expected:
        detail = f"{counted(found - expected, 'byte')} behind the last frame, which ends at byte {expected}"
        yield FileCheck(file=EVENTS, path=str(events), state="corrupt", detail=detail)
    for problem in check_sums(directory):
        path = str(directory / problem.file)
        yield FileCheck(file=problem.file, path=path, state="corrupt", detail=problem.reason)
    for left, original in leftovers(directory):
        detail = "left from an interrupted seal; korvid-replay seal finishes it"
        if not original:
            detail = "is not the log that was sealed as this run; compare the two and move this file away"
        state: Literal["corrupt", "unfinished"] = "unfinished" if original else "corrupt"
        yield FileCheck(file=left.name, path=str(left), state=state, detail=detail)


def verify_run(log: LogRef | Path) -> RunCheck:
    """Check one log: order, closing digest, case digests, message references and every request body.

    Raises `WorkError` if it or the manifest of its campaign cannot be read.
    """
    log = as_ref(log)
    derived = _Derived(log)
    reader = RunReader(log)
    detail = ""
    for record in reader:
        if not detail:
            try:
                derived.check(record.event)
            except LogError as error:
                detail = f"corrupt: {error}"
    end = reader.end
    state = "corrupt" if detail or end is None else end.state
    if end is not None and end.state == "corrupt":
        # What does not read is the reason of what does not hold, and has a place.
        detail = end.describe()
    status = reader.finished.status if state == "complete" and reader.finished else None
    if status == "interrupted":
        state, detail = (
            "interrupted",
            f"interrupted by its recorder, {counted(derived.events, 'event')}, the log is closed",
        )
    return RunCheck(
        run_id=log.run_id,
        path=str(log),
        state=state,
        detail=detail or (end.describe() if end else "unreadable"),
        events=end.events if end else derived.events,
        raw_bytes=end.raw_bytes if end else 0,
        file_bytes=log.file_bytes,
        requests=derived.requests,
        unknown_events=derived.unknown,
        sha256=end.sha256 if end else "",
        status=status,
    )


class _Derived:
    """The digests of a log derived again, event by event."""

    def __init__(self, log: LogRef) -> None:
        self._log = log
        self._messages: list[bytes] = []
        self._toolsets: list[bytes] = []
        self._t = 0.0
        self.events = 0
        self.requests = 0
        self.unknown = 0

    def check(self, event: Event | Unknown) -> None:
        """Raises `LogError` naming the event and the digest that does not hold."""
        self.events += 1
        if event.t < self._t:
            raise LogError(
                f"event {event.seq}: its time {event.t} lies before {self._t}; the clock of a run goes forward"
            )
        self._t = event.t
        match event:
            case RunStarted():
                self._check_identity(event)
                self._check_case(event)
            case Message():
                _expect(event.seq, "message id", event.id, len(self._messages))
                self._messages.append(bytes(event.message))
            case Toolset():
                _expect(event.seq, "toolset id", event.id, len(self._toolsets))
                self._toolsets.append(bytes(event.tools))
            case ModelRequest():
                self.requests += 1
                self._check_request(event)
            case Unknown():
                self.unknown += 1

    def _check_identity(self, event: RunStarted) -> None:
        # A copy elsewhere may have any name; within a campaign the name is what the run is looked up by.
        if event.run_id != self._log.run_id and (self._log.sealed or self._log.path.parent.name == RUNS):
            raise LogError(f"event 0: this is the log of run {event.run_id}, not of {self._log.name}")
        manifest = self._log.directory / MANIFEST
        if not manifest.is_file():
            return
        found = manifest.stat()
        campaign = _campaign_of(self._log.directory, found.st_ino, found.st_mtime_ns, found.st_size)
        if campaign is not None and campaign != event.campaign_id:
            raise LogError(f"event 0: this run belongs to campaign {event.campaign_id}, not to {campaign}")

    def _check_case(self, event: RunStarted) -> None:
        try:
            found = (
                ("stimulus", event.stimulus_sha256, stimulus_digest(stimulus_from_wire(event.stimulus))),
                ("rubric", event.rubric_sha256, rubric_digest(rubric_from_wire(event.rubric))),
            )
        except (msgspec.ValidationError, CaseError, ValueError) as error:
            raise LogError(f"event 0: the recorded case does not read: {error}") from None
        for name, recorded, derived in found:
            if recorded != derived:
                raise LogError(f"event 0: the {name} has SHA-256 {derived}, run_started says {recorded}")

    def _check_request(self, event: ModelRequest) -> None:
        if event.redacted:
            return
        body = rebuilt_body(event, self._messages, self._toolsets)
        derived = hashlib.sha256(body).hexdigest()
        if derived != event.body_sha256:
            raise LogError(
                f"event {event.seq}: the body of request {event.request} has SHA-256 {derived}, not {event.body_sha256}"
            )


@lru_cache(maxsize=4)
def _campaign_of(directory: Path, *_: int) -> str | None:
    """The campaign id in a manifest, read once while the file is the same: it names every case, and each run asks.

    None if it is no manifest: that is its own fault and no run's.
    """
    try:
        return manifest_campaign_id(directory)
    except LogError:
        return None


def _expect(seq: int, name: str, found: int, expected: int) -> None:
    if found != expected:
        raise LogError(f"event {seq}: {name} {found} where {expected} comes next")
