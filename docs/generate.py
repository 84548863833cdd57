"""Writes `docs/events.md` from the structs of `schemas.events`: `python docs/generate.py`.

Kinds, fields, types and defaults come from the structs, the example lines from the codec. Only the meaning of a field
stands here, and a field without one, or a meaning without its field, is an error.
"""

import types
import typing
from pathlib import Path
from typing import Any, Literal

import msgspec

from schemas import codec, events
from schemas.cases import Interaction, Pane
from schemas.policy import LIMITS, Policy, PromptInfo

PAGE = Path(__file__).with_name("events.md")

HEAD = """\
# The events of a run

<!-- Written by docs/generate.py from schemas/events.py; change those. -->

A run is one file of JSON Lines, compressed with zstd. Read it with what you have:

```sh
zstdcat runs/oom-killed-r1-3f9a1c.jsonl.zst | jq -c '[.seq, .t, .type]'
zstdcat runs/*.jsonl.zst | jq -r 'select(.type == "tool_call") | .tool' | sort | uniq -c
zstdcat runs/*.jsonl.zst | jq -r 'select(.type == "turn_finished") | .answer'
```

- Every line begins with `type`, `seq` and `t`. `seq` counts from 0 without a gap within the run. `t` is seconds since
  the run started, by a clock that never goes back.
- The first line is `run_started`, the last `run_finished`. Without the last the run was interrupted: what is there is
  good, and there is no more.
- A field that equals its default is left out. The tables give the default; a field without one is always there.
- Characters are Unicode code points. Token counts that nobody gave are null or left out, never 0.
- JSON has no half of a surrogate pair, yet a model can emit one. It is written as U+FDD0 and four hexadecimal digits;
  U+FDD0 itself as U+FDD0 and `fdd0`.
- The key of the model server is nowhere: where a server or a model repeated it, `[redacted]` stands.
- A later build may add fields and kinds. Pass over what you do not know.

What was sent is stored once. A conversation goes out again with every request, so `message` and `toolset` hold each
distinct piece, and `model_request` names them by id. To put a request together: take `rest`, set `messages` to the
named messages in order, joined by `separator`, and `tools` to the named toolset. The bytes hash to `body_sha256`;
`korvid-replay verify` checks that for every request of a campaign.

In order, a turn is `turn_started`; then, for each request, `message` and `toolset` as far as they are new,
`model_request`, `wire_chunk`, and `model_response` (followed by `context_checked`) or `model_error`; then each
`tool_call` of the response before the first of them runs, and a `tool_result` for each (followed by `screen_action` and
`screen_state` where the call was one on the screen); at last `turn_finished`.
"""

TITLES: dict[str, str] = {
    "run_started": "What is about to happen, and everything that is needed to grade it.",
    "turn_started": "The user says something.",
    "message": "A message that is in at least one request, stored once.",
    "toolset": "The tools as the model is told of them, stored once.",
    "model_request": "A request, written before it leaves. A retry is a request of its own.",
    "wire_chunk": "Bytes of the answer as they came off the wire.",
    "model_response": "The answer, put together from the wire.",
    "model_error": "A request that came to nothing.",
    "tool_call": "A call that the model made, and what became of it. Written before the tool runs.",
    "tool_result": "What the tool gave back. Written before the model sees it.",
    "screen_action": "The model did something to the user's screen. It is never a read.",
    "screen_state": "What the screen shows afterwards.",
    "history_trimmed": "Old turns were dropped so that the conversation fits its budget.",
    "interrupted": "The recording was stopped from outside, in the middle of a turn.",
    "turn_finished": "How the turn ended.",
    "context_checked": "Whether the server cut the prompt without saying so.",
    "serving_changed": "The model server is no longer the one the campaign began with. The run is invalid.",
    "run_finished": "The last line: how the run ended, and the digest of all lines before it.",
}

_TURN = "which turn, from 1"
_ITERATION = "which iteration of the turn, from 1: one request and its calls"
_REQUEST = "the number of the request"
_CALL = "the number of the call"

