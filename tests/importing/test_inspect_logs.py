"""Logs that Inspect wrote: read whichever way they are compressed, checked, bounded, and graded by our cases."""

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard
from typer.testing import CliRunner

from replay.campaigns import run_files
from replay.cli import cli
from replay.fold import fold
from replay.graders import load
from replay.importing import evalzip
from replay.importing.inspect_logs import import_inspect
from replay.listing import rows as listed
from replay.reader import RunReader
from replay.seal.sealing import seal
from schemas.errors import UsageError, WorkError
from schemas.events import RunStarted
from schemas.recorded import RecordedRun
from tests.replay_grades.tools import digests
from tests.replay_grades.tools import rows as grade_rows

HEADER = {
    "version": 2,
    "status": "success",
    "eval": {
        "created": "2026-08-01T10:00:00+02:00",
        "task": "k8s/triage",
        "dataset": {"name": "mine"},
        "model": "ollama/qwen3:8b",
        "config": {},
    },
}


def sample(**changes: Any) -> dict[str, Any]:
    """A sample of a stranger with one call and an answer."""
    call = {
        "id": "c1",
        "function": "diagnose_pod",
        "arguments": {"pod": "api-1", "namespace": "shop"},
        "type": "function",
    }
    fields: dict[str, Any] = {
        "id": "oom-killed",
        "epoch": 1,
        "input": "why?",
        "target": "oom_killed",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "why?"},
            {"role": "assistant", "content": "let me look", "tool_calls": [call]},
            {"role": "tool", "content": "attachment://abc", "tool_call_id": "c1", "function": "diagnose_pod"},
            {
                "role": "assistant",
                "content": [
                    {"type": "reasoning", "reasoning": "hidden"},
                    {"type": "text", "text": "It was OOMKilled."},
                ],
            },
        ],
        "attachments": {"abc": "reason: OOMKilled"},
        "scores": {"match": {"value": "C"}, "other": {"value": 0.5}},
        "model_usage": {"ollama/qwen3:8b": {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}},
        "metadata": {"difficulty": "easy"},
        "events": [{"event": "model"}] * 3,
        "total_time": 4.5,
        "started_at": "2026-08-01T08:00:00+00:00",
    }
    return fields | changes


def log(path: Path, samples: list[dict[str, Any]], header: Any = HEADER) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in samples:
            archive.writestr(f"samples/{str(one['id']).replace('/', '-')}_epoch_{one['epoch']}.json", json.dumps(one))
        if header is not None:
            archive.writestr("header.json", json.dumps(header))
    return path


def run_of(path: Path, out: Path) -> RecordedRun:
    campaign = import_inspect([path], out).campaigns[0]
    return fold(run_files(Path(campaign.path))[0])


def test_a_sample_becomes_a_run_with_its_calls_results_and_visible_answer(tmp_path: Path) -> None:
    run = run_of(log(tmp_path / "a.eval", [sample()]), tmp_path / "out")
    (turn,) = run.turns
    assert (turn.user, turn.answer, turn.outcome) == ("why?", "It was OOMKilled.", "answered")
    (call,) = turn.calls
    assert (call.tool, call.arguments, call.ok) == ("diagnose_pod", {"pod": "api-1", "namespace": "shop"}, True)
    assert call.shown == "reason: OOMKilled"
    assert (turn.usage.input_tokens, turn.usage.output_tokens, turn.iterations) == (10, 3, 2)
    assert (run.model, run.status, run.duration_s) == ("ollama/qwen3:8b", "completed", 4.5)
    assert run.rubric.turns
    assert {"stimulus", "rubric"} <= set(run.not_recorded)
    assert "tool_results" not in run.not_recorded


def test_its_own_score_is_kept_as_a_grade_and_ours_stands_beside_it(tmp_path: Path) -> None:
    campaign = import_inspect([log(tmp_path / "a.eval", [sample()])], tmp_path / "out").campaigns[0]
    assert campaign.grader == "inspect-published-k8s-triage"
    assert campaign.unmapped == ("attachments", "events", "metadata.difficulty", "scores")
    stored = grade_rows(Path(campaign.path), "SELECT grader, verdict, reason FROM grades ORDER BY 1")
    assert stored[1] == ("inspect-published-k8s-triage", "pass", "published: pass")
    assert stored[0][0] == "claims"
    assert stored[0][1] in ("pass", "fail")


