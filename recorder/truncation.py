"""Did the server silently cut the prompt? Decided from its own counts and the probed context, never from ours alone.

`truncated` invalidates a run, so it needs either the signature of a known cut or a count that no whole prompt can have;
`intact` needs a count below the context that fits what was sent. Between the two lies `unknown`. A history that we
trimmed ourselves is a conversation of its own: requests are compared only where one continues the other, message by
message. Sources: design (Validity); ollama#17427, ollama#3427.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from recorder.transport.usage import server_counts
from schemas.events import ContextChecked, ModelRequest, ModelResponse

Verdict = Literal["intact", "truncated", "unknown"]

MESSAGE_TOKENS = 16
"""The most that a chat template adds around one message."""
COUNTING_SLACK = 2
"""Servers disagree whether the last token of an answer counts."""
IMPLAUSIBLE_CHARS = 8
"""No prompt of prose, YAML and JSON has more characters a token; usual are 3 to 4."""
UNUSUAL_CHARS = 5
DENSEST_CHARS = 2.5
"""Hardly a prompt has fewer characters a token than this."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One request and what the server counted.

    `messages` are ids in order, `toolset` the id of the tools. `chars` counts the characters of messages and tools,
    `body_bytes` the request body (a byte is never more than one token). Token counts are the server's own,
    None where it gave none.
    """

    request: int
    messages: tuple[int, ...]
    chars: int
    body_bytes: int
    prompt_tokens: int | None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    toolset: int | None = None


def observe(request: ModelRequest, response: ModelResponse, chars: int) -> Observation:
    """The observation that two events make, with the counts of `server_usage`: a client library's may be estimates."""
    counts = server_counts(request.dialect, response.server_usage or {})
    return Observation(
        request=request.request,
        messages=tuple(number for first, last in request.messages for number in range(first, last + 1)),
        chars=chars,
        body_bytes=request.body_bytes,
        prompt_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        cached_tokens=counts.cached_tokens,
        toolset=request.toolset,
    )


def check(seen: Observation, context_tokens: int | None, previous: Sequence[Observation] = ()) -> ContextChecked:
    """The verdict on one request, given the probed context and the earlier requests of the run in order."""
    verdict, rule = _verdict(seen, context_tokens, previous)
    return ContextChecked(
        request=seen.request,
        verdict=verdict,
        rule=rule,
        prompt_tokens=seen.prompt_tokens,
        context_tokens=context_tokens,
    )


def _verdict(seen: Observation, context: int | None, previous: Sequence[Observation]) -> tuple[Verdict, str]:
    count = seen.prompt_tokens
    if not count:
        return "unknown", "no_prompt_count"
    before = _continued(seen, previous)
    if context is not None:
        cut = _cut_at_context(seen, count, context, before)
        if cut is not None:
            return cut
    shrunk = None if before is None else _shrunk(seen, count, context, before)
    if shrunk is not None:
        return shrunk
    if context is None:
        return "unknown", "context_not_known"
    return _density(seen, count, context)


def _cut_at_context(
    seen: Observation, count: int, context: int, before: Observation | None
) -> tuple[Verdict, str] | None:
    if count >= context:
        return "truncated", "prompt_fills_context"
    if count + (seen.output_tokens or 0) > context + COUNTING_SLACK:
        return "truncated", "shifted_while_answering"
    if count == context // 2 + 2:
        return ("intact", "grew_to_half") if _grew_to(seen, count, context, before) else ("truncated", "prompt_halved")
    return None


def _grew_to(seen: Observation, count: int, context: int, before: Observation | None) -> bool:
    """Whether what was added since an earlier count explains this one, with room to spare at one token a byte."""
    if before is None or not before.prompt_tokens or before.prompt_tokens > count:
        return False
    added = seen.body_bytes - before.body_bytes + MESSAGE_TOKENS * (len(seen.messages) - len(before.messages))
    return count <= before.prompt_tokens + added < context


def _shrunk(seen: Observation, count: int, context: int | None, before: Observation) -> tuple[Verdict, str] | None:
    """The conversation only grew, so its count must not fall."""
    known = before.prompt_tokens
    if not known or count >= known:
        return None
    needed = known + (seen.chars - before.chars) / DENSEST_CHARS
    if context is not None and needed < context:
        # There was room for all of it: this server counts only what it had not cached.
        return "unknown", "count_without_cache"
    if seen.cached_tokens is None and count < known // 2:
        # A cut leaves half a context, and the earlier prompt had fitted in a whole one.
        return "unknown", "count_without_cache"
    return "truncated", "prompt_shrank"


def _density(seen: Observation, count: int, context: int) -> tuple[Verdict, str]:
    if seen.chars > count * IMPLAUSIBLE_CHARS:
        return ("truncated", "too_few_tokens") if count >= context // 2 else ("unknown", "count_without_cache")
    if seen.chars > count * UNUSUAL_CHARS and seen.chars > context * DENSEST_CHARS and count >= context // 2:
        return "unknown", "few_tokens"
    return "intact", "below_context"


def _continued(seen: Observation, previous: Sequence[Observation]) -> Observation | None:
    """The latest earlier request whose messages the current one begins with, with the same tools."""
    for earlier in reversed(previous):
        size = len(earlier.messages)
        if earlier.toolset == seen.toolset and size < len(seen.messages) and seen.messages[:size] == earlier.messages:
            return earlier
    return None
