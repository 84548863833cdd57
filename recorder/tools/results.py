"""What a tool gives back inside the executor, and how it says that it cannot."""

from typing import Any

import msgspec

from recorder.cluster.api import ApiError
from recorder.tools.caps import End
from schemas.events import ToolErrorClass


class Produced(msgspec.Struct, frozen=True, kw_only=True):
    """A result before redaction and caps: `text`, or `data` for a YAML tool.

    `keep` is the end of a text that survives the production cut. `uid` is that of the object the result is about.
    """

    text: str | None = None
    data: Any = None
    keep: End = "head"
    uid: str | None = None


class ToolFailure(Exception):
    """A call that cannot be answered; `message` is for the model, without the leading `ERROR: `."""

    def __init__(self, error_class: ToolErrorClass, message: str) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.message = message


_CLASSES: dict[int, ToolErrorClass] = {404: "not_found", 403: "forbidden"}


def failure_of(error: ApiError) -> ToolFailure:
    """An API refusal as the failure of the call that met it."""
    fallback: ToolErrorClass = "bad_request" if error.status < 500 else "internal"
    return ToolFailure(_CLASSES.get(error.status, fallback), str(error))
