"""Watch the events of a run for a prompt that the server cut without saying so."""

from recorder.truncation import Observation, check, observe
from schemas.events import ContextChecked, Event, Message, ModelRequest, ModelResponse, Toolset


class PromptWatch:
    """Feed it the events of one run as they are written. `context_tokens` is the probed context, None if unknown."""

    def __init__(self, context_tokens: int | None) -> None:
        self._context = context_tokens
        self._message_chars: list[int] = []
        self._toolset_chars: list[int] = []
        self._request: ModelRequest | None = None
        self._seen: list[Observation] = []

    def see(self, event: Event) -> ContextChecked | None:
        """The verdict on a request, once its response is there; None for every other event."""
        match event:
            case Message():
                self._message_chars.append(len(bytes(event.message).decode()))
            case Toolset():
                self._toolset_chars.append(len(bytes(event.tools).decode()))
            case ModelRequest():
                self._request = event
            case ModelResponse() if self._request is not None:
                observation = observe(self._request, event, self._chars(self._request))
                checked = check(observation, self._context, self._seen)
                self._seen.append(observation)
                return checked
        return None

    def _chars(self, request: ModelRequest) -> int:
        sent = sum(self._message_chars[number] for first, last in request.messages for number in range(first, last + 1))
        return sent + (0 if request.toolset is None else self._toolset_chars[request.toolset])
