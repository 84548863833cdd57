"""A plan written down as the events of a run, by the real log writer.

Request bodies rebuild from their parts to the digest that the log names; wire pieces are the server-sent events that
the answer came in, padded with thinking to the size that a run shall have.
"""

import json
import os
import random
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from recorder.log import RunLog
from schemas import requests
from schemas.cases import Case, Evidence, rubric_digest, stimulus_digest, to_wire
from schemas.digest import sha256_hex
from schemas.events import (
    SCHEMA_VERSION,
    Disposition,
    EmittedCall,
    Message,
    ModelError,
    ModelRequest,
    ModelResponse,
    RunStarted,
    ToolCall,
    ToolResult,
    Toolset,
    TurnFinished,
    TurnOutcome,
    TurnStarted,
    Usage,
    WireChunk,
    WirePiece,
)
from schemas.policy import LIMITS, Policy, PromptInfo
from tests.synthetic.plan import CallKind, RunPlan, TurnPlan

READS = ("list_resources", "get_resource", "get_logs", "get_events", "diagnose_pod", "diagnose_service", "diagnose_pvc")
_URL = "http://127.0.0.1:11434/v1/chat/completions"
_SYSTEM = "You help an operator of a Kubernetes cluster. Read before you answer. " + (
    "State what you saw and what it means, and name the object it is about. " * 30
)
_RESULT_CHARS = 3_000
_PIECES_A_CHUNK = 8


class Identity(msgspec.Struct, frozen=True):
    """Which run this is."""

    campaign_id: str
    run_id: str
    repetition: int
    attempt: int
    arm: str
    agent: str
    model: str
    wall_time: str


def write_run(path: Path, case: Case, identity: Identity, plan: RunPlan, chance: random.Random, raw_bytes: int) -> None:
    """Write the log of one run at `path`, of about `raw_bytes` where the plan leaves room."""
    clock = _Clock(plan.duration_s)
    log = RunLog(path, durability="run", clock=clock)
    log.append(_started(case, identity))
    writer = _Writer(log, case, identity, plan, chance, raw_bytes)
    for number, turn in enumerate(plan.turns, 1):
        if writer.torn():
            break
        writer.turn(number, turn)
    if plan.torn_after is None:
        log.finish(plan.status, reason="context_truncated" if plan.status == "harness_invalid" else None)
    else:
        log.close()
        os.truncate(path, path.stat().st_size - chance.randint(0, 3))


class _Clock:
    """Monotonic seconds that advance a little with every look."""

    def __init__(self, total: float) -> None:
        self._now = 0.0
        self._step = total / 200

    def __call__(self) -> float:
        self._now += self._step
        return self._now


