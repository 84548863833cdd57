import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from recorder.scripted import Reply, ScriptedServer
from recorder.transport import ModelFailure
from recorder.transport.failures import MAX_WAIT_S, class_of_status, error_text, retry_wait
from schemas.events import ModelError, ModelRequest
from tests.transport.transport_tools import APIS, Run, ask, endpoint

api_and_stream = pytest.mark.parametrize(("api", "stream"), [(a, s) for a in APIS for s in (True, False)])


async def failure(where, run, **more):
    """The error of a call that must fail; it is the last event too."""
    with pytest.raises(ModelFailure) as failed:
        await ask(where, run, **more)
    error = failed.value.error
    last = run.events[-1]
    assert isinstance(last, ModelError)
    assert (last.error_class, last.message, last.request) == (error.error_class, error.message, error.request)
    return error


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_is_not_there_is_unreachable_after_one_attempt(api):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        run = Run()
        error = await failure(endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}", api), run)
    assert (error.error_class, error.status, error.will_retry) == ("unreachable", None, False)
    assert len(run.of(ModelRequest)) == 1


@api_and_stream
async def test_silence_longer_than_the_timeout_is_a_timeout(api, stream, never):
    run = Run()
    with ScriptedServer([Reply(text="late", hold_before=never)]) as server:
        error = await failure(endpoint(server.url, api, timeout_s=0.2), run, stream=stream)
        never.set()
    assert error.error_class == "timeout"
    assert len(run.of(ModelRequest)) == 1


@pytest.mark.parametrize("api", APIS)
async def test_silence_inside_a_stream_is_a_timeout_that_keeps_what_was_said(api, never):
    """The timeout bounds the wait for the first piece too, so it leaves a busy machine the time to send that."""
    place = 1 if api == "native" else 2
    with ScriptedServer([Reply(text_pieces=("begun", "never"), hold=never, hold_at=place)]) as server:
        error = await failure(endpoint(server.url, api, timeout_s=2), Run())
        never.set()
    assert error.error_class == "timeout"
    assert error.content == "begun"


@api_and_stream
@pytest.mark.parametrize("status", [400, 401, 404, 500, 502])
async def test_an_error_status_is_recorded_with_what_the_server_said(api, stream, status):
    run = Run()
    with ScriptedServer([Reply(status=status, error="no " * 1000)]) as server:
        error = await failure(endpoint(server.url, api), run, stream=stream)
    assert (error.error_class, error.status, error.will_retry) == ("http_status", status, False)
    assert error.message.startswith("no no")
    assert len(error.message) < 600
    assert len(run.of(ModelRequest)) == 1
    assert run.received(1).count(b"no ") == 1000


@api_and_stream
async def test_a_redirect_is_not_followed(api, stream):
    with ScriptedServer([Reply(status=307, headers={"Location": "http://127.0.0.1:9/"})]) as server:
        error = await failure(endpoint(server.url, api), Run(), stream=stream)
        assert len(server.requests) == 1
    assert (error.error_class, error.status) == ("http_status", 307)


@api_and_stream
@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_server_is_asked_again_after_the_time_it_names(api, stream, status):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    run = Run()
    busy = Reply(status=status, error="busy", headers={"Retry-After": "7"})
    with ScriptedServer([busy, busy, Reply(text="at last")]) as server:
        answer = await ask(endpoint(server.url, api), run, stream=stream, sleep=sleep)
    assert (answer.content, answer.request) == ("at last", 3)
    assert waits == [7.0, 7.0]
    assert [(r.request, r.attempt) for r in run.of(ModelRequest)] == [(1, 1), (2, 2), (3, 3)]
    assert [(e.request, e.will_retry, e.retry_after_s) for e in run.of(ModelError)] == [(1, True, 7.0), (2, True, 7.0)]


async def test_a_server_that_stays_busy_is_given_up_after_two_retries():
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    with ScriptedServer([Reply(status=429, error="busy")] * 4) as server:
        error = await failure(endpoint(server.url, "native"), Run(), sleep=sleep)
        assert len(server.requests) == 3
    assert (error.status, error.will_retry, waits) == (429, False, [1.0, 2.0])


def test_the_wait_is_bounded_and_read_in_both_forms():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    cases = {"3": 3.0, "0": 0.0, "86400": MAX_WAIT_S, "soon": 1.0, "": 1.0, "-5": 1.0}
    assert {text: retry_wait(429, httpx.Headers({"retry-after": text}), 1) for text in cases} == cases
    assert 15 < retry_wait(503, httpx.Headers({"retry-after": later}), 1) <= 20
    assert retry_wait(503, httpx.Headers({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}), 1) == 0.0
    assert retry_wait(500, httpx.Headers(), 1) is None
    assert retry_wait(429, httpx.Headers(), 3) is None


