"""A campaign as a whole: the oracle, an engine that changes underneath, a resume, and what the manifest owns up to."""

import json
import os
import signal
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

import recorder.campaign
import recorder.site
from recorder.machine import REVISION
from recorder.scripted import ModelCard, Reply, ScriptedServer
from recorder.transport.library import load
from replay.reader import read_all
from replay.verify import verify
from schemas.cases import Evidence
from schemas.errors import LogError, UsageError, WorkError
from schemas.events import RunStarted, ServingChanged, ToolCall, ToolResult, TurnFinished
from tests.recorder.campaigns import CASES, asked, campaign, damage, resumed, statuses, tear
from tests.recorder.recording import bodies


@pytest.fixture(autouse=True)
def build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REVISION, "build-a")


def fine(body: dict[str, Any]) -> Reply:
    return Reply(text="It is fine.")


def test_the_oracle_reads_the_evidence_of_every_case_and_every_request_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers: list[ScriptedServer] = []

    class Kept(ScriptedServer):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            servers.append(self)

    monkeypatch.setattr(recorder.site, "ScriptedServer", Kept)
    summary, manifest = campaign(tmp_path / "c", agent="oracle", cases=())
    assert (summary.planned, summary.recorded, summary.completed) == (25, 25, 25)
    assert (manifest.publishable, manifest.not_publishable_because) == (True, ())
    assert [check.state for check in verify(tmp_path / "c")] == ["complete"] * 25
    by_time = sorted((tmp_path / "c" / "runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert [body for path in by_time for body in bodies(path)] == [request.body for request in servers[0].chats]
    for path in by_time:
        assert_evidence_was_read([record.event for record in read_all(path)[0]])


def assert_evidence_was_read(events: list[Any]) -> None:
    started = events[0]
    assert isinstance(started, RunStarted)
    calls = {event.call: event for event in events if isinstance(event, ToolCall)}
    results = [event for event in events if isinstance(event, ToolResult)]
    assert all(result.ok for result in results), started.case_id
    shown = [(calls[result.call].tool, result.shown or result.result) for result in results]
    for group in started.rubric["turns"][0].get("expected_evidence", ()):
        places = [msgspec.convert(place, Evidence) for place in group]
        assert any(tool == p.tool and (p.contains or "") in text for p in places for tool, text in shown), (
            started.case_id
        )


def test_duckdb_reads_the_logs_as_they_lie(tmp_path: Path) -> None:
    campaign(tmp_path / "c", agent="oracle")
    logs = str(tmp_path / "c" / "runs" / "*.jsonl.zst")
    rows = duckdb.execute(
        "SELECT type, count(*) FROM read_json(?, format = 'newline_delimited', "
        "columns = {type: 'VARCHAR', seq: 'BIGINT', t: 'DOUBLE'}) GROUP BY type",
        [logs],
    ).fetchall()
    ours = Counter(
        str(type(record.event).__struct_config__.tag)
        for path in (tmp_path / "c" / "runs").iterdir()
        for record in read_all(path)[0]
    )
    assert dict(rows) == ours
    assert ours["run_finished"] == len(CASES)


def test_a_context_that_changes_during_the_campaign_is_caught_in_the_run_and_in_the_manifest(tmp_path: Path) -> None:
    def shrinking(body: dict[str, Any]) -> Reply:
        if len(server.chats) == 2:
            server.set_context(2_048)
        return Reply(text="It is fine.")

    with ScriptedServer(shrinking) as server:
        summary, manifest = campaign(tmp_path / "c", asked(server), warmup=True, repetitions=2)
    reason = "engine_changed: context_length changed from 4096 to 2048"
    assert list(statuses(tmp_path / "c").values()) == ["completed", reason, reason, reason]
    assert (summary.completed, summary.harness_invalid) == (1, 3)
    assert manifest.publishable is False
    assert any("context_length changed from 4096 to 2048" in why for why in manifest.not_publishable_because)
    changed = [
        record.event.changes
        for path in (tmp_path / "c" / "runs").iterdir()
        for record in read_all(path)[0]
        if isinstance(record.event, ServingChanged)
    ]
    assert changed == [("context_length changed from 4096 to 2048",)] * 3


def test_a_context_that_is_known_only_once_the_model_is_loaded_is_watched_from_then_on(tmp_path: Path) -> None:
    def loading(body: dict[str, Any]) -> Reply:
        server.set_context(4_096 if len(server.chats) < 4 else 2_048)
        return Reply(text="It is fine.", prompt_tokens=2_050 if len(server.chats) == 3 else 1_500)

    with ScriptedServer(loading, card=ModelCard(runtime_context=None)) as server:
        _, manifest = campaign(tmp_path / "c", asked(server), repetitions=2)
    assert manifest.serving_before is not None
    assert manifest.serving_before.context_length is None, "the manifest says what was known before"
    by_run = statuses(tmp_path / "c")
    assert (by_run["healthy-deployment-r1"], by_run["oom-killed-r1"]) == ("completed", "completed")
    assert by_run["healthy-deployment-r2"] == "context_truncated"
    assert by_run["oom-killed-r2"] == "engine_changed: context_length changed from 4096 to 2048"


def test_a_torn_run_is_recorded_again_beside_the_interrupted_attempt(tmp_path: Path) -> None:
    campaign(tmp_path / "c", agent="silent", repetitions=2)
    torn = tear(tmp_path / "c", "oom-killed-r1")
    left = torn.read_bytes()
    others = {path: path.read_bytes() for path in (tmp_path / "c" / "runs").iterdir()}
    summary, manifest = resumed(tmp_path / "c")
    assert (summary.planned, summary.already_recorded, summary.recorded) == (4, 3, 1)
    names = {path.name.rsplit("-", 1)[0] for path in (tmp_path / "c" / "runs").iterdir()} - {
        path.name.rsplit("-", 1)[0] for path in others
    }
    assert names == {"oom-killed-r1a2"}
    assert torn.read_bytes() == left
    assert all(path.read_bytes() == data for path, data in others.items())
    again = next((tmp_path / "c" / "runs").glob("oom-killed-r1a2-*"))
    started = read_all(again)[0][0].event
    assert isinstance(started, RunStarted)
    assert (started.attempt, started.repetition, started.campaign_id) == (2, 1, manifest.campaign_id)
    assert resumed(tmp_path / "c")[0].recorded == 0


def test_torn_twice_is_recorded_a_third_time(tmp_path: Path) -> None:
    campaign(tmp_path / "c", agent="silent")
    tear(tmp_path / "c", "oom-killed-r1")
    resumed(tmp_path / "c")
    tear(tmp_path / "c", "oom-killed-r1a2")
    resumed(tmp_path / "c")
    assert statuses(tmp_path / "c") == {
        "healthy-deployment-r1": "completed",
        "oom-killed-r1": None,
        "oom-killed-r1a2": None,
        "oom-killed-r1a3": "completed",
    }


def test_a_log_of_nothing_at_all_counts_as_interrupted(tmp_path: Path) -> None:
    campaign(tmp_path / "c", agent="silent")
    (path,) = (tmp_path / "c" / "runs").glob("oom-killed-*")
    path.write_bytes(b"")
    assert resumed(tmp_path / "c")[0].recorded == 1


def test_a_damaged_log_is_not_recorded_over_and_is_named(tmp_path: Path) -> None:
    campaign(tmp_path / "c", agent="silent")
    path = damage(tmp_path / "c", "oom-killed-r1", lambda size: size // 2)
    with pytest.raises(LogError, match=rf"{path.name}: the log is damaged .*move it away"):
        resumed(tmp_path / "c")
    assert len(list((tmp_path / "c" / "runs").iterdir())) == 2


def test_a_resume_of_a_whole_campaign_leaves_the_build_that_recorded_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, before = campaign(tmp_path / "c", agent="silent")
    monkeypatch.setenv(REVISION, "build-b")
    _, after = resumed(tmp_path / "c")
    assert after == before


def test_a_campaign_of_two_builds_owns_up_to_it_and_is_not_publishable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign(tmp_path / "c", agent="silent")
    tear(tmp_path / "c", "oom-killed-r1")
    monkeypatch.setenv(REVISION, "build-b")
    _, manifest = resumed(tmp_path / "c")
    assert manifest.harness.revision == "build-a"
    assert [build.revision for build in manifest.also_recorded_by] == ["build-b"]
    assert manifest.not_publishable_because == ("2 builds of the harness recorded parts of it",)


def test_what_another_resume_wrote_until_the_directory_was_locked_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign(tmp_path / "c", agent="silent")
    tear(tmp_path / "c", "oom-killed-r1")
    real = recorder.site.probe

    def slow(*arguments: Any, **more: Any) -> Any:
        monkeypatch.setattr(recorder.campaign, "probe", real)
        monkeypatch.setenv(REVISION, "build-b")
        resumed(tmp_path / "c")
        return real(*arguments, **more)

    monkeypatch.setattr(recorder.campaign, "probe", slow)
    _, manifest = resumed(tmp_path / "c")
    assert [build.revision for build in manifest.also_recorded_by] == ["build-b"]
    assert len(manifest.not_publishable_because) == 1


def test_a_resume_that_would_ask_something_else_is_refused_by_the_name_of_the_difference(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.md"
    overlay.write_text("Answer in one sentence.\n")
    with ScriptedServer(fine) as server:
        campaign(tmp_path / "c", asked(server), overlay_files=(overlay,))
        tear(tmp_path / "c", "oom-killed-r1")
        before = {path: path.read_bytes() for path in sorted((tmp_path / "c").rglob("*")) if path.is_file()}
        with pytest.raises(UsageError, match=r"prompt\.overlays was \('overlay',\), would be \(\)"):
            resumed(tmp_path / "c", asked(server))
        hotter = asked(server, KORVID_EVAL_OPTIONS_JSON='{"temperature": 1}')
        with pytest.raises(UsageError, match=r"policy\.options\.temperature was None, would be 1"):
            resumed(tmp_path / "c", hotter, overlay_files=(overlay,))
        with pytest.raises(UsageError, match="--seed: with --resume it comes from"):
            resumed(tmp_path / "c", asked(server), seed=3)
        server.set_context(2_048)
        with pytest.raises(UsageError, match="context_length changed from 4096 to 2048"):
            resumed(tmp_path / "c", asked(server), overlay_files=(overlay,))
        after = {path: path.read_bytes() for path in sorted((tmp_path / "c").rglob("*")) if path.is_file()}
        assert after == before
        server.set_context(4_096)
        assert resumed(tmp_path / "c", asked(server), overlay_files=(overlay,))[0].recorded == 1


def test_a_campaign_without_streaming_goes_on_without(tmp_path: Path) -> None:
    with ScriptedServer(fine) as server:
        campaign(tmp_path / "c", asked(server), stream=False)
        tear(tmp_path / "c", "oom-killed-r1")
        _, manifest = resumed(tmp_path / "c", asked(server))
        assert manifest.policy.stream is False
        assert [json.loads(request.body)["stream"] for request in server.chats] == [False] * 3


def test_no_campaign_begins_where_no_server_listens(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    env = {"KORVID_EVAL_BASE_URL": url, "KORVID_EVAL_MODEL": "ollama/x"}
    with pytest.raises(UsageError, match=rf"no model server at {url} \(Connection refused\); start it"):
        campaign(tmp_path / "c", env)
    assert not (tmp_path / "c").exists()


def test_a_server_that_dies_ends_the_recording_after_two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    monkeypatch.setattr(recorder.site, "_refuse_unreachable", lambda endpoint: None)
    env = {"KORVID_EVAL_BASE_URL": url, "KORVID_EVAL_MODEL": "ollama/x"}
    with pytest.raises(WorkError, match=r"cannot be reached .*go on with --resume"):
        campaign(tmp_path / "c", env, repetitions=3)
    assert len(statuses(tmp_path / "c")) == 2


def test_whoever_stops_while_the_client_library_is_loading_gets_no_run_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder.campaign, "load_litellm", lambda: os.kill(os.getpid(), signal.SIGINT))
    summary, manifest = campaign(tmp_path / "c", agent="silent")
    assert (summary.interrupted, summary.recorded, manifest.publishable) == (True, 0, None)
    assert statuses(tmp_path / "c") == {}
    monkeypatch.setattr(recorder.campaign, "load_litellm", load)
    assert resumed(tmp_path / "c")[0].completed == len(CASES)


def test_each_repetition_has_a_seed_of_its_own(tmp_path: Path) -> None:
    with ScriptedServer(fine) as server:
        campaign(tmp_path / "c", asked(server), seed=7, repetitions=2, cases=("oom-killed",))
        assert [json.loads(request.body)["options"]["seed"] for request in server.chats] == [7, 8]
    started = [read_all(path)[0][0].event for path in sorted((tmp_path / "c" / "runs").iterdir())]
    assert [event.seed for event in started if isinstance(event, RunStarted)] == [7, 8]


@pytest.mark.parametrize("agent", ["constant-oom", "constant-healthy", "silent", "echo"])
def test_a_constant_agent_is_an_ordinary_run_that_calls_nothing(tmp_path: Path, agent: str) -> None:
    summary, manifest = campaign(tmp_path / "c", agent=agent)
    assert (summary.completed, summary.tool_calls) == (len(CASES), 0)
    assert (manifest.agent, manifest.model, manifest.serving_before) == (agent, f"scripted/{agent}", None)
    for path in (tmp_path / "c" / "runs").iterdir():
        (turn,) = [r.event for r in read_all(path)[0] if isinstance(r.event, TurnFinished)]
        assert (turn.outcome == "empty") == (agent == "silent")
