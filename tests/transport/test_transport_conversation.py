import asyncio
import hashlib
import json
import threading

import msgspec
import pytest

from recorder.scripted import Call, Reply, ScriptedServer
from recorder.transport import ModelClient, RequestLedger, Secret
from schemas.errors import LogError
from schemas.events import Message, ModelRequest, ModelResponse, Toolset, Usage, WireChunk
from tests.transport.transport_tools import APIS, QUESTION, TOOLS, Run, ask, endpoint

api_and_stream = pytest.mark.parametrize(("api", "stream"), [(a, s) for a in APIS for s in (True, False)])


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@api_and_stream
async def test_every_body_of_a_conversation_is_rebuilt_to_the_bytes_the_server_got(api, stream):
    script = [
        Reply(tool_calls=(Call(name="get_logs", arguments={"namespace": "shop–a"}),)),
        Reply(tool_calls=(Call(name="get_events", arguments="{broken"),), thinking="hm"),
        Reply(text="It was OOMKilled — 137. 😀"),
        Reply(text="Raise the limit."),
    ]
    run = Run()
    with ScriptedServer(script) as server:
        async with ModelClient(endpoint(server.url, api, options={"temperature": 0, "seed": 7})) as client:
            messages = list(QUESTION)
            for iteration in range(1, 5):
                answer = await client.complete(
                    messages, TOOLS, ledger=run.ledger, turn=1, iteration=iteration, stream=stream
                )
                assistant = {"role": "assistant", "content": answer.content}
                if answer.tool_calls:
                    assistant["tool_calls"] = [
                        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                        for c in answer.tool_calls
                    ]
                messages.append(assistant)
                messages += [{"role": "tool", "tool_call_id": c.id, "content": "ok: ü"} for c in answer.tool_calls]
                messages.append({"role": "user", "content": "Go on."})
        # Nothing but the recorded requests reached the server.
        captured = [request.body for request in server.requests]
    assert run.bodies() == captured
    requests = run.of(ModelRequest)
    assert [request.body_sha256 for request in requests] == [sha256(body) for body in captured]
    assert [request.body_bytes for request in requests] == [len(body) for body in captured]
    assert [request.request for request in requests] == [1, 2, 3, 4]
    assert [request.iteration for request in requests] == [1, 2, 3, 4]
    assert all(request.stream is stream for request in requests)
    assert all(request.url.endswith("/api/chat" if api == "native" else "/v1/chat/completions") for request in requests)
    # Distinct messages once, whatever the number of requests that repeat them.
    assert len(run.of(Toolset)) == 1
    assert len(run.of(Message)) == len({bytes(event.message) for event in run.of(Message)})
    assert len(run.of(Message)) < sum(last - first + 1 for r in requests for first, last in r.messages)
    assert json.loads(captured[0]).get("truncate") is (False if api == "native" else None)


@api_and_stream
async def test_an_answer_is_read_whole_with_its_counters(api, stream):
    reply = Reply(text="All is “well”. 😀", thinking="Let me see.", prompt_tokens=42, output_tokens=5)
    run, shown = Run(), []
    with ScriptedServer([reply]) as server:
        answer = await ask(endpoint(server.url, api), run, stream=stream, on_text=shown.append)
    assert run.events[-1] == msgspec.structs.replace(answer, seq=len(run.events) - 1, t=0.0)
    assert (answer.content, answer.reasoning, answer.finish_reason) == (reply.text, reply.thinking, "stop")
    assert "".join(shown) == reply.text
    assert len(shown) > 1 or not stream
    assert answer.usage == Usage(input_tokens=42, output_tokens=5)
    sent = answer.server_usage if api == "native" else answer.server_usage["usage"]
    assert sent["prompt_eval_count" if api == "native" else "prompt_tokens"] == 42
    if stream:
        assert 0 < answer.time_to_first_token_s <= answer.duration_s
    else:
        assert answer.time_to_first_token_s is None


@api_and_stream
async def test_counts_the_server_did_not_send_are_unknown(api, stream):
    run = Run()
    with ScriptedServer(
        [Reply(text="hi", prompt_tokens=None), Reply(text="hi", prompt_tokens=None, output_tokens=None)]
    ) as server:
        half = await ask(endpoint(server.url, api), run, stream=stream)
        none = await ask(endpoint(server.url, api), run, stream=stream)
    assert half.usage == Usage(output_tokens=10)
    assert none.usage is None
    assert "eval_count" not in (none.server_usage or {})
    assert "usage" not in (none.server_usage or {})


