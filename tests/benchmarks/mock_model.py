"""A mock model inside the process, so that recording is measured without a server and without HTTP.

It stands where the HTTP client stands and does what that does with a real answer: each request body goes through the
ledger, each answer through the wire reader, as one JSON document or as a stream of small pieces. The answers are those
of the workload, as Inspect's mock model gives them, and are made before the clock runs: they are the server's work.
"""

import json
from types import ModuleType
from typing import Any

import msgspec

from recorder.tools import Outcome, Toolbox, ToolSpec
from recorder.tools.results import Produced
from recorder.transport import RequestLedger
from recorder.transport.secret import Scrubber
from recorder.transport.wire import WireReader
from schemas.cases import Case, Cluster, Evidence, Interaction, Pane, Pins, Rubric, RubricTurn, Stimulus, StimulusTurn
from schemas.events import ModelResponse, Usage
from tests.benchmarks.workload import SEED

_URL = "http://127.0.0.1:11434/v1/chat/completions"
_PIECE_CHARS = 16
"""About four tokens: what servers send at once."""


class Script(msgspec.Struct, frozen=True):
    """One conversation, made beforehand: the case, the raw pieces of each answer, what each tool call prints."""

    case: Case
    system: str
    tools: tuple[ToolSpec, ...]
    answers: tuple[tuple[bytes, ...], ...]
    results: dict[tuple[str, str, str], str]


def scripts(bench: ModuleType, runs: int, *, stream: bool) -> list[Script]:
    """The first `runs` conversations of the workload; `stream` cuts the answers in pieces."""
    system, tools = bench.system_prompt(), specs(bench)
    return [_script(bench, number, system, tools, stream) for number in range(runs)]


def _script(bench: ModuleType, number: int, system: str, tools: tuple[ToolSpec, ...], stream: bool) -> Script:
    about = bench.case(SEED, number)
    plan = bench.turns(SEED, about)
    messages: list[dict[str, Any]] = [
        {
            "role": "assistant",
            "content": step["thought"],
            "tool_calls": [
                {
                    "index": 0,
                    "id": f"call_{about['id']}_{place}",
                    "type": "function",
                    "function": {"name": step["verb"], "arguments": json.dumps(step["args"])},
                }
            ],
        }
        for place, step in enumerate(plan)
    ]
    messages.append({"role": "assistant", "content": bench.final_answer(SEED, about)})
    called = [(step["args"]["namespace"], step["verb"], step["args"]["name"]) for step in plan]
    return Script(
        case=case_of(bench, number),
        system=system,
        tools=tools,
        answers=tuple(tuple(_pieces(message, place, stream)) for place, message in enumerate(messages)),
        results={call: bench.tool_output(SEED, *call) for call in called},
    )


class MockClient:
    """Answers as the script says."""

    def __init__(self, script: Script, *, stream: bool) -> None:
        self._answers = script.answers
        self._stream = stream

    async def complete(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        *,
        ledger: RequestLedger,
        turn: int,
        iteration: int,
        stream: bool = True,
        on_text: Any = None,
    ) -> ModelResponse:
        """The answer to step `iteration`, recorded as the HTTP client records one."""
        body = msgspec.json.encode({"model": "mock", "messages": messages, "tools": tools, "stream": self._stream})
        request = ledger.open(
            body,
            dialect="openai",
            method="POST",
            url=_URL,
            stream=self._stream,
            turn=turn,
            iteration=iteration,
            attempt=1,
            scrubber=Scrubber(None),
        )
        reader = WireReader("openai", "sse" if self._stream else "document")
        shown = ""
        for place, piece in enumerate(self._answers[iteration - 1]):
            ledger.piece(request, 200, place * 0.02, piece)
            shown += reader.feed(piece, place * 0.02)
        shown += reader.finish(1.0)
        ledger.flush(request)
        on_text(shown)
        response = ModelResponse(
            request=request,
            status=200,
            finish_reason=reader.finish_reason,
            content=reader.content,
            duration_s=1.0,
            tool_calls=reader.calls.emitted(request),
            usage=Usage(**_usage(iteration)[1]),
            server_usage=reader.server_usage or None,
        )
        ledger.emit(response)
        return response


def _pieces(message: dict[str, Any], place: int, stream: bool) -> list[bytes]:
    """The body of an answer as a server sends it."""
    reason = "tool_calls" if "tool_calls" in message else "stop"
    usage = _usage(place + 1)[0]
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return [_data({"choices": [choice], "usage": usage})]
    text = message["content"]
    deltas: list[dict[str, Any]] = [
        {"content": text[at : at + _PIECE_CHARS]} for at in range(0, len(text), _PIECE_CHARS)
    ]
    if "tool_calls" in message:
        deltas.append({"tool_calls": message["tool_calls"]})
    events = [_data({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) for delta in deltas]
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
    return [b"data: %b\n\n" % event for event in (*events, _data(last), b"[DONE]")]


class MockToolbox(Toolbox):
    """Tools that print the script's texts; redaction and caps are those of every run."""

    def __init__(self, script: Script, *args: Any) -> None:
        super().__init__(*args)
        self._results = script.results

    def execute(self, name: str, arguments: Any) -> Outcome:
        """What kubectl would have printed."""
        return self._finish(Produced(text=self._results[arguments["namespace"], name, arguments["name"]]))


def specs(bench: ModuleType) -> tuple[ToolSpec, ...]:
    """The workload's sixteen tools."""
    return tuple(
        ToolSpec(
            name=spec["name"],
            effect="cluster_read",
            result="text",
            description=spec["description"],
            parameters={
                "type": "object",
                "properties": {
                    "namespace": {"type": "string", "description": spec["namespace"]},
                    "name": {"type": "string", "description": spec["name_doc"]},
                    "selector": {"type": "string", "description": spec["selector"]},
                    "options": {"type": "string", "description": spec["options"]},
                },
                "required": ["namespace", "name"],
            },
        )
        for spec in bench.tool_specs()
    )


def case_of(bench: ModuleType, number: int) -> Case:
    """Conversation `number` as a case: its question, the cause and the reason as claims, the listing as evidence."""
    about = bench.case(SEED, number)
    where = {"namespace": about["ns"]}
    return Case(
        id=about["id"],
        kind="scenario",
        stimulus=Stimulus(
            interaction=Interaction(focused_pane=Pane(kind="pods", scope=about["ns"])),
            turns=(StimulusTurn(user=bench.question(about)),),
            cluster=Cluster(),
        ),
        rubric=Rubric(
            root_cause=about["reason"],
            turns=(
                RubricTurn(
                    must_mention=((about["fault"],), (about["reason"],)),
                    expected_evidence=((Evidence(tool="list_pods", args=where, contains=about["app"]),),),
                ),
            ),
        ),
        pins=(Pins(passing=("yes",), failing=("no",)),),
    )


def _data(value: dict[str, Any]) -> bytes:
    return json.dumps({"id": "chatcmpl-1", "object": "chat.completion.chunk", **value}, ensure_ascii=False).encode()


def _usage(iteration: int) -> tuple[dict[str, int], dict[str, int]]:
    """Token counts as the server sends them and as they are recorded."""
    given, made = 2_800 + 900 * (iteration - 1), 90 + 20 * (iteration - 1)
    return {"prompt_tokens": given, "completion_tokens": made}, {"input_tokens": given, "output_tokens": made}
