"""Folding a log to the run that graders see."""

import hashlib
import json
from pathlib import Path

import pytest
import zstandard

from recorder.log import RunLog
from replay import fold as fold_module
from replay.fold import WANTED, fold
from replay.reader import RunReader
from replay.sound import read_sound
from replay.verify import verify
from schemas.errors import LogError
from schemas.events import (
    ScreenAction,
    ToolCall,
    ToolResult,
    TurnFinished,
    TurnStarted,
)
from schemas.recorded import RecordedRun
from tests.builders import run_started
from tests.replay_grades.tools import pack, raw, reclosed


def whole(campaign: Path) -> Path:
    """A log that is whole and has a call."""
    return next(
        log for log in sorted(campaign.glob("runs/*")) if read_sound(log, WANTED) and b'"tool_call"' in raw(log)
    )


def folded_or_reason(log: Path) -> RecordedRun | str:
    """The run of a log, or why it is refused."""
    try:
        return fold(log)
    except LogError as error:
        return str(error)


def test_both_ways_of_reading_fold_every_log_to_the_same_run(pristine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = sorted(pristine.glob("runs/*"))
    quick = [fold(log) for log in logs]
    monkeypatch.setattr(fold_module, "read_sound", lambda *_: None)
    assert quick == [fold(log) for log in logs]
    assert any(read_sound(log, WANTED) is None for log in logs)
    assert sum(read_sound(log, WANTED) is not None for log in logs) > len(logs) // 2


def test_the_fold_has_the_calls_results_and_answer_of_the_log(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "case-r1-abc.jsonl.zst")
    log.append(run_started())
    log.append(TurnStarted(turn=1, user="why?"))
    for number, disposition in ((1, "executed"), (2, "discarded")):
        log.append(
            ToolCall(
                call=number,
                turn=1,
                iteration=1,
                request=1,
                call_id=f"c{number}",
                tool="open_logs",
                arguments_raw="{}",
                arguments={},
                disposition=disposition,
            )
        )
    log.append(ToolResult(call=1, tool="open_logs", ok=True, result="whole text", shown="shown text"))
    log.append(ScreenAction(call=1, turn=1, tool="open_logs", arguments={}, ok=True, message="opened"))
    log.append(ToolResult(call=2, tool="open_logs", ok=False, result="ERROR", error_class="discarded"))
    log.append(
        TurnFinished(
            turn=1, outcome="answered", answer="lone \ud800 surrogate", iterations=1, tool_calls=2, duration_s=1.0
        )
    )
    log.finish("completed")
    run = fold(log.path)
    (turn,) = run.turns
    assert run.status == "completed"
    assert turn.answer == "lone \ud800 surrogate"
    assert [(call.shown, call.ok, call.screen_action) for call in turn.calls] == [
        ("shown text", True, True),
        ("ERROR", False, False),
    ]
    assert turn.calls[1].error_class == "discarded"


def test_a_torn_log_folds_to_a_run_without_a_status(campaign: Path) -> None:
    log = whole(campaign)
    data = log.read_bytes()
    log.write_bytes(data[: len(data) * 2 // 3])
    run = fold(log)
    assert run.status is None
    assert run.log_sha256 != ""


def test_every_flipped_byte_is_refused_or_changes_nothing(pristine: Path, tmp_path: Path) -> None:
    log = whole(pristine)
    copy = tmp_path / log.name
    data = bytearray(log.read_bytes())
    right = fold(log)
    for at in range(0, len(data), max(1, len(data) // 60)):
        data[at] ^= 0x10
        copy.write_bytes(data)
        data[at] ^= 0x10
        found = folded_or_reason(copy)
        # A damaged end reads as a torn log: less is known, and nothing else.
        assert copy.name in found if isinstance(found, str) else found == right or found.status is None


def test_a_log_in_which_any_event_is_missing_is_refused_by_name(pristine: Path, tmp_path: Path) -> None:
    log = whole(pristine)
    lines = raw(log).splitlines(keepends=True)
    copy = tmp_path / log.name
    for missing in range(len(lines) - 1):
        pack(copy, b"".join(lines[:missing] + lines[missing + 1 :]))
        with pytest.raises(LogError, match=r"is missing|not run_started") as error:
            fold(copy)
        assert str(copy) in str(error.value)


def test_a_result_taken_out_by_a_careful_forger_is_missed(pristine: Path, tmp_path: Path) -> None:
    log = whole(pristine)
    lines = raw(log).splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(b'{"type":"tool_result"')]
    assert len(kept) < len(lines)
    copy = tmp_path / log.name
    pack(copy, reclosed(kept))
    with pytest.raises(LogError, match="call 1 has no tool_result: the event is missing"):
        fold(copy)


@pytest.mark.parametrize(
    ("dropped", "missing"),
    [
        ("a call with its result", "counts [0-9]+ calls?, the log has [0-9]+: an event is missing"),
        ("a turn's end", "turn [0-9]+ has no turn_finished: the event is missing"),
        ("a whole turn", "turn [0-9]+ has no turn_started: the event is missing"),
    ],
)
def test_events_that_a_careful_forger_took_out_together_are_missed(
    dropped: str, missing: str, pristine: Path, tmp_path: Path
) -> None:
    log = next(
        log for log in sorted(pristine.glob("runs/*")) if fold(log).status == "completed" and fold(log).turns[-1].calls
    )
    lines = [line for line in raw(log).split(b"\n") if line]
    if dropped == "a call with its result":
        call = next(json.loads(line)["call"] for line in lines if b'"type":"tool_result"' in line)
        mark = b'"call":%d,' % call
        kept = [
            line for line in lines if not (mark in line and line.startswith((b'{"type":"tool_', b'{"type":"screen_a')))
        ]
    else:
        last = max(json.loads(line)["turn"] for line in lines if b'"type":"turn_started"' in line)
        kinds = ("turn_finished",) if dropped == "a turn's end" else ("turn_started", "turn_finished", "tool_call")
        gone = [event for event in map(json.loads, lines) if event["type"] in kinds and event.get("turn") == last]
        calls = {event["call"] for event in gone if event["type"] == "tool_call"}
        kept = [
            line
            for line in lines
            if (event := json.loads(line)) not in gone
            and not (event["type"] in ("tool_result", "screen_action") and event["call"] in calls)
        ]
    assert len(kept) < len(lines)
    copy = tmp_path / log.name
    pack(copy, reclosed(kept))
    assert {check.state for check in verify(copy)} == {"complete"}
    with pytest.raises(LogError, match=missing):
        fold(copy)


@pytest.mark.parametrize("part", ["rubric", "stimulus"])
def test_a_case_that_is_not_the_one_its_digest_names_is_refused(part: str, pristine: Path, tmp_path: Path) -> None:
    log = whole(pristine)
    lines = raw(log).splitlines(keepends=True)
    start = json.loads(lines[0])
    start[part]["turns"] = start[part]["turns"] * 2
    copy = tmp_path / log.name
    pack(copy, reclosed([json.dumps(start).encode(), *lines[1:]]))
    with pytest.raises(LogError, match=f"the {part} has SHA-256"):
        fold(copy)


def test_a_log_under_the_name_of_another_run_is_refused(pristine: Path, tmp_path: Path) -> None:
    log = whole(pristine)
    copy = tmp_path / "other-r1.jsonl.zst"
    copy.write_bytes(log.read_bytes())
    with pytest.raises(LogError, match="this is the log of run"):
        fold(copy)


def test_a_log_of_several_frames_is_left_to_the_reader_and_folds_the_same(pristine: Path, tmp_path: Path) -> None:
    log = whole(pristine)
    data = raw(log)
    middle = data.index(b"\n", len(data) // 2) + 1
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    copy = tmp_path / log.name
    copy.write_bytes(compressor.compress(data[:middle]) + compressor.compress(data[middle:]))
    assert read_sound(copy, WANTED) is None
    assert fold(copy) == fold(log)


def test_a_log_of_many_events_is_as_sound_as_one_of_few(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "case-r1-abc.jsonl.zst")
    log.append(run_started())
    for number in range(1, 1500):
        log.append(TurnStarted(turn=number, user="and now?"))
    log.finish("completed")
    found = read_sound(log.path, WANTED)
    assert found is not None
    assert (found.events, found.sha256) == (1501, hashlib.sha256(raw(log.path)).hexdigest())
    assert [kind for kind, _ in found.lines].count(b"turn_started") == 1499


def test_what_is_sound_is_complete_to_the_reader_too(pristine: Path) -> None:
    for log in sorted(pristine.glob("runs/*")):
        sound = read_sound(log, WANTED)
        reader = RunReader(log)
        lines = [record.line for record in reader]
        assert reader.end is not None
        assert (sound is not None) == (reader.end.state == "complete")
        if sound is not None:
            assert (sound.sha256, sound.events, sound.raw_bytes) == (
                reader.end.sha256,
                reader.end.events,
                reader.end.raw_bytes,
            )
            wanted = [line[:-1] for line in lines if line[9 : line.index(b'"', 9)] in WANTED]
            assert [line for _, line in sound.lines] == wanted


def test_a_log_torn_within_its_first_event_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    log = tmp_path / "case-r1.jsonl.zst"
    log.write_bytes(b"")
    with pytest.raises(LogError, match="before its first event ends; set it aside"):
        fold(log)
