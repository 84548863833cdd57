"""The conversation: what is sent to the model again with every request, and its budget.

Messages are in the OpenAI form. A turn's messages are added as whole iterations (the assistant's calls together with
all their results), so that an interruption in the middle leaves nothing unmatched behind. Source: evaluation semantics
6.2.
"""

from dataclasses import dataclass, field
from typing import Any

from schemas.policy import Limits

ChatMessage = dict[str, Any]

INTERRUPTED_MARK = "[interrupted]"
NO_ANSWER_MARK = "[no answer]"
_PARTIAL_CHARS = 2_000
_WIRE_SLACK_CHARS = 8_192


@dataclass
class Conversation:
    """The system message and the turns so far; `turns[-1]` is the one in progress."""

    system: str
    limits: Limits
    tool_schema_chars: int
    turns: list[list[ChatMessage]] = field(default_factory=list)
    _turn_chars: list[int] = field(default_factory=list, init=False)

    def begin_turn(self, user_message: str) -> None:
        """Start a turn with the user's message."""
        self.turns.append([])
        self._turn_chars.append(0)
        self.add([{"role": "user", "content": user_message}])

    def add(self, messages: list[ChatMessage]) -> None:
        """Append the messages of one whole iteration to the turn in progress."""
        self.turns[-1].extend(messages)
        self._turn_chars[-1] += sum(map(_chars, messages))

    def messages(self) -> list[ChatMessage]:
        """Everything to send, system message first."""
        return [{"role": "system", "content": self.system}, *(message for turn in self.turns for message in turn)]

    def chars(self) -> int:
        """Characters of the history: all but the system message."""
        return sum(self._turn_chars)

    def over_budget(self) -> bool:
        """Whether the history is longer than the policy's budget."""
        return self.chars() > self.limits.max_history_chars

    def over_wire_ceiling(self) -> bool:
        """Whether a request would be longer than what is ever put on the wire."""
        ceiling = 2 * self.limits.max_history_chars + self.tool_schema_chars + _WIRE_SLACK_CHARS
        return self.chars() + len(self.system) + self.tool_schema_chars > ceiling

    def trim(self) -> int:
        """Drop the oldest whole turns, never the newest, until number, budget and wire ceiling hold.

        Returns how many were dropped.
        """
        before = len(self.turns)
        while len(self.turns) > 1 and self._over_any_limit():
            del self.turns[0], self._turn_chars[0]
        return before - len(self.turns)

    def _over_any_limit(self) -> bool:
        return len(self.turns) > self.limits.retained_turns or self.over_budget() or self.over_wire_ceiling()

    def roll_back_turn(self) -> None:
        """Forget the turn in progress."""
        del self.turns[-1], self._turn_chars[-1]

    def note_interruption(self, partial: str) -> None:
        """Keep the start of an answer that was cut off, marked as such, so that the next turn can go on."""
        self._add_marked(partial, INTERRUPTED_MARK)

    def note_no_answer(self, partial: str) -> None:
        """End a turn whose last response could not be used: two user messages in a row break strict chat templates."""
        self._add_marked(partial, NO_ANSWER_MARK)

    def _add_marked(self, partial: str, mark: str) -> None:
        self.add([{"role": "assistant", "content": f"{partial[:_PARTIAL_CHARS]}\n{mark}".lstrip()}])


def _chars(message: ChatMessage) -> int:
    calls = message.get("tool_calls") or ()
    return len(message.get("content") or "") + sum(
        len(call["function"]["name"]) + len(call["function"]["arguments"]) for call in calls
    )
