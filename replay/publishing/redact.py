"""Take private texts out of the raw lines of a run, and make the digests right that depend on them.

Only the bytes of the texts change, and in few events the digests over them: of the case in `run_started`, of the bodies
in `model_request` (which then says `redacted`), and of the whole log in `run_finished`. A response whose pieces still
spell a private text when put together loses its pieces; what it came to stands in `model_response`.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from replay.bodies import rebuilt_body
from replay.publishing.needles import Needles
from replay.publishing.streams import Streams
from schemas import codec
from schemas.cases import rubric_digest, rubric_from_wire, stimulus_digest, stimulus_from_wire
from schemas.errors import CaseError, LogError, WorkError
from schemas.events import Message, ModelRequest, RunFinished, RunStarted, Toolset, WireChunk

WITHDRAWN = "[redacted: a private text was spread over the pieces of this response]"
_IDENTITY = ("campaign_id", "run_id", "case_id")
_DIGESTED = (
    b'{"type":"run_started"',
    b'{"type":"message"',
    b'{"type":"toolset"',
    b'{"type":"model_re',
    b'{"type":"run_f',
)
"""How the lines begin on which digests depend (`model_response` is among them and passes unchanged)."""


class Redacted(msgspec.Struct, frozen=True):
    """A run without its private texts: its lines, and how many requests and responses hold or lost one."""

    lines: list[bytes]
    changed: bool
    requests: int
    withdrawn: int


def redacted_run(
    lines: Sequence[bytes], needles: Needles, is_private: Callable[[str], bool], counts: Counter[str]
) -> Redacted:
    """The run with these raw lines, redacted. Replacements are added to `counts` by kind.

    `is_private` says whether a flat text still holds a private text. Raises `WorkError` if the identity of the run
    itself is private: files are named after it.
    """
    replaced = [_replaced(line, needles, counts) for line in lines]
    replaced, withdrawn = _without_spread(replaced, is_private)
    if replaced == list(lines):
        return Redacted(replaced, changed=False, requests=0, withdrawn=0)
    digests = _Digests()
    made = [digests.right(before, after) for before, after in zip(lines, replaced, strict=True)]
    return Redacted(made, changed=True, requests=digests.requests, withdrawn=withdrawn)


def _replaced(line: bytes, needles: Needles, counts: Counter[str]) -> bytes:
    line = needles.replace(line, counts)
    if not line.startswith(b'{"type":"model_request"') or b'"body_base64"' not in line:
        return line
    event = codec.decode(line)
    if not isinstance(event, ModelRequest) or event.body_base64 is None:
        return line
    body = base64.b64decode(event.body_base64)
    clean = needles.replace(body, counts)
    return line if clean == body else _with_members(line, {"body_base64": base64.b64encode(clean).decode()})


def _without_spread(lines: list[bytes], is_private: Callable[[str], bool]) -> tuple[list[bytes], int]:
    streams = Streams()
    for number, line in enumerate(lines):
        streams.feed(number, line)
    spread = {response.request for response in streams.responses() if any(map(is_private, response.texts))}
    if not spread:
        return lines, 0
    return [_withdrawn(line, spread) for line in lines], len(spread)


def _withdrawn(line: bytes, requests: set[int]) -> bytes:
    if not line.startswith(b'{"type":"wire_chunk"'):
        return line
    event = codec.decode(line)
    if not isinstance(event, WireChunk) or event.request not in requests:
        return line
    pieces = [{"at": piece.at, "text": WITHDRAWN} for piece in event.pieces]
    return _with_members(line, {"pieces": pieces})


class _Digests:
    """The lines of one run in order, before and after replacement; keeps the parts of which bodies are made."""

    def __init__(self) -> None:
        self.requests = 0
        self._messages: tuple[list[bytes], list[bytes]] = ([], [])
        self._toolsets: tuple[list[bytes], list[bytes]] = ([], [])
        self._digest = hashlib.sha256()

    def right(self, before: bytes, after: bytes) -> bytes:
        """The line `after`, its digests those of the lines as they are now."""
        if after.startswith(_DIGESTED):
            after = self._right(before, after)
        self._digest.update(after)
        return after

    def _right(self, before: bytes, after: bytes) -> bytes:
        old, new = codec.decode(before), codec.decode(after)
        match old, new:
            case RunStarted(), RunStarted():
                return after if before == after else _started(old, new, after)
            case Message(), Message():
                self._messages[0].append(bytes(old.message))
                self._messages[1].append(bytes(new.message))
            case Toolset(), Toolset():
                self._toolsets[0].append(bytes(old.tools))
                self._toolsets[1].append(bytes(new.tools))
            case ModelRequest(), ModelRequest():
                return self._request(old, new, after)
            case RunFinished(), _:
                return _with_members(after, {"sha256": self._digest.hexdigest()})
        return after

    def _request(self, old: ModelRequest, new: ModelRequest, after: bytes) -> bytes:
        was = rebuilt_body(old, self._messages[0], self._toolsets[0])
        body = rebuilt_body(new, self._messages[1], self._toolsets[1])
        if was == body:
            return after
        self.requests += 1
        changes = {"body_sha256": hashlib.sha256(body).hexdigest(), "body_bytes": len(body), "redacted": True}
        return _with_members(after, changes)


def _started(old: RunStarted, new: RunStarted, line: bytes) -> bytes:
    for name in _IDENTITY:
        if getattr(old, name) != getattr(new, name):
            raise WorkError(
                f"run {old.run_id}: its {name} is itself private, and files are named after it; record the campaign "
                "again under another name, or publish it from a machine that does not have that name"
            )
    try:
        digests = {
            "stimulus_sha256": stimulus_digest(stimulus_from_wire(new.stimulus)),
            "rubric_sha256": rubric_digest(rubric_from_wire(new.rubric)),
        }
    except (msgspec.ValidationError, CaseError, ValueError) as error:
        raise WorkError(f"run {old.run_id}: its case does not read once private texts are replaced: {error}") from None
    return _with_members(line, digests)


def _with_members(line: bytes, changes: dict[str, Any]) -> bytes:
    """One line with members of its object set; all others stay byte for byte, new ones come last."""
    try:
        members = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError as error:
        raise LogError(f"not an event: {error}") from None
    for name, value in changes.items():
        members[name] = msgspec.Raw(msgspec.json.encode(value))
    return b"{%b}\n" % b",".join(b"%b:%b" % (msgspec.json.encode(name), raw) for name, raw in members.items())