@pytest.mark.parametrize(
    ("change", "outcome", "status"),
    [
        (
            {"messages": [{"role": "user", "content": "why?"}, {"role": "assistant", "content": " "}]},
            "empty",
            "completed",
        ),
        ({"limit": {"type": "message", "limit": 6}}, "iteration_limit", "completed"),
        ({"error": {"message": "boom", "traceback": "", "traceback_ansi": ""}}, "answered", "harness_invalid"),
    ],
)
def test_a_sample_that_came_to_nothing_says_how(tmp_path: Path, change: Any, outcome: str, status: str) -> None:
    run = run_of(log(tmp_path / "a.eval", [sample(**change)]), tmp_path / "out")
    assert (run.turns[-1].outcome, run.status) == (outcome, status)
    if status == "harness_invalid":
        assert load("claims").grade(run, run.rubric).verdict == "not_gradable"


def test_calls_that_failed_or_were_malformed_are_told_apart(tmp_path: Path) -> None:
    calls = [
        {"id": "a", "function": "get_logs", "arguments": {}, "type": "function", "parse_error": "no JSON"},
        {"id": "b", "function": "get_logs", "arguments": {"pod": "x"}, "type": "function"},
        {"id": "c", "function": "get_logs", "arguments": {"pod": "y"}, "type": "function"},
    ]
    messages = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "", "tool_call_id": "a", "error": {"type": "parsing", "message": "no JSON"}},
        {"role": "tool", "content": "denied", "tool_call_id": "b", "error": {"type": "permission", "message": "no"}},
    ]
    run = run_of(log(tmp_path / "a.eval", [sample(messages=messages)]), tmp_path / "out")
    found = [(call.disposition, call.ok, call.error_class) for call in run.turns[0].calls]
    assert found == [
        ("malformed", False, "malformed"),
        ("executed", False, "forbidden"),
        ("discarded", False, "discarded"),
    ]
    assert run.turns[0].answer == ""


def test_each_user_message_begins_a_turn(tmp_path: Path) -> None:
    messages = [
        {"role": role, "content": text}
        for role, text in (("user", "one"), ("assistant", "first"), ("user", "two"), ("assistant", "second"))
    ]
    run = run_of(log(tmp_path / "a.eval", [sample(id="strange", messages=messages)]), tmp_path / "out")
    assert [(turn.user, turn.answer) for turn in run.turns] == [("one", "first"), ("two", "second")]
    assert run.case_kind == "journey"
    assert run.turns[0].usage.input_tokens is None
    assert [(row.input_tokens, row.output_tokens) for row in listed(tmp_path / "out")] == [(None, None)]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", "yesterday", 7])
def test_a_moment_that_no_calendar_holds_reads_as_1970(tmp_path: Path, moment: Any) -> None:
    log(tmp_path / "a.eval", [sample(started_at=moment)])
    campaign = import_inspect([tmp_path / "a.eval"], tmp_path / "out").campaigns[0]
    start = next(iter(RunReader(run_files(Path(campaign.path))[0]))).event
    assert isinstance(start, RunStarted)
    assert start.wall_time == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize("agent", [None, "", 7, ["oracle"]])
def test_an_agent_that_is_no_name_is_a_model(tmp_path: Path, agent: Any) -> None:
    ours = {"korvid": {"turns": [], "agent": agent}}
    assert run_of(log(tmp_path / "a.eval", [sample(metadata=ours)]), tmp_path / "out").agent == "model"


def test_ids_that_are_no_file_names_stay_apart(tmp_path: Path) -> None:
    samples = [sample(id="a/b"), sample(id="a b"), sample(id=7)]
    names = tmp_path / "a.eval"
    with zipfile.ZipFile(names, "w") as archive:
        for number, one in enumerate(samples):
            archive.writestr(f"samples/{number}.json", json.dumps(one))
        archive.writestr("header.json", json.dumps(HEADER))
    campaign = import_inspect([names], tmp_path / "out").campaigns[0]
    runs = [fold(path) for path in run_files(Path(campaign.path))]
    assert {run.case_id for run in runs} == {"a/b", "a b", "7"}
    assert set(campaign.unknown_cases) == {"a/b", "a b", "7"}