@api_and_stream
async def test_a_cut_answer_is_a_malformed_stream_that_keeps_what_was_said(api, stream):
    run = Run()
    with ScriptedServer([Reply(text="begun and never finished", cut_after=250)]) as server:
        error = await failure(endpoint(server.url, api), run, stream=stream)
    assert error.error_class == "malformed_stream"
    assert len(run.received(1)) == 250
    assert len(run.of(ModelRequest)) == 1


@pytest.mark.parametrize("api", APIS)
async def test_a_stream_that_ends_without_a_finish_is_malformed(api):
    with ScriptedServer([Reply(text="begun", no_finish=True)]) as server:
        error = await failure(endpoint(server.url, api), Run())
    assert (error.error_class, error.content) == ("malformed_stream", "begun")
    assert "without a finish" in error.message


@pytest.mark.parametrize("api", APIS)
async def test_garbage_in_a_stream_is_malformed_and_the_rest_is_still_recorded(api):
    run = Run()
    with ScriptedServer([Reply(text="begun", garbage_line=True)]) as server:
        error = await failure(endpoint(server.url, api), run)
    assert (error.error_class, error.content) == ("malformed_stream", "begun")
    assert "this is no JSON" in error.message
    assert b"done_reason" in run.received(1) or b"[DONE]" in run.received(1)


@api_and_stream
@pytest.mark.parametrize("body", [b"", b"<html>gateway</html>"])
async def test_a_body_that_is_no_answer_is_malformed(api, stream, body):
    with ScriptedServer([Reply(raw_body=body)]) as server:
        error = await failure(endpoint(server.url, api), Run(), stream=stream)
    assert error.error_class == "malformed_stream"


@pytest.mark.parametrize("api", APIS)
async def test_an_error_inside_a_successful_stream_is_classed_by_what_it_says(api):
    script = [Reply(text="a", error="llama runner crashed"), Reply(text="a", error="error parsing tool call: x")]
    with ScriptedServer(script) as server:
        crashed = await failure(endpoint(server.url, api), Run())
        malformed = await failure(endpoint(server.url, api), Run())
    assert (crashed.error_class, crashed.status, crashed.content) == ("http_status", 200, "a")
    assert "llama runner crashed" in crashed.message
    assert malformed.error_class == "malformed_call"


@pytest.mark.parametrize("api", APIS)
async def test_a_prompt_that_the_server_refuses_as_too_long_is_a_context_overflow(api):
    script = [Reply(status=400, error="the input length exceeds the context length")]
    with ScriptedServer(script) as server:
        error = await failure(endpoint(server.url, api), Run())
    assert (error.error_class, error.status) == ("context_overflow", 400)


@pytest.mark.parametrize(
    ("status", "message", "error_class"),
    [
        (400, "prompt too long; exceeded max context length by 12 tokens", "context_overflow"),
        (400, "the request exceeds the available context size. try increasing the context size", "context_overflow"),
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000", "context_overflow"),
        (400, "context_length_exceeded", "context_overflow"),
        (500, "context shift is disabled", "context_overflow"),
        (400, "unknown field context", "http_status"),
        (404, 'model "q" not found, try pulling it first', "http_status"),
        (500, "error parsing tool call: raw='{bro', err=unexpected end of JSON input", "malformed_call"),
        (500, "Failed to parse tool call arguments as JSON", "malformed_call"),
        (500, "Failed to parse input at pos 17", "malformed_call"),
        (400, "invalid tool call in messages", "http_status"),
        (500, "llama runner process has terminated", "http_status"),
    ],
)
def test_servers_words_decide_the_class(status, message, error_class):
    assert class_of_status(status, message) == error_class


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error":"busy"}', "busy"),
        (b'{"error":{"message":"too long","code":"context_length_exceeded"}}', "too long (context_length_exceeded)"),
        (b'{"detail":"no"}', "no"),
        (b"plain", "plain"),
        (b"[1]", "[1]"),
        (b"\xff", "\ufffd"),
    ],
)
def test_an_error_body_is_read_wherever_it_keeps_its_message(body, text):
    assert error_text(body) == text


async def test_an_option_the_library_refuses_is_a_client_error_and_nothing_is_sent():
    run = Run()
    with ScriptedServer([]) as server:
        error = await failure(endpoint(server.url, "native", options={"parallel_tool_calls": True}), run)
        assert server.requests == []
    assert (error.error_class, error.request) == ("client", None)
    assert "parallel_tool_calls" in error.message
    assert run.of(ModelRequest) == []
