"""`korvid-rec run` in a process of its own against the scripted server: results, secrets, signals, resume."""

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from recorder.cli import main
from recorder.scripted import Call, Reply, ScriptedServer
from replay.reader import read_all
from replay.verify import verify
from schemas.events import Interrupted, RunFinished, ToolCall, ToolResult
from tests.recorder.commands import clean_env, command, everything_written, finish, server_env
from tests.recorder.commands import start as started

KEY = "sk-7f3a/secret+key=9"


def record_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], server: ScriptedServer, *arguments: str
) -> tuple[int, str, str]:
    """`korvid-rec run` through its entry point in this process, which has the client library loaded."""
    for name, value in server_env(server).items():
        if name.startswith("KORVID_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["korvid-rec", "run", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    code = ended.value.code or 0
    assert isinstance(code, int)
    return code, out, err


def test_the_key_reaches_the_server_and_no_file_although_the_model_repeats_it(tmp_path: Path) -> None:
    def echo(body: dict[str, Any]) -> Reply:
        if len(server.chats) == 1:
            call = Call(name="get_logs", arguments={"pod": KEY, "namespace": KEY})
            return Reply(text=f"I was given {KEY}.", thinking=f"So {KEY}?", tool_calls=(call,))
        pieces = ("The key is ", KEY[:9], KEY[9:], f" or as JSON {json.dumps(KEY)}.")
        return Reply(text_pieces=pieces)

    with ScriptedServer(echo) as server:
        env = server_env(server, KORVID_EVAL_API_KEY_ENV="MY_KEY", MY_KEY=KEY)
        arguments = ("run", "--case", "oom-killed", "--reps", "1", "--out", "c", "--json", "--warmup")
        done = command(*arguments, cwd=tmp_path, env=env)
        headers = {request.path: request.headers.get("authorization") for request in server.requests}
    assert done.code == 0, done.err
    assert headers["/api/chat"] == headers["/api/ps"] == f"Bearer {KEY}"
    assert all(header == f"Bearer {KEY}" for header in headers.values())
    written = everything_written(tmp_path) + done.out.encode() + done.err.encode()
    assert b"[redacted]" in written
    for secret in (KEY, json.dumps(KEY)[1:-1], KEY.replace("/", "\\/")):
        assert secret.encode() not in written
    summary = json.loads(done.out)
    assert (summary["planned"], summary["recorded"], summary["completed"]) == (1, 1, 1)
    assert (summary["interrupted"], summary["directory"]) == (False, "c")
    assert summary["runs"][0]["status"] == "completed"
    assert "recording 1 run into c\n" in done.err
    assert "[1/1] oom-killed repetition 1: completed" in done.err
    assert [check.state for check in verify(tmp_path / "c")] == ["complete"]


def test_ctrl_c_leaves_a_valid_campaign_that_nobody_else_records_into_and_that_resume_completes(
    tmp_path: Path, never: threading.Event
) -> None:
    reached = threading.Event()

    def slow(body: dict[str, Any]) -> Reply:
        if len(server.chats) == 2:
            reached.set()
            return Reply(text="It panics, I think.", hold=never, hold_at=2)
        return Reply(text="It is fine.")

    flags = ("run", "--case", "oom-killed", "--case", "healthy-deployment", "--reps", "1")
    with ScriptedServer(slow) as server:
        first = started(*flags, "--out", "c", cwd=tmp_path, env=server_env(server))
        assert reached.wait(60)
        second = command("run", "--resume", "c", cwd=tmp_path, env=server_env(server))
        assert second.code == 2
        assert_one_clear_line_after_progress(second.err)
        assert "c: another korvid-rec records into it" in second.err
        os.killpg(first.pid, signal.SIGINT)
        stopped = finish(first)
        assert stopped.code == 130
        assert "Traceback" not in stopped.err
        assert "recorded   1 of 2 runs: 0 provider errors, 0 invalid; 1 interrupted run kept" in stopped.out
        assert "korvid-rec run --resume c   (1 run is left)" in stopped.out
        (torn,) = (tmp_path / "c" / "runs").glob("oom-killed-r1-*")
        kept = torn.read_bytes()
        assert [check.state for check in verify(tmp_path / "c")] == ["complete", "interrupted"]
        events = [record.event for record in read_all(torn)[0]]
        assert any(isinstance(event, Interrupted) and event.content.startswith("It") for event in events)
        again = command("run", "--resume", "c", "--json", cwd=tmp_path, env=server_env(server))
    assert again.code == 0, again.err
    summary = json.loads(again.out)
    assert (summary["planned"], summary["already_recorded"], summary["recorded"]) == (2, 1, 1)
    assert torn.read_bytes() == kept
    names = sorted(path.name.rsplit("-", 1)[0] for path in (tmp_path / "c" / "runs").iterdir())
    assert names == ["healthy-deployment-r1", "oom-killed-r1", "oom-killed-r1a2"]


def assert_one_clear_line_after_progress(err: str) -> None:
    assert [line for line in err.splitlines() if line.startswith("error: ")] == err.splitlines()[-1:]
    assert "Traceback" not in err


def test_a_term_signal_closes_the_run_as_interrupted(tmp_path: Path, never: threading.Event) -> None:
    reached = threading.Event()

    def slow(body: dict[str, Any]) -> Reply:
        reached.set()
        return Reply(text="never", hold_before=never)

    with ScriptedServer(slow) as server:
        process = started("run", "--case", "oom-killed", "--out", "c", cwd=tmp_path, env=server_env(server))
        assert reached.wait(60)
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert done.code == 130
    assert "Traceback" not in done.err
    (path,) = (tmp_path / "c" / "runs").iterdir()
    last = read_all(path)[0][-1].event
    assert isinstance(last, RunFinished)
    assert (last.status, last.reason) == ("interrupted", "stopped from outside")


def test_a_run_that_met_an_error_of_the_server_makes_the_command_exit_1_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer([Reply(status=500, error="the runner crashed"), Reply(text="Fine.")]) as server:
        code, out, err = record_here(
            monkeypatch, capsys, server, "--case", "oom-killed", "--reps", "2", "--out", str(tmp_path / "c")
        )
    assert code == 1
    assert "recorded   2 of 2 runs: 1 provider error, 0 invalid" in out
    assert "provider_error: http_status: the runner crashed" in err


def test_an_invalid_run_makes_the_command_exit_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer([Reply(text="Fine.", prompt_tokens=2_050)]) as server:
        code, out, err = record_here(
            monkeypatch, capsys, server, "--case", "oom-killed", "--reps", "1", "--out", str(tmp_path / "c")
        )
    assert code == 1
    assert "0 provider errors, 1 invalid" in out
    assert "harness_invalid: context_truncated" in err


def test_a_tool_left_out_on_the_command_line_is_gone_from_the_request_and_refused_when_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = Call(name="get_logs", arguments={"pod": "x", "namespace": "y"})
    with ScriptedServer([Reply(tool_calls=(call,)), Reply(text="Then not.")]) as server:
        flags = ("--case", "oom-killed", "--reps", "1", "--without-tool", "get_logs", "--out", str(tmp_path / "c"))
        code, _, _ = record_here(monkeypatch, capsys, server, *flags)
        offered = [tool["function"]["name"] for tool in json.loads(server.chats[0].body)["tools"]]
        assert "get_events" in offered
        assert "get_logs" not in offered
    assert code == 0
    manifest = json.loads((tmp_path / "c" / "campaign.json").read_bytes())
    assert manifest["tools"]["omitted"] == ["get_logs"]
    assert "get_logs" not in manifest["tools"]["armed"]
    (path,) = (tmp_path / "c" / "runs").iterdir()
    events = [record.event for record in read_all(path)[0]]
    assert [event.disposition for event in events if isinstance(event, ToolCall)] == ["not_armed"]
    assert [event.error_class for event in events if isinstance(event, ToolResult)] == ["not_armed"]


def test_the_summary_says_where_it_lies_and_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with ScriptedServer([Reply(text="Fine.")]) as server:
        code, out, _ = record_here(monkeypatch, capsys, server, "--case", "oom-killed", "--reps", "1")
    (directory,) = (tmp_path / "campaigns").iterdir()
    assert code == 0
    assert f"lies in    campaigns/{directory.name}" in out
    assert f"korvid-replay verify campaigns/{directory.name}" in out
    assert "not publishable: " in out
    assert "100 tokens in, 10 out, 0 tool calls" in out


@pytest.mark.parametrize("arguments", [("replay.cli", "--help"), ("recorder.cli", "run", "--help")])
def test_help_loads_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    module, *flags = arguments
    program = (
        f"import sys; sys.argv = ['korvid', *{flags!r}]\n"
        f"from {module} import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'litellm', 'openai', 'httpx', 'textual', 'kubernetes', 'duckdb', 'scipy', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=clean_env(), capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"
    assert "Usage: " in done.stdout


@pytest.mark.parametrize("module", ["replay.cli", "recorder.cli"])
def test_the_version_is_that_of_the_package(module: str) -> None:
    program = f"import sys; sys.argv = ['korvid', '--version']\nfrom {module} import main\nmain()"
    done = subprocess.run([sys.executable, "-c", program], env=clean_env(), capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{importlib.metadata.version('korvid-rec')}\n", "")
