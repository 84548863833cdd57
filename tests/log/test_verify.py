import hashlib
import json
import re
from pathlib import Path

import pytest
import zstandard

from replay.reader import whole_lines
from replay.verify import verify, verify_run
from tests.builders import finished_log


def rewritten(log: Path, lines: list[bytes]) -> Path:
    """The log with these lines in order before a `run_finished` that fits them."""
    last = json.loads(list(whole_lines(log))[-1])
    body = b"".join(re.sub(rb'"seq":\d+', b'"seq":%d' % seq, line, count=1) for seq, line in enumerate(lines))
    last |= {"seq": len(lines), "events": len(lines) + 1, "sha256": hashlib.sha256(body).hexdigest()}
    closing = json.dumps(last, separators=(",", ":")).encode() + b"\n"
    log.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(body + closing))
    return log


def test_a_copy_of_a_log_may_have_any_name_outside_of_a_campaign(tmp_path: Path) -> None:
    copy = finished_log(tmp_path / "runs").rename(tmp_path / "copy.jsonl.zst")
    assert verify_run(copy).state == "complete"


def test_within_a_campaign_a_log_has_the_name_of_its_run(tmp_path: Path) -> None:
    log = finished_log(tmp_path / "runs")
    check = verify_run(log.rename(log.with_name("other-r1-abc.jsonl.zst")))
    assert check.state == "corrupt"
    assert "this is the log of run case-r1-abc" in check.detail


@pytest.mark.parametrize("t", ["0", "-1"])
def test_a_clock_that_goes_back_is_corrupt(tmp_path: Path, t: str) -> None:
    log = finished_log(tmp_path, results=2)
    lines = list(whole_lines(log))[:-1]
    lines[2] = re.sub(rb'"t":[^,]+', b'"t":' + t.encode(), lines[2], count=1)
    check = verify_run(rewritten(log, lines))
    assert check.state == "corrupt"
    assert re.search("event 2(: its| has no) time", check.detail)


def test_a_line_without_end_of_depth_is_corrupt_and_no_crash(tmp_path: Path) -> None:
    log = finished_log(tmp_path, results=2)
    lines = list(whole_lines(log))[:-1]
    for kind in (b"dream", b"tool_result"):
        deep = b'{"type":"%b","seq":9,"t":9,"x":%b}\n' % (kind, b"[" * 100_000 + b"]" * 100_000)
        assert verify_run(rewritten(log, [*lines, deep])).state == "corrupt"


def test_the_manifest_is_not_read_for_every_run_and_again_once_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        finished_log(tmp_path / "runs", f"case-r{number}-abc", results=1)
    manifest = tmp_path / "campaign.json"
    manifest.write_text('{"campaign_id": "c-abc"}')
    read: list[Path] = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or read_bytes(path))
    assert {check.state for check in verify(tmp_path)} == {"complete"}
    assert read.count(manifest) == 2
    manifest.write_text('{"campaign_id": "c-other"}')
    assert {check.state for check in verify(tmp_path)} == {"corrupt"}


@pytest.mark.parametrize("damage", ["[" * 100_000, "", "[1]", '{"campaign_id": 3}'])
def test_a_manifest_that_does_not_read_is_its_own_line_and_no_fault_of_a_run(tmp_path: Path, damage: str) -> None:
    finished_log(tmp_path / "runs", results=1)
    (tmp_path / "campaign.json").write_text(damage)
    manifest, run = verify(tmp_path)
    assert (manifest.state, run.state) == ("corrupt", "complete")
    assert manifest.describe().startswith("campaign.json: not a campaign manifest")


def test_what_does_not_hold_is_called_corrupt_and_a_break_in_the_bytes_behind_it_has_its_place(tmp_path: Path) -> None:
    log = finished_log(tmp_path, results=2)
    lines = list(whole_lines(log))[:-1]
    lines[0] = lines[0].replace(b'"stimulus_sha256":"', b'"stimulus_sha256":"f')
    data = rewritten(log, lines).read_bytes()
    assert verify_run(log).describe().startswith("case-r1-abc: corrupt: event 0: the stimulus has SHA-256")
    log.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert re.match(r"case-r1-abc: corrupt at byte \d+ \(", verify_run(log).describe())
