import json
import os
import subprocess
import sys

PROBE = """
import json, logging, socket, sys

attempts = []
connect, getaddrinfo = socket.socket.connect, socket.getaddrinfo

def guarded_connect(self, address):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
        attempts.append(str(address))
        raise OSError("only loopback")
    return connect(self, address)

def guarded_lookup(host, *rest, **more):
    if host not in ("127.0.0.1", "::1", None):
        attempts.append(str(host))
        raise socket.gaierror("only loopback")
    return getaddrinfo(host, *rest, **more)

socket.socket.connect = guarded_connect
socket.socket.connect_ex = guarded_connect
socket.getaddrinfo = guarded_lookup

import recorder.transport
early = [name for name in ("litellm", "openai") if name in sys.modules]

import asyncio
from recorder.scripted import Call, Reply, ScriptedServer
from recorder.transport import ModelClient, RequestLedger, make_endpoint

async def main():
    events = []
    call = Call(name="get_logs", arguments={"pod": "a"}, arguments_as_object=True)
    with ScriptedServer([Reply(text="hello"), Reply(tool_calls=(call,))] * 2) as server:
        for url in (server.url, server.url + "/v1"):
            async with ModelClient(make_endpoint("ollama/scripted:1b", url)) as client:
                for stream in (True, False):
                    ledger = RequestLedger(events.append)
                    await client.complete([{"role": "user", "content": "hi"}], None, ledger=ledger, turn=1,
                                          iteration=1, stream=stream)
        await asyncio.sleep(0)
        return [request.path for request in server.requests]

paths = asyncio.run(main())
import litellm
print(json.dumps({
    "attempts": attempts, "paths": paths, "early": early, "telemetry": litellm.telemetry,
    "callbacks": [str(c) for c in litellm.callbacks + litellm.success_callback + litellm.failure_callback],
}))
"""


def test_nothing_but_the_recorded_requests_leaves_and_nothing_is_said_on_stderr(tmp_path):
    (tmp_path / ".env").write_text("OPENAI_API_BASE=http://192.0.2.1\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LITELLM", "KORVID"))}
    env["PYTHONPATH"] = os.getcwd()
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, cwd=tmp_path, env=env, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "attempts": [],
        "paths": ["/api/chat", "/api/chat", "/v1/chat/completions", "/v1/chat/completions"],
        "early": [],
        "telemetry": False,
        "callbacks": [],
    }
    assert done.stderr == ""
