"""Each format holds what the logs hold, in its own terms."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from replay.campaigns import run_files
from replay.export import export
from replay.export.command import Campaign
from replay.export.otel import traces
from replay.export.projection import view as view_of
from replay.fold import fold
from replay.importing.korvid import import_korvid
from replay.sql.views import VIEWS
from schemas.provenance import decode_manifest
from schemas.recorded import RecordedRun
from tests.importing.conftest import scenario
from tests.importing.test_korvid_files import lay


@pytest.fixture(scope="module")
def runs(campaign: Path) -> dict[str, RecordedRun]:
    """The runs by id, as graders see them."""
    return {run.run_id: run for run in (fold(log) for log in campaign.glob("runs/*"))}


@pytest.fixture(scope="module")
def trajectories(campaign: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The ATIF documents by run id."""
    out = tmp_path_factory.mktemp("atif") / "out"
    export(campaign, "atif", out)
    found = [json.loads(path.read_bytes()) for path in out.glob("*.json") if path.name != "export.json"]
    return {document["session_id"]: document for document in found}


@pytest.fixture(scope="module")
def spans(campaign: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The spans of each run, attributes as plain values under `attributes`."""
    out = tmp_path_factory.mktemp("otel") / "out"
    export(campaign, "otel", out)
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (out / "traces.jsonl").read_bytes().splitlines():
        scoped = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
        plain = [span | {"attributes": {a["key"]: value(a["value"]) for a in span["attributes"]}} for span in scoped]
        found[plain[0]["attributes"]["korvid.run.id"]] = plain
    return found


def value(tagged: dict[str, Any]) -> Any:
    ((kind, content),) = tagged.items()
    if kind == "intValue":
        return int(content)
    return [value(item) for item in content["values"]] if kind == "arrayValue" else content


def test_a_trajectory_has_numbered_steps_of_known_sources(trajectories: dict[str, dict[str, Any]]) -> None:
    for document in trajectories.values():
        assert document["schema_version"] == "ATIF-v1.6"
        assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
        assert {step["source"] for step in document["steps"]} <= {"system", "user", "agent"}
        assert all(isinstance(step["message"], str) for step in document["steps"])
        assert document["agent"]["name"]
        assert document["agent"]["version"]
        allowed = {"step_id", "timestamp", "source", "model_name", "message", "reasoning_content", "tool_calls",
                   "observation", "metrics", "extra"}  # fmt: skip
        assert {key for step in document["steps"] for key in step} <= allowed


def test_every_observation_answers_a_call_of_its_step(trajectories: dict[str, dict[str, Any]]) -> None:
    calls = 0
    for document in trajectories.values():
        for step in document["steps"]:
            ids = [call["tool_call_id"] for call in step.get("tool_calls", ())]
            assert len(ids) == len(set(ids))
            assert all(isinstance(call["arguments"], dict) for call in step.get("tool_calls", ()))
            assert {r["source_call_id"] for r in step.get("observation", {}).get("results", ())} <= set(ids)
            calls += len(ids)
    assert calls > 20


def test_trajectories_hold_the_calls_results_answers_and_tokens_of_the_logs(
    trajectories: dict[str, dict[str, Any]], runs: dict[str, RecordedRun]
) -> None:
    assert set(trajectories) == set(runs)
    for run_id, run in runs.items():
        document = trajectories[run_id]
        made = [call["function_name"] for step in document["steps"] for call in step.get("tool_calls", ())]
        assert made == [call.tool for turn in run.turns for call in turn.calls]
        shown = [r["content"] for step in document["steps"] for r in step.get("observation", {}).get("results", ())]
        assert shown == [call.shown for turn in run.turns for call in turn.calls if call.ok is not None]
        if run.turns and run.turns[-1].outcome == "answered":
            assert document["steps"][-1]["message"] == run.turns[-1].answer
        known = [turn.usage.input_tokens for turn in run.turns if turn.usage.input_tokens is not None]
        assert document["final_metrics"].get("total_prompt_tokens") == (sum(known) if known else None)


def test_spans_form_one_tree_a_run_within_its_times(spans: dict[str, list[dict[str, Any]]]) -> None:
    seen: set[str] = set()
    for of_run in spans.values():
        ids = {span["spanId"] for span in of_run}
        assert len(ids) == len(of_run)
        assert [span for span in of_run if "parentSpanId" not in span] == of_run[:1]
        assert all(span["parentSpanId"] in ids for span in of_run[1:])
        assert {len(span["traceId"]) for span in of_run} == {32}
        assert {len(span["spanId"]) for span in of_run} == {16}
        assert len({span["traceId"] for span in of_run}) == 1
        assert all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in of_run)
        seen.add(of_run[0]["traceId"])
    assert len(seen) == len(spans)


def test_spans_carry_the_conventions_names(
    spans: dict[str, list[dict[str, Any]]], runs: dict[str, RecordedRun]
) -> None:
    assert set(spans) == set(runs)
    for run_id, of_run in spans.items():
        by_kind: dict[str, list[dict[str, Any]]] = {}
        for span in of_run:
            assert span["attributes"]["gen_ai.provider.name"]
            by_kind.setdefault(span["attributes"]["gen_ai.operation.name"], []).append(span)
        run = runs[run_id]
        tools = by_kind.get("execute_tool", [])
        assert [span["attributes"]["gen_ai.tool.name"] for span in tools] == [
            call.tool for turn in run.turns for call in turn.calls
        ]
        assert all(span["name"] == f"execute_tool {span['attributes']['gen_ai.tool.name']}" for span in tools)
        for span in by_kind.get("chat", []):
            assert span["kind"] == 3
            assert span["name"] == f"chat {span['attributes']['gen_ai.request.model']}"
            assert json.loads(span["attributes"]["gen_ai.input.messages"])[0]["role"] == "system"
        failed = of_run[0]["status"].get("code") == 2
        assert failed == (run.status != "completed")
        assert ("error.type" in of_run[0]["attributes"]) == failed


def test_serving_facts_stand_in_our_own_namespace(tmp_path: Path) -> None:
    meta = {
        "policy": {"provider": "ollama", "model": "qwen3:8b", "tier": "low", "route_source": "user"},
        "serving": {"digest": "ef" * 32, "quantization": "Q4_K_M", "context_length": 4096},
    }
    source = lay(tmp_path / "in", {"t.json": {"meta": meta, "results": [scenario()]}})
    path = Path(import_korvid(source, tmp_path / "out", graded=False).campaigns[0].path)
    manifest = decode_manifest((path / "campaign.json").read_bytes())
    campaign = Campaign(directory=path, manifest=manifest, logs={}, left_out={}, kinds=Counter(), note=print)
    document = traces(view_of(run_files(path)[0]), campaign)
    attributes = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"]
    found = {attribute["key"]: value(attribute["value"]) for attribute in attributes}
    assert found["korvid.context.length"] == 4096
    assert found["korvid.model.digest"] == "ef" * 32
    assert found["korvid.model.quantization"] == "Q4_K_M"
    assert "tool_results" in found["korvid.not_recorded"]
    assert "korvid.tier" in found


def test_parquet_holds_every_view(campaign: Path, tmp_path: Path, runs: dict[str, RecordedRun]) -> None:
    export(campaign, "parquet", tmp_path / "out")
    assert {path.stem for path in (tmp_path / "out").glob("*.parquet")} == {view.name for view in VIEWS}
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT run_id FROM '{tmp_path}/out/runs.parquet'").fetchall()
        calls = connection.execute(f"SELECT count(*) FROM '{tmp_path}/out/tool_calls.parquet'").fetchall()
    assert {run_id for (run_id,) in found} == set(runs)
    assert calls[0][0] == sum(len(turn.calls) for run in runs.values() for turn in run.turns)
