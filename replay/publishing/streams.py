"""The pieces of a response put together again, because a text may be spread over several of them.

A model streams an address as `ali`, `ce@`, `corp`...: no piece holds it, yet whoever reads the pieces in order does.
`Streams` is fed the raw lines of a run and gives the texts that the pieces of each response make together.
"""

import base64
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from replay.publishing.patterns import flat
from schemas import codec
from schemas.errors import LogError
from schemas.events import WireChunk

_HEAD = b'{"type":"wire_chunk"'
_TEXT_KEYS = frozenset(
    ("content", "reasoning", "reasoning_content", "thinking", "arguments", "text", "response", "refusal", "name")
)
"""Members of streamed pieces that continue one another."""


class Response(msgspec.Struct, frozen=True):
    """The pieces of one response: its request, the number (from 0) of its first line, and the texts that they make."""

    request: int
    line: int
    texts: tuple[str, ...]


class Streams:
    """Put the lines of one run in, in order; `responses` are those that are complete so far."""

    def __init__(self) -> None:
        self._pieces: dict[int, list[bytes]] = {}
        self._lines: dict[int, int] = {}

    def feed(self, number: int, line: bytes) -> None:
        """Take one raw line; other events than pieces are passed over."""
        if not line.startswith(_HEAD):
            return
        try:
            event = codec.decode(line)
        except LogError:
            # A damaged line is named by the check of the log; here it has no pieces to offer.
            return
        if isinstance(event, WireChunk):
            self._lines.setdefault(event.request, number)
            self._pieces.setdefault(event.request, []).extend(
                base64.b64decode(piece.base64)
                if piece.base64 is not None
                else (piece.text or "").encode("utf-8", "surrogatepass")
                for piece in event.pieces
            )

    def responses(self) -> Iterator[Response]:
        """The responses of the run, by first line."""
        for request, pieces in self._pieces.items():
            body = b"".join(pieces).decode("utf-8", "replace")
            yield Response(request, self._lines[request], (flat(body), *_streamed(body)))


def _streamed(body: str) -> Iterator[str]:
    """The texts that the events of a stream continue, each put together."""
    texts: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
    for line in body.splitlines():
        data = line.removeprefix("data:").strip()
        if not data.startswith("{"):
            continue
        try:
            _collect(msgspec.json.decode(data), (), texts)
        except msgspec.DecodeError:
            # Not JSON after all; as a text it was searched with the whole body.
            continue
    for parts in texts.values():
        if len(parts) > 1:
            yield flat("".join(parts))


def _collect(value: Any, path: tuple[object, ...], texts: defaultdict[tuple[object, ...], list[str]]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _collect(item, (*path, key), texts)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            _collect(item, (*path, _index(item, position)), texts)
    elif isinstance(value, str) and path[-1] in _TEXT_KEYS:
        texts[path].append(value)


def _index(item: Any, position: int) -> object:
    """Which of several parallel calls or choices an entry continues."""
    index = item.get("index") if isinstance(item, dict) else None
    return position if index is None else ("index", index)
