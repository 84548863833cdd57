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


def test_the_manifest_is_read_once_for_all_runs_and_again_once_it_changed(
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
    assert read.count(manifest) == 1
    manifest.write_text('{"campaign_id": "c-other"}')
    assert {check.state for check in verify(tmp_path)} == {"corrupt"}
    manifest.write_text("[" * 100_000)
    assert all("not a campaign manifest" in check.detail for check in verify(tmp_path))
