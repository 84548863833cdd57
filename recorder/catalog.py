"""What is known of models by name, and the tier a model is driven in.

Facts merge one by one, the server's own before the catalog's. The tier comes from the user, else from the server, else
from the catalog, else it is low. Source: evaluation semantics 11.
"""

from typing import Literal

import msgspec

from schemas.errors import UsageError
from schemas.policy import LIMITS, Limits, Tier
from schemas.provenance import Capabilities

CATALOG_VERSION = 1

RouteSource = Literal["user", "catalog", "provider", "fallback"]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What one source says of a model; None is "does not say"."""

    context_window_tokens: int | None = None
    supports_tools: bool | None = None
    supports_parallel_tools: bool | None = None
    supports_reasoning: bool | None = None
    recommended_tier: Tier | None = None


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is driven. `catalog_version` is None if the catalog has no entry for it."""

    tier: Tier
    route_source: RouteSource
    limits: Limits
    capabilities: Capabilities
    catalog_version: int | None


CATALOG: dict[str, Facts] = {
    "ollama/qwen3:8b": Facts(supports_tools=True, supports_parallel_tools=False, recommended_tier="low"),
}
"""By exact reference `provider/tag`; a near miss is no match."""


def route(model: str, user_tier: Tier | None = None, provider_facts: Facts | None = None) -> Route:
    """The route for the reference `provider/tag`. Raises `UsageError` if the model is known not to call tools."""
    provider = provider_facts or Facts()
    entry = CATALOG.get(model)
    capabilities = _merged(provider, entry or Facts())
    if capabilities.supports_tools is False:
        source = capabilities.provenance["supports_tools"]
        raise UsageError(f"{model} cannot call tools (says the {source}); choose a model that can")
    tier, route_source = _tier(user_tier, provider, entry)
    parallel = provider.supports_parallel_tools is True and tier == "high"
    return Route(
        tier=tier,
        route_source=route_source,
        limits=msgspec.structs.replace(LIMITS[tier], allow_parallel_tool_calls=parallel),
        capabilities=capabilities,
        catalog_version=None if entry is None else CATALOG_VERSION,
    )


def _tier(user: Tier | None, provider: Facts, entry: Facts | None) -> tuple[Tier, RouteSource]:
    if user is not None:
        return user, "user"
    if provider.recommended_tier is not None:
        return provider.recommended_tier, "provider"
    if entry is not None and entry.recommended_tier is not None:
        return entry.recommended_tier, "catalog"
    return "low", "fallback"


def _merged(provider: Facts, entry: Facts) -> Capabilities:
    merged = msgspec.structs.asdict(entry)
    provenance = {name: "catalog" for name, value in merged.items() if value is not None}
    for name, value in msgspec.structs.asdict(provider).items():
        if value is not None:
            merged[name] = value
            provenance[name] = "provider"
    return Capabilities(**merged, provenance=provenance)
