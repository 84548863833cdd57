"""The shapes of published files, their checksums, and what the command says of them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from replay.campaigns import run_files
from replay.cli import cli
from replay.fold import fold
from replay.importing.checksums import check
from replay.importing.korvid import import_korvid
from replay.importing.reading import result_file
from replay.importing.sources import open_source
from replay.reader import RunReader
from schemas.errors import WorkError
from schemas.events import RunStarted
from schemas.provenance import decode_manifest
from tests.importing.conftest import scenario, tar_gz


def journey(**turn: object) -> dict[str, object]:
    """A published journey of two turns with one run."""
    fields: dict[str, object] = {
        "answer": "All pods are healthy.",
        "grade": {
            "diagnosis_success": True,
            "evidence_fetched": True,
            "missing_mentions": [],
            "forbidden_mentions": [],
        },
        "tool_calls": 1,
        "tool_names": ["list_resources"],
        "malformed_tool_calls": 0,
        "forbidden_target_calls": 0,
        "error": None,
        "wall_time_s": 2.0,
    }
    runs = [
        {"turns": [fields | turn, fields | turn], "input_tokens": 50, "output_tokens": 5, "tokens_estimated": False}
    ]
    return {"journey_id": "healthy-stop", "root_cause": "none", "runs": runs}


def lay(directory: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return directory


def started(campaign: str) -> RunStarted:
    reader = RunReader(run_files(Path(campaign))[0])
    list(reader)
    assert reader.started is not None
    return reader.started


def test_a_file_with_a_profile_keeps_it_as_a_profile(tmp_path: Path) -> None:
    meta = {"profile": "full", "prompts": {"source": "override", "sha256": "ab" * 32}}
    source = lay(tmp_path / "in", {"2026-08-06/tasks.json": {"meta": meta, "scenarios": [scenario()]}})
    first = started(import_korvid(source, tmp_path / "out", graded=False).campaigns[0].path)
    assert first.imported is not None
    assert first.imported.profile == "full"
    assert first.policy.tier is None
    assert (first.policy.prompt.source, first.policy.prompt.sha256) == ("override", "ab" * 32)
    assert "policy.prompt" not in first.not_recorded
    assert first.wall_time == "2026-08-06T00:00:00Z"


def test_a_file_with_a_policy_is_mapped_to_ours(tmp_path: Path) -> None:
    meta = {
        "protocol_version": "1.0",
        "policy": {
            "provider": "ollama",
            "model": "qwen3:8b",
            "tier": "low",
            "route_source": "catalog",
            "prompt_pack": "low",
        },
        "limits": {
            "max_iterations": 6,
            "max_history_chars": 24000,
            "max_result_chars": 3000,
            "max_tool_calls_per_iteration": 1,
            "strict_history_budget": True,
        },
        "capabilities": {"supports_tools": True, "provenance": {"supports_tools": "catalog"}},
        "catalog_version": 1,
        "prompts": {"pack": "low", "overlays": [], "source": "default", "sha256": "cd" * 32},
        "tools": {"armed": ["get_logs", "list_resources"], "count": 2, "omitted": []},
        "serving": {
            "engine": {"name": "ollama", "version": "0.32.5"},
            "digest": "ef" * 32,
            "quantization": "Q4_K_M",
            "context_length": 4096,
            "warmup": True,
        },
    }
    source = lay(tmp_path / "in", {"tasks.json": {"meta": meta, "results": [scenario(outcome="success")]}})
    campaign = import_korvid(source, tmp_path / "out", graded=False).campaigns[0]
    first = started(campaign.path)
    assert (first.model, first.policy.tier, first.policy.route_source) == ("ollama/qwen3:8b", "low", "catalog")
    assert first.policy.limits.max_iterations == 6
    assert first.policy.tools == ("get_logs", "list_resources")
    assert not [name for name in first.not_recorded if name.startswith("policy.")]
    assert first.imported is not None
    assert first.imported.unmapped["meta.protocol_version"] == "1.0"
    manifest = decode_manifest((Path(campaign.path) / "campaign.json").read_bytes())
    assert manifest.serving_before is not None
    assert (manifest.serving_before.context_length, manifest.serving_before.unavailable) == (4096, ())
    assert manifest.publishable is False


def test_a_journey_succeeds_only_if_every_turn_does(tmp_path: Path) -> None:
    good = journey(success=True)
    bad = journey(success=False)
    late = journey(outcome="success", failure_class=None)
    for index, (case, passed) in enumerate([(good, True), (bad, False), (late, True)]):
        found = result_file(json.dumps([case]).encode(), "j.json")
        assert found is not None
        assert found.runs[0].passed is passed, index
        assert len(found.runs[0].turns) == 2


@given(st.dictionaries(st.text("abcdefghij_", min_size=3), st.integers() | st.text() | st.booleans(), max_size=4))
def test_a_key_that_is_not_known_is_kept_under_its_name(extra: dict[str, Any]) -> None:
    extra = {f"new_{key}": value for key, value in extra.items()}
    found = result_file(json.dumps([scenario(**extra)]).encode(), "t.json")
    assert found is not None
    assert found.runs[0].unmapped == extra


@pytest.mark.parametrize("value", [{}, [], [1], {"model": "x", "done": True}, [{"template_id": "t", "runs": []}], "x"])
def test_json_that_is_something_else_holds_no_results(value: Any) -> None:
    assert result_file(json.dumps(value).encode(), "x.json") is None


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        ([scenario(), scenario()], "oom-killed stands there twice"),
        ([scenario(), journey()], "scenarios and journeys in one list"),
        ([scenario() | {"scenario": "../up"}], "is no case id"),
        ([scenario(answer=None)], r"t\.json: \[0\]\.runs\[0\]: not a run"),
        ([scenario(wall_time_s="long")], "not a run"),
    ],
)
def test_results_that_contradict_themselves_name_the_place(cases: list[Any], problem: str) -> None:
    with pytest.raises(WorkError, match=problem):
        result_file(json.dumps(cases).encode(), "t.json")


@pytest.mark.parametrize("prefix", ["", "./", "results/", "deep/er/"])
def test_checksums_resolve_whichever_directory_they_are_relative_to(tmp_path: Path, prefix: str) -> None:
    data = json.dumps([scenario()]).encode()
    line = f"{hashlib.sha256(data).hexdigest()}  {prefix}c/tasks.json\n"
    checked = check(open_source(lay(tmp_path, {"results/c/tasks.json": data, "results/SHA256SUMS": line.encode()})))
    assert [(listed.ok, listed.missing, listed.wrong) for listed in checked.lists] == [(1, (), ())]


def test_missing_and_wrong_checksums_are_named_and_what_is_wrong_is_not_imported(tmp_path: Path) -> None:
    good, bad = (json.dumps([scenario(answer=text)]).encode() for text in ("OOM", "something else"))
    lines = f"{hashlib.sha256(good).hexdigest()}  good.json\n{'0' * 64}  bad.json\n{'1' * 64} *gone.json\nnonsense\n"
    source = lay(tmp_path / "in", {"good.json": good, "bad.json": bad, "SHA256SUMS": lines.encode()})
    done = CliRunner().invoke(cli, ["import", "korvid", str(source), "--out", str(tmp_path / "out"), "--json"])
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert [campaign["file"] for campaign in told["campaigns"]] == ["good.json"]
    assert told["refused"] == ["bad.json"]
    assert told["checksums"]["lists"][0]["missing"] == ["gone.json"]
    assert "bad.json has another SHA-256 than listed" in done.stderr
    assert "gone.json is listed and is not there" in done.stderr
    assert "nonsense" in done.stderr


def test_an_archive_with_a_wrong_checksum_is_refused_with_all_it_holds(tmp_path: Path) -> None:
    packed = tar_gz({"c/tasks.json": json.dumps([scenario()]).encode()})
    source = lay(
        tmp_path / "in", {"x-artifacts.tar.gz": packed, "x-SHA256SUMS": f"{'0' * 64}  x-artifacts.tar.gz\n".encode()}
    )
    result = import_korvid(source / "x-artifacts.tar.gz", tmp_path / "out", graded=False)
    assert result.campaigns == ()
    assert result.refused == ("x-artifacts.tar.gz!c/tasks.json",)
    assert list((tmp_path / "out").glob("*")) == []


def test_an_answer_with_a_lone_surrogate_survives(tmp_path: Path) -> None:
    raw = json.dumps([scenario(answer="half \ud83d of a smile")]).encode()
    source = lay(tmp_path / "in", {"tasks.json": raw})
    campaign = import_korvid(source, tmp_path / "out", graded=False).campaigns[0]
    assert fold(run_files(Path(campaign.path))[0]).turns[0].answer == "half \ud83d of a smile"


def test_a_report_that_disagrees_with_its_results_is_named(tmp_path: Path) -> None:
    table = (
        b"| scenario | root cause | success |\n|---|---|---|\n| oom-killed | oom_killed | 0/1 |\n| ghost | x | 1/1 |\n"
    )
    source = lay(tmp_path / "in", {"t.json": [scenario()], "t.md": table})
    told: list[str] = []
    import_korvid(source, tmp_path / "out", graded=False, note=told.append)
    assert [line.partition(": ")[2] for line in told] == [
        "ghost: the results have no such case, the report has 1/1",
        "oom-killed: the results have 1/1, the report has 0/1",
    ]


def test_a_source_without_results_is_an_error_that_says_what_was_looked_for(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["import", "korvid", str(lay(tmp_path / "in", {"a.json": {}}))])
    assert isinstance(done.exception, WorkError)
    assert "no list of scenarios or journeys" in str(done.exception)


def test_the_command_shows_what_was_imported_and_what_was_there(tmp_path: Path) -> None:
    source = lay(tmp_path / "in", {"2026-08-06/tasks.json": [scenario()]})
    arguments = ["import", "korvid", str(source), "--out", str(tmp_path / "out")]
    first, second = (CliRunner().invoke(cli, arguments) for _ in range(2))
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "imported" in first.stdout
    assert "was there" in second.stdout
