"""Record one run: one case, one repetition, one log.

What breaks on our side is never charged to the model and never hidden: the log is closed with the status that says so
(`provider_error`, `harness_invalid`, `interrupted`) and the reason.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from packs.prompts import user_message
from recorder.agent import Agent
from recorder.cluster import FakeCluster
from recorder.conversation import Conversation
from recorder.log import Durability, RunLog
from recorder.plan import PlannedRun
from recorder.prompt_watch import PromptWatch
from recorder.tools import Toolbox, ToolSpec, schemas_for
from recorder.transport import ModelClient, RequestLedger
from recorder.workspace import Workspace
from schemas.cases import rubric_digest, stimulus_digest, to_wire
from schemas.errors import CaseError, LogError
from schemas.events import (
    SCHEMA_VERSION,
    Event,
    ModelError,
    RunStarted,
    RunStatus,
    ServingChanged,
    ToolResult,
    TurnFinished,
)
from schemas.policy import Policy, PromptInfo, tier_of


class Outfit(msgspec.Struct, frozen=True):
    """What the agent of one run is given: a fixture with a backend arms one tool more, so it can differ by case."""

    specs: tuple[ToolSpec, ...]
    system: str
    prompt: PromptInfo


class RunSetting(msgspec.Struct, frozen=True, kw_only=True):
    """What all runs of a campaign share. `client` makes the model client for a run's seed."""

    campaign_id: str
    arm: str
    agent: str
    model: str
    policy: Policy
    outfit: Callable[[PlannedRun], Outfit]
    client: Callable[[int | None], ModelClient]
    durability: Durability
    secrets: tuple[str, ...] = ()
    seed: int | None = None
    context_tokens: int | None = None
    serving_changes: Callable[[], Awaitable[tuple[str, ...]]] | None = None


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one recording came to; token counts as the run's turns sum them."""

    run_id: str
    status: RunStatus
    reason: str | None
    events: int
    raw_bytes: int
    file_bytes: int
    duration_s: float
    harness_cpu_s: float
    input_tokens: int
    output_tokens: int
    tool_calls: int


class _Tally:
    """Watches the events of a run on their way to the log, for cut prompts, the status and the summary."""

    def __init__(self, log: RunLog, context_tokens: int | None) -> None:
        self._log = log
        self._watch = PromptWatch(context_tokens)
        self.error: ModelError | None = None
        self.truncated = False
        self.crash: str | None = None
        self.input_tokens = 0
        self.output_tokens = 0
        self.tool_calls = 0

    def emit(self, event: Event) -> None:
        self._log.append(event)
        if (checked := self._watch.see(event)) is not None:
            self._log.append(checked)
            self.truncated |= checked.verdict == "truncated"
        match event:
            case ModelError(will_retry=False):
                self.error = event
            case ToolResult(error_class="internal"):
                self.crash = f"{event.tool}: {event.result.removeprefix('ERROR: ')}"
            case TurnFinished():
                self.input_tokens += event.usage.input_tokens or 0
                self.output_tokens += event.usage.output_tokens or 0
                self.tool_calls += event.tool_calls