MEANINGS: dict[str, dict[str, str]] = {
    "run_started": {
        "schema_version": "the version of this format",
        "wall_time": "when the run started, RFC 3339 in UTC",
        "campaign_id": "the campaign it belongs to",
        "run_id": "its own name, also that of the file",
        "case_id": "the case that is asked",
        "case_kind": "`scenario` (one turn) or `journey` (several)",
        "repetition": "which repetition of the case, from 1",
        "attempt": "which recording of that repetition, from 1; more than 1 after an interruption",
        "arm": "the label of the campaign, empty if it has none",
        "agent": "`model`, or the name of a baseline agent",
        "model": "provider and tag of the model",
        "seed": "the sampling seed that was asked for",
        "stimulus_sha256": "digest of what the model could perceive",
        "rubric_sha256": "digest of what only a grader reads",
        "stimulus": "question, screen and cluster fixture, whole",
        "rubric": "claims, evidence and limits to grade by, whole",
        "policy": "tier, limits, armed tools, prompt and options; the same as in `campaign.json`, for this run's tools",
        "not_recorded": "inputs that an imported run never had",
        "imported": "where an imported run came from, and what was published of it",
    },
    "turn_started": {
        "turn": _TURN,
        "user": "what the user says",
        "interaction": "the screen as the model is told of it",
    },
    "message": {"id": "counts from 0 within the run", "message": "the message, byte for byte as it left"},
    "toolset": {"id": "counts from 0 within the run", "tools": "the `tools` value, byte for byte as it left"},
    "model_request": {
        "request": "counts from 1 within the run",
        "turn": _TURN,
        "iteration": _ITERATION,
        "attempt": "which attempt at this answer, from 1",
        "dialect": "the API that is spoken",
        "method": "HTTP method",
        "url": "where it went, without credentials",
        "stream": "whether a stream was asked for",
        "body_sha256": "digest of the exact bytes that left",
        "body_bytes": "how many they were",
        "messages": "ids of the messages in order, as ranges with both ends included",
        "separator": "what stands between two messages in the body",
        "toolset": "id of the toolset",
        "rest": "the body with `messages` and `tools` set to null, otherwise byte for byte",
        "body": "the whole body, where the parts cannot give it back",
        "body_base64": "the same for a body that is not UTF-8",
        "redacted": "the body held the key: the digest is that of the bytes that left, the parts are without it",
    },
    "wire_chunk": {
        "request": _REQUEST,
        "status": "HTTP status of the response",
        "pieces": "pieces in order of arrival: `at` seconds since the request was sent, `text`, or `base64` where a "
        "character was split between pieces",
    },
    "model_response": {
        "request": _REQUEST,
        "status": "HTTP status",
        "finish_reason": "why the server says it stopped",
        "content": "the visible text, without thinking",
        "duration_s": "seconds from request to end",
        "time_to_first_token_s": "seconds to the first token; null where no stream shows it",
        "reasoning": "the thinking, from its own field or from think tags",
        "tool_calls": "the calls as emitted: `id`, `name`, `arguments` (the raw text), `id_synthesised` if the server "
        "gave no id",
        "usage": "token counts, normalised",
        "server_usage": "the server's own counters and timings as it sent them",
    },
    "model_error": {
        "request": "the number of the request; null if none left",
        "turn": _TURN,
        "error_class": "what kind of failure",
        "message": "what was said, shortened, without the key",
        "status": "HTTP status, if there was one",
        "content": "visible text that had been streamed before",
        "retry_after_s": "seconds until the next attempt",
        "will_retry": "whether there is one",
        "duration_s": "seconds from request to failure",
    },
    "tool_call": {
        "call": "counts from 1 within the run",
        "turn": _TURN,
        "iteration": _ITERATION,
        "request": "the request whose answer holds the call",
        "call_id": "the id in the conversation",
        "tool": "the name as emitted",
        "arguments_raw": "the arguments as emitted, broken or not",
        "arguments": "the arguments as an object; null if they are none",
        "disposition": "what became of it: run, refused as malformed, not armed or a write, or discarded unseen",
        "problem": "why it did not run",
        "origin": "`content` for a call that was found in the text",
    },
    "tool_result": {
        "call": _CALL,
        "tool": "its name",
        "ok": "whether it worked; a text that begins with ERROR says nothing",
        "result": "the whole result, after redaction",
        "error_class": "what kind of failure",
        "shown": "what the model saw, where that is not the whole",
        "redactions": "what was masked or left out: `path` and `reason`",
        "object_uid": "uid of the one object that was read",
        "duration_s": "seconds that the tool took",
    },
    "screen_action": {
        "call": _CALL,
        "turn": _TURN,
        "tool": "the screen tool",
        "arguments": "its arguments",
        "ok": "whether the screen did it",
        "message": "what the screen said",
    },
    "screen_state": {"turn": _TURN, "interaction": "the screen"},
    "history_trimmed": {
        "turn": "the turn that needed the room",
        "dropped_turns": "how many of the oldest were dropped",
        "chars_before": "characters of the conversation before",
        "chars_after": "and after",
        "reason": "which budget asked for it",
    },
    "interrupted": {
        "turn": _TURN,
        "iteration": _ITERATION,
        "reason": "what stopped it",
        "content": "what had been streamed of the answer",
    },
    "turn_finished": {
        "turn": _TURN,
        "outcome": "how it ended",
        "answer": "the text after the last call: what is graded",
        "iterations": "how many requests for an answer it took",
        "tool_calls": "how many calls the model made, refused ones included",
        "duration_s": "seconds",
        "usage": "tokens of all its requests",
        "usage_estimated": "whether some of them are estimated, at four characters a token",
        "interaction": "the screen at the end",
        "error": "why there is no answer",
    },
    "context_checked": {
        "request": _REQUEST,
        "verdict": "what is known",
        "rule": "what decided it",
        "prompt_tokens": "tokens of the prompt as the server counted them",
        "context_tokens": "tokens of context that the server has allocated",
    },
    "serving_changed": {"changes": "one sentence a fact: what it was and what it is"},
    "run_finished": {
        "status": "how it ended: only a `completed` run is charged to the model",
        "sha256": "digest of all raw bytes of the log before this line",
        "events": "how many lines the log has, with this one",
        "duration_s": "seconds",
        "reason": "why it is not completed",
        "harness_cpu_s": "CPU seconds that recording took",
    },
}

