"""Record a campaign: start what serves the model, probe it, write the manifest, record run after run, probe again.

One process records into a campaign at a time: its directory is locked while it does.
"""

import asyncio
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from recorder.catalog import Route, route
from recorder.log import sync_directory
from recorder.machine import harness, machine
from recorder.outfit import common_outfit, outfit_of
from recorder.plan import LOG_SUFFIX, RUNS, PlannedRun, new_campaign_id, plan, remaining
from recorder.progress import Board, board
from recorder.run import Outfit, RunResult, RunSetting, record_run
from recorder.settings import MODEL_AGENT, Settings
from recorder.site import Clients, Site, Watch, facts_of, open_site, probe
from recorder.transport.library import load as load_litellm
from schemas.errors import LogError, UsageError, WorkError
from schemas.policy import Policy, tier_of
from schemas.provenance import (
    Manifest,
    PackInfo,
    ServingPassport,
    decode_manifest,
    differences,
    encode_manifest,
    judged,
    passport_changed,
    recorded_also_by,
    tools_info,
)
from schemas.words import counted

MANIFEST = "campaign.json"
CAMPAIGNS = Path("campaigns")
_MUST_STAY = ("agent", "model", "pack", "repetitions", "seed", "policy", "tools", "prompt", "protocol_version")
"""The parts of a manifest without which a resumed campaign would be another one."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording came to. Times in seconds, sizes in bytes; `planned` counts the whole campaign.

    `recorded` are the runs that reached their end; a run that was stopped is kept and counted in `interrupted_runs`.
    """

    campaign_id: str
    directory: str
    planned: int
    already_recorded: int
    recorded: int
    completed: int
    provider_errors: int
    harness_invalid: int
    interrupted: bool
    interrupted_runs: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    wall_s: float
    harness_cpu_s: float
    raw_bytes: int
    file_bytes: int
    publishable: bool | None
    not_publishable_because: tuple[str, ...]
    runs: tuple[RunResult, ...]


def record_campaign(settings: Settings, *, resume: Path | None = None) -> Summary:
    """Record all runs of a new campaign, or those of `resume` that are missing or interrupted.

    Raises `UsageError` before anything is made where the request cannot be met, `LogError` where a log cannot be
    written. A Ctrl-C or a TERM signal ends the present run as interrupted and gives a summary that says so.
    """
    earlier = None if resume is None else read_manifest(resume)
    # Whatever the routing will say, a wrong tool or prompt file is found before a server is started.
    common_outfit(settings, settings.tier or "low")
    with open_site(settings) as site:
        served = route(f"{site.provider}/{site.endpoint.model}", settings.tier, facts_of(settings, site))
        manifest = _manifest(settings, site, served, common_outfit(settings, served.tier))
        if earlier is not None and resume is not None:
            _refuse_other_campaign(earlier, manifest, resume)
        directory = resume or settings.out or CAMPAIGNS / manifest.campaign_id
        with board(0) as shown:
            manifest = msgspec.structs.replace(manifest, serving_before=probe(settings, site, shown))
        with _locked(directory, manifest, fresh=resume is None):
            if resume is not None:
                # Until it was locked another recorder may have gone on with the campaign, and changed its manifest.
                manifest = _continued(read_manifest(resume), manifest, resume)
            return _record(settings, site, manifest, directory)


