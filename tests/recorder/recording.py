"""One run, recorded in this process through the real HTTP server, the real client, the real tools and a real file."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from packs.prompts import fingerprint
from recorder.plan import PlannedRun
from recorder.run import Outfit, RunResult, RunSetting, record_run
from recorder.scripted import CapturedRequest, Reply, Script, ScriptedServer
from recorder.tools import armed, schemas_for
from recorder.transport import Endpoint, ModelClient, make_endpoint
from replay.bodies import rebuilt_body
from replay.reader import read_all
from replay.verify import verify_run
from schemas.cases import Case, Cluster, Pins, Rubric, RubricTurn, Stimulus, StimulusTurn
from schemas.events import Message, ModelRequest, Toolset
from schemas.policy import LIMITS, Limits, Policy, PromptInfo, Tier
from tests.tools.fixtures import SCREEN, everything

LOGS: dict[str, Any] = {"pod": "api-1", "namespace": "shop"}
"""Arguments with which `get_logs` answers."""


class Recorded(msgspec.Struct, frozen=True):
    """A finished recording: what it came to, its events, and what the server saw."""

    result: RunResult
    path: Path
    events: list[Any]
    requests: list[CapturedRequest]

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def one(self, kind: type[Any]) -> Any:
        """The only event of its kind."""
        (event,) = self.of(kind)
        return event

    def sent(self, request: int) -> list[dict[str, Any]]:
        """The messages of a request (from 1) as the server received them."""
        messages = json.loads(self.requests[request - 1].body)["messages"]
        assert isinstance(messages, list)
        return messages


def case_of(*users: str, cluster: Cluster | None = None) -> Case:
    """A case with a turn for each thing that the user says."""
    turns = tuple(StimulusTurn(user=user) for user in users)
    return Case(
        id="case",
        kind="scenario" if len(users) == 1 else "journey",
        stimulus=Stimulus(interaction=SCREEN, turns=turns, cluster=everything() if cluster is None else cluster),
        rubric=Rubric(root_cause="none", turns=tuple(RubricTurn(must_mention=()) for _ in users)),
        pins=tuple(Pins(passing=("yes",), failing=("no",)) for _ in users),
    )


def limits(**changes: Any) -> Limits:
    """The low tier's limits with changes."""
    return msgspec.structs.replace(LIMITS["low"], **changes)


def endpoint_of(server: ScriptedServer, api: str = "v1", **more: Any) -> Endpoint:
    return make_endpoint("ollama/scripted:1b", server.url if api == "native" else f"{server.url}/v1", **more)


def setting_of(
    client: ModelClient,
    *,
    tier: Tier = "low",
    within: Limits | None = None,
    without: tuple[str, ...] = (),
    system: str = "You read clusters.",
    recover_calls: bool = False,
    stream: bool = True,
    **more: Any,
) -> RunSetting:
    """The setting of runs that ask `client`."""

    def outfit(planned: PlannedRun) -> Outfit:
        specs = armed(tier, cluster=planned.case.stimulus.cluster, without=without)
        return Outfit(specs, system, PromptInfo(pack=tier, sha256=fingerprint(system, schemas_for(specs, tier))))

    policy = Policy(
        provider="ollama",
        model=client.endpoint.model,
        dialect=client.endpoint.dialect,
        tier=tier,
        route_source="user",
        limits=within or LIMITS[tier],
        tools=(),
        prompt=PromptInfo(pack=tier),
        recover_calls_from_content=recover_calls,
        stream=stream,
    )
    fields: dict[str, Any] = {
        "campaign_id": "c-abc",
        "arm": "",
        "agent": "model",
        "model": client.endpoint.model_ref,
        "policy": policy,
        "outfit": outfit,
        "client": lambda seed: client,
        "durability": "run",
    }
    return RunSetting(**(fields | more))


async def record(
    directory: Path,
    script: Script,
    *,
    case: Case | None = None,
    api: str = "v1",
    timeout_s: float = 20.0,
    base_url: str | None = None,
    meanwhile: Callable[[ScriptedServer], Awaitable[None]] | None = None,
    **setting: Any,
) -> Recorded:
    """Record one run of `case` against the script. `base_url` asks another server than the scripted one."""
    directory.mkdir(exist_ok=True)
    with ScriptedServer(script) as server:
        endpoint = (
            make_endpoint("ollama/scripted:1b", base_url, timeout_s=timeout_s)
            if base_url
            else endpoint_of(server, api, timeout_s=timeout_s)
        )
        async with ModelClient(endpoint) as client:
            result = await record_run(
                PlannedRun(case or case_of("Why does it restart?"), 1), setting_of(client, **setting), directory
            )
        return loaded(directory / f"{result.run_id}.jsonl.zst", result, server.chats)


def loaded(path: Path, result: RunResult, requests: list[CapturedRequest]) -> Recorded:
    """A log read back and checked: a recording that does not verify proves nothing."""
    check = verify_run(path)
    assert check.state == "complete", check.detail
    records, _ = read_all(path)
    return Recorded(result, path, [record.event for record in records], list(requests))


def bodies(path: Path) -> list[bytes]:
    """Every request body of a log, rebuilt from its events alone."""
    messages: list[bytes] = []
    toolsets: list[bytes] = []
    found = []
    for record in read_all(path)[0]:
        match record.event:
            case Message() as event:
                messages.append(bytes(event.message))
            case Toolset() as event:
                toolsets.append(bytes(event.tools))
            case ModelRequest() as event:
                found.append(rebuilt_body(event, messages, toolsets))
    return found


def answers(*texts: str) -> list[Reply]:
    return [Reply(text=text) for text in texts]