_SCREEN = Interaction(focused_pane=Pane(kind="pods", scope="shop"))
_ANSWER = "The container `app` was **OOMKilled**: it runs into its 256Mi limit."

EXAMPLES: tuple[events.Event, ...] = (
    events.RunStarted(
        schema_version=events.SCHEMA_VERSION,
        wall_time="2026-11-30T18:34:52.209Z",
        campaign_id="20261130T183449Z-3f9a1c",
        run_id="oom-killed-r1-3f9a1c",
        case_id="oom-killed",
        case_kind="scenario",
        repetition=1,
        attempt=1,
        arm="",
        agent="model",
        model="ollama/qwen3:8b",
        seed=7,
        stimulus_sha256="3b7e" * 16,
        rubric_sha256="90ac" * 16,
        stimulus={"interaction": {"focused_pane": {"kind": "pods", "scope": "shop"}}},
        rubric={"root_cause": "oom_killed"},
        policy=Policy(
            provider="ollama",
            model="qwen3:8b",
            dialect="ollama",
            tier="low",
            route_source="catalog",
            limits=LIMITS["low"],
            tools=("diagnose_pod", "get_logs"),
            prompt=PromptInfo(pack="low", sha256="c01d" * 16),
        ),
    ),
    events.TurnStarted(turn=1, user="Why does api-1 keep restarting?", interaction=_SCREEN),
    events.Message(id=1, message=msgspec.Raw(b'{"role":"user","content":"Why does api-1 keep restarting?"}')),
    events.Toolset(id=0, tools=msgspec.Raw(b'[{"type":"function","function":{"name":"get_logs"}}]')),
    events.ModelRequest(
        request=1,
        turn=1,
        iteration=1,
        attempt=1,
        dialect="ollama",
        method="POST",
        url="http://127.0.0.1:11434/api/chat",
        stream=True,
        body_sha256="5e1f" * 16,
        body_bytes=8473,
        messages=((0, 1),),
        toolset=0,
        rest=msgspec.Raw(b'{"model":"qwen3:8b","messages":null,"tools":null,"stream":true,"truncate":false}'),
    ),
    events.WireChunk(
        request=1,
        status=200,
        pieces=(
            events.WirePiece(at=1.204113, text='{"message":{"role":"assistant","content":"Let "},"done":false}\n'),
            events.WirePiece(at=1.239401, base64="4oCc"),
        ),
    ),
    events.ModelResponse(
        request=1,
        status=200,
        finish_reason="stop",
        content="Let me look.",
        duration_s=2.107744,
        time_to_first_token_s=1.204113,
        tool_calls=(
            events.EmittedCall(
                id="call-1-1", name="get_logs", arguments='{"pod":"api-1","namespace":"shop"}', id_synthesised=True
            ),
        ),
        usage=events.Usage(input_tokens=2315, output_tokens=31),
        server_usage={"prompt_eval_count": 2315, "eval_count": 31, "eval_duration": 893000000},
    ),
    events.ModelError(
        request=2,
        turn=1,
        error_class="timeout",
        message="stream cut: ReadTimeout",
        status=200,
        content="The container",
        duration_s=60.001822,
    ),
    events.ToolCall(
        call=1,
        turn=1,
        iteration=1,
        request=1,
        call_id="call-1-1",
        tool="get_logs",
        arguments_raw='{"pod":"api-1","namespace":"shop"}',
        arguments={"pod": "api-1", "namespace": "shop"},
        disposition="executed",
    ),
    events.ToolResult(
        call=1,
        tool="get_logs",
        ok=True,
        result="starting\npassword=[redacted]",
        redactions=(events.Redaction(path="$", reason="password"),),
        duration_s=0.000412,
    ),
    events.ScreenAction(
        call=2,
        turn=1,
        tool="open_logs",
        arguments={"pod": "api-1", "namespace": "shop"},
        ok=True,
        message="The log of shop/api-1 is on the screen.",
    ),
    events.ScreenState(turn=1, interaction=_SCREEN),
    events.HistoryTrimmed(
        turn=9, dropped_turns=1, chars_before=24_310, chars_after=21_044, reason="retained turns and history budget"
    ),
    events.Interrupted(turn=1, iteration=2, reason="stopped from outside", content="The container"),
    events.TurnFinished(
        turn=1,
        outcome="answered",
        answer=_ANSWER,
        iterations=2,
        tool_calls=1,
        duration_s=4.820031,
        usage=events.Usage(input_tokens=4_911, output_tokens=88),
        interaction=_SCREEN,
    ),
    events.ContextChecked(
        request=2, verdict="truncated", rule="prompt_halved", prompt_tokens=2_050, context_tokens=4_096
    ),
    events.ServingChanged(changes=("context_length changed from 4096 to 2048",)),
    events.RunFinished(status="completed", sha256="e745" * 16, events=18, duration_s=4.911207, harness_cpu_s=0.211403),
)
"""One line of each kind. They are of no one run: seq and t only show where they stand."""


