import random
import subprocess
import tracemalloc
from pathlib import Path

import duckdb
import msgspec
import pytest
import zstandard

from replay import reader as reader_module
from replay.reader import RunReader, read_all
from schemas.errors import LogError
from schemas.events import RunFinished, RunStarted, TurnStarted, Unknown
from schemas.upcast import STEPS
from tests.builders import finished_log, open_log, run_started


def lines_of(path: Path) -> tuple[list[bytes], RunReader]:
    reader = RunReader(path)
    return [record.line for record in reader], reader


def rewrite(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(b"".join(lines)))


def closed(lines: list[bytes]) -> list[bytes]:
    """The lines with `run_finished` recomputed, as a tool that adds fields would leave them."""
    import hashlib
    import json

    last = json.loads(lines[-1])
    last["sha256"] = hashlib.sha256(b"".join(lines[:-1])).hexdigest()
    last["events"] = len(lines)
    return [*lines[:-1], json.dumps(last).encode() + b"\n"]


def test_a_finished_log_reads_back_whole_and_says_complete(tmp_path: Path) -> None:
    path = finished_log(tmp_path, results=5)
    records, end = read_all(path)
    assert [record.event.seq for record in records] == list(range(len(records)))
    assert isinstance(records[0].event, RunStarted)
    assert isinstance(records[-1].event, RunFinished)
    assert end.state == "complete"
    assert end.raw_bytes == sum(len(record.line) for record in records)


def test_a_log_cut_anywhere_in_its_last_4_kib_is_interrupted_and_what_is_read_is_right(tmp_path: Path) -> None:
    path = finished_log(tmp_path, results=60)
    data, (good, _) = path.read_bytes(), lines_of(path)
    cut = tmp_path / "cut.jsonl.zst"
    for size in range(max(0, len(data) - 4096), len(data)):
        cut.write_bytes(data[:size])
        lines, reader = lines_of(cut)
        assert lines == good[: len(lines)]
        assert reader.end is not None
        assert reader.end.state == "interrupted"
        assert f"interrupted at byte {sum(map(len, lines))} " in reader.end.describe()


def test_a_flipped_bit_anywhere_is_never_an_accepted_wrong_reading(tmp_path: Path) -> None:
    path = finished_log(tmp_path, results=60)
    data, (good, _) = path.read_bytes(), lines_of(path)
    flipped = tmp_path / "flipped.jsonl.zst"
    rng = random.Random(20260801)
    for _ in range(400):
        position = rng.randrange(len(data))
        damaged = bytearray(data)
        damaged[position] ^= 1 << rng.randrange(8)
        flipped.write_bytes(damaged)
        lines, reader = lines_of(flipped)
        assert reader.end is not None
        if reader.end.state == "complete":
            assert lines == good, f"byte {position}"


def test_damage_in_the_stream_is_placed_at_its_byte(tmp_path: Path) -> None:
    path = finished_log(tmp_path, results=60)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 8] = b"\xff" * 8
    path.write_bytes(data)
    _, reader = lines_of(path)
    assert reader.end is not None
    assert reader.end.state == "corrupt"
    assert abs(reader.end.file_bytes - middle) < 4096
    with pytest.raises(LogError, match=str(path)):
        read_all(path)


def test_a_log_of_several_frames_is_read_to_its_end(tmp_path: Path) -> None:
    path = finished_log(tmp_path, results=4)
    lines, _ = lines_of(path)
    compressor = zstandard.ZstdCompressor()
    path.write_bytes(b"".join(compressor.compress(line) for line in lines))
    again, reader = lines_of(path)
    assert again == lines
    assert reader.end is not None
    assert reader.end.state == "complete"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: [*lines[:3], *lines[4:]], "event number 3 is missing"),
        (lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]], "event number 3 is missing"),
        (lambda lines: [*lines[:3], lines[2], *lines[3:]], "event number 3 is missing"),
        (lambda lines: lines[1:], "the first event is not run_started"),
        (lambda lines: [*lines, lines[-1]], "an event follows run_finished"),
        (lambda lines: [*lines[:2], lines[2].replace(b"restart", b"RESTART"), *lines[3:]], "have SHA-256"),
        (lambda lines: [*lines[:2], b"not json\n", *lines[3:]], "not an event"),
        (lambda lines: [lines[0].replace(b'"schema_version":1', b'"schema_version":2'), *lines[1:]], "reads up to 1"),
    ],
)
def test_a_log_that_was_changed_is_corrupt_and_says_why(tmp_path: Path, change: object, reason: str) -> None:
    log = open_log(tmp_path)
    for number in range(6):
        log.append(TurnStarted(turn=number, user="why does it restart"))
    log.finish("completed")
    lines, _ = lines_of(log.path)
    rewrite(log.path, change(lines))  # type: ignore[operator]
    _, reader = lines_of(log.path)
    assert reader.end is not None
    assert reader.end.state == "corrupt"
    assert reason in reader.end.reason


def test_bytes_after_the_end_are_not_ignored(tmp_path: Path) -> None:
    path = finished_log(tmp_path, results=2)
    path.write_bytes(path.read_bytes() + b"trailing")
    _, reader = lines_of(path)
    assert reader.end is not None
    assert reader.end.state == "corrupt"


