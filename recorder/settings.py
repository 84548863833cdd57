"""What a campaign is to be, checked whole before a file is made or a model called."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import msgspec

from packs.loader import DEFAULT_PACK, Pack, load_pack, select
from packs.prompts import read_overlay, read_tier_pack
from recorder.baseline import BASELINES
from recorder.embedded import CHOICES, Choice, choose
from recorder.log import Durability
from recorder.plan import check_free
from recorder.transport.endpoint import BASE_URL, MODEL, Endpoint, endpoint_from_env
from schemas.errors import UsageError
from schemas.policy import Tier

MODEL_AGENT = "model"
EMBEDDED_PROVIDER = "embedded"
DEFAULT_REPETITIONS = 3
DEFAULT_DURABILITY: Durability = "turn"
EMBEDDED_TIMEOUT_S = 900.0
"""The embedded model reads its prompt at some 65 tokens a second and is silent until it has."""

_NOT_YET = "http://127.0.0.1"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """One campaign. `endpoint` is None for a baseline agent; with `embedded` its URL is known once the server runs.

    `tier` is None where the user left it to the routing.
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
    embedded: Choice | None = None
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
    durability: str | None = None
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
    if agent != MODEL_AGENT:
        _refuse_model_flags(flags, agent)
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
        durability=_durability(flags.durability or DEFAULT_DURABILITY),
        tier=tier,
        seed=flags.seed,
        endpoint=endpoint,
        embedded=embedded,
        without=flags.without,
        tier_pack=read_tier_pack(flags.tier_pack_file) if flags.tier_pack_file else None,
        overlays=tuple(read_overlay(file) for file in flags.overlay_files),
        warmup=flags.warmup,
        stream=flags.stream,
        recover_calls=flags.recover_calls,
    )


def _where(flags: Flags, env: Mapping[str, str]) -> tuple[Endpoint, Choice | None]:
    """The endpoint to ask, and which embedded model to start behind it if no endpoint is configured."""
    provider, _, name = (flags.model or "").partition("/")
    if provider == EMBEDDED_PROVIDER and flags.base_url:
        raise UsageError(f"--base-url: --model {flags.model} is the embedded model, which has no base URL; drop one")
    configured = flags.base_url or flags.model or env.get(BASE_URL) or env.get(MODEL)
    if provider != EMBEDDED_PROVIDER and configured:
        return endpoint_from_env(env, model=flags.model, base_url=flags.base_url), None
    chosen = choose(name) if provider == EMBEDDED_PROVIDER else CHOICES[0]
    # The variables that say how to ask hold here too; the URL is known once the server runs.
    ref = f"openai/{chosen.model}"
    return endpoint_from_env(env, model=ref, base_url=_NOT_YET, default_timeout_s=EMBEDDED_TIMEOUT_S), chosen


def _refuse_model_flags(flags: Flags, agent: str) -> None:
    """A baseline agent asks no model: a flag that says which or how would have no effect."""
    given = {"--model": flags.model, "--base-url": flags.base_url, "--warmup": flags.warmup}
    for flag, value in given.items():
        if value:
            raise UsageError(f"{flag}: agent {agent} asks no model; leave {flag} out, it is for --agent model")


def _durability(text: str) -> Durability:
    chosen = _choice("--durability", text, get_args(Durability))
    return next(policy for policy in get_args(Durability) if policy == chosen)


def _choice(flag: str, given: str, known: tuple[str, ...]) -> str:
    if given not in known:
        raise UsageError(f"{flag}: {given} is none of {', '.join(known)}")
    return given
