"""Token counts as one shape. A counter that the server did not send is None, whatever a client library makes up."""

from typing import Any

from schemas.events import Dialect, Usage


def server_counts(dialect: Dialect, sent: dict[str, Any]) -> Usage:
    """The counts in the server's own counters, as `WireReader.server_usage` holds them."""
    if dialect == "ollama":
        return Usage(input_tokens=_count(sent.get("prompt_eval_count")), output_tokens=_count(sent.get("eval_count")))
    usage, timings = _dict(sent.get("usage")), _dict(sent.get("timings"))
    fresh, cached = _count(timings.get("prompt_n")), _count(timings.get("cache_n"))
    details = _count(_dict(usage.get("prompt_tokens_details")).get("cached_tokens"))
    prompt = _count(usage.get("prompt_tokens"))
    output = _count(usage.get("completion_tokens"))
    return Usage(
        input_tokens=prompt if prompt is not None or fresh is None else fresh + (cached or 0),
        output_tokens=output if output is not None else _count(timings.get("predicted_n")),
        cached_tokens=details if details is not None else cached,
    )


def normalised(server: Usage, library: Any) -> Usage | None:
    """The client library's counts where the server sent the counter; None if the server sent none at all.

    `library` is LiteLLM's usage object or None; where it lacks a counter that the server sent, the server's stands.
    """
    if server == Usage():
        return None
    return Usage(
        input_tokens=_confirmed(server.input_tokens, library, "prompt_tokens"),
        output_tokens=_confirmed(server.output_tokens, library, "completion_tokens"),
        cached_tokens=server.cached_tokens,
    )


def _confirmed(sent: int | None, library: Any, name: str) -> int | None:
    counted = _count(getattr(library, name, None))
    return counted if sent is not None and counted is not None else sent


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
