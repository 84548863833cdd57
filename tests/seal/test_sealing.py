"""Sealing and unsealing a campaign."""

import fcntl
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import duckdb
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder.plan import remaining
from replay.campaigns import logs_in
from replay.reader import RunReader, read_all, whole_lines
from replay.seal import packing, sealing
from replay.seal.recovering import recover
from replay.seal.sealing import seal
from replay.seal.unsealing import unseal
from replay.sealed import read_index
from replay.verify import verify
from schemas.errors import LogError, UsageError, WorkError
from schemas.sealed import encode_index
from tests.seal.campaigns import campaign, files, noise, pod_logs, raw, record


def test_an_unsealed_campaign_is_byte_for_byte_what_was_sealed_the_torn_log_too(plain: Path) -> None:
    before = files(plain)
    done = seal(plain, level=3)
    assert set(files(plain)) == {"campaign.json", "events.jsonl.zst", "events.index.json", "SHA256SUMS"}
    assert (done.runs, done.interrupted, done.already) == (8, 1, False)
    assert done.torn_bytes > 0
    back = unseal(plain)
    assert files(plain) == before
    assert (back.identical, back.recompressed, back.tails) == (8, (), ())


def test_every_run_reads_the_same_sealed_and_not(plain: Path, several_frames: None) -> None:
    before = {log.run_id: read_all(log) for log in logs_in(plain)}
    seal(plain, level=3)
    assert len(read_index(plain).frames) > 2
    after = {log.run_id: read_all(log) for log in logs_in(plain)}
    assert {run: records for run, (records, _) in after.items()} == {
        run: records for run, (records, _) in before.items()
    }
    ends = {run: (end.state, end.events, end.raw_bytes, end.sha256) for run, (_, end) in before.items()}
    assert {run: (end.state, end.events, end.raw_bytes, end.sha256) for run, (_, end) in after.items()} == ends


def test_progress_tells_each_thing_that_is_done_run_by_run(plain: Path) -> None:
    told: list[tuple[str, int]] = []
    seal(plain, level=3, progress=lambda what, done: told.append((what, done)))
    assert told == [(what, done) for what in ("checking", "packing", "comparing") for done in range(1, 9)]


def test_an_index_of_ordinary_runs_says_no_more_of_each_than_its_id_and_length(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c", torn=False)
    seal(directory, level=3)
    written = json.loads((directory / "events.index.json").read_bytes())
    (row,) = written["frames"]
    assert [type(member) for member in row] == [int, str, str, list, list]
    assert written["id_suffix"] == "-abc"
    assert [f"{name}-abc" for name in row[3]] == [run.run_id for _, run in read_index(directory).runs()]
    assert row[4] == [run.length for _, run in read_index(directory).runs()]


def test_sealed_events_are_no_larger_than_the_raw_logs_in_one_archive(tmp_path: Path) -> None:
    directory = tmp_path / "c"
    directory.mkdir()
    for number in range(60):
        record(
            directory, f"case{number}", results=(pod_logs(number, 60), "shared text " * 40, pod_logs(-number - 1, 60))
        )
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for log in logs_in(directory):
            data = b"".join(whole_lines(log))
            member = tarfile.TarInfo(log.run_id)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    seal(directory)
    assert (directory / "events.jsonl.zst").stat().st_size <= len(
        zstandard.ZstdCompressor(level=19).compress(archive.getvalue())
    )


def test_a_frame_of_one_large_run_asks_for_no_larger_window_than_others(tmp_path: Path) -> None:
    directory = tmp_path / "c"
    directory.mkdir()
    record(directory, "large", results=("nine bytes" * (1 << 20),))
    seal(directory, level=22)
    head = (directory / "events.jsonl.zst").read_bytes()[:18]
    assert zstandard.get_frame_parameters(head).window_size == 8 << 20


def test_where_one_file_of_a_frame_cannot_be_had_back_all_its_ordinary_ones_are_told(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = raw(plain)
    seal(plain, level=3)
    monkeypatch.setattr(packing, "_WRITER_LEVEL", 5)
    back = unseal(plain)
    assert len(back.recompressed) == 8
    assert back.tails == ("api-1-r3-abc.jsonl.zst.tail",)
    assert raw(plain) == before


def test_runs_lie_by_case_then_repetition_then_attempt(sealed: Path) -> None:
    assert [run.run_id for _, run in read_index(sealed).runs()] == [
        "api-1-r1-abc",
        "api-1-r2-abc",
        "api-1-r3-abc",
        "api-1-r3a2-abc",
        "api-10-r1-abc",
        "api-10-r2-abc",
        "pod-down-r1-abc",
        "pod-down-r2-abc",
    ]


def test_sealing_the_same_campaign_twice_gives_the_same_bytes(tmp_path: Path, plain: Path) -> None:
    seal(plain, level=3)
    first = files(plain)
    unseal(plain)
    seal(plain, level=3)
    assert files(plain) == first


def test_common_tools_read_the_sealed_file_as_it_lies(sealed: Path) -> None:
    with zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO((sealed / "events.jsonl.zst").read_bytes()), read_across_frames=True
    ) as stream:
        lines = stream.read().splitlines()
    rows = duckdb.sql(f"SELECT count(*), count(DISTINCT run_id) FROM read_json('{sealed}/events.jsonl.zst')").fetchall()
    assert rows == [(len(lines), 8)]
    assert all(json.loads(line)["type"] for line in lines)
    check = subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=sealed, capture_output=True, check=False)
    assert check.returncode == 0, check.stderr


