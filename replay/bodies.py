"""Request bodies, put together again from the events of a run."""

import base64

import msgspec

from schemas import requests
from schemas.errors import LogError
from schemas.events import ModelRequest


def rebuilt_body(request: ModelRequest, messages: list[bytes], toolsets: list[bytes]) -> bytes:
    """The exact bytes of a recorded request, given the raw JSON of the run's messages and toolsets by id.

    Raises `LogError` if it names a message or toolset that was never stored.
    """
    if request.body is not None:
        return request.body.encode("utf-8", "surrogatepass")
    if request.body_base64 is not None:
        return base64.b64decode(request.body_base64)
    if isinstance(request.rest, msgspec.UnsetType):
        return b""
    return requests.rebuild(
        bytes(request.rest),
        tuple(_stored(messages, number, request) for span in request.messages for number in _inclusive(span)),
        None if request.toolset is None else _stored(toolsets, request.toolset, request),
        request.separator.encode(),
    )


def _inclusive(span: tuple[int, int]) -> range:
    return range(span[0], span[1] + 1)


def _stored(parts: list[bytes], number: int, request: ModelRequest) -> bytes:
    if not 0 <= number < len(parts):
        raise LogError(f"event {request.seq}: request {request.request} names part {number}, which was never stored")
    return parts[number]
