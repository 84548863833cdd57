"""What the views say of logs: whole, torn, damaged, hostile and old."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.sql.session import Session
from schemas.errors import UsageError, WorkError
from tests.replay_sql.logs import damaged_run, open_run, play_turn, torn_run, whole_run


def ask(campaign: Path, statement: str) -> list[tuple[Any, ...]]:
    with Session([campaign]) as session:
        return list(session.query(statement).rows())


def test_a_whole_run_has_its_identity_its_counts_and_its_tokens(tmp_path: Path) -> None:
    whole_run(tmp_path, "case-r1-abc", seed=7)
    (row,) = ask(
        tmp_path,
        "SELECT run_id, campaign_id, case_id, root_cause, repetition, attempt, agent, model, tier, seed, status, "
        "outcome, turns, iterations, requests, tool_calls, model_errors, input_tokens, output_tokens, "
        "tokens_estimated, latest, path FROM runs",
    )
    assert row[:12] == (
        *("case-r1-abc", "c-abc", "case", "bad_command", 1, 1, "model", "ollama/tiny", "low", 7),
        *("completed", "answered"),
    )
    assert row[12:] == (1, 2, 1, 2, 1, 300, 20, False, True, str(tmp_path / "runs" / "case-r1-abc.jsonl.zst"))


def test_every_kind_of_event_is_in_its_view(tmp_path: Path) -> None:
    whole_run(tmp_path, "case-r1-abc", result="exit 137 for sure")
    assert ask(tmp_path, "SELECT turn, user, outcome, answer, tokens_estimated FROM turns") == [
        (1, "why does it restart?", "answered", "It ran out of memory.", False)
    ]
    assert ask(tmp_path, "SELECT id, role, content, tool_calls, message FROM messages") == [
        (0, "user", "why?", None, '{"role":"user","content":"why?"}')
    ]
    assert ask(
        tmp_path, "SELECT message_ids, messages, options ->> '$.options.seed', redacted FROM model_requests"
    ) == [([[0, 0]], 1, "1", False)]
    assert ask(
        tmp_path,
        "SELECT input_tokens, cached_tokens, tool_calls ->> '$[0].name', server_usage ->> '$.prompt_eval_count' "
        "FROM model_responses",
    ) == [(100, None, "get_logs", "100")]
    assert ask(tmp_path, "SELECT request, error_class, will_retry, content FROM model_errors") == [
        (2, "timeout", True, "")
    ]
    assert ask(tmp_path, "SELECT call, arguments ->> '$.pod', disposition, origin FROM tool_calls ORDER BY call") == [
        (1, "a", "executed", "native"),
        (2, None, "malformed", "native"),
    ]
    assert ask(tmp_path, "SELECT result, shown, duration_s FROM tool_results") == [
        ("exit 137 for sure", "exit 137 f", 0.1)
    ]
    assert ask(tmp_path, "SELECT tool, arguments ->> '$.pod', ok FROM screen_actions") == [("open_logs", "a", True)]
    assert ask(tmp_path, "SELECT case_id, root_cause, question, rubric ->> '$.root_cause' FROM cases") == [
        ("case", "bad_command", "why does it restart?", "bad_command")
    ]
    assert ask(tmp_path, "FROM journal") == []


def test_a_torn_log_is_interrupted_and_keeps_what_came_before_the_tear(tmp_path: Path) -> None:
    whole_run(tmp_path, "case-r1-abc")
    torn_run(tmp_path, "case-r2-abc", repetition=2)
    assert ask(tmp_path, "SELECT run_id, status, tool_calls FROM runs ORDER BY ALL") == [
        ("case-r1-abc", "completed", 2),
        ("case-r2-abc", "interrupted", 2),
    ]
    assert ask(tmp_path, "SELECT run_id, user, outcome FROM turns ORDER BY ALL") == [
        ("case-r1-abc", "why does it restart?", "answered"),
        ("case-r2-abc", "why does it restart?", None),
    ]


@pytest.mark.parametrize("kept", [0, 1, 17])
def test_a_log_torn_before_its_first_event_is_named_after_its_file(tmp_path: Path, kept: int) -> None:
    path = whole_run(tmp_path, "case-r1-abc")
    path.write_bytes(path.read_bytes()[:kept])
    assert ask(tmp_path, "SELECT run_id, status, campaign_id, events FROM runs") == [
        ("case-r1-abc", "interrupted", None, 0)
    ]


def test_a_damaged_log_is_corrupt_and_in_no_other_view(tmp_path: Path) -> None:
    whole_run(tmp_path, "case-r1-abc")
    damaged_run(tmp_path, "case-r2-abc", repetition=2)
    notes: list[str] = []
    with Session([tmp_path], note=notes.append) as session:
        assert list(session.query("SELECT run_id, status FROM runs ORDER BY run_id").rows())[1] == (
            "case-r2-abc",
            "corrupt",
        )
        assert list(session.query("SELECT DISTINCT run_id FROM tool_calls").rows()) == [("case-r1-abc",)]
    assert notes == ["1 corrupt log has a row in runs and no other; korvid-replay verify says why"]


def test_an_edited_log_is_corrupt_although_it_decompresses(tmp_path: Path) -> None:
    path = whole_run(tmp_path, "case-r1-abc")
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    path.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(raw.replace(b"exit 137", b"exit 139")))
    assert ask(tmp_path, "SELECT status FROM runs") == [("corrupt",)]


def test_a_log_in_which_an_event_is_missing_is_corrupt_although_its_digest_was_made_to_fit(tmp_path: Path) -> None:
    path = whole_run(tmp_path, "case-r1-abc")
    lines = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()).splitlines(keepends=True)
    gone = next(number for number, line in enumerate(lines) if b'"tool_result"' in line)
    kept = b"".join(lines[:gone] + lines[gone + 1 : -1])
    last = json.loads(lines[-1]) | {"sha256": hashlib.sha256(kept).hexdigest()}
    kept += json.dumps(last, separators=(",", ":")).encode() + b"\n"
    path.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(kept))
    assert ask(tmp_path, "SELECT status FROM runs") == [("corrupt",)]
    assert ask(tmp_path, "SELECT * FROM turns") == []


def test_of_several_attempts_the_newest_is_latest(tmp_path: Path) -> None:
    torn_run(tmp_path, "case-r1-abc")
    whole_run(tmp_path, "case-r1a2-abc", attempt=2)
    whole_run(tmp_path, "case-r2-abc", repetition=2)
    assert ask(tmp_path, "SELECT run_id, latest FROM runs ORDER BY run_id") == [
        ("case-r1-abc", False),
        ("case-r1a2-abc", True),
        ("case-r2-abc", True),
    ]


HOSTILE = (
    "'; DROP VIEW runs; --",
    'quotes " and \\ and {"type":"run_finished","seq":0,"t":0}',
    "line\nbreaks\r\nand\ttabs\x00and\x1b[31mcolours",
    "umlaut ä, emoji 🧨, noncharacter \ufdd0, right-to-left \u202e",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_comes_back_as_it_was_recorded(tmp_path: Path, text: str) -> None:
    whole_run(tmp_path, "case-r1-abc", answer=text, result=text)
    assert ask(tmp_path, "SELECT answer FROM turns") == [(text.replace("\ufdd0", "\ufdd0fdd0"),)]
    assert ask(tmp_path, "SELECT result FROM tool_results")[0][0].startswith(text[:2])


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(answers=st.lists(st.text(st.characters(exclude_characters="\ufdd0", exclude_categories=["Cs"])), min_size=20))
def test_any_answer_comes_back_as_it_was_recorded(tmp_path_factory: pytest.TempPathFactory, answers: list[str]) -> None:
    campaign = tmp_path_factory.mktemp("any")
    for number, answer in enumerate(answers, start=1):
        whole_run(campaign, f"case-r{number}-abc", repetition=number, answer=answer)
    found = ask(campaign, "SELECT answer FROM turns JOIN runs USING (run_id) ORDER BY repetition")
    assert [answer for (answer,) in found] == answers


def test_a_lone_surrogate_is_shown_as_the_log_writes_it(tmp_path: Path) -> None:
    whole_run(tmp_path, "case-r1-abc", answer="half \ud83d pair")
    assert ask(tmp_path, "SELECT answer FROM turns") == [("half \ufdd0d83d pair",)]


def test_a_line_of_many_megabytes_is_read(tmp_path: Path) -> None:
    whole_run(tmp_path, "case-r1-abc", result="x" * 20_000_000)
    assert ask(tmp_path, "SELECT length(result) FROM tool_results") == [(20_000_000,)]


def test_names_of_directories_may_hold_quotes(tmp_path: Path) -> None:
    campaign = tmp_path / 'it\'s "quoted"'
    whole_run(campaign, "case-r1-abc")
    assert ask(campaign, "SELECT count(*) FROM runs JOIN turns USING (run_id)") == [(1,)]


def test_a_log_that_is_no_json_inside_costs_time_and_not_the_answer(tmp_path: Path) -> None:
    """Half a surrogate pair as an escape: its digest holds, and no JSON parser of ours takes it."""
    lines = _lines(tmp_path, "case-r1-abc")
    lines[2] = lines[2].replace(b'"why?"', b'"why \\ud83d?"')
    _rewrite(tmp_path, "case-r1-abc", lines)
    whole_run(tmp_path, "case-r2-abc", repetition=2)
    assert ask(tmp_path, "SELECT run_id, content FROM messages") == [("case-r2-abc", "why?")]


def test_a_number_that_its_column_cannot_hold_is_null(tmp_path: Path) -> None:
    lines = _lines(tmp_path, "case-r1-abc")
    lines[6] = lines[6].replace(b'"call":1', b'"call":%d' % 10**30)
    _rewrite(tmp_path, "case-r1-abc", lines)
    whole_run(tmp_path, "case-r2-abc", repetition=2)
    assert ask(tmp_path, "SELECT run_id, call FROM tool_results ORDER BY run_id") == [
        ("case-r1-abc", None),
        ("case-r2-abc", 1),
    ]


def test_an_event_of_an_unknown_type_does_no_harm(tmp_path: Path) -> None:
    lines = _lines(tmp_path, "case-r1-abc")
    lines[2] = b'{"type":"moon_phase","seq":2,"t":0.0,"phase":"full"}\n'
    _rewrite(tmp_path, "case-r1-abc", lines)
    assert ask(tmp_path, "SELECT status, events FROM runs") == [("completed", 12)]


def test_a_log_of_a_newer_schema_is_corrupt_with_the_version_it_needs(tmp_path: Path) -> None:
    lines = _lines(tmp_path, "case-r1-abc")
    lines[0] = lines[0].replace(b'"schema_version":1', b'"schema_version":99')
    _rewrite(tmp_path, "case-r1-abc", lines)
    ((status, reason),) = ask(tmp_path, "SELECT status, status_reason FROM runs")
    assert status == "corrupt"
    assert "99" in reason


def test_campaigns_come_from_their_manifests(tmp_path: Path) -> None:
    whole_run(tmp_path / "a", "case-r1-abc")
    manifest = {"campaign_id": "c-abc", "arm": "", "pack": {"name": "scenarios", "count": 25}, "repetitions": 3}
    (tmp_path / "a" / "campaign.json").write_text(json.dumps(manifest))
    whole_run(tmp_path / "b", "case-r1-def")
    assert ask(tmp_path, "SELECT campaign_id, pack, cases, planned, publishable FROM campaigns ORDER BY path") == [
        ("c-abc", "scenarios", 25, 75, None),
        (None, None, None, None, None),
    ]


def test_a_broken_manifest_is_named(tmp_path: Path) -> None:
    whole_run(tmp_path, "case-r1-abc")
    (tmp_path / "campaign.json").write_text("[]")
    with pytest.raises(WorkError, match=r"campaign\.json"):
        ask(tmp_path, "FROM campaigns")


def test_a_directory_without_a_campaign_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a campaign"):
        ask(tmp_path, "FROM runs")


def test_a_copied_campaign_is_told_of(tmp_path: Path) -> None:
    for copy in ("a", "b"):
        whole_run(tmp_path / copy, "case-r1-abc")
    notes: list[str] = []
    with Session([tmp_path], note=notes.append) as session:
        assert list(session.query("SELECT count(*) FROM turns").rows()) == [(4,)]
    assert "1 run id is in several of these campaigns" in notes[0]


def test_a_campaign_named_twice_counts_once(tmp_path: Path) -> None:
    whole_run(tmp_path / "a", "case-r1-abc")
    with Session([tmp_path, tmp_path / "a"]) as session:
        assert list(session.query("SELECT count(*) FROM runs").rows()) == [(1,)]


def test_a_run_without_known_tokens_has_none(tmp_path: Path) -> None:
    log = open_run(tmp_path, "case-r1-abc")
    log.finish("provider_error", reason="unreachable")
    assert ask(tmp_path, "SELECT status, status_reason, input_tokens, turns FROM runs") == [
        ("provider_error", "unreachable", None, 0)
    ]


def _lines(campaign: Path, run_id: str) -> list[bytes]:
    log = open_run(campaign, run_id)
    play_turn(log)
    log.finish("completed")
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(log.path.read_bytes())
    return raw.splitlines(keepends=True)


def _rewrite(campaign: Path, run_id: str, lines: list[bytes]) -> None:
    """Write the lines as a log whose closing digest holds."""
    closing = json.loads(lines[-1])
    closing["sha256"] = hashlib.sha256(b"".join(lines[:-1])).hexdigest()
    lines[-1] = json.dumps(closing, separators=(",", ":")).encode() + b"\n"
    data = zstandard.ZstdCompressor(write_checksum=True).compress(b"".join(lines))
    (campaign / "runs" / f"{run_id}.jsonl.zst").write_bytes(data)