def zstd_log(path: Path, members: dict[str, bytes]) -> Path:
    """A zip whose members are compressed with zstd, as newer Inspects write them."""
    body, directory = b"", b""
    for name, data in members.items():
        packed = zstandard.ZstdCompressor().compress(data)
        crc, sizes = zlib.crc32(data), (len(packed), len(data))
        common = (20, 0, 93, 0, 33, crc, *sizes, len(name), 0)
        head = struct.pack("<IHHHHHIIIHH", 0x04034B50, *common)
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, *common, 0, 0, 0, 0, len(body)) + name.encode()
        body += head + name.encode() + packed
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(members), len(members), len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path


def members() -> dict[str, bytes]:
    return {
        "samples/oom-killed_epoch_1.json": json.dumps(sample()).encode(),
        "header.json": json.dumps(HEADER).encode(),
    }


def test_a_log_compressed_with_zstd_reads_like_a_deflated_one(tmp_path: Path) -> None:
    one = run_of(log(tmp_path / "a.eval", [sample()]), tmp_path / "a")
    two = run_of(zstd_log(tmp_path / "b.eval", members()), tmp_path / "b")
    assert one.turns == two.turns


@pytest.mark.parametrize("compressed", [False, True])
def test_no_flipped_bit_of_a_sample_is_read_as_something_else(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "a.eval"
    whole = (zstd_log(path, members()) if compressed else log(path, [sample()])).read_bytes()
    expected = list(evalzip.read_samples(path))
    end = whole.index(b"header.json") - 30
    refused = 0
    for at in range(30, end, 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        try:
            assert list(evalzip.read_samples(path)) == expected
        except (WorkError, UsageError):
            refused += 1
    assert refused > 20


def test_a_member_that_lies_about_its_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evalzip, "MAX_MEMBER_BYTES", 10_000)
    with pytest.raises(WorkError, match="more than 10000"):
        list(evalzip.read_samples(log(tmp_path / "a.eval", [sample(target="x" * 20_000)])))
    lying = zstd_log(tmp_path / "b.eval", {"samples/a.json": b"[]"})
    lying.write_bytes(lying.read_bytes().replace(zstandard.compress(b"[]"), zstandard.compress(b"[]")[:-1] + b"!"))
    with pytest.raises(WorkError, match="damaged"):
        list(evalzip.read_samples(lying))


def test_an_unfinished_log_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="recover it with Inspect"):
        import_inspect([log(tmp_path / "a.eval", [sample()], header=None)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("data", [b"", b"{}", b"PK\x03\x04 no zip"])
def test_what_is_no_eval_file_is_a_mistake_of_usage(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.eval").write_bytes(data)
    with pytest.raises(UsageError, match=r"not an Inspect \.eval log"):
        import_inspect([tmp_path / "a.eval"], tmp_path / "out")


def test_a_sample_that_is_none_names_its_member(tmp_path: Path) -> None:
    path = log(tmp_path / "a.eval", [sample(messages=[{"content": "no role"}])])
    with pytest.raises(WorkError, match=r"samples/oom-killed_epoch_1\.json: not a sample"):
        import_inspect([path], tmp_path / "out")


def test_the_same_file_is_imported_once(tmp_path: Path) -> None:
    path = log(tmp_path / "a.eval", [sample(), sample(epoch=2)])
    arguments = ["import", "inspect", str(path), "--out", str(tmp_path / "out"), "--json"]
    first = CliRunner().invoke(cli, arguments)
    before = digests(tmp_path / "out")
    second = CliRunner().invoke(cli, arguments)
    assert (first.exit_code, second.exit_code) == (0, 0), first.stderr + second.stderr
    assert [json.loads(done.stdout)["campaigns"][0]["written"] for done in (first, second)] == [True, False]
    assert digests(tmp_path / "out") == before


def test_a_campaign_that_was_sealed_since_is_found_with_all_its_runs(tmp_path: Path) -> None:
    path = log(tmp_path / "a.eval", [sample(), sample(epoch=2)])
    (first,) = import_inspect([path], tmp_path / "out").campaigns
    seal(Path(first.path))
    (second,) = import_inspect([path], tmp_path / "out").campaigns
    assert (second.runs, second.written) == (2, False)
