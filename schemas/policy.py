"""What an agent may do in a run: tier, limits, armed tools, prompt. Source: evaluation semantics 6.2, 7, 10.1."""

from typing import Literal

import msgspec

from schemas.errors import UsageError

Tier = Literal["low", "high"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Budgets of one turn. Characters are Unicode code points; None means no limit."""

    max_iterations: int
    max_history_chars: int
    max_result_chars: int | None
    max_tool_calls_per_iteration: int | None
    strict_history_budget: bool
    retained_turns: int = 8
    allow_parallel_tool_calls: bool = False


LIMITS: dict[Tier, Limits] = {
    "low": Limits(
        max_iterations=6,
        max_history_chars=24_000,
        max_result_chars=3_000,
        max_tool_calls_per_iteration=1,
        strict_history_budget=True,
    ),
    "high": Limits(
        max_iterations=15,
        max_history_chars=120_000,
        max_result_chars=8_000,
        max_tool_calls_per_iteration=None,
        strict_history_budget=False,
    ),
}


class PromptInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt of a run. `sha256` is over the composed system message and the complete tool schemas."""

    pack: str
    overlays: tuple[str, ...] = ()
    source: Literal["default", "override"] = "default"
    sha256: str = ""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The effective policy of a run, as `run_started` carries it.

    `tier` is None only in an imported run from before there were tiers; `not_recorded` of its log then names what else
    of the policy is unknown (`limits` are all 0, `tools` empty, `prompt.pack` empty).
    """

    provider: str
    model: str
    dialect: Literal["ollama", "openai", "none"]
    tier: Tier | None
    route_source: Literal["user", "catalog", "provider", "fallback", "not_recorded"]
    limits: Limits
    tools: tuple[str, ...]
    omitted_tools: tuple[str, ...] = ()
    prompt: PromptInfo
    options: dict[str, object] = {}
    recover_calls_from_content: bool = False
    stream: bool = True


def tier_of(policy: Policy) -> Tier:
    """The tier of a policy that can be run. Raises `UsageError` for an imported one that has none."""
    if policy.tier is None:
        raise UsageError("an imported campaign has no tier and cannot be continued; record a new one")
    return policy.tier
