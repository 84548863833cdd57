"""Where the model is served while a campaign is recorded: a configured server, the embedded one, or a scripted one."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import msgspec

from recorder import serving
from recorder.baseline import BASELINES
from recorder.catalog import Facts
from recorder.embedded import EmbeddedServer
from recorder.plan import PlannedRun
from recorder.progress import Board, board
from recorder.scripted import Reply, ScriptedServer
from recorder.settings import EMBEDDED_PROVIDER, MODEL_AGENT, Settings
from recorder.transport import ModelClient
from recorder.transport.endpoint import BASE_URL, Endpoint, make_endpoint
from schemas.errors import UsageError
from schemas.provenance import ServingPassport, passport_changed, with_learned

_BASELINE_PROVIDER = "scripted"
_CONNECT_TIMEOUT_S = 10.0


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Where the model is served while the campaign runs."""

    endpoint: Endpoint
    provider: str
    model: str
    local: serving.LocalFacts | None = None
    script: Callable[[PlannedRun, tuple[str, ...]], None] | None = None


@contextmanager
def open_site(settings: Settings) -> Iterator[Site]:
    """What serves the model, running as long as the block.

    Raises `UsageError` if nothing listens at a configured endpoint: runs of which none can reach the server are no
    campaign.
    """
    if settings.endpoint is None:
        with _scripted(settings.agent) as site:
            yield site
    elif settings.embedded is None:
        _refuse_unreachable(settings.endpoint)
        yield Site(endpoint=settings.endpoint, provider=settings.endpoint.provider, model=settings.endpoint.model_ref)
    else:
        with board(0) as shown, EmbeddedServer(settings.embedded, progress=_stages(shown)) as server:
            endpoint = msgspec.structs.replace(settings.endpoint, base_url=server.base_url)
            model = f"{EMBEDDED_PROVIDER}/{settings.embedded.model}"
            yield Site(endpoint=endpoint, provider=EMBEDDED_PROVIDER, model=model, local=server.local_facts)


def _refuse_unreachable(endpoint: Endpoint) -> None:
    parts = urlsplit(endpoint.base_url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=_CONNECT_TIMEOUT_S).close()
    except (OSError, UnicodeError) as error:
        # A host name that no resolver takes, with an empty or overlong label, fails where it is encoded.
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{BASE_URL} or --base-url: no model server at {endpoint.base_url} ({reason}); start it, or correct the URL"
        ) from None


def _stages(shown: Board) -> Callable[[str, float | None], None]:
    """Say each stage of the embedded server's start once."""
    said: set[str] = set()

    def say(stage: str, done: float | None) -> None:
        if stage not in said:
            said.add(stage)
            shown.note(f"embedded model: {stage}")

    return say


@contextmanager
def _scripted(agent: str) -> Iterator[Site]:
    """A scripted server that plays a baseline agent, run after run."""
    replies: list[Reply] = []

    def script(planned: PlannedRun, tools: tuple[str, ...]) -> None:
        replies[:] = BASELINES[agent](planned.case, tools)

    def next_reply(body: dict[str, object]) -> Reply:
        return replies.pop(0) if replies else Reply(text="")

    with ScriptedServer(next_reply) as server:
        endpoint = make_endpoint(f"openai/{server.card.name}", f"{server.url}/v1")
        yield Site(endpoint=endpoint, provider=_BASELINE_PROVIDER, model=f"{_BASELINE_PROVIDER}/{agent}", script=script)


class Clients:
    """The model clients of a campaign: one for each seed that its runs are given, made when it is first asked for."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._opened: dict[int | None, ModelClient] = {}

    def of(self, seed: int | None) -> ModelClient:
        """The client that asks for `seed`, or for none."""
        if seed not in self._opened:
            options = self._endpoint.options if seed is None else {**self._endpoint.options, "seed": seed}
            self._opened[seed] = ModelClient(msgspec.structs.replace(self._endpoint, options=options))
        return self._opened[seed]

    async def close(self) -> None:
        """Close their connections."""
        for client in self._opened.values():
            await client.close()


class Watch:
    """What is known of the server while a campaign is recorded. Without a passport to begin with it is not asked."""

    def __init__(self, site: Site, before: ServingPassport | None) -> None:
        self._site = site
        self._known = before

    @property
    def context_tokens(self) -> int | None:
        """The tokens that the server holds, once known."""
        return None if self._known is None else self._known.context_length

    async def changes(self) -> tuple[str, ...]:
        """Ask the server again: what is no longer as it was."""
        if self._known is None:
            return ()
        now = await asyncio.to_thread(serving.probe, self._site.endpoint, local=self._site.local)
        changed = tuple(passport_changed(self._known, now))
        # A server that loads its model with the first request says only then what the context is.
        self._known = with_learned(self._known, now)
        return changed


def facts_of(settings: Settings, site: Site) -> Facts | None:
    """What the server itself says its model can do; nothing for a baseline agent."""
    return serving.provider_facts(site.endpoint) if settings.agent == MODEL_AGENT else None


def probe(settings: Settings, site: Site, shown: Board, warm: bool | None = None) -> ServingPassport | None:
    """The passport of a served model; a baseline agent has none."""
    if settings.agent != MODEL_AGENT:
        return None
    asked = settings.warmup if warm is None else warm
    return serving.probe(site.endpoint, warm=asked, local=site.local, progress=shown.note)


def probe_site(settings: Settings) -> ServingPassport:
    """The passport of what would serve the model; the embedded model is started for it."""
    with open_site(settings) as site, board(0) as shown:
        return serving.probe(site.endpoint, warm=settings.warmup, local=site.local, progress=shown.note)
