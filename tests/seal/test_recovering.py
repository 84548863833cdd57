"""What `recover` makes of torn, corrupt and damaged campaigns."""

import shutil
from pathlib import Path

import pytest
import zstandard

from recorder.plan import is_recorded
from replay.campaigns import logs_in
from replay.reader import read_all
from replay.seal.recovering import recover
from replay.seal.sealing import seal
from replay.seal.unsealing import unseal
from replay.sealed import read_index
from replay.verify import verify
from schemas.errors import LogError, UsageError
from tests.faults.test_bombs import nested
from tests.seal.campaigns import files, raw
from tests.seal.indexes import forge_lengths

EVENTS, INDEX = "events.jsonl.zst", "events.index.json"


def by_file(directory: Path) -> dict[str, str]:
    return {loss.file: loss.kind for loss in recover(directory).losses}


def test_a_clean_campaign_stays_as_it_is(sealed: Path) -> None:
    before = files(sealed)
    assert recover(sealed).losses == ()
    assert files(sealed) == before


def test_a_torn_log_keeps_its_whole_lines_in_a_closed_stream_and_its_original_beside_it(plain: Path) -> None:
    path = plain / "runs" / "api-1-r3-abc.jsonl.zst"
    torn, before = path.read_bytes(), read_all(path)[0]
    (loss,) = recover(plain).losses
    assert (loss.file, loss.kind, loss.kept_as) == (f"runs/{path.name}", "torn", f"{path.name}.torn")
    assert loss.offset is not None
    assert loss.bytes == len(torn) - loss.offset
    assert path.with_name(f"{path.name}.torn").read_bytes() == torn
    records, end = read_all(path)
    assert (records, end.state) == (before, "interrupted")
    assert zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read() == b"".join(r.line for r in records)
    assert not is_recorded(path)
    assert recover(plain).losses == ()


def test_a_recovered_campaign_seals_and_comes_back(plain: Path) -> None:
    recover(plain)
    before = files(plain)
    assert seal(plain, level=3).left == ("api-1-r3-abc.jsonl.zst.torn",)
    assert unseal(plain).recompressed == ()
    assert files(plain) == before


def test_a_log_that_cannot_be_trusted_is_set_aside_so_that_it_can_be_recorded_again(plain: Path) -> None:
    path = plain / "runs" / "api-10-r1-abc.jsonl.zst"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    losses = {loss.file: loss for loss in recover(plain).losses}
    assert losses[f"runs/{path.name}"].kind == "corrupt"
    assert "corrupt at byte" in losses[f"runs/{path.name}"].done
    assert path.with_name(f"{path.name}.corrupt").read_bytes() == data
    assert not path.exists()
    assert {check.state for check in verify(plain)} == {"complete", "interrupted"}


def test_a_log_without_one_whole_event_is_set_aside(plain: Path) -> None:
    path = plain / "runs" / "empty-r1-abc.jsonl.zst"
    path.write_bytes(b"")
    assert by_file(plain)[f"runs/{path.name}"] == "torn"
    assert not path.exists()


def test_bytes_behind_a_whole_log_are_cut_off_and_kept(plain: Path) -> None:
    path = plain / "runs" / "api-1-r1-abc.jsonl.zst"
    whole = path.read_bytes()
    path.write_bytes(whole + b"\x28\xb5\x2f")
    losses = {loss.file: loss for loss in recover(plain).losses}
    assert losses[f"runs/{path.name}"].kind == "torn"
    assert path.read_bytes() == whole


def test_files_that_were_being_made_are_removed_and_told(plain: Path) -> None:
    names = (".seal.events.jsonl.zst", ".campaign.json.x1", "runs/.unseal")
    for name in names:
        (plain / name).write_bytes(b"half")
    assert set(names) <= set(by_file(plain))
    assert not any((plain / name).exists() for name in names)


