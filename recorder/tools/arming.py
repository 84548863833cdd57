"""Which tools a run arms, and their schemas as a model is sent them."""

from collections.abc import Iterable
from typing import Any

from recorder.tools.catalog import READS, ToolSpec, describe
from schemas.cases import Cluster
from schemas.errors import UsageError
from schemas.policy import Tier


def armed(tier: Tier, *, cluster: Cluster, without: Iterable[str] = ()) -> tuple[ToolSpec, ...]:
    """The tools of a read-only run, in a stable order: 12 for low, 15 for high, and one more for each backend there.

    `without` removes names for good: from policy, schema and executor. Raises `UsageError` for a name that would not
    have been armed, because leaving it out would change nothing and yet be published as a difference.
    """
    surface = tuple(spec for spec in READS if tier in spec.tiers and _has_backend(spec, cluster))
    names = [spec.name for spec in surface]
    dropped = set(without)
    stray = sorted(dropped - set(names))
    if stray:
        raise UsageError(
            f"--without-tool {', '.join(stray)}: not armed in the {tier} tier here; armed are {', '.join(names)}"
        )
    return tuple(spec for spec in surface if spec.name not in dropped)


def schemas_for(specs: Iterable[ToolSpec], tier: Tier) -> list[dict[str, Any]]:
    """The `tools` value of a chat request."""
    return [
        {
            "type": "function",
            "function": {
                "name": spec.name,
                "description": describe(spec, tier),
                "parameters": spec.parameters,
            },
        }
        for spec in specs
    ]


def _has_backend(spec: ToolSpec, cluster: Cluster) -> bool:
    if spec.name == "query_metrics":
        return cluster.metrics is not None
    if spec.name == "search_logs":
        return cluster.log_search is not None
    return True