async def record_run(planned: PlannedRun, setting: RunSetting, directory: Path) -> RunResult:
    """Record one run into `directory` and return what it came to.

    A cancellation closes the log as interrupted and is raised again. Raises `LogError` if the log cannot be written.
    """
    run_id = planned.run_id(setting.campaign_id)
    cpu = time.process_time()
    log = RunLog(directory / f"{run_id}.jsonl.zst", durability=setting.durability, secrets=setting.secrets)
    tally = _Tally(log, setting.context_tokens)
    seed = None if setting.seed is None else setting.seed + planned.repetition - 1

    def close(status: RunStatus, reason: str | None) -> None:
        log.finish(status, reason=reason, harness_cpu_s=round(time.process_time() - cpu, 6))

    try:
        outfit = setting.outfit(planned)
        names = tuple(spec.name for spec in outfit.specs)
        policy = msgspec.structs.replace(setting.policy, tools=names, prompt=outfit.prompt)
        log.append(_started(planned, setting, policy, run_id, seed))
        try:
            await _play(planned, setting, policy, outfit, seed, tally.emit)
            status, reason = _status(tally)
            changes = await setting.serving_changes() if setting.serving_changes else ()
            if changes:
                log.append(ServingChanged(changes=changes))
                status, reason = "harness_invalid", f"engine_changed: {'; '.join(changes)}"
        except asyncio.CancelledError:
            close("interrupted", "stopped from outside")
            raise
        except LogError:
            raise
        except CaseError as error:
            status, reason = "harness_invalid", f"fixture_broken: {error}"
        # The boundary of the harness: whatever else breaks on our side invalidates this run and is written down.
        except Exception as error:  # noqa: BLE001
            status, reason = "harness_invalid", f"harness_error: {type(error).__name__}: {error}"
        close(status, reason)
    finally:
        log.close()
    return RunResult(
        run_id=run_id,
        status=status,
        reason=reason,
        events=log.events,
        raw_bytes=log.raw_bytes,
        file_bytes=log.path.stat().st_size,
        duration_s=log.elapsed(),
        harness_cpu_s=time.process_time() - cpu,
        input_tokens=tally.input_tokens,
        output_tokens=tally.output_tokens,
        tool_calls=tally.tool_calls,
    )


def _started(planned: PlannedRun, setting: RunSetting, policy: Policy, run_id: str, seed: int | None) -> RunStarted:
    case = planned.case
    return RunStarted(
        schema_version=SCHEMA_VERSION,
        wall_time=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        campaign_id=setting.campaign_id,
        run_id=run_id,
        case_id=case.id,
        case_kind=case.kind,
        repetition=planned.repetition,
        attempt=planned.attempt,
        arm=setting.arm,
        agent=setting.agent,
        model=setting.model,
        seed=seed,
        stimulus_sha256=stimulus_digest(case.stimulus),
        rubric_sha256=rubric_digest(case.rubric),
        stimulus=to_wire(case.stimulus),
        rubric=to_wire(case.rubric),
        policy=policy,
    )


async def _play(
    planned: PlannedRun,
    setting: RunSetting,
    policy: Policy,
    outfit: Outfit,
    seed: int | None,
    emit: Callable[[Event], Any],
) -> None:
    """Play every turn of the case; a turn that ends in a provider error ends the run."""
    stimulus = planned.case.stimulus
    cluster = FakeCluster(stimulus.cluster)
    workspace = Workspace(stimulus.interaction, cluster)
    tool_schemas = schemas_for(outfit.specs, tier_of(policy))
    agent = Agent(
        client=setting.client(seed),
        ledger=RequestLedger(emit),
        toolbox=Toolbox(cluster, workspace, outfit.specs, policy.limits),
        workspace=workspace,
        tool_schemas=tool_schemas,
        conversation=Conversation(
            system=outfit.system,
            limits=policy.limits,
            tool_schema_chars=len(msgspec.json.encode(tool_schemas).decode()),
        ),
        policy=policy,
        emit=emit,
        stream=policy.stream,
    )
    for number, turn in enumerate(stimulus.turns, start=1):
        if turn.interaction is not None:
            workspace.reset(turn.interaction)
        shown = workspace.interaction
        if await agent.run_turn(number, turn.user, user_message(turn.user, shown), shown) == "provider_error":
            return


def _status(tally: _Tally) -> tuple[RunStatus, str | None]:
    if tally.truncated:
        return "harness_invalid", "context_truncated"
    if tally.crash is not None:
        return "harness_invalid", f"tool_failed: {tally.crash}"
    error = tally.error
    if error is None or error.error_class == "malformed_call":
        return "completed", None
    if error.error_class == "context_overflow":
        return "harness_invalid", f"context_overflow: {error.message}"
    return "provider_error", f"{error.error_class}: {error.message}"