def page() -> str:
    """The whole of `docs/events.md`. Raises `ValueError` naming a field without a meaning, or the other way round."""
    parts = [HEAD, "| kind | what it says |\n|---|---|"]
    parts += [f"| [`{tag}`](#{tag}) | {TITLES[tag]} |" for tag in map(_tag, events.KINDS)]
    lines = {_tag(type(event)): line for event, line in zip(EXAMPLES, example_lines(), strict=True)}
    for kind in events.KINDS:
        tag = _tag(kind)
        parts += ["", f"## {tag}", "", TITLES[tag], "", *_table(tag, kind), "", "```json", lines[tag], "```"]
    return "\n".join(parts) + "\n"


def example_lines() -> list[str]:
    """The example of each kind as the log has it."""
    return [
        codec.encode(event, seq, 0.0 if seq == 0 else round(0.4 * seq, 6)).decode().rstrip("\n")
        for seq, event in enumerate(EXAMPLES)
    ]


def _tag(kind: type[events.Event]) -> str:
    return str(kind.__struct_config__.tag)


def _table(tag: str, kind: type[events.Event]) -> list[str]:
    fields = [field for field in msgspec.structs.fields(kind) if field.name not in ("seq", "t")]
    names, meanings = {field.name for field in fields}, MEANINGS[tag]
    if names != meanings.keys():
        raise ValueError(f"{tag}: the meanings in docs/generate.py are off by {sorted(names ^ meanings.keys())}")
    rows = [f"| `{f.name}` | {_type(f.type)} | {_default(f)} | {meanings[f.name]} |" for f in fields]
    return ["| field | type | default | meaning |", "|---|---|---|---|", *rows]


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required or field.default is msgspec.UNSET:
        return "" if field.required else "left out"
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return "none known" if isinstance(default, msgspec.Struct) else f"`{msgspec.json.encode(default).decode()}`"


_PLAIN = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    type(None): "null",
    msgspec.Raw: "JSON",
    Any: "anything",
}


def _type(annotation: Any) -> str:
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_type(part) for part in inner if part is not msgspec.UnsetType)
    if origin is dict:
        return "object"
    if origin is tuple and inner[-1] is Ellipsis:
        return f"list of {_type(inner[0])}"
    if origin is tuple:
        return f"pair of {_type(inner[0])}"
    return _PLAIN.get(annotation, "object")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