def test_the_runs_of_whole_frames_and_those_before_the_damage_are_saved_from_a_damaged_file(sealed: Path) -> None:
    truth, index = raw(sealed), read_index(sealed)
    path = sealed / EVENTS
    data = bytearray(path.read_bytes())
    hit = index.frames[1]
    data[hit.offset + hit.size // 2] ^= 32
    path.write_bytes(data)
    done = recover(sealed)
    lost = {run.run_id for run in hit.runs}
    assert not done.sealed
    gap = next(loss for loss in done.losses if loss.offset is not None)
    assert (gap.file, gap.offset, gap.bytes) == (EVENTS, hit.offset, hit.size)
    assert set(gap.runs) <= lost
    assert raw(sealed) == {run: digest for run, digest in truth.items() if run not in gap.runs}
    assert (sealed / f"{EVENTS}.damaged").read_bytes() == data
    assert {check.state for check in verify(sealed)} <= {"complete", "interrupted"}


def test_without_its_index_a_sealed_file_gives_all_its_runs_back(sealed: Path) -> None:
    truth = raw(sealed)
    for name in ("missing", "damaged"):
        directory = sealed.with_name(name)
        shutil.copytree(sealed, directory)
        index = directory / INDEX
        index.unlink() if name == "missing" else index.write_bytes(index.read_bytes()[:-9] + b"something")
        done = recover(directory)
        assert done.runs == 8
        assert raw(directory) == truth
        assert seal(directory, level=3).runs == 8


@pytest.fixture
def half_sealed(sealed: Path) -> Path:
    """The sealed file is there, its index not yet, and the logs are."""
    events = (sealed / EVENTS).read_bytes()
    unseal(sealed)
    (sealed / EVENTS).write_bytes(events)
    return sealed


def test_a_seal_that_ended_before_its_index_was_there_is_undone(half_sealed: Path) -> None:
    truth = raw(half_sealed)
    assert by_file(half_sealed)[EVENTS] == "unfinished"
    assert not (half_sealed / EVENTS).exists()
    assert raw(half_sealed) == truth


def test_a_sealed_file_beside_logs_that_lack_a_run_of_it_gives_that_run_back(half_sealed: Path) -> None:
    truth = raw(half_sealed)
    (half_sealed / "runs" / "pod-down-r2-abc.jsonl.zst").unlink()
    recover(half_sealed)
    assert raw(half_sealed) == truth


def test_frames_in_another_order_are_put_right(sealed: Path) -> None:
    truth, frames = raw(sealed), read_index(sealed).frames
    path = sealed / EVENTS
    data = path.read_bytes()
    path.write_bytes(b"".join(data[frame.offset : frame.offset + frame.size] for frame in reversed(frames)))
    recover(sealed)
    assert raw(sealed) == truth


def test_a_truncated_file_says_from_which_byte_on_it_is_lost(sealed: Path) -> None:
    path, last = sealed / EVENTS, read_index(sealed).frames[-1]
    path.write_bytes(path.read_bytes()[: last.offset])
    gap = next(loss for loss in recover(sealed).losses if loss.offset is not None)
    assert (gap.offset, gap.bytes, gap.runs) == (last.offset, last.size, tuple(run.run_id for run in last.runs))


def test_a_sealed_file_that_is_gone_is_told(sealed: Path) -> None:
    (sealed / EVENTS).unlink()
    (loss,) = recover(sealed).losses
    assert (loss.file, loss.kind, loss.kept_as) == (EVENTS, "damaged", f"{INDEX}.damaged")
    assert logs_in(sealed) == []


def test_a_directory_that_is_no_campaign_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a campaign"):
        recover(tmp_path)


@pytest.mark.parametrize("state", ["plain", "sealed"])
@pytest.mark.parametrize("damage", [b"", b"[1,2]", b'{"campaign_id":"\xff"}', b'{"campaign_id":"other"}'])
def test_a_wrong_manifest_is_named_and_no_log_is_touched(
    state: str, damage: bytes, request: pytest.FixtureRequest
) -> None:
    directory: Path = request.getfixturevalue(state)
    before = files(directory)
    (directory / "campaign.json").write_bytes(damage)
    with pytest.raises(LogError, match=r"campaign\.json: .*move it away"):
        recover(directory)
    assert {**files(directory), "campaign.json": before["campaign.json"]} == before
    (directory / "campaign.json").unlink()
    recover(directory)
    assert len(logs_in(directory)) == 8


def test_a_log_that_lies_in_the_place_of_a_sealed_run_gives_way_to_it(sealed: Path, plain: Path) -> None:
    whole = {log.run_id: read_all(log)[0] for log in logs_in(sealed)}
    (sealed / INDEX).write_bytes(b"{}")
    runs = sealed / "runs"
    runs.mkdir()
    torn, flipped = (plain / "runs" / f"{name}-abc.jsonl.zst" for name in ("api-1-r1", "api-10-r1"))
    (runs / torn.name).write_bytes(torn.read_bytes()[:400])
    data = bytearray(flipped.read_bytes())
    data[len(data) // 2] ^= 1
    (runs / flipped.name).write_bytes(data)
    losses = {loss.file: loss for loss in recover(sealed).losses}
    assert {name for name, loss in losses.items() if loss.kind == "corrupt"} == {
        f"runs/{torn.name}",
        f"runs/{flipped.name}",
    }
    assert (runs / f"{flipped.name}.corrupt").read_bytes() == data
    assert {log.run_id: read_all(log)[0] for log in logs_in(sealed)} == whole


def test_a_damaged_log_beside_what_a_killed_seal_left_comes_back_from_there(sealed: Path, plain: Path) -> None:
    whole = {log.run_id: read_all(log)[0] for log in logs_in(sealed)}
    shutil.copy(sealed / EVENTS, plain / EVENTS)
    path = plain / "runs" / "api-10-r1-abc.jsonl.zst"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    losses = {loss.file: loss.kind for loss in recover(plain).losses}
    assert losses[f"runs/{path.name}"] == "corrupt"
    assert {log.run_id: read_all(log)[0] for log in logs_in(plain)} == whole


def test_an_index_that_cuts_runs_in_the_wrong_place_is_set_aside(sealed: Path) -> None:
    whole = {log.run_id: read_all(log)[0] for log in logs_in(sealed)}
    forge_lengths(sealed)
    assert by_file(sealed) == {INDEX: "damaged", EVENTS: "damaged"}
    assert {log.run_id: read_all(log)[0] for log in logs_in(sealed)} == whole


def test_a_file_of_a_sealed_campaign_that_changed_is_told_and_left(sealed: Path) -> None:
    (sealed / "campaign.json").write_bytes((sealed / "campaign.json").read_bytes() + b" ")
    before = files(sealed)
    (loss,) = recover(sealed).losses
    assert (loss.file, loss.kind) == ("campaign.json", "damaged")
    assert "restore it from a copy, or remove SHA256SUMS" in loss.done
    assert files(sealed) == before


def test_frames_behind_one_that_breaks_off_within_them_are_found(sealed: Path) -> None:
    before = raw(sealed)
    (sealed / EVENTS).write_bytes(nested(300) + (sealed / EVENTS).read_bytes())
    recover(sealed)
    assert raw(sealed) == before
