"""The embedded model, for real: started, asked over HTTP, and gone whatever ends its owner."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from recorder.embedded import EmbeddedServer, choose
from recorder.serving import probe, provider_facts
from recorder.transport.endpoint import make_endpoint
from schemas.errors import UsageError, WorkError
from tests.embedded.test_embedded_template import render

OWNER = """
import sys
from recorder.embedded import EmbeddedServer, choose
with EmbeddedServer(choose("0.5b"), context_tokens=512) as server:
    print(server.pid, flush=True)
    sys.stdin.readline()
"""
SERVE = """
import sys
from recorder.embedded import choose, serve
serve(choose("0.5b"), context_tokens=512, echo=lambda line: print(line, flush=True))
print("stopped")
"""
GONE_WITHIN_MS = 20_000

SYSTEM = {"role": "system", "content": "You help to operate Kubernetes. Use the tools to look before you answer."}
QUESTION = {"role": "user", "content": "List the pods in namespace shop."}
TOOL = {
    "type": "function",
    "function": {
        "name": "list_resources",
        "description": "List Kubernetes objects of one kind in a namespace.",
        "parameters": {
            "type": "object",
            "properties": {
                "kind": {"type": "string", "description": "plural kind, for example pods"},
                "namespace": {"type": "string", "description": "namespace"},
            },
            "required": ["kind"],
        },
    },
}


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer(choose("0.5b")) as running:
        yield running


def body(server: EmbeddedServer, **more: Any) -> dict[str, Any]:
    fixed = {"model": server.choice.model, "temperature": 0, "seed": 1, "max_tokens": 120}
    return {**fixed, "messages": [SYSTEM, QUESTION], "tools": [TOOL], **more}


def ask(server: EmbeddedServer, **more: Any) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=300) as client:
        return client.post(f"{server.base_url}/chat/completions", json=body(server, **more))


def assert_lists_pods(name: str, arguments: str) -> None:
    assert name == "list_resources"
    assert json.loads(arguments) == {"kind": "pods", "namespace": "shop"}


def test_a_tool_call_is_recognised_by_the_server_itself(server: EmbeddedServer) -> None:
    choice = ask(server).json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert not choice["message"].get("content")
    function = choice["message"]["tool_calls"][0]["function"]
    assert_lists_pods(function["name"], function["arguments"])


def test_a_tool_call_is_recognised_while_it_streams(server: EmbeddedServer) -> None:
    names, arguments, content, pieces = "", "", "", 0
    with (
        httpx.Client(trust_env=False, timeout=300) as client,
        client.stream("POST", f"{server.base_url}/chat/completions", json=body(server, stream=True)) as response,
    ):
        for line in response.iter_lines():
            if line.startswith("data: {"):
                pieces += 1
                delta = json.loads(line[6:])["choices"][0]["delta"]
                content += delta.get("content") or ""
                for call in delta.get("tool_calls", ()):
                    names += call["function"].get("name", "")
                    arguments += call["function"].get("arguments", "")
    assert pieces > 3
    assert content == ""
    assert_lists_pods(names, arguments)


def test_the_server_renders_the_template_as_it_is_written(server: EmbeddedServer) -> None:
    called: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function"}]}
    called["tool_calls"][0]["function"] = {"name": "list_resources", "arguments": '{"kind": "pods"}'}
    result = {"role": "tool", "tool_call_id": "a", "content": "- web-0"}
    messages = [SYSTEM, QUESTION, called, result, {"role": "assistant", "content": "One."}, QUESTION]
    rendered = httpx.post(
        f"{server.root_url}/apply-template", json={"messages": messages, "tools": [TOOL]}, trust_env=False
    )
    assert rendered.json()["prompt"] == render(messages, [TOOL], prompt=True)


def test_a_conversation_re_uses_what_was_computed_for_its_beginning(server: EmbeddedServer) -> None:
    ask(server, max_tokens=1)
    usage = ask(server, max_tokens=1, messages=[SYSTEM, {"role": "user", "content": "Show me the nodes."}]).json()
    counts = usage["usage"]
    assert counts["prompt_tokens_details"]["cached_tokens"] > counts["prompt_tokens"] * 0.8


def test_a_prompt_longer_than_the_context_is_refused_and_not_cut(server: EmbeddedServer) -> None:
    response = ask(server, messages=[{"role": "user", "content": "word " * 20_000}])
    assert response.status_code == 400
    assert "exceed_context_size_error" in response.text


def test_the_serving_passport_of_the_embedded_model_is_complete(server: EmbeddedServer) -> None:
    endpoint = make_endpoint(server.model, server.base_url)
    passport = probe(endpoint, warm=True, local=server.local_facts)
    assert (passport.unavailable, passport.error, passport.warmup) == ((), None, True)
    assert passport.engine is not None
    assert passport.engine.name == "llama.cpp (xllamacpp)"
    assert (passport.digest, passport.quantization) == (server.sha256, "Q4_K_M")
    assert (passport.context_length, passport.max_context_length) == (server.context_tokens, 32_768)
    # Asked as a stranger's server, it gives the same weights.
    assert probe(endpoint).digest == server.sha256
    assert provider_facts(endpoint).supports_tools is True


def test_no_web_page_may_call_it(server: EmbeddedServer) -> None:
    response = httpx.get(f"{server.root_url}/health", headers={"Origin": "http://evil.example"}, trust_env=False)
    assert response.headers.get("access-control-allow-origin") not in ("*", "http://evil.example")


def test_a_crash_is_an_error_with_the_end_of_the_log() -> None:
    with EmbeddedServer(choose("0.5b"), context_tokens=512) as doomed:
        doomed.check()
        os.kill(doomed.pid, signal.SIGKILL)
        assert doomed.wait(20)
        with pytest.raises(WorkError, match=r"ended \(signal SIGKILL\); its last lines:\n(?s:.)*listening on"):
            doomed.check()
    with pytest.raises(WorkError, match="not running"):
        _ = doomed.base_url


def test_a_port_that_is_taken_is_refused_before_anything_is_loaded(server: EmbeddedServer) -> None:
    second = EmbeddedServer(choose("0.5b"), port=int(server.root_url.rsplit(":", 1)[1]), context_tokens=512)
    with pytest.raises(UsageError, match=r"port \d+ cannot be used \(Address already in use\)"):
        second.start()
    with pytest.raises(UsageError, match="port 70000 is none"):
        EmbeddedServer(choose("0.5b"), port=70_000).start()
    assert ask(server, max_tokens=1).status_code == 200


def test_a_child_that_cannot_start_is_an_error_with_its_last_words() -> None:
    hopeless = EmbeddedServer(choose("0.5b"), context_tokens=-5)
    with pytest.raises(WorkError, match=r"ended \(exit code 1\)(?s:.)*the engine cannot serve qwen"):
        hopeless.start()
    with pytest.raises(WorkError, match="not running"):
        hopeless.check()


def test_ctrl_c_in_the_owner_stops_it() -> None:
    owned = EmbeddedServer(choose("0.5b"), context_tokens=512)
    handles: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        _use_and_interrupt(owned, handles)
    assert is_gone(handles[0])


def _use_and_interrupt(owned: EmbeddedServer, handles: list[int]) -> None:
    with owned:
        handles.append(os.pidfd_open(owned.pid))
        raise KeyboardInterrupt


def test_it_dies_with_its_owner_even_when_that_is_killed() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert owner.stdout is not None
    handle = os.pidfd_open(int(owner.stdout.readline()))
    owner.kill()
    owner.communicate()
    assert is_gone(handle)


def test_serving_in_the_foreground_says_how_to_use_it_and_stops_on_ctrl_c() -> None:
    process = subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = [process.stdout.readline().strip() for _ in range(3)]
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    handle = os.pidfd_open(int(children[0]))
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate()
    assert process.returncode == 0
    assert rest == "stopped\n"
    url = lines[1].removeprefix("export KORVID_EVAL_BASE_URL=")
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/v1")
    assert url in lines[0]
    assert lines[2] == "export KORVID_EVAL_MODEL=openai/qwen2.5-coder-0.5b-instruct-q4_k_m"
    assert is_gone(handle)


def is_gone(handle: int) -> bool:
    """Whether the process behind a pidfd ends in time. A pidfd is readable once it has."""
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        return bool(poller.poll(GONE_WITHIN_MS))
    finally:
        os.close(handle)
