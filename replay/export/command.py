"""Export a campaign: the files of a format, and `export.json` beside them."""

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Literal, get_args

import msgspec

from replay.campaigns import MANIFEST, campaign_directories, logs_in
from replay.export.projection import RunView, view
from replay.export.unmapped import PLACES
from schemas.errors import KorvidError, LogError, UsageError, WorkError
from schemas.provenance import Manifest, decode_manifest

Format = Literal["atif", "inspect", "otel", "parquet"]
FORMATS: tuple[str, ...] = get_args(Format)
NOTES = "export.json"
NOTES_VERSION = 1

Note = Callable[[str], None]


class Unmapped(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of event, or a field of one, that a format has no place for; `events` counts those in the campaign."""

    field: str
    reason: str
    events: int


class ExportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file that was written, relative to the export."""

    path: str
    bytes: int
    sha256: str


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What an export holds, as `export.json` says it.

    `logs` maps run ids to the SHA-256 of the raw bytes of their logs; `left_out` names runs that were not exported,
    with the reason.
    """

    schema_version: int
    format: str
    format_version: str
    campaign_id: str
    tool_version: str
    out: str
    runs: int
    logs: dict[str, str]
    left_out: dict[str, str]
    unmapped: tuple[Unmapped, ...]
    files: tuple[ExportedFile, ...]


class Campaign(msgspec.Struct, kw_only=True):
    """A campaign on its way out. `runs` reads the logs one after the other and fills `logs`, `kinds`, `left_out`.

    `note` is told of what a person should know of it.
    """

    directory: Path
    manifest: Manifest | None
    logs: dict[str, str]
    left_out: dict[str, str]
    kinds: Counter[str]
    note: Note

    @property
    def campaign_id(self) -> str:
        """The manifest's id, or the directory's name where there is no manifest that reads."""
        return self.manifest.campaign_id if self.manifest else self.directory.name

    def runs(self) -> Iterator[RunView]:
        """Every run whose log can be trusted, in order of the campaign."""
        for log in logs_in(self.directory):
            try:
                run = view(log)
            except LogError as error:
                self.left_out[log.run_id] = str(error)
                continue
            self.logs[run.started.run_id] = run.sha256
            self.kinds += run.kinds
            yield run


def export(path: Path, form: str, out: Path, *, note: Note = lambda _: None) -> Exported:
    """Write the campaign at `path` in a format to `out`, a new or empty directory.

    Raises `UsageError` for a path that is not one campaign or a directory that holds something, `WorkError` where
    nothing could be exported, `OSError` where it cannot be written; the directory is empty then.
    """
    directories = campaign_directories(path)
    if len(directories) != 1:
        names = ", ".join([*(directory.name for directory in directories[:5]), *(["..."] if directories[5:] else [])])
        raise UsageError(f"{path}: holds {len(directories)} campaigns ({names}); export one at a time")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out}: is there and not empty; name a new directory")
    campaign = Campaign(
        directory=directories[0], manifest=_manifest(directories[0]), logs={}, left_out={}, kinds=Counter(), note=note
    )
    out.mkdir(parents=True, exist_ok=True)
    try:
        return _export(campaign, form, out)
    except (OSError, KorvidError):
        _clear(out)
        raise


def _clear(directory: Path) -> None:
    for path in directory.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _export(campaign: Campaign, form: str, out: Path) -> Exported:
    version = _write(campaign, form, out)
    for run_id, reason in campaign.left_out.items():
        campaign.note(f"left out {run_id}: {reason}")
    if not campaign.logs:
        raise WorkError(f"{campaign.directory}: no run could be exported")
    done = Exported(
        schema_version=NOTES_VERSION,
        format=form,
        format_version=version,
        campaign_id=campaign.campaign_id,
        tool_version=distribution_version("korvid-rec"),
        out=out.name,
        runs=len(campaign.logs),
        logs=dict(sorted(campaign.logs.items())),
        left_out=dict(sorted(campaign.left_out.items())),
        unmapped=tuple(_unmapped(form, campaign.kinds)),
        files=tuple(_files(out)),
    )
    (out / NOTES).write_bytes(msgspec.json.format(msgspec.json.encode(done), indent=1) + b"\n")
    return msgspec.structs.replace(done, out=str(out))


def _write(campaign: Campaign, form: str, out: Path) -> str:
    """The files of a format, and its version."""
    match form:
        case "atif":
            from replay.export.atif import write
        case "inspect":
            from replay.export.inspect_log import write
        case "otel":
            from replay.export.otel import write
        case "parquet":
            from replay.export.parquet import write
        case _:
            raise UsageError(f"--format {form}: not a format; one of {', '.join(FORMATS)}")
    return write(campaign, out)


def _manifest(directory: Path) -> Manifest | None:
    path = directory / MANIFEST
    try:
        return decode_manifest(path.read_bytes(), str(path))
    except (OSError, LogError):
        # A half recorded campaign may have none, and an older one another: its logs are whole all the same.
        return None


def _unmapped(form: str, kinds: Counter[str]) -> Iterator[Unmapped]:
    """What this campaign has and the format has no place for, in the order of the table."""
    places = PLACES[form]
    for field, reason in places.items():
        kind = field.split(".")[0]
        if reason and kinds[kind]:
            yield Unmapped(field=field, reason=reason, events=kinds[kind])
    for kind in sorted(kinds):
        if not any(field.split(".")[0] == kind for field in places):
            yield Unmapped(field=kind, reason="this build does not know the event", events=kinds[kind])


def _files(out: Path) -> Iterator[ExportedFile]:
    for path in sorted(out.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            name = path.relative_to(out).as_posix()
            yield ExportedFile(path=name, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