class _Writer:
    def __init__(
        self, log: RunLog, case: Case, identity: Identity, plan: RunPlan, chance: random.Random, raw_bytes: int
    ) -> None:
        self._log, self._case, self._identity, self._plan, self._chance = log, case, identity, plan, chance
        self._raw_bytes = raw_bytes
        self._messages: list[bytes] = []
        self._toolset_stored = False
        self._stored = 0
        self._requests = 0
        self._calls = 0
        self._requests_planned = sum(len(turn.calls) + 1 for turn in plan.turns)
        self._share = 0

    def torn(self) -> bool:
        """Whether the log ends here."""
        return self._plan.torn_after is not None and self._log.events >= self._plan.torn_after

    def turn(self, number: int, turn: TurnPlan) -> None:
        self._log.append(TurnStarted(turn=number, user=self._case.stimulus.turns[number - 1].user))
        if not self._messages:
            self._say("system", _SYSTEM)
        self._say("user", self._case.stimulus.turns[number - 1].user)
        if not self._share:
            results = 2 * _RESULT_CHARS * sum(len(turn.calls) for turn in self._plan.turns)
            fixed = self._log.raw_bytes + len(_tools()) + len(_SYSTEM) + results + 6_000
            self._share = max(600, (self._raw_bytes - fixed) // self._requests_planned)
        for iteration, kind in enumerate(turn.calls, 1):
            if self.torn():
                return
            self._call(number, iteration, kind)
        failed = self._plan.status == "provider_error" and number == len(self._plan.turns)
        outcome: TurnOutcome = "iteration_limit" if turn.limit else "answered"
        iterations = len(turn.calls)
        if failed:
            self._fail(number, iterations + 1)
            outcome = "provider_error"
        elif not turn.limit:
            self._answer(number, iterations + 1, turn.answer)
            iterations += 1
        if self.torn():
            return
        self._log.append(
            TurnFinished(
                turn=number,
                outcome=outcome,
                answer="" if failed or turn.limit else turn.answer,
                iterations=max(1, iterations),
                tool_calls=len(turn.calls),
                duration_s=round(self._plan.duration_s / len(self._plan.turns), 3),
                usage=Usage(input_tokens=self._plan.input_tokens, output_tokens=self._plan.output_tokens),
                error="http_status: 500" if failed else None,
            )
        )

    def _call(self, turn: int, iteration: int, kind: CallKind) -> None:
        location = self._location(turn, kind)
        tool, arguments, raw = _emitted(kind, location)
        self._calls += 1
        call = EmittedCall(id=f"call-{self._calls}", name=tool, arguments=raw)
        self._request(turn, iteration)
        self._stream("", [_delta({"tool_calls": [{"index": 0, "id": call.id, "function": {"name": tool}}]})])
        self._respond("", (call,), "tool_calls")
        disposition: Disposition = {"malformed": "malformed", "write": "write_attempt"}.get(kind, "executed")  # type: ignore[assignment]
        self._log.append(
            ToolCall(
                call=self._calls,
                turn=turn,
                iteration=iteration,
                request=self._requests,
                call_id=call.id,
                tool=tool,
                arguments_raw=raw,
                arguments=arguments,
                disposition=disposition,
                problem=None if arguments is not None else "the arguments are no JSON object",
            )
        )
        ok = disposition == "executed"
        result = _result(location, kind == "evidence") if ok else "ERROR: the call was refused"
        error = None if ok else ("malformed" if kind == "malformed" else "write_refused")
        self._log.append(ToolResult(call=self._calls, tool=tool, ok=ok, result=result, error_class=error))  # type: ignore[arg-type]
        function = {"name": tool, "arguments": json.dumps(arguments or {})}
        self._keep({"role": "assistant", "content": "", "tool_calls": [{"id": call.id, "function": function}]})
        self._keep({"role": "tool", "tool_call_id": call.id, "content": result})

    def _location(self, turn: int, kind: CallKind) -> Evidence:
        groups = self._case.rubric.turns[turn - 1].expected_evidence
        if kind == "evidence" and groups:
            return self._chance.choice(self._chance.choice(groups))
        return Evidence(tool="get_events", args={"namespace": "elsewhere"}, contains="")

    def _answer(self, turn: int, iteration: int, answer: str) -> None:
        self._request(turn, iteration)
        step = max(4, len(answer) // 60)
        self._stream(answer, [_delta({"content": answer[at : at + step]}) for at in range(0, len(answer), step)])
        self._respond(answer, (), "stop")

    def _fail(self, turn: int, iteration: int) -> None:
        self._request(turn, iteration)
        self._log.append(
            ModelError(
                request=self._requests, turn=turn, error_class="http_status", message="internal error", status=500
            )
        )

    def _request(self, turn: int, iteration: int) -> None:
        for message in self._messages[self._stored :]:
            self._log.append(Message(id=self._stored, message=msgspec.Raw(message)))
            self._stored += 1
        if not self._toolset_stored:
            self._log.append(Toolset(id=0, tools=msgspec.Raw(_tools())))
            self._toolset_stored = True
        self._requests += 1
        rest = _rest(self._identity.model)
        body = requests.rebuild(rest, tuple(self._messages), _tools(), b",")
        self._log.append(
            ModelRequest(
                request=self._requests,
                turn=turn,
                iteration=iteration,
                attempt=1,
                dialect="openai",
                method="POST",
                url=_URL,
                stream=True,
                body_sha256=sha256_hex(body),
                body_bytes=len(body),
                messages=((0, len(self._messages) - 1),),
                toolset=0,
                rest=msgspec.Raw(rest),
            )
        )

    def _stream(self, answer: str, last: list[str]) -> None:
        room = self._share - sum(map(len, last))
        thinking = [_thought(self._chance.randrange(64)) for _ in range(max(0, room) // 185)]
        pieces = [*thinking, *last, "data: [DONE]\n\n"]
        for at in range(0, len(pieces), _PIECES_A_CHUNK):
            found = pieces[at : at + _PIECES_A_CHUNK]
            self._log.append(
                WireChunk(
                    request=self._requests,
                    status=200,
                    pieces=tuple(
                        WirePiece(at=round((at + n) * 0.07, 6), text=piece) for n, piece in enumerate(found, 1)
                    ),
                )
            )

    def _respond(self, content: str, calls: tuple[EmittedCall, ...], reason: str) -> None:
        usage = Usage(input_tokens=self._plan.input_tokens, output_tokens=self._plan.output_tokens)
        self._log.append(
            ModelResponse(
                request=self._requests,
                status=200,
                finish_reason=reason,
                content=content,
                duration_s=round(self._plan.duration_s / self._requests_planned, 3),
                tool_calls=calls,
                usage=usage,
                server_usage={"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens},
            )
        )

    def _say(self, role: str, content: str) -> None:
        self._keep({"role": role, "content": content})

    def _keep(self, message: dict[str, Any]) -> None:
        self._messages.append(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())


_wire: dict[str, dict[str, Any]] = {}


def _started(case: Case, identity: Identity) -> RunStarted:
    if case.id not in _wire:
        _wire[case.id] = {
            "stimulus": to_wire(case.stimulus),
            "rubric": to_wire(case.rubric),
            "stimulus_sha256": stimulus_digest(case.stimulus),
            "rubric_sha256": rubric_digest(case.rubric),
        }
    return RunStarted(
        schema_version=SCHEMA_VERSION,
        wall_time=identity.wall_time,
        campaign_id=identity.campaign_id,
        run_id=identity.run_id,
        case_id=case.id,
        case_kind=case.kind,
        repetition=identity.repetition,
        attempt=identity.attempt,
        arm=identity.arm,
        agent=identity.agent,
        model=identity.model,
        seed=identity.repetition,
        policy=policy(identity.model),
        **_wire[case.id],
    )


def policy(model: str) -> Policy:
    """The policy that synthetic runs name."""
    return Policy(
        provider="openai",
        model=model,
        dialect="openai",
        tier="low",
        route_source="fallback",
        limits=LIMITS["low"],
        tools=READS,
        prompt=PromptInfo(pack="low", sha256=sha256_hex(_SYSTEM.encode())),
    )


def _emitted(kind: CallKind, location: Evidence) -> tuple[str, dict[str, Any] | None, str]:
    if kind == "malformed":
        return location.tool, None, '{"pod": "api-1", '
    if kind == "write":
        return "delete_resource", {"kind": "pods", "name": "x"}, '{"kind": "pods", "name": "x"}'
    return location.tool, dict(location.args), json.dumps(location.args)


def _result(location: Evidence, evidence: bool) -> str:
    lines = [f"object: {json.dumps(location.args, sort_keys=True)}"]
    if evidence and location.contains:
        lines += [f"  {location.contains}"]
    if evidence and location.fields:
        lines = _block(location.fields)
    size = sum(map(len, lines)) + len(lines)
    while size < _RESULT_CHARS:
        line = f"condition{len(lines)}: {sha256_hex(str(len(lines)).encode())[:48]}"
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)


def _block(fields: dict[str, Any]) -> list[str]:
    """Dotted paths as block YAML."""
    tree: dict[str, Any] = {}
    for path, value in fields.items():
        *parents, leaf = path.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = value
    return _lines(tree, 0)


def _lines(tree: dict[str, Any], depth: int) -> list[str]:
    lines: list[str] = []
    for key, value in tree.items():
        if isinstance(value, dict):
            lines += [f"{'  ' * depth}{key}:", *_lines(value, depth + 1)]
        else:
            lines.append(f"{'  ' * depth}{key}: {value if isinstance(value, str) else json.dumps(value)}")
    return lines


@lru_cache(maxsize=1)
def _tools() -> bytes:
    named = {"type": "string", "description": "The exact name, as a list of the kind shows it."}
    parameters = {"type": "object", "properties": {"name": named, "namespace": named}, "required": ["name"]}
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool,
                "description": "Reads the live state of the cluster and returns it as text.",
                "parameters": parameters,
            },
        }
        for tool in READS
    ]
    return json.dumps(tools, separators=(",", ":")).encode()


@lru_cache(maxsize=64)
def _rest(model: str) -> bytes:
    rest = {"model": model, "messages": None, "tools": None, "stream": True, "temperature": 0.0}
    return json.dumps(rest, separators=(",", ":")).encode()


def _delta(delta: dict[str, Any]) -> str:
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


@lru_cache(maxsize=64)
def _thought(number: int) -> str:
    words = ("the", "pod", "its", "events", "say", "restarts", "node", "then", "limit", "look", "again", "why")
    return _delta({"reasoning_content": " " + words[number % len(words)] + str(number)})
