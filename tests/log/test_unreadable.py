"""Logs with the right digest over something that does not read, and places that are no logs: errors that name them."""

import errno
import hashlib
import os
import re
from pathlib import Path
from typing import Any

import pytest
import zstandard

from replay.campaigns import logs_in
from replay.fold import fold
from replay.reader import RunReader
from replay.sealed import manifest_campaign_id
from replay.sound import read_sound
from replay.sql.manifests import read_manifest
from replay.sql.scan import scan
from replay.verify import verify_run
from schemas.errors import LogError, WorkError
from tests.replay_sql.logs import whole_run

DEEP = b"[" * 2_000 + b"]" * 2_000


def rewritten(campaign: Path, old: bytes, new: bytes) -> Path:
    """A whole log in which one text is another; its digest is over what is there now."""
    log = whole_run(campaign, "case-r1-c")
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(log.read_bytes())
    assert old in raw
    *lines, last = raw.replace(old, new, 1).splitlines(keepends=True)
    sha256 = b'"sha256":"%b"' % hashlib.sha256(b"".join(lines)).hexdigest().encode()
    last = re.sub(rb'"sha256":"[0-9a-f]{64}"', sha256, last)
    log.write_bytes(zstandard.ZstdCompressor().compress(b"".join((*lines, last))))
    return log


@pytest.mark.parametrize("part", ["stimulus", "rubric"])
def test_a_case_that_is_no_utf8_is_an_error_that_names_the_log(part: str, tmp_path: Path) -> None:
    log = rewritten(tmp_path, b'"%b":{' % part.encode(), b'"%b":{"x":"\xff",' % part.encode())
    with pytest.raises(LogError, match=rf"{log.name}: event 0: the recorded {part} does not read"):
        fold(log)


@pytest.mark.parametrize(
    "place", [b'"type":"run_started",', b'"type":"tool_call",', b'"type":"turn_finished",', b'"type":"run_finished",']
)
def test_an_event_nested_deeper_than_can_be_read_is_an_error_that_names_the_log(place: bytes, tmp_path: Path) -> None:
    head = re.compile(re.escape(place) + rb'"seq":\d+,"t":[0-9.]+,')
    whole = zstandard.ZstdDecompressor().decompressobj().decompress(whole_run(tmp_path / "a", "case-r1-c").read_bytes())
    found = head.search(whole)
    assert found is not None
    log = rewritten(tmp_path / "b", found.group(), found.group() + b'"x":' + DEEP + b",")
    with pytest.raises(LogError, match=rf"{log.name}: .*recursion"):
        fold(log)
    assert scan(log, frozenset({"tool_call"}), strict=True).facts.status == "corrupt"
    assert scan(log, frozenset({"tool_call"})).facts.status in ("corrupt", "completed")


def test_a_link_to_a_device_without_an_end_is_not_read_in_one_go(tmp_path: Path) -> None:
    link = tmp_path / "runs" / "case-r1-c.jsonl.zst"
    link.parent.mkdir()
    link.symlink_to("/dev/zero")
    assert read_sound(link, frozenset({b"run_started", b"run_finished"})) is None
    with pytest.raises(LogError, match=link.name):
        fold(link)


def test_a_runs_directory_that_cannot_be_listed_is_an_error_and_not_an_empty_campaign(tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to("runs")
    with pytest.raises(WorkError, match="runs: cannot read the directory"):
        logs_in(tmp_path)


def test_a_runs_entry_that_is_no_directory_or_leads_nowhere_holds_no_logs(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "runs").write_text("")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "runs").symlink_to("nowhere")
    assert [logs_in(tmp_path / name) for name in ("file", "link")] == [[], []]


@pytest.mark.parametrize("digits", ["1" * 5_000, "1" * 18, "007"])
def test_a_number_of_an_event_that_cannot_be_the_next_one_is_corrupt_also_where_the_event_is_skipped(
    digits: str, tmp_path: Path
) -> None:
    log = whole_run(tmp_path, "case-r1-c")
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(log.read_bytes())
    changed = re.sub(rb'"turn_started","seq":\d+', b'"turn_started","seq":' + digits.encode(), raw, count=1)
    assert changed != raw
    log.write_bytes(zstandard.ZstdCompressor().compress(changed))
    for wanted in (None, frozenset({b"run_started", b"run_finished"})):
        reader = RunReader(log, wanted=wanted)
        list(reader)
        assert reader.end is not None
        assert reader.end.state == "corrupt"
        assert len(reader.end.reason) < 200


READERS = {"the id": manifest_campaign_id, "a row": read_manifest}


@pytest.mark.parametrize("name", READERS)
def test_a_manifest_nested_deeper_than_can_be_read_is_an_error_that_names_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "campaign.json"
    path.write_bytes(b'{"x":' + b"[" * 200_000)
    with pytest.raises(WorkError, match=f"{path}: not a campaign manifest"):
        READERS[name](tmp_path)


@pytest.mark.parametrize("name", ["runs/case-r1-c.jsonl.zst", "campaign.json"])
def test_a_file_that_fails_while_it_is_read_is_no_corrupt_log_and_ends_what_reads_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = whole_run(tmp_path, "case-r1-c")
    (tmp_path / "campaign.json").write_text('{"campaign_id": "c"}')
    real = Path.open

    def failing(path: Path, *arguments: Any, **named: Any) -> Any:
        if path == tmp_path / name:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return real(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", failing)
    with pytest.raises(WorkError, match=rf"{name}: cannot read the (log|manifest): Input/output error") as caught:
        verify_run(log)
    assert not isinstance(caught.value, LogError)