async def test_llama_cpp_timings_stand_beside_the_usage():
    timings = {"prompt_n": 3, "cache_n": 39, "predicted_n": 5, "predicted_per_second": 20.5}
    run = Run()
    with ScriptedServer([Reply(text="hi", prompt_tokens=42, cached_tokens=39, timings=timings)]) as server:
        answer = await ask(endpoint(server.url, "v1"), run)
    assert answer.server_usage["timings"] == timings
    assert answer.usage == Usage(input_tokens=42, output_tokens=10, cached_tokens=39)


@api_and_stream
async def test_bytes_split_inside_characters_arrive_whole_and_are_recorded_exactly(api, stream):
    run = Run()
    with ScriptedServer([Reply(text_pieces=("Größe — 😀",), split_utf8=True)]) as server:
        answer = await ask(endpoint(server.url, api), run, stream=stream)
    assert answer.content == "Größe — 😀"
    pieces = [piece for chunk in run.of(WireChunk) for piece in chunk.pieces]
    assert any(piece.base64 for piece in pieces)
    assert len(run.of(WireChunk)) < len(pieces) / 10
    assert "Größe — 😀" in run.received(1).decode()


@api_and_stream
@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (Call(name="get_logs", arguments={"a": 1}), '{"a":1}'),
        (Call(name="get_logs", arguments={"a": 1}, arguments_as_object=True), '{"a":1}'),
        (Call(name="get_logs", arguments='{"a":1}'), '{"a":1}'),
        (Call(name="get_logs", arguments=""), ""),
        (Call(name="get_logs", arguments=None), ""),
        (Call(name="get_logs", arguments='{"a": [1'), '{"a": [1'),
    ],
)
async def test_arguments_arrive_raw_in_every_form(api, stream, call, arguments):
    with ScriptedServer([Reply(tool_calls=(call,), finish_reason="stop")]) as server:
        answer = await ask(endpoint(server.url, api), Run(), stream=stream)
    assert answer.finish_reason == "stop"
    assert len(answer.tool_calls) == 1
    assert answer.tool_calls[0].name == "get_logs"
    assert answer.tool_calls[0].arguments.replace(" ", "") == arguments.replace(" ", "")


@api_and_stream
async def test_parallel_calls_that_share_an_index_stay_apart(api, stream):
    calls = (
        Call(name="get_logs", arguments={"a": 1}, index=0, id="x"),
        Call(name="get_events", arguments={"b": 2}, index=0, id="y"),
        Call(name="get_events", arguments={"b": 3}, index=0, id=None),
    )
    with ScriptedServer([Reply(tool_calls=calls)]) as server:
        answer = await ask(endpoint(server.url, api), Run(), stream=stream)
    assert [(c.id, c.name, json.loads(c.arguments), c.id_synthesised) for c in answer.tool_calls] == [
        ("x", "get_logs", {"a": 1}, False),
        ("y", "get_events", {"b": 2}, False),
        ("call-1-3", "get_events", {"b": 3}, True),
    ]


async def test_a_call_streamed_in_fragments_is_put_together():
    call = Call(name="get_logs", arguments={"namespace": "shop–a"})
    with ScriptedServer([Reply(tool_calls=(call, call), call_in_fragments=True)]) as server:
        answer = await ask(endpoint(server.url, "v1"), Run())
    assert [(c.id, json.loads(c.arguments)) for c in answer.tool_calls] == [
        ("call_1", {"namespace": "shop–a"}),
        ("call_2", {"namespace": "shop–a"}),
    ]


@api_and_stream
async def test_thinking_that_leaks_into_the_content_is_not_shown(api, stream):
    shown = []
    with ScriptedServer([Reply(text="OOMKilled", thinking="a lot", think_in_content=True)]) as server:
        answer = await ask(endpoint(server.url, api), Run(), stream=stream, on_text=shown.append)
    assert (answer.content, answer.reasoning, "".join(shown)) == ("OOMKilled", "a lot", "OOMKilled")


@pytest.mark.parametrize("api", APIS)
async def test_a_model_that_repeats_itself_is_heard_to_the_end(api):
    with ScriptedServer([Reply(text_pieces=("again ",) * 300)]) as server:
        answer = await ask(endpoint(server.url, api), Run())
    assert answer.content == "again " * 300