def _record(settings: Settings, site: Site, manifest: Manifest, directory: Path) -> Summary:
    runs = plan(settings.pack.cases, settings.repetitions)
    left = remaining(runs, directory, manifest.campaign_id)
    if left and (whole := recorded_also_by(manifest, harness())) != manifest:
        # Before the first of its runs: a recorder that dies must not leave them to the build before it.
        manifest = whole
        _write(directory / MANIFEST, encode_manifest(manifest))
    results: list[RunResult] = []
    with board(len(left)) as shown:
        if left:
            shown.note(f"recording {counted(len(left), 'run')} into {directory}")
        started = time.monotonic()
        interrupted = asyncio.run(_record_all(left, settings, site, manifest, directory, shown, results))
        wall_s = time.monotonic() - started
        after = None if interrupted else probe(settings, site, shown, warm=False)
    manifest = judged(msgspec.structs.replace(manifest, serving_after=after)) if not interrupted else manifest
    _write(directory / MANIFEST, encode_manifest(manifest))
    return Summary(
        campaign_id=manifest.campaign_id,
        directory=str(directory),
        planned=len(runs),
        already_recorded=len(runs) - len(left),
        recorded=len(results),
        completed=sum(result.status == "completed" for result in results),
        provider_errors=sum(result.status == "provider_error" for result in results),
        harness_invalid=sum(result.status == "harness_invalid" for result in results),
        interrupted=interrupted,
        interrupted_runs=_begun(left, directory, manifest.campaign_id) - len(results),
        tool_calls=sum(result.tool_calls for result in results),
        input_tokens=sum(result.input_tokens for result in results),
        output_tokens=sum(result.output_tokens for result in results),
        wall_s=wall_s,
        harness_cpu_s=sum(result.harness_cpu_s for result in results),
        raw_bytes=sum(result.raw_bytes for result in results),
        file_bytes=sum(result.file_bytes for result in results),
        publishable=manifest.publishable,
        not_publishable_because=manifest.not_publishable_because,
        runs=tuple(results),
    )


def _begun(runs: list[PlannedRun], directory: Path, campaign_id: str) -> int:
    """How many of the runs, none of which had a log before, have one now."""
    return sum((directory / RUNS / f"{planned.run_id(campaign_id)}{LOG_SUFFIX}").exists() for planned in runs)