def test_the_sums_name_grades_and_stay_true_when_more_are_added(plain: Path) -> None:
    (plain / "grades").mkdir()
    (plain / "grades" / "a.parquet").write_bytes(b"a")
    (plain / "grades" / ".scratch").write_bytes(b"no")
    seal(plain, level=3)
    (plain / "grades" / "b.parquet").write_bytes(b"b")
    assert [line[66:] for line in (plain / "SHA256SUMS").read_text().splitlines()].count("grades/a.parquet") == 1
    assert "scratch" not in (plain / "SHA256SUMS").read_text()
    assert {check.state for check in verify(plain)} == {"complete", "interrupted"}
    (plain / "grades" / "a.parquet").write_bytes(b"other")
    wrong = [check.describe() for check in verify(plain) if check.state == "corrupt"]
    assert [text[:21] for text in wrong] == ["grades/a.parquet: has"]
    changed = files(plain)
    with pytest.raises(LogError, match=r"a\.parquet: has SHA-256 .*restore it from a copy, or remove SHA256SUMS"):
        seal(plain)
    assert files(plain) == changed
    (plain / "SHA256SUMS").unlink()
    assert seal(plain).already
    assert "grades/b.parquet" in (plain / "SHA256SUMS").read_text()


def test_a_run_is_read_by_reading_its_frame_alone(sealed: Path) -> None:
    frames = read_index(sealed).frames
    events = sealed / "events.jsonl.zst"
    last = logs_in(sealed)[-1]
    data = bytearray(events.read_bytes())
    data[: frames[-1].offset] = bytes(frames[-1].offset)
    events.write_bytes(data)
    assert read_all(last)[1].state == "complete"
    with pytest.raises(LogError, match="byte 0"):
        read_all(logs_in(sealed)[0])


def test_a_corrupt_log_refuses_the_seal_and_nothing_changes(plain: Path) -> None:
    path = plain / "runs" / "api-10-r2-abc.jsonl.zst"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    before = files(plain)
    with pytest.raises(LogError, match=r"api-10-r2-abc\.jsonl\.zst") as error:
        seal(plain, level=3)
    assert "1 of 8 logs" in str(error.value)
    assert files(plain) == before


def test_who_records_seals_or_recovers_keeps_the_others_out(plain: Path) -> None:
    for operation in (seal, recover, unseal):
        handle = os.open(plain, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
        before = files(plain)
        with pytest.raises(UsageError, match="another process"):
            operation(plain)
        assert files(plain) == before
        os.close(handle)
        if operation is recover:
            seal(plain, level=3)


def test_a_sealed_campaign_is_not_recorded_a_second_time(plain: Path) -> None:
    seal(plain, level=3)
    with pytest.raises(UsageError, match="unseal it first"):
        remaining([], plain, "c-abc")
    unseal(plain)
    assert remaining([], plain, "c-abc") == []


def test_a_run_recorded_beside_a_sealed_campaign_is_read_and_asks_for_an_unseal_before_the_next_seal(
    plain: Path,
) -> None:
    seal(plain, level=3)
    record(plain, "later")
    assert [log.name for log in logs_in(plain)][-1] == "later-r1-abc.jsonl.zst"
    assert len(list(verify(plain))) == 9
    with pytest.raises(UsageError, match="later-r1-abc"):
        seal(plain)
    unseal(plain)
    assert seal(plain, level=3).runs == 9


def test_an_empty_campaign_and_a_directory_that_is_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a campaign"):
        seal(tmp_path)
    (tmp_path / "runs").mkdir()
    with pytest.raises(UsageError, match="nothing is recorded"):
        seal(tmp_path)
    with pytest.raises(UsageError, match="not a sealed campaign"):
        unseal(tmp_path)


def test_a_log_torn_before_its_first_event_refuses_the_seal(plain: Path) -> None:
    path = plain / "runs" / "torn-r1-abc.jsonl.zst"
    path.write_bytes((plain / "runs" / "api-1-r1-abc.jsonl.zst").read_bytes()[:50])
    with pytest.raises(LogError, match=r"torn-r1-abc.*first event"):
        seal(plain)


def test_bytes_behind_a_whole_log_refuse_the_seal(plain: Path) -> None:
    path = plain / "runs" / "api-1-r1-abc.jsonl.zst"
    path.write_bytes(path.read_bytes() + b"\x28\xb5\x2f")
    with pytest.raises(WorkError, match="bytes follow the end"):
        seal(plain)


def test_a_log_of_another_zstd_library_comes_back_line_for_line_and_is_named(plain: Path) -> None:
    path = plain / "runs" / "api-1-r1-abc.jsonl.zst"
    lines = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    path.write_bytes(zstandard.ZstdCompressor(level=9, write_checksum=True).compress(lines))
    before = raw(plain)
    seal(plain, level=3)
    assert unseal(plain).recompressed == ("api-1-r1-abc",)
    assert raw(plain) == before


def test_a_torn_log_of_another_zstd_library_is_not_sealed_because_its_end_would_be_lost(plain: Path) -> None:
    path = plain / "runs" / "api-1-r3-abc.jsonl.zst"
    stream = zstandard.ZstdCompressor(level=9).compressobj()
    lines = [record.line for record in RunReader(path)]
    data = b"".join(stream.compress(line) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for line in lines)
    path.write_bytes(data + stream.compress(b"{half") + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)[:-1])
    with pytest.raises(WorkError, match=r"another zstd library.*recover"):
        seal(plain)


