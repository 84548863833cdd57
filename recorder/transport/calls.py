"""Tool calls as a model emitted them, put together from what came over the wire.

The arguments stay the raw string: whether they parse is for the agent engine to say. Two calls that share an index but
differ in id or name are two calls. An id the server did not give is made from the request's number and the call's
place, so that it is the same in every reading of a log.
"""

import json
import re
from collections.abc import Collection
from typing import Any

import msgspec

from schemas.codec import parse_json, whole_characters
from schemas.events import EmittedCall

_OBJECT_START = re.compile(r"\{(?=\s*\")")
_JSON_ENDS = frozenset('}]"le0123456789')
"""The characters that a JSON text can end in."""
_ARGUMENT_KEYS = ("arguments", "parameters")


class _Open(msgspec.Struct):
    """A call that is still growing; `place` is its number among the calls, `last` its last character but for blanks."""

    index: int | None
    place: int
    id: str = ""
    name: str = ""
    arguments: list[str] = []
    last: str = ""


class CallAssembly:
    """Collects calls from whole entries or from streamed fragments."""

    def __init__(self) -> None:
        self._calls: list[_Open] = []
        # By index, and under None whatever the index: the newest call, and the newest of each id.
        self._newest: dict[int | None, _Open] = {}
        self._by_id: dict[tuple[int | None, str], _Open] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def whole(self, entries: Any) -> None:
        """Entries of which each is a complete call."""
        for entry in _entries(entries):
            self._extend(self._begin(None), entry)

    def fragments(self, entries: Any) -> None:
        """Entries of a streamed delta: each begins a call or continues one."""
        for entry in _entries(entries):
            call = self._continued(entry)
            if call is None:
                index = entry.get("index")
                call = self._begin(index if isinstance(index, int) else None)
            self._extend(call, entry)

    def emitted(self, request: int) -> tuple[EmittedCall, ...]:
        """The calls in order, with ids of the form `call-<request>-<n>` (n from 1) where the server gave none."""
        return tuple(
            EmittedCall(
                id=call.id or f"call-{request}-{number}",
                name=call.name,
                arguments=whole_characters("".join(call.arguments)),
                id_synthesised=not call.id,
            )
            for number, call in enumerate(self._calls, 1)
        )

    def _begin(self, index: int | None) -> _Open:
        call = _Open(index, len(self._calls))
        self._calls.append(call)
        self._newest[index] = self._newest[None] = call
        return call

    def _continued(self, entry: dict[str, Any]) -> _Open | None:
        index, call_id, name = entry.get("index"), _text(entry.get("id")), _text(_function(entry).get("name"))
        key = index if isinstance(index, int) else None
        last = self._newest.get(key)
        if last is None:
            return None
        if call_id and last.id:
            return self._by_id.get((key, call_id))
        if not name or not last.name:
            # A bare fragment, or the name that follows an id.
            return last
        if name != last.name or _is_json(last):
            return None
        return last

    def _extend(self, call: _Open, entry: dict[str, Any]) -> None:
        function = _function(entry)
        if not call.id and (call_id := _text(entry.get("id"))):
            call.id = call_id
            for key in (call.index, None):
                known = self._by_id.get((key, call_id))
                if known is None or known.place < call.place:
                    self._by_id[key, call_id] = call
        call.name = call.name or _text(function.get("name"))
        if piece := _raw_arguments(function.get("arguments")):
            call.arguments.append(piece)
            call.last = piece.rstrip()[-1:] or call.last


def calls_in_content(text: str, tool_names: Collection[str], *, request: int = 0) -> tuple[EmittedCall, ...]:
    """Calls that a model wrote into its answer: JSON objects with a known `name` and `arguments` (or `parameters`).

    Only for a policy that asks for it. Ids are synthesised; `origin` is `content`. Objects inside of a found call are
    not looked at again; a text without such an object gives none.
    """
    found: list[EmittedCall] = []
    decoder = json.JSONDecoder()
    at = 0
    while (start := _OBJECT_START.search(text, at)) is not None:
        at = start.start() + 1
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            continue
        call = _content_call(value, tool_names)
        if call is not None:
            call_id = f"call-{request}-{len(found) + 1}"
            found.append(
                EmittedCall(id=call_id, name=call[0], arguments=call[1], id_synthesised=True, origin="content")
            )
            at = end
    return tuple(found)


def _content_call(value: Any, tool_names: Collection[str]) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    function = _function(value) or value
    name = function.get("name")
    if not isinstance(name, str) or name not in tool_names:
        return None
    for key in _ARGUMENT_KEYS:
        if key in function:
            return name, _raw_arguments(function[key])
    return None


def _entries(entries: Any) -> list[dict[str, Any]]:
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _function(entry: dict[str, Any]) -> dict[str, Any]:
    function = entry.get("function")
    return function if isinstance(function, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _raw_arguments(value: Any) -> str:
    """A string as it is; null and absent as the empty string; anything else as its JSON text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_json(call: _Open) -> bool:
    """Whether the arguments so far are whole JSON. Parsing a growing text with each piece would cost its square."""
    if call.last not in _JSON_ENDS:
        return False
    try:
        parse_json("".join(call.arguments))
    except (ValueError, RecursionError):
        return False
    return True
