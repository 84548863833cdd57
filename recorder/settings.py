"""What a campaign is to be, checked whole before a file is made or a model called."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import msgspec

from packs.loader import DEFAULT_PACK, Pack, load_pack, select
from packs.prompts import read_overlay, read_tier_pack
from recorder.baseline import BASELINES
from recorder.embedded import EMBEDDED, EmbeddedModel
from recorder.log import Durability
from recorder.plan import check_free
from recorder.transport.endpoint import BASE_URL, MODEL, Endpoint, endpoint_from_env, options_from_env
from schemas.errors import UsageError
from schemas.policy import Tier

MODEL_AGENT = "model"
EMBEDDED_PROVIDER = "embedded"
DEFAULT_REPETITIONS = 3


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """One campaign. Exactly one of `endpoint`, `embedded` and (for a baseline agent) neither is where the model is.

    `tier` is None where the user left it to the routing. `options` are the sampling options sent with every request.
    """

    pack: Pack
    repetitions: int
    agent: str
    arm: str
    out: Path | None
    durability: Durability
    tier: Tier | None = None
    seed: int | None = None
    endpoint: Endpoint | None = None
    embedded: EmbeddedModel | None = None
    options: dict[str, object] = {}
    without: tuple[str, ...] = ()
    tier_pack: tuple[str, str] | None = None
    overlays: tuple[tuple[str, str], ...] = ()
    warmup: bool = False
    stream: bool = True
    recover_calls: bool = False


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """The flags of `korvid-rec run` as given; None and empty mean not given."""

    pack: str | None = None
    cases: tuple[str, ...] = ()
    repetitions: int | None = None
    model: str | None = None
    base_url: str | None = None
    tier: str | None = None
    out: Path | None = None
    durability: str = "turn"
    seed: int | None = None
    agent: str | None = None
    arm: str | None = None
    without: tuple[str, ...] = ()
    tier_pack_file: Path | None = None
    overlay_files: tuple[Path, ...] = ()
    warmup: bool = False
    stream: bool = True
    recover_calls: bool = False


def resolve(flags: Flags, env: Mapping[str, str] = os.environ) -> Settings:
    """The settings that flags and environment ask for. Raises `UsageError` naming the flag or variable."""
    repetitions = DEFAULT_REPETITIONS if flags.repetitions is None else flags.repetitions
    if repetitions < 1:
        raise UsageError(f"--reps: {repetitions} is not a number of repetitions; give 1 or more")
    if flags.out is not None:
        check_free(flags.out)
    pack = load_pack(flags.pack or DEFAULT_PACK)
    if flags.cases:
        pack = select(pack, flags.cases)
    agent = _choice("--agent", flags.agent or MODEL_AGENT, (MODEL_AGENT, *BASELINES))
    endpoint, embedded = _where(flags, env) if agent == MODEL_AGENT else (None, None)
    tier: Tier | None = None
    if flags.tier is not None:
        tier = "low" if _choice("--tier", flags.tier, get_args(Tier)) == "low" else "high"
    return Settings(
        pack=pack,
        repetitions=repetitions,
        agent=agent,
        arm=flags.arm or "",
        out=flags.out,
        durability=_durability(flags.durability),
        tier=tier,
        seed=flags.seed,
        endpoint=endpoint,
        embedded=embedded,
        options=endpoint.options if endpoint else options_from_env(env) if embedded else {},
        without=flags.without,
        tier_pack=read_tier_pack(flags.tier_pack_file) if flags.tier_pack_file else None,
        overlays=tuple(read_overlay(file) for file in flags.overlay_files),
        warmup=flags.warmup,
        stream=flags.stream,
        recover_calls=flags.recover_calls,
    )


def _where(flags: Flags, env: Mapping[str, str]) -> tuple[Endpoint | None, EmbeddedModel | None]:
    """Where the model is: the configured endpoint, or the embedded model if none is configured."""
    provider, _, name = (flags.model or "").partition("/")
    configured = flags.base_url or env.get(BASE_URL)
    if provider == EMBEDDED_PROVIDER:
        if flags.base_url:
            raise UsageError(f"--base-url: --model {flags.model} is the embedded model, which has no base URL; drop one")
        return None, EMBEDDED[_choice("--model", name, tuple(EMBEDDED), prefix=f"{EMBEDDED_PROVIDER}/")]
    if configured or flags.model or env.get(MODEL):
        return endpoint_from_env(env, model=flags.model, base_url=flags.base_url), None
    return None, next(iter(EMBEDDED.values()))


def _durability(text: str) -> Durability:
    chosen = _choice("--durability", text, get_args(Durability))
    return next(policy for policy in get_args(Durability) if policy == chosen)  # type: ignore[no-any-return]


def _choice(flag: str, given: str, known: tuple[str, ...], prefix: str = "") -> str:
    if given not in known:
        raise UsageError(f"{flag}: {prefix}{given} is none of {', '.join(prefix + name for name in known)}")
    return given