@pytest.mark.parametrize("api", APIS)
async def test_lone_surrogates_and_broken_earlier_arguments_do_not_stop_a_request(api):
    messages = [
        {"role": "user", "content": "a\ud83db"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "get_logs", "arguments": "{bro"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "ERROR: not JSON"},
    ]
    before = json.dumps(messages)
    with ScriptedServer([Reply(text="ok")]) as server:
        await ask(endpoint(server.url, api), Run(), messages=messages)
        sent = json.loads(server.chats[0].body)["messages"]
    assert sent[0]["content"] == "a\ufffdb"
    assert sent[1]["tool_calls"][0]["function"]["arguments"] in ("{}", {})
    assert json.dumps(messages) == before


@pytest.mark.parametrize("api", APIS)
async def test_the_key_goes_to_the_server_and_never_into_an_event(api):
    key = 'sk-ses/ame"quoted'
    question = [{"role": "user", "content": f"my key is {key}"}]
    script = [Reply(text=f"you said {key}", split_utf8=True), Reply(status=401, error=f"bad key {key}")]
    run = Run()
    with ScriptedServer(script) as server:
        where = endpoint(server.url, api, api_key=Secret(key))
        answer = await ask(where, run, messages=question)
        with pytest.raises(Exception, match="http_status") as failed:
            await ask(where, run, messages=question)
        assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {key}"] * 2
        body = server.requests[0].body
    written = b"".join(run.lines).decode()
    for spelling in (key, json.dumps(key)[1:-1], "Bearer", "sk-ses"):
        assert spelling not in written
        assert spelling not in str(failed.value)
    assert answer.content == "you said [redacted]"
    request = run.of(ModelRequest)[0]
    assert request.redacted
    assert request.body_sha256 == sha256(body)


async def test_without_a_key_no_authorization_is_sent(monkeypatch):
    for name in ("OPENAI_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.setenv(name, "sk-from-the-environment")
    with ScriptedServer([Reply(text="a"), Reply(text="b")]) as server:
        for api in APIS:
            await ask(endpoint(server.url, api), Run())
        assert all("authorization" not in request.headers for request in server.requests)


@pytest.mark.parametrize("api", APIS)
async def test_cancellation_passes_at_once_and_keeps_the_pieces_so_far(api):
    hold, begun = threading.Event(), asyncio.Event()
    run = Run()
    pieces = (
        Reply(text_pieces=("begun ", "never"), hold=hold, hold_at=1 if api == "native" else 2),
        Reply(text="next"),
    )
    with ScriptedServer(pieces) as server:
        async with ModelClient(endpoint(server.url, api)) as client:
            asked = {"ledger": run.ledger, "turn": 1, "iteration": 1}
            task = asyncio.create_task(client.complete(QUESTION, TOOLS, **asked, on_text=lambda _: begun.set()))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            hold.set()
            assert type(run.events[-1]) is WireChunk
            assert b"begun" in run.received(1)
            assert not run.of(ModelResponse)
            answer = await client.complete(QUESTION, TOOLS, **asked)
    assert (answer.content, answer.request) == ("next", 2)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", [Message, ModelRequest, WireChunk])
async def test_a_log_that_cannot_be_written_ends_the_call_with_its_own_error(api, kind):
    written = []

    def emit(event):
        written.append(event)
        if isinstance(event, kind):
            raise LogError("disk full")

    with ScriptedServer([Reply(text="x" * 40_000)] * 2) as server:
        async with ModelClient(endpoint(server.url, api)) as client:
            with pytest.raises(LogError, match="disk full"):
                await client.complete(QUESTION, TOOLS, ledger=RequestLedger(emit), turn=1, iteration=1)
        assert len(server.requests) == (1 if kind is WireChunk else 0)
    assert type(written[-1]) is kind


async def test_one_client_serves_two_runs_at_the_same_time():
    runs = [Run(), Run()]

    def echo(body):
        return Reply(text=body["messages"][-1]["content"])

    with ScriptedServer(echo) as server:
        async with ModelClient(endpoint(server.url, "native")) as client:
            answers = await asyncio.gather(
                *(
                    client.complete(
                        [{"role": "user", "content": f"run {n}"}], None, ledger=run.ledger, turn=1, iteration=1
                    )
                    for n, run in enumerate(runs)
                )
            )
    assert [answer.content for answer in answers] == ["run 0", "run 1"]
    assert [len(run.of(ModelRequest)) for run in runs] == [1, 1]
