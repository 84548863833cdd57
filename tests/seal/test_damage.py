"""A sealed campaign that was damaged or edited: found, named with file and place, never read as something else."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from replay import fold as fold_module
from replay.campaigns import campaign_directories, find_run, logs_in, run_files
from replay.listing import rows
from replay.reader import RunReader
from replay.seal import disk
from replay.seal.sealing import seal
from replay.seal.unsealing import unseal
from replay.sealed import read_index
from replay.sound import read_sound
from replay.sql.scan import scan
from replay.verify import RunCheck, verify
from schemas.errors import LogError, UsageError, WorkError
from schemas.sealed import MAX_RUN_ID_BYTES, Frame, SealedIndex, build_index, encode_index
from tests.seal.campaigns import campaign, files, raw
from tests.seal.indexes import forge_lengths

EVENTS, INDEX = "events.jsonl.zst", "events.index.json"


def readings(directory: Path) -> dict[str, str]:
    """The raw digest of every run that a reader accepts; empty if the index is refused."""
    try:
        logs = logs_in(directory)
    except LogError:
        return {}
    accepted = {}
    for log in logs:
        reader = RunReader(log)
        lines = [record.line for record in reader]
        assert reader.end is not None
        if reader.end.state != "corrupt":
            accepted[log.run_id] = hashlib.sha256(b"".join(lines)).hexdigest()
    return accepted


def complaints(directory: Path) -> list[str]:
    return [check.describe() for check in verify(directory) if check.state == "corrupt"]


def test_a_file_with_letters_in_its_name_is_verified_under_any_locale(plain: Path) -> None:
    (plain / "grades").mkdir()
    (plain / "grades" / "größe.txt").write_bytes(b"x")
    seal(plain, level=3)
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", "from replay.cli import main; main()", "verify", str(plain)]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert b"SHA256SUMS" not in done.stdout + done.stderr
    assert done.returncode == 0


def test_a_flipped_bit_anywhere_is_found_and_never_read_as_content(sealed: Path) -> None:
    truth = raw(sealed)
    chance = random.Random(7)
    for name, times in ((EVENTS, 120), (INDEX, 60)):
        path = sealed / name
        data = path.read_bytes()
        for _ in range(times):
            at, bit = chance.randrange(len(data)), chance.randrange(8)
            path.write_bytes(data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :])
            assert readings(sealed).items() <= truth.items()
            assert any(name in text for text in complaints(sealed)), (name, at, bit)
        path.write_bytes(data)
    assert complaints(sealed) == []


def test_a_truncated_file_is_found_wherever_it_ends_and_the_whole_frames_still_read(sealed: Path) -> None:
    truth = raw(sealed)
    frames = read_index(sealed).frames
    path = sealed / EVENTS
    data = path.read_bytes()
    for cut in (0, 1, frames[1].offset - 1, frames[1].offset, frames[1].offset + 7, len(data) - 1):
        path.write_bytes(data[:cut])
        whole = {run.run_id for frame in frames if frame.offset + frame.size <= cut for run in frame.runs}
        assert readings(sealed) == {run: digest for run, digest in truth.items() if run in whole}
        assert any("the frame at byte" in text and "missing" in text for text in complaints(sealed))


def test_bytes_behind_the_last_frame_are_found(sealed: Path) -> None:
    path = sealed / EVENTS
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + zstandard.ZstdCompressor().compress(b'{"type":"run_started"}\n'))
    assert any(f"ends at byte {size}" in text for text in complaints(sealed))
    assert len(readings(sealed)) == 8


def swapped(data: bytes, frames: tuple[Frame, ...]) -> bytes:
    parts = [data[frame.offset : frame.offset + frame.size] for frame in frames]
    return b"".join([parts[1], parts[0], *parts[2:]])


def repeated(data: bytes, frames: tuple[Frame, ...]) -> bytes:
    return data[: frames[0].size] + data


@pytest.mark.parametrize("change", [swapped, repeated])
def test_frames_that_were_moved_or_repeated_are_found(
    sealed: Path, change: Callable[[bytes, tuple[Frame, ...]], bytes]
) -> None:
    truth, path = raw(sealed), sealed / EVENTS
    path.write_bytes(change(path.read_bytes(), read_index(sealed).frames))
    assert readings(sealed).items() <= truth.items()
    assert any("the frame at byte" in text for text in complaints(sealed))


def test_files_swapped_between_campaigns_are_found(tmp_path: Path, sealed: Path) -> None:
    other = campaign(tmp_path / "other", chars=500)
    seal(other, level=3)
    truth = raw(sealed)
    shutil.copy(other / EVENTS, sealed / EVENTS)
    assert readings(sealed).items() <= truth.items()
    assert len(complaints(sealed)) >= 8


def test_the_sealed_files_of_another_campaign_are_refused_by_the_manifest(tmp_path: Path, sealed: Path) -> None:
    (sealed / "campaign.json").write_text(json.dumps({"campaign_id": "c-other"}))
    with pytest.raises(LogError, match="this is the index of campaign c-abc"):
        run_files(sealed)
    assert any(INDEX in text for text in complaints(sealed))


def edited(index: SealedIndex, change: Callable[[dict[str, Any]], object]) -> bytes:
    data = json.loads(encode_index(index))
    change(data)
    return json.dumps(data).encode()


SIZE, SHA256, FILES, IDS, LENGTHS, OTHERS = range(6)
"""Where the members of a frame's row lie."""


