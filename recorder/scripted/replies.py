"""What the scripted server says: replies, and the card of the model it claims to serve."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call of a reply.

    `arguments` as a dict goes out the way the dialect does it (an object natively, a JSON string under `/v1`), unless
    `arguments_as_object` forces an object; a string goes out as it is, broken or empty; None goes out as null.
    `id` None leaves the id out, the default makes `call_1`, `call_2` and so on; `index` None is the call's place.
    """

    name: str
    arguments: dict[str, Any] | str | None = {}
    arguments_as_object: bool = False
    id: str | None = "auto"
    index: int | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer. Everything after `finish_reason` is for figures or for misbehaviour.

    `text` is streamed in pieces of a word, or as `text_pieces` says. `finish_reason` None means `stop`, and under `/v1`
    `tool_calls` if there are calls. Counters that are None are left out. `think_in_content` puts the thinking between
    think tags in the content. `call_in_fragments` streams arguments in two halves under `/v1`. `split_utf8` sends the
    body byte by byte. `cut_after` drops the connection after so many bytes of the body. `garbage_line` puts a line that
    is no JSON before the last piece. `no_finish` ends the stream properly without a finish. `hold` is waited for before
    piece number `hold_at` (from 0; the first event of a `/v1` stream carries no text), `hold_before` before headers.
    A `status` other than 200 sends `error` (text or a whole JSON body) and `headers`; with status 200 an `error` is
    sent as the stream's last piece. `raw_body` replaces the whole body.
    """

    text: str = ""
    thinking: str = ""
    tool_calls: tuple[Call, ...] = ()
    finish_reason: str | None = None
    text_pieces: tuple[str, ...] | None = None
    prompt_tokens: int | None = 100
    output_tokens: int | None = 10
    cached_tokens: int | None = None
    timings: dict[str, Any] | None = None
    think_in_content: bool = False
    call_in_fragments: bool = False
    split_utf8: bool = False
    cut_after: int | None = None
    garbage_line: bool = False
    no_finish: bool = False
    hold: threading.Event | None = None
    hold_at: int = 1
    hold_before: threading.Event | None = None
    status: int = 200
    error: str | dict[str, Any] | None = None
    headers: dict[str, str] = {}
    raw_body: bytes | None = None


Script = Sequence[Reply] | Callable[[dict[str, Any]], Reply]
"""Replies in order, or a function from the decoded request body to a reply (called from a thread of the server)."""


class ModelCard(msgspec.Struct, frozen=True, kw_only=True):
    """What the server tells of its model. Context lengths are tokens: `context_length` is the model's maximum,
    `runtime_context` what `/api/ps` says is allocated (None: the model is not loaded)."""

    name: str = "scripted:1b"
    digest: str = "5c" * 32
    quantization: str = "Q4_K_M"
    parameter_size: str = "1.0B"
    architecture: str = "scripted"
    context_length: int = 32_768
    runtime_context: int | None = 4_096
    size_bytes: int = 1_000_000_000
    version: str = "0.12.6"


def content_pieces(reply: Reply) -> list[str]:
    """The content of a reply in the pieces in which it is streamed."""
    if reply.text_pieces is not None:
        pieces = list(reply.text_pieces)
    else:
        words = reply.text.split(" ")
        pieces = [word + " " for word in words[:-1]] + words[-1:]
    if reply.think_in_content and reply.thinking:
        pieces = ["<th", f"ink>{reply.thinking}</thi", "nk>\n\n", *pieces]
    return [piece for piece in pieces if piece]


def own_thinking(reply: Reply) -> str:
    """The thinking that goes into the field of its own."""
    return "" if reply.think_in_content else reply.thinking
