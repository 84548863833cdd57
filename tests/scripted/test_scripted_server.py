import json
import threading

import httpx
import pytest

from recorder.scripted import Call, ModelCard, Reply, ScriptedServer

CHAT = {"model": "scripted:1b", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def http():
    with httpx.Client(timeout=10) as client:
        yield client


def test_a_probe_finds_the_model_where_ollama_keeps_it(http):
    card = ModelCard(
        name="qwen3:8b",
        digest="ab" * 32,
        quantization="Q8_0",
        parameter_size="8.2B",
        context_length=40_960,
        architecture="qwen3",
        version="0.12.0",
    )
    with ScriptedServer(card=card) as server:
        assert http.get(f"{server.url}/api/version").json() == {"version": "0.12.0"}
        tag = http.get(f"{server.url}/api/tags").json()["models"][0]
        assert (tag["name"], tag["digest"]) == ("qwen3:8b", "ab" * 32)
        shown = http.post(f"{server.url}/api/show", json={"model": "qwen3:8b"}).json()
        assert shown["details"]["quantization_level"] == "Q8_0"
        assert shown["details"]["parameter_size"] == "8.2B"
        assert shown["model_info"]["qwen3.context_length"] == 40_960
        assert http.post(f"{server.url}/api/show", json={"model": "other"}).status_code == 404
        assert http.get(f"{server.url}/v1/models").json()["data"][0]["id"] == "qwen3:8b"
        assert http.get(f"{server.url}/nowhere").status_code == 404


def test_the_context_can_change_while_it_runs_and_a_warm_up_loads_the_model(http):
    with ScriptedServer() as server:

        def loaded():
            return [m["context_length"] for m in http.get(f"{server.url}/api/ps").json()["models"]]

        assert loaded() == [4096]
        server.set_context(2048)
        assert loaded() == [2048]
        server.set_context(None)
        assert loaded() == []
        assert http.post(f"{server.url}/api/generate", json={"model": "scripted:1b"}).json()["done"] is True
        assert loaded() == [4096]


def test_a_disabled_endpoint_answers_404_until_it_is_enabled_again(http):
    with ScriptedServer(disabled=["/api/ps", "/api/chat"], pages={"/props": {"n_ctx": 4096}}) as server:
        assert http.get(f"{server.url}/api/ps").status_code == 404
        assert http.post(f"{server.url}/api/chat", json=CHAT).status_code == 404
        assert http.get(f"{server.url}/props").json() == {"n_ctx": 4096}
        server.disabled.clear()
        assert http.get(f"{server.url}/api/ps").status_code == 200


def test_requests_are_captured_byte_for_byte(http):
    body = '{"model": "m",  "messages": [ "ü" ]}'.encode()
    with ScriptedServer([Reply(text="ok")]) as server:
        http.post(f"{server.url}/api/chat", content=body, headers={"X-Thing": "1"})
        http.get(f"{server.url}/api/version")
        assert [request.path for request in server.requests] == ["/api/chat", "/api/version"]
        assert [request.body for request in server.chats] == [body]
        assert server.chats[0].headers["x-thing"] == "1"


def test_a_script_can_be_a_function_of_the_request(http):
    def echo(body):
        return Reply(text=body["messages"][-1]["content"].upper())

    with ScriptedServer(echo) as server:
        for _ in range(2):
            answer = http.post(f"{server.url}/v1/chat/completions", json=CHAT).json()
            assert answer["choices"][0]["message"]["content"] == "HI"


def test_a_script_that_has_run_out_says_so(http):
    with ScriptedServer([]) as server:
        answer = http.post(f"{server.url}/api/chat", json=CHAT)
    assert answer.status_code == 500
    assert "the script has 0 replies" in answer.json()["error"]


def test_ollama_streams_by_default_and_the_openai_dialect_does_not(http):
    with ScriptedServer([Reply(text="a b")] * 2) as server:
        native = http.post(f"{server.url}/api/chat", json=CHAT)
        openai = http.post(f"{server.url}/v1/chat/completions", json=CHAT)
    rows = [json.loads(line) for line in native.text.splitlines()]
    assert [row["message"]["content"] for row in rows] == ["a ", "b", ""]
    assert [row["done"] for row in rows] == [False, False, True]
    assert openai.json()["object"] == "chat.completion"


def test_a_halved_prompt_shows_in_the_counters(http):
    with ScriptedServer([Reply(text="x", prompt_tokens=2050)]) as server:
        answer = http.post(f"{server.url}/api/chat", json={**CHAT, "stream": False}).json()
    assert answer["prompt_eval_count"] == 2050


def test_a_reply_can_be_held_back_until_the_test_lets_it_go(http):
    hold = threading.Event()
    with (
        ScriptedServer([Reply(text="a b", hold=hold)]) as server,
        http.stream("POST", f"{server.url}/api/chat", json=CHAT) as response,
    ):
        lines = response.iter_lines()
        assert json.loads(next(lines))["message"]["content"] == "a "
        hold.set()
        assert json.loads(next(lines))["message"]["content"] == "b"


def test_a_cut_answer_ends_the_connection_in_the_middle(http):
    with ScriptedServer([Reply(text="a b", cut_after=20)]) as server, pytest.raises(httpx.RemoteProtocolError):
        http.post(f"{server.url}/api/chat", json=CHAT)


def test_both_dialects_write_calls_their_own_way(http):
    calls = (Call(name="f", arguments={"a": 1}), Call(name="g", arguments={"b": 2}, id=None, index=0))
    with ScriptedServer([Reply(tool_calls=calls)] * 2) as server:
        native = http.post(f"{server.url}/api/chat", json={**CHAT, "stream": False}).json()
        openai = http.post(f"{server.url}/v1/chat/completions", json=CHAT).json()
    assert native["message"]["tool_calls"][0] == {"function": {"name": "f", "arguments": {"a": 1}}}
    assert native["done_reason"] == "stop"
    first, second = openai["choices"][0]["message"]["tool_calls"]
    assert first == {"index": 0, "type": "function", "id": "call_1", "function": {"name": "f", "arguments": '{"a": 1}'}}
    assert (second["index"], "id" in second) == (0, False)
    assert openai["choices"][0]["finish_reason"] == "tool_calls"


def test_a_body_without_messages_is_refused(http):
    with ScriptedServer([Reply(text="unused")]) as server:
        assert http.post(f"{server.url}/api/chat", content=b"{}").status_code == 400
        assert http.post(f"{server.url}/api/chat", content=b"nonsense").status_code == 400


def test_the_server_stops_though_clients_keep_connections_open():
    with httpx.Client() as client, ScriptedServer() as server:
        client.get(f"{server.url}/api/version")
        thread = server._thread
    assert not thread.is_alive()