def first_pair_swapped(data: dict[str, Any]) -> None:
    """Two runs in the place of each other, with their lengths."""
    row = next(row for row in data["frames"] if len(row[IDS]) > 1)
    for column in (IDS, LENGTHS):
        row[column].reverse()


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a run renamed": lambda data: data["frames"][0][IDS].__setitem__(0, "other"),
    "two runs swapped": first_pair_swapped,
    "two ids swapped": lambda data: data["frames"][0][IDS].reverse(),
    "a frame dropped": lambda data: data["frames"].pop(),
    "a frame repeated": lambda data: data["frames"].append(data["frames"][0]),
    "two frames swapped": lambda data: data["frames"].reverse(),
    "a digest changed": lambda data: data["frames"][0].__setitem__(SHA256, "0" * 64),
    "the digest of the log files changed": lambda data: data["frames"][0].__setitem__(FILES, "0" * 16),
    "a run moved": lambda data: data["frames"][0][LENGTHS].__setitem__(0, 100),
    "a torn run called complete": lambda data: [row.__delitem__(slice(OTHERS, None)) for row in data["frames"]],
    "the suffix changed": lambda data: data.update(id_suffix="-abd"),
    "the suffix left out": lambda data: data.pop("id_suffix"),
    "called version 1": lambda data: data.update(schema_version=1),
    "called version 2": lambda data: data.update(schema_version=2),
    "the campaign renamed": lambda data: data.update(campaign_id="c-other"),
    "a total changed": lambda data: data.update(file_bytes=1),
    "an unknown key": lambda data: data.update(note="hello"),
    "one thing more in a row": lambda data: data["frames"][0].extend([{}, 1]),
    "written in another way": lambda data: None,
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_index_is_refused(sealed: Path, name: str) -> None:
    (sealed / INDEX).write_bytes(edited(read_index(sealed), EDITS[name]))
    with pytest.raises(LogError, match=r"events\.index\.json: .*recover"):
        logs_in(sealed)
    assert any(text.startswith(INDEX) for text in complaints(sealed))


HOSTILE = ("../../etc/x", "a/b", "a\\b", "", ".", "..", ".x", "a\nb", "a\0b", "x" * (MAX_RUN_ID_BYTES + 1), "\ud800")


@pytest.mark.parametrize("run_id", HOSTILE[:-1])
def test_a_hostile_run_id_in_a_consistent_index_is_refused(sealed: Path, run_id: str) -> None:
    index = read_index(sealed)
    first = index.frames[0]
    runs = (msgspec.structs.replace(first.runs[0], run_id=run_id), *first.runs[1:])
    frames = [msgspec.structs.replace(first, runs=runs), *index.frames[1:]]
    forged = build_index(index.campaign_id, frames, file_bytes=index.file_bytes, level=3, zstd=index.zstd)
    (sealed / INDEX).write_bytes(encode_index(forged))
    with pytest.raises(LogError, match="run id"):
        logs_in(sealed)


def test_a_forged_index_cannot_give_one_run_the_name_of_another(sealed: Path) -> None:
    index = read_index(sealed)
    first = index.frames[0]
    names = [run.run_id for run in first.runs]
    runs = tuple(msgspec.structs.replace(run, run_id=name) for run, name in zip(first.runs, names[::-1], strict=True))
    frames = [msgspec.structs.replace(first, runs=runs), *index.frames[1:]]
    forged = build_index(index.campaign_id, frames, file_bytes=index.file_bytes, level=3, zstd=index.zstd)
    (sealed / INDEX).write_bytes(encode_index(forged))
    swapped_names = {name for name, other in zip(names, names[::-1], strict=True) if name != other}
    corrupt = {check.run_id for check in verify(sealed) if isinstance(check, RunCheck) and check.state == "corrupt"}
    assert corrupt == swapped_names
    with pytest.raises(LogError, match="this is the log of run"):
        fold_module.fold(find_run(sealed, names[0]))


def test_a_frame_that_claims_another_size_than_the_index_is_not_made_room_for(sealed: Path) -> None:
    index = read_index(sealed)
    bomb = zstandard.ZstdCompressor(level=1).compress(bytes(200 << 20))
    forged_frame = msgspec.structs.replace(index.frames[0], size=len(bomb), sha256=hashlib.sha256(bomb).hexdigest())
    forged = build_index(index.campaign_id, [forged_frame], file_bytes=1, level=3, zstd=index.zstd)
    (sealed / EVENTS).write_bytes(bomb)
    (sealed / INDEX).write_bytes(encode_index(forged))
    assert all("209715200 raw bytes" in text for text in complaints(sealed)[:1])
    assert readings(sealed) == {}


