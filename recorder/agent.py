"""The agent: one native loop of request, stream, tool calls, results, and again, within the limits of the policy.

Everything it does is an event before it has a consequence: a `tool_call` is written before the tool runs, its
`tool_result` before the model sees it. The agent decides nothing about worth. Source: evaluation semantics 6.2.
"""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from recorder.conversation import ChatMessage, Conversation
from recorder.tools import Checked, Outcome, Toolbox, check_call
from recorder.transport import ModelClient, ModelFailure, RequestLedger, calls_in_content
from recorder.workspace import Workspace
from schemas.cases import Interaction
from schemas.events import (
    EmittedCall,
    Event,
    HistoryTrimmed,
    Interrupted,
    ModelResponse,
    ScreenAction,
    ScreenState,
    ToolCall,
    ToolResult,
    TurnFinished,
    TurnOutcome,
    TurnStarted,
    Usage,
)
from schemas.policy import Policy

Emit = Callable[[Event], object]

_NEVER_SENT = ("unreachable", "client")
"""The classes of failure in which no request reached the server, so that none is charged."""


@dataclass
class _Turn:
    """What a turn in progress has come to."""

    number: int
    started: float
    iteration: int = 0
    calls: int = 0
    partial: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False

    def count(self, usage: Usage, sent_chars: Callable[[], int], emitted_chars: int) -> None:
        """Add the tokens of a request that left; what the server did not count is estimated at four characters each."""
        if usage.input_tokens is None or usage.output_tokens is None:
            self.estimated = True
        self.input_tokens += usage.input_tokens if usage.input_tokens is not None else sent_chars() // 4
        self.output_tokens += usage.output_tokens if usage.output_tokens is not None else emitted_chars // 4


