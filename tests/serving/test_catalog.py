"""Tier and capabilities of a model, from whoever knows them."""

import pytest

from recorder.catalog import Facts, route
from schemas.errors import UsageError


@pytest.mark.parametrize(
    ("model", "user", "facts", "tier", "source", "version"),
    [
        ("ollama/qwen3:8b", "high", Facts(recommended_tier="low"), "high", "user", 1),
        ("ollama/qwen3:8b", None, Facts(recommended_tier="high"), "high", "provider", 1),
        ("ollama/qwen3:8b", None, None, "low", "catalog", 1),
        ("ollama/qwen3:8b-q8", None, None, "low", "fallback", None),
        ("openai/qwen3:8b", None, None, "low", "fallback", None),
    ],
)
def test_the_tier_comes_from_the_user_then_the_server_then_the_catalog(
    model: str, user: str | None, facts: Facts | None, tier: str, source: str, version: int | None
) -> None:
    routed = route(model, "high" if user else None, facts)
    assert (routed.tier, routed.route_source, routed.catalog_version) == (tier, source, version)


def test_facts_merge_one_by_one_and_say_where_they_come_from() -> None:
    routed = route("ollama/qwen3:8b", None, Facts(supports_parallel_tools=True, context_window_tokens=40_960))
    assert routed.capabilities.supports_tools is True
    assert routed.capabilities.supports_parallel_tools is True
    assert routed.capabilities.supports_reasoning is None
    assert routed.capabilities.provenance == {
        "supports_tools": "catalog",
        "recommended_tier": "catalog",
        "supports_parallel_tools": "provider",
        "context_window_tokens": "provider",
    }


@pytest.mark.parametrize(
    ("tier", "server_says", "allowed"),
    [("high", True, True), ("high", None, False), ("high", False, False), ("low", True, False)],
)
def test_parallel_calls_need_the_servers_own_word_and_the_high_tier(
    tier: str, server_says: bool | None, allowed: bool
) -> None:
    routed = route("x/y", "high" if tier == "high" else "low", Facts(supports_parallel_tools=server_says))
    assert routed.limits.allow_parallel_tool_calls is allowed


def test_a_model_that_cannot_call_tools_is_refused_whatever_the_catalog_says() -> None:
    with pytest.raises(UsageError, match=r"ollama/qwen3:8b cannot call tools \(says the provider\)"):
        route("ollama/qwen3:8b", "high", Facts(supports_tools=False))