def test_fields_and_events_that_this_build_does_not_know_survive(tmp_path: Path) -> None:
    path = finished_log(tmp_path, results=2)
    lines, _ = lines_of(path)
    lines[1] = lines[1].replace(b'"turn":1', b'"turn":1,"mood":"curious"')
    lines.insert(-1, b'{"type":"dream","seq":%d,"t":9.0,"of":"sheep"}\n' % (len(lines) - 1))
    lines[-1] = lines[-1].replace(b'"seq":%d' % (len(lines) - 2), b'"seq":%d' % (len(lines) - 1))
    rewrite(path, closed(lines))
    records, end = read_all(path)
    assert end.state == "complete"
    assert b'"mood":"curious"' in records[1].line
    assert isinstance(records[-2].event, Unknown)
    assert msgspec.json.decode(records[-2].line)["of"] == "sheep"


def test_a_reader_that_wants_few_types_still_checks_them_all(tmp_path: Path) -> None:
    path = finished_log(tmp_path, results=8)
    wanted = frozenset((b"run_started", b"run_finished"))
    reader = RunReader(path, wanted=wanted)
    assert [type(record.event) for record in reader] == [RunStarted, RunFinished]
    assert reader.end is not None
    assert (reader.end.state, reader.end.events) == ("complete", 12)
    lines, _ = lines_of(path)
    rewrite(path, [*lines[:4], *lines[5:]])
    damaged = RunReader(path, wanted=wanted)
    assert len(list(damaged)) == 1
    assert damaged.end is not None
    assert "event number 4 is missing" in damaged.end.reason


def test_a_long_line_is_read_in_linear_steps(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    rng = random.Random(5)
    text = "".join(rng.choices("abcdefghij \n", k=3_000_000))
    log.append(TurnStarted(turn=1, user=text))
    log.finish("completed")
    records, end = read_all(log.path)
    assert end.state == "complete"
    assert isinstance(records[1].event, TurnStarted)
    assert records[1].event.user == text


def test_an_old_version_passes_through_its_upcaster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = finished_log(tmp_path, results=1)
    lines, _ = lines_of(path)
    lines[0] = lines[0].replace(b'"schema_version":1', b'"schema_version":0')
    lines[1] = lines[1].replace(b'"user":', b'"question":')
    rewrite(path, closed(lines))
    _, reader = lines_of(path)
    assert reader.end is not None
    assert "not a version that was ever written" in reader.end.reason
    monkeypatch.setattr("schemas.upcast._FIRST", 0)
    monkeypatch.setitem(STEPS, 0, lambda line: line.replace(b'"question":', b'"user":'))
    records, end = read_all(path)
    assert end.state == "complete"
    assert isinstance(records[1].event, TurnStarted)


def log_of_odd_text(directory: Path) -> Path:
    """A log with text that not every JSON reader takes: half a surrogate pair, and what is no character."""
    log = open_log(directory)
    log.append(TurnStarted(turn=1, user="half an emoji \ud83d and a \ufdd0"))
    log.finish("completed")
    return log.path


@pytest.mark.slow
def test_jq_reads_the_file_as_it_lies(tmp_path: Path) -> None:
    """Needs `zstdcat` and `jq`, which nothing else does."""
    path = log_of_odd_text(tmp_path)
    types = subprocess.run(
        f"zstdcat '{path}' | jq -c .type", shell=True, capture_output=True, text=True, check=True
    ).stdout.split()
    assert types == ['"run_started"', '"turn_started"', '"run_finished"']


def test_duckdb_reads_the_file_as_it_lies(tmp_path: Path) -> None:
    path = log_of_odd_text(tmp_path)
    rows = duckdb.sql(
        f"SELECT type, seq FROM read_json('{path}', format='newline_delimited', "
        "columns={type: 'VARCHAR', seq: 'BIGINT'}) ORDER BY seq"
    ).fetchall()
    assert rows == [("run_started", 0), ("turn_started", 1), ("run_finished", 2)]


def test_a_log_is_never_written_over(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.close()
    with pytest.raises(LogError, match="cannot create the log: File exists"):
        open_log(tmp_path)
    assert run_started().seq == -1


@pytest.mark.parametrize("end", [b"", b'"}\n'])
def test_a_line_longer_than_any_event_is_corrupt_before_all_of_it_is_held(
    end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "MAX_LINE_BYTES", 1 << 20)
    *before, last = lines_of(finished_log(tmp_path, results=1))[0]
    bomb = b'{"type":"tool_result","seq":%d,"t":1,"result":"' % len(before) + bytes(64 << 20) + end
    path = tmp_path / "bomb.jsonl.zst"
    rewrite(path, [*before, bomb, last])
    assert path.stat().st_size < 50_000
    tracemalloc.start()
    read, reader = lines_of(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert read == before
    assert reader.end is not None
    assert reader.end.state == "corrupt"
    assert "an event is longer than 1 MiB" in reader.end.reason
    assert peak < 200 << 20