@dataclass
class Agent:
    """An agent session over one run. `emit` writes an event; `sampling` of the policy is the client's business."""

    client: ModelClient
    ledger: RequestLedger
    toolbox: Toolbox
    workspace: Workspace
    tool_schemas: list[dict[str, Any]]
    conversation: Conversation
    policy: Policy
    emit: Emit
    stream: bool = True
    _calls: int = field(default=0, init=False)

    async def run_turn(self, number: int, user: str, message: str, shown: Interaction) -> TurnOutcome:
        """Play one user turn and write it down. `message` is the user's text with the screen context.

        Returns the outcome. A cancellation is written down, the conversation repaired, and raised again.
        """
        self.emit(TurnStarted(turn=number, user=user, interaction=shown))
        self.conversation.begin_turn(message)
        turn = _Turn(number, time.monotonic())
        try:
            outcome, answer, error = await self._iterate(turn)
        except asyncio.CancelledError:
            self.emit(
                Interrupted(turn=number, iteration=turn.iteration, reason="stopped from outside", content=turn.partial)
            )
            self.conversation.note_interruption(turn.partial)
            self._finish(turn, "interrupted", "", None)
            raise
        if outcome == "no_usable_call":
            self.conversation.note_no_answer(turn.partial)
        self._finish(turn, outcome, answer, error)
        return outcome

    def _finish(self, turn: _Turn, outcome: TurnOutcome, answer: str, error: str | None) -> None:
        self.emit(
            TurnFinished(
                turn=turn.number,
                outcome=outcome,
                answer=answer,
                iterations=turn.iteration,
                tool_calls=turn.calls,
                duration_s=round(time.monotonic() - turn.started, 6),
                usage=Usage(input_tokens=turn.input_tokens, output_tokens=turn.output_tokens),
                usage_estimated=turn.estimated,
                interaction=self.workspace.interaction,
                error=error,
            )
        )

    async def _iterate(self, turn: _Turn) -> tuple[TurnOutcome, str, str | None]:
        limits = self.policy.limits
        while turn.iteration < limits.max_iterations:
            problem = self._fit(turn)
            if problem:
                return "history_budget", "", problem
            turn.iteration += 1
            turn.partial = ""
            sent = self.conversation.messages()
            try:
                response = await self._request(turn, sent)
            except ModelFailure as failure:
                return self._failed(turn, failure)
            calls = self._calls_of(response)
            if not calls:
                self.conversation.add([{"role": "assistant", "content": response.content}])
                return ("answered" if response.content.strip() else "empty"), response.content, None
            if not self._play(turn, response, calls):
                return "no_usable_call", "", "none of the calls of the response could be used"
        return "iteration_limit", "", f"the limit of {limits.max_iterations} iterations was reached"

    def _failed(self, turn: _Turn, failure: ModelFailure) -> tuple[TurnOutcome, str, str]:
        """A request that came to nothing. A server that chokes on the model's own call reports a malformed call."""
        error = failure.error
        if error.error_class != "malformed_call":
            return "provider_error", "", f"{error.error_class}: {error.message}"
        self._calls += 1
        turn.calls += 1
        self.emit(
            ToolCall(
                call=self._calls,
                turn=turn.number,
                iteration=turn.iteration,
                request=error.request or 0,
                call_id="",
                tool="",
                arguments_raw=error.content,
                arguments=None,
                disposition="malformed",
                problem=error.message,
            )
        )
        return "no_usable_call", "", f"the server could not read the model's call: {error.message}"

    async def _request(self, turn: _Turn, sent: list[ChatMessage]) -> ModelResponse:
        def keep(text: str) -> None:
            turn.partial += text

        def sent_chars() -> int:
            return len(json.dumps(sent, ensure_ascii=False)) + self.conversation.tool_schema_chars

        earlier = self.ledger.requests
        try:
            response = await self.client.complete(
                sent,
                self.tool_schemas,
                ledger=self.ledger,
                turn=turn.number,
                iteration=turn.iteration,
                stream=self.stream,
                on_text=keep,
            )
        except ModelFailure as failure:
            if failure.error.error_class not in _NEVER_SENT:
                turn.count(Usage(), sent_chars, len(failure.error.content))
            raise
        except asyncio.CancelledError:
            if self.ledger.requests > earlier:
                turn.count(Usage(), sent_chars, len(turn.partial))
            raise
        emitted = len(response.content) + sum(len(call.arguments) for call in response.tool_calls)
        turn.count(response.usage or Usage(), sent_chars, emitted)
        return response

    def _fit(self, turn: _Turn) -> str | None:
        """Trim the history to its budget; the reason why the turn cannot go on, or None.

        A turn that cannot be sent at all is forgotten, so that the next one does not carry it.
        """
        conversation, limits = self.conversation, self.policy.limits
        before = conversation.chars()
        dropped = conversation.trim()
        after = conversation.chars()
        if dropped:
            self.emit(
                HistoryTrimmed(
                    turn=turn.number,
                    dropped_turns=dropped,
                    chars_before=before,
                    chars_after=after,
                    reason="retained turns and history budget",
                )
            )
        if limits.strict_history_budget and conversation.over_budget():
            if turn.iteration == 0:
                conversation.roll_back_turn()
            return f"the turn's history of {after} characters is over the budget of {limits.max_history_chars}"
        if conversation.over_wire_ceiling():
            conversation.roll_back_turn()
            return f"the request of {after} characters of history is over the wire ceiling"
        return None

    def _calls_of(self, response: ModelResponse) -> tuple[EmittedCall, ...]:
        if response.tool_calls or not self.policy.recover_calls_from_content:
            return response.tool_calls
        return calls_in_content(response.content, self.policy.tools, request=response.request)

    def _play(self, turn: _Turn, response: ModelResponse, calls: tuple[EmittedCall, ...]) -> bool:
        """Run the kept calls of a response, write all down, extend the conversation. False if none could be kept."""
        kept, discarded = self._divide(calls)
        numbers = {id(call): self._started(turn, response, call, None) for call in kept}
        # Every call is written down before the first one runs, the discarded ones included.
        refused = [(call, reason, self._started(turn, response, call, reason)) for call, reason in discarded]
        results = []
        for position, call in enumerate(kept):
            number, checked = numbers[id(call)]
            note = _discard_note(len(discarded)) if discarded and position == len(kept) - 1 else ""
            shown = self._execute(turn, number, call, checked, note)
            results.append({"role": "tool", "tool_call_id": call.id, "name": call.name, "content": shown})
        for call, reason, (number, _) in refused:
            text = f"ERROR: this call was discarded: {reason}"
            self.emit(ToolResult(call=number, tool=call.name, ok=False, result=text, error_class="discarded"))
        if not kept:
            return False
        self.conversation.add([_assistant_message(response.content, kept, numbers), *results])
        return True

    def _divide(self, calls: tuple[EmittedCall, ...]) -> tuple[list[EmittedCall], list[tuple[EmittedCall, str]]]:
        limit = self.policy.limits.max_tool_calls_per_iteration
        if limit is None and not self.policy.limits.allow_parallel_tool_calls:
            limit = 1
        kept: list[EmittedCall] = []
        discarded: list[tuple[EmittedCall, str]] = []
        seen: set[str] = set()
        for call in calls:
            if not call.name:
                discarded.append((call, "it has no name"))
            elif call.id in seen:
                discarded.append((call, f"its id {call.id!r} was used already in this response"))
            elif limit is not None and len(kept) >= limit:
                discarded.append((call, f"too many calls in one response, the limit is {limit}"))
            else:
                kept.append(call)
            seen.add(call.id)
        return kept, discarded

    def _started(
        self, turn: _Turn, response: ModelResponse, call: EmittedCall, discard: str | None
    ) -> tuple[int, Checked]:
        self._calls += 1
        turn.calls += 1
        checked = check_call(self.toolbox.specs, call.name, call.arguments)
        self.emit(
            ToolCall(
                call=self._calls,
                turn=turn.number,
                iteration=turn.iteration,
                request=response.request,
                call_id=call.id,
                tool=call.name,
                arguments_raw=call.arguments,
                arguments=checked.arguments,
                disposition="discarded" if discard else checked.disposition,
                problem=discard or checked.problem,
                origin=call.origin,
            )
        )
        return self._calls, checked

    def _execute(self, turn: _Turn, number: int, call: EmittedCall, checked: Checked, note: str) -> str:
        """Run one kept call, write its result, and return what the model sees."""
        before = time.perf_counter()
        outcome = self._outcome(call, checked)
        shown = outcome.shown
        if note:
            shown = self.toolbox.with_note(call.name, shown, note)
        self.emit(
            ToolResult(
                call=number,
                tool=call.name,
                ok=outcome.ok,
                error_class=outcome.error_class,
                result=outcome.text,
                shown=None if shown == outcome.text else shown,
                redactions=outcome.redactions,
                object_uid=outcome.object_uid,
                duration_s=round(time.perf_counter() - before, 6),
            )
        )
        if outcome.action is not None:
            self.emit(
                ScreenAction(
                    call=number,
                    turn=turn.number,
                    tool=outcome.action.tool,
                    arguments=outcome.action.arguments,
                    ok=outcome.ok,
                    message=outcome.action.message,
                )
            )
            self.emit(ScreenState(turn=turn.number, interaction=self.workspace.interaction))
        return shown

    def _outcome(self, call: EmittedCall, checked: Checked) -> Outcome:
        if checked.disposition == "executed" and checked.arguments is not None:
            return self.toolbox.execute(call.name, checked.arguments)
        return self.toolbox.refuse(checked)


def _discard_note(count: int) -> str:
    return f"NOTE: {count} further call(s) of the same response were discarded; make one call at a time."


def _assistant_message(content: str, kept: list[EmittedCall], numbers: dict[int, tuple[int, Checked]]) -> ChatMessage:
    """The assistant's turn as the model sees it again. Arguments that were no JSON object go back as an empty one,
    because servers refuse a history that does not parse; the tool's answer says what was wrong."""
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(numbers[id(call)][1].arguments or {}, ensure_ascii=False),
                },
            }
            for call in kept
        ],
    }