@pytest.mark.parametrize("name", ["a\nb", "x" * 243, "back\\slash", ".hidden"])
def test_a_hostile_file_name_is_refused(tmp_path: Path, name: str) -> None:
    directory = campaign(tmp_path / "c", torn=False)
    target = directory / "runs" / f"{name}.jsonl.zst"
    (directory / "runs" / "api-1-r1-abc.jsonl.zst").rename(target)
    with pytest.raises(LogError):
        seal(directory, level=3)
    assert target.exists()


@pytest.mark.parametrize("mebibytes", [17, pytest.param(50, marks=pytest.mark.slow)])
def test_one_large_event_among_small_ones_and_a_huge_result_are_sealed_and_read(tmp_path: Path, mebibytes: int) -> None:
    directory = campaign(tmp_path / "c", torn=False)
    record(directory, "large", results=("a", noise(1, 70 * 1024), "b"))
    record(directory, "huge", results=(noise(2, 1 << 20) * mebibytes,))
    before, before_files = raw(directory), files(directory)
    seal(directory, level=1)
    huge = next(log for log in logs_in(directory) if log.run_id.startswith("huge"))
    assert huge.sealed is not None
    assert huge.sealed.frame.raw_size > mebibytes << 20
    assert raw(directory) == before
    assert {check.state for check in verify(directory)} == {"complete"}
    unseal(directory)
    assert files(directory) == before_files


def test_a_write_that_fails_leaves_the_campaign_as_it_was(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(plain)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkError, match="No space left"):
        seal(plain, level=3)
    assert files(plain) == before


def test_a_seal_that_does_not_read_back_is_not_committed(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(plain)
    monkeypatch.setattr(sealing, "raw_sha256", lambda _: hashlib.sha256(b"other").hexdigest())
    with pytest.raises(WorkError, match="does not read back"):
        seal(plain, level=3)
    assert files(plain) == before


def test_a_log_that_changes_while_it_is_sealed_refuses(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = sealing._checked
    changed, other = (plain / "runs" / f"api-1-r{number}-abc.jsonl.zst" for number in (1, 2))

    def checked_then_changed(directory: Path, progress: sealing.Progress) -> list[packing.Sizes]:
        found = genuine(directory, progress)
        changed.write_bytes(other.read_bytes())
        return found

    monkeypatch.setattr(sealing, "_checked", checked_then_changed)
    with pytest.raises(WorkError, match="changed while it was sealed"):
        seal(plain, level=3)
    assert not (plain / "events.index.json").exists()
    assert not list(plain.glob(".seal*"))


TEXT = st.text(st.characters(codec="utf-8"), max_size=60)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.lists(TEXT, max_size=4), min_size=1, max_size=5), st.integers(0, 400), st.integers(1, 6000))
def test_any_texts_and_any_tear_come_back(
    tmp_path_factory: pytest.TempPathFactory, runs: list[list[str]], cut: int, frame: int
) -> None:
    directory = tmp_path_factory.mktemp("any") / "c"
    directory.mkdir()
    for number, texts in enumerate(runs):
        record(directory, f"case{number}", results=tuple(texts))
    torn = record(directory, "torn", results=("x", noise(5, 500)), finish=False)
    torn.write_bytes(torn.read_bytes()[: -cut or None])
    before, before_raw = files(directory), raw(directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "FRAME_BYTES", frame)
        seal(directory, level=1)
    assert raw(directory) == before_raw
    unseal(directory)
    assert files(directory) == before


def test_the_index_of_a_sealed_campaign_is_encoded_as_it_is_read(sealed: Path) -> None:
    assert encode_index(read_index(sealed)) == (sealed / "events.index.json").read_bytes()


def test_sealing_needs_nothing_that_could_call_a_model() -> None:
    code = (
        "import sys, replay.seal.sealing, replay.seal.recovering\n"
        "assert not {'litellm', 'httpx', 'recorder'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