def test_an_index_of_a_newer_format_says_what_is_needed(sealed: Path) -> None:
    (sealed / INDEX).write_bytes(encode_index(msgspec.structs.replace(read_index(sealed), schema_version=9)))
    with pytest.raises(LogError, match="install a korvid-rec that reads version 9"):
        logs_in(sealed)


def test_a_sealed_file_without_its_index_says_the_way_out(sealed: Path) -> None:
    (sealed / INDEX).unlink()
    with pytest.raises(LogError, match=r"its index is missing.*recover"):
        logs_in(sealed)
    assert campaign_directories(sealed) == [sealed]
    assert [text[:16] for text in complaints(sealed)] == [EVENTS]


def test_a_missing_sealed_file_is_named_by_every_run(sealed: Path) -> None:
    (sealed / EVENTS).unlink()
    assert sum("No such file" in text for text in complaints(sealed)) >= 8
    assert {row.status for row in rows(sealed)} == {"corrupt"}


def test_no_reader_takes_a_damaged_frame(sealed: Path) -> None:
    path, log = sealed / EVENTS, logs_in(sealed)[0]
    data = bytearray(path.read_bytes())
    data[read_index(sealed).frames[0].size // 2] ^= 16
    path.write_bytes(data)
    assert read_sound(log, fold_module.WANTED) is None
    assert scan(log, frozenset({"tool_result"})).facts.status == "corrupt"
    with pytest.raises(LogError, match="frame at byte 0"):
        fold_module.fold(log)


def test_a_file_in_runs_that_is_another_log_than_the_sealed_one_is_found_and_not_removed(sealed: Path) -> None:
    (sealed / "runs").mkdir()
    runs = [log.run_id for log in logs_in(sealed)]
    source = campaign(sealed.parent / "again", torn=False, chars=777) / "runs" / f"{runs[0]}.jsonl.zst"
    stray = sealed / "runs" / source.name
    shutil.copy(source, stray)
    assert any(text.startswith(stray.name) for text in complaints(sealed))
    with pytest.raises(LogError, match="is not the log that was sealed"):
        seal(sealed)
    assert stray.exists()


def test_a_sum_that_leads_out_of_the_campaign_is_refused(sealed: Path) -> None:
    with (sealed / "SHA256SUMS").open("a") as file:
        file.write("0" * 64 + "  ../../etc/passwd\n")
    assert any("SHA256SUMS: line 4" in text for text in complaints(sealed))


def test_a_run_that_is_not_there_is_named_with_those_that_are(sealed: Path) -> None:
    assert find_run(sealed, "pod-down-r1").run_id == "pod-down-r1-abc"
    with pytest.raises(UsageError, match="no run 'nothing'"):
        find_run(sealed, "nothing")


def test_a_campaign_whose_index_cuts_runs_in_the_wrong_place_stays_sealed(sealed: Path) -> None:
    forge_lengths(sealed)
    before = files(sealed)
    with pytest.raises(LogError, match="korvid-replay verify"):
        unseal(sealed)
    assert files(sealed) == before


def test_who_may_not_write_is_not_told_to_free_space(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(plain / ".seal.events"))

    monkeypatch.setattr(disk, "write", refuse)
    with pytest.raises(WorkError, match=r"\.seal\.events: Permission denied; .*make it writable and retry"):
        seal(plain)


def test_a_full_disk_is_told_with_the_file_that_did_not_fit(plain: Path) -> None:
    limited = "import resource, sys; from pathlib import Path; from replay.seal.sealing import seal\n"
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, -1)); seal(Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", limited, str(plain)], capture_output=True, text=True, check=False)
    assert (
        f"{plain}/.seal.events.jsonl.zst: File too large; nothing that was recorded is lost, free space" in done.stderr
    )


def test_logs_that_lie_behind_a_link_are_sealed_and_the_link_stays(plain: Path, tmp_path: Path) -> None:
    (plain / "runs").rename(tmp_path / "elsewhere")
    (plain / "runs").symlink_to(tmp_path / "elsewhere")
    assert seal(plain, level=3).left == ()
    assert len(logs_in(plain)) == 8


def test_sums_that_name_a_device_a_pipe_or_a_file_twice_are_told_and_not_read(sealed: Path) -> None:
    (sealed / "grades").mkdir()
    (sealed / "grades" / "endless").symlink_to("/dev/zero")
    os.mkfifo(sealed / "grades" / "pipe")
    sums = sealed / "SHA256SUMS"
    lines = sums.read_text().splitlines()
    more = [f"{'0' * 64}  grades/{name}" for name in ("endless", "pipe")]
    sums.write_text("".join(f"{line}\n" for line in [*lines, *more, lines[0]]))
    told = [check.describe() for check in verify(sealed) if not isinstance(check, RunCheck)]
    assert [text.count("no regular file") for text in told] == [1, 1, 0]
    assert "line 6 is not a digest and the name of another file" in told[2]