async def _record_all(
    left: list[PlannedRun],
    settings: Settings,
    site: Site,
    manifest: Manifest,
    directory: Path,
    shown: Board,
    results: list[RunResult],
) -> bool:
    """Record the runs in order, adding each to `results`. Whether it was stopped from outside."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    clients, watch = Clients(site.endpoint), Watch(site, manifest.serving_before)
    setting = _setting(settings, site, manifest, clients, watch)
    try:
        if left:
            shown.note("loading the client library")
            load_litellm()
            # Loading takes seconds and hears no Ctrl-C: whoever stopped meanwhile wants no run begun.
            await asyncio.sleep(0)
        for planned in left:
            shown.begin(planned)
            if site.script is not None:
                site.script(planned, tuple(spec.name for spec in setting.outfit(planned).specs))
            setting = msgspec.structs.replace(setting, context_tokens=watch.context_tokens)
            result = await record_run(planned, setting, directory / RUNS)
            results.append(result)
            shown.end(planned, result)
            _refuse_dead_server(results, directory)
    except asyncio.CancelledError:
        return True
    finally:
        await clients.close()
    return False


def _setting(settings: Settings, site: Site, manifest: Manifest, clients: Clients, watch: Watch) -> RunSetting:
    key = site.endpoint.api_key
    return RunSetting(
        campaign_id=manifest.campaign_id,
        arm=manifest.arm,
        agent=manifest.agent,
        model=manifest.model,
        policy=manifest.policy,
        outfit=lambda planned: outfit_of(settings, tier_of(manifest.policy), planned),
        client=clients.of,
        durability=settings.durability,
        secrets=() if key is None else (key.reveal(),),
        seed=settings.seed,
        serving_changes=watch.changes,
    )


def _refuse_dead_server(results: list[RunResult], directory: Path) -> None:
    """Two runs in a row that did not reach the server say enough: the rest stays to be recorded."""
    last = results[-2:]
    if len(last) == 2 and all((result.reason or "").startswith("unreachable") for result in last):
        raise WorkError(
            f"{directory}: the model server cannot be reached ({last[-1].reason}); the runs that are left were not "
            f"recorded: start the server and go on with --resume {directory}"
        )


def _manifest(settings: Settings, site: Site, served: Route, outfit: Outfit) -> Manifest:
    now = datetime.now(UTC)
    names = tuple(spec.name for spec in outfit.specs)
    return Manifest(
        campaign_id=new_campaign_id(now),
        created=now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        arm=settings.arm,
        agent=settings.agent,
        model=site.model,
        pack=PackInfo(
            name=settings.pack.name,
            case_ids=tuple(case.id for case in settings.pack.cases),
            count=len(settings.pack.cases),
            sha256=settings.pack.sha256,
        ),
        repetitions=settings.repetitions,
        durability=settings.durability,
        seed=settings.seed,
        policy=Policy(
            provider=site.provider,
            model=site.endpoint.model if settings.agent == MODEL_AGENT else settings.agent,
            dialect=site.endpoint.dialect,
            tier=served.tier,
            route_source=served.route_source,
            limits=served.limits,
            tools=names,
            omitted_tools=settings.without,
            prompt=outfit.prompt,
            options=site.endpoint.options,
            recover_calls_from_content=settings.recover_calls,
            stream=settings.stream,
        ),
        capabilities=served.capabilities,
        catalog_version=served.catalog_version,
        tools=tools_info(names, settings.without),
        prompt=outfit.prompt,
        machine=machine(),
        harness=harness(),
    )


def _continued(earlier: Manifest, now: Manifest, directory: Path) -> Manifest:
    """The manifest of a campaign that goes on. Raises `UsageError` naming what is no longer the same."""
    _refuse_other_campaign(earlier, now, directory)
    before = earlier.serving_before or now.serving_before
    _refuse_other_engine(before, now.serving_before, directory)
    return msgspec.structs.replace(
        earlier,
        durability=now.durability,
        serving_before=before,
        serving_after=None,
        publishable=None,
        not_publishable_because=(),
    )


def _refuse_other_campaign(earlier: Manifest, now: Manifest, directory: Path) -> None:
    changed = [row for row in differences(earlier, now) if row[0].partition(".")[0] in _MUST_STAY]
    if changed:
        # A digest says that something changed; what follows it by name says what.
        changed = [row for row in changed if not row[0].endswith("sha256")] or changed
        listed = "; ".join(f"{path} was {_brief(was)}, would be {_brief(is_now)}" for path, was, is_now in changed[:3])
        raise UsageError(
            f"--resume {directory}: not the campaign that would be recorded now ({listed}); "
            "give the same flags, variables, files and cases, or start a new campaign"
        )


def _brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _refuse_other_engine(before: ServingPassport | None, now: ServingPassport | None, directory: Path) -> None:
    if before is not None and now is not None and (changed := passport_changed(before, now)):
        raise UsageError(
            f"--resume {directory}: the model server is not the one the campaign began with ({'; '.join(changed)}); "
            "serve the same model with the same settings, or start a new campaign"
        )


def read_manifest(directory: Path) -> Manifest:
    """The manifest of the campaign in `directory`. Raises `UsageError` if there is none, `LogError` if it is broken."""
    path = directory / MANIFEST
    try:
        return decode_manifest(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); give the directory of a campaign") from None


@contextmanager
def _locked(directory: Path, manifest: Manifest, *, fresh: bool) -> Iterator[None]:
    """Make the directory and its manifest, and keep every other recorder out of it."""
    path = directory / MANIFEST
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"{directory}: cannot make the campaign: {error.strerror}; give --out another place") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{directory}: another korvid-rec records into it; wait for it, or give --out") from None
        if fresh and path.exists():
            raise UsageError(f"{directory}: already there; give --out a new directory, or --resume {directory}")
        if fresh:
            # The manifest comes first: without it nothing could go on what a full disk has begun.
            _write(path, encode_manifest(manifest), "free space and start again")
        _make_runs(directory / RUNS)
        yield
    finally:
        os.close(lock)


def _make_runs(path: Path) -> None:
    try:
        path.mkdir(exist_ok=True)
        sync_directory(path.parent)
    except OSError as error:
        raise LogError(f"{path}: cannot be made: {error.strerror}; free space and resume the campaign") from None


def _write(path: Path, data: bytes, way_out: str = "free space and resume the campaign") -> None:
    """Replace a file in one step, durably; a failure leaves the old one and nothing beside it."""
    draft = path.with_name(f".{path.name}.new")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise LogError(f"{path}: cannot be written: {error.strerror}; {way_out}") from None
