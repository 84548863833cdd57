"""A campaign with private texts is refused, then published without them, and nothing of them is in any object."""

import json
from pathlib import Path

import duckdb
import pytest
import zstandard

from replay.campaigns import find_run, logs_in
from replay.publishing.audit import audit
from replay.publishing.fetching import fetch
from replay.publishing.publish import PrivateTextsError, Published
from replay.publishing.streams import Streams
from replay.reader import read_all, whole_lines
from replay.verify import verify_run
from schemas.errors import UsageError, WorkError
from schemas.events import ModelRequest, WireChunk
from tests.publishing.tools import (
    KEY,
    MAIL,
    PLANTED,
    git,
    graded,
    publish_one,
    write_private_run,
)


def everything(repository: Path, tmp_path: Path) -> bytes:
    """Every byte of every object of a repository, and all that it decompresses to."""
    listed = git(repository, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    held = [git(repository, "show-ref", "--head").encode()]
    for number, line in enumerate(listed):
        sha, kind, _ = line.split()
        data = _object(repository, sha, kind)
        held.append(data)
        if data.startswith(zstandard.FRAME_HEADER):
            with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
                lines = reader.read().splitlines(keepends=True)
            held += [b"".join(lines), *_together(lines)]
        if data.startswith(b"PAR1"):
            path = tmp_path / f"{number}.parquet"
            path.write_bytes(data)
            with duckdb.connect() as connection:
                held.append(str(connection.execute("FROM read_parquet(?)", [str(path)]).fetchall()).encode())
    return b"\n".join(held)


def _object(repository: Path, sha: str, kind: str) -> bytes:
    import subprocess

    command = ["git", "-C", str(repository), "cat-file", kind, sha]
    return subprocess.run(command, capture_output=True, check=True).stdout


def _together(lines: list[bytes]) -> list[bytes]:
    held, streams = [], Streams()
    for number, line in enumerate(lines):
        if line.startswith(b'{"type":"run_started"'):
            held += [text.encode() for one in streams.responses() for text in one.texts]
            streams = Streams()
        streams.feed(number, line)
    return held + [text.encode() for one in streams.responses() for text in one.texts]


def test_private_texts_are_refused_with_file_line_and_run(private: Path, repository: Path) -> None:
    with pytest.raises(PrivateTextsError) as refused:
        publish_one(private, repository)
    found = {(finding.file.split("/")[0], finding.kind) for finding in refused.value.findings}
    assert {("events.jsonl.zst", kind) for kind in ("token", "email", "home_path", "user_name")} <= found
    assert ("campaign.json", "home_path") in found
    lines = {finding.line for finding in refused.value.findings if finding.file == "events.jsonl.zst"}
    held = [line for log in logs_in(private) for line in whole_lines(log)]
    assert lines
    assert max(lines) <= len(held)
    assert KEY not in str(refused.value)
    assert "case-private" in str(refused.value)
    assert git(repository, "for-each-ref", "refs/heads/eval-results") == ""


def test_the_line_that_a_finding_names_holds_the_text(private: Path, repository: Path, tmp_path: Path) -> None:
    from replay.seal.sealing import seal

    with pytest.raises(PrivateTextsError) as refused:
        publish_one(private, repository)
    seal(private)
    with zstandard.ZstdDecompressor().stream_reader(
        (private / "events.jsonl.zst").read_bytes(), read_across_frames=True
    ) as reader:
        lines = reader.read().split(b"\n")
    named = [f for f in refused.value.findings if f.kind == "token" and f.file == "events.jsonl.zst"]
    direct = [finding for finding in named if "together" not in finding.where]
    assert len(direct) >= 4
    assert all(KEY.encode() in lines[finding.line - 1] for finding in direct)


def test_a_redacted_publication_holds_none_of_it_in_any_object(
    redacted_once: tuple[Path, Published], tmp_path: Path
) -> None:
    repository, done = redacted_once
    held = everything(repository, tmp_path).lower()
    assert b"synthetic-4b" in held
    for text in PLANTED:
        assert text.lower().encode() not in held
    redaction = done.campaigns[0].publication.redaction
    assert redaction is not None
    assert set(redaction.replaced) == {"token", "email", "home_path", "user_name"}
    assert (redaction.runs, redaction.requests, redaction.withdrawn) == (1, 1, 1)
    assert "redacted in" in done.campaigns[0].row


def test_the_search_of_objects_would_find_them(private_once: Path, repository: Path, tmp_path: Path) -> None:
    git(repository, "hash-object", "-w", "--no-filters", str(private_once / "runs" / "case-private.jsonl.zst"))
    held = everything(repository, tmp_path)
    assert all(text.encode() in held for text in PLANTED)


def test_a_redacted_publication_verifies_and_says_what_its_digests_are(
    redacted_once: tuple[Path, Published], tmp_path: Path
) -> None:
    fetched = fetch(str(redacted_once[0]), None, tmp_path / "out")
    directory = tmp_path / "out" / "campaigns" / fetched.campaigns[0]
    assert audit(tmp_path / "out").problems == ()
    log = find_run(directory, "case-private")
    assert verify_run(log).status == "completed"
    records, _ = read_all(log)
    (request,) = [record.event for record in records if isinstance(record.event, ModelRequest)]
    assert request.redacted
    pieces = [piece for record in records if isinstance(record.event, WireChunk) for piece in record.event.pieces]
    assert pieces
    assert all("spread over" in (piece.text or "") for piece in pieces)
    manifest = json.loads((directory / "campaign.json").read_text())
    assert "redacted bytes" in manifest["redaction"]["note"]
    assert manifest["note"] == "recorded in [redacted:home_path]/campaigns"


def test_only_the_run_with_private_texts_changes(
    private_once: Path, redacted_once: tuple[Path, Published], tmp_path: Path
) -> None:
    fetched = fetch(str(redacted_once[0]), None, tmp_path / "out")
    directory = tmp_path / "out" / "campaigns" / fetched.campaigns[0]
    for log in logs_in(private_once):
        same = list(whole_lines(log)) == list(whole_lines(find_run(directory, log.run_id)))
        assert same == (log.run_id != "case-private")


def test_redacting_again_publishes_the_same_bytes_and_leaves_the_campaign_alone(
    private: Path, redacted_once: tuple[Path, Published]
) -> None:
    repository, first = redacted_once
    before = {path: path.read_bytes() for path in private.rglob("*") if path.is_file()}
    second = publish_one(private, repository, redact=True)
    assert second.landed is not None
    assert second.landed.placed[0].already
    assert second.campaigns[0].files == first.campaigns[0].files
    assert {path: path.read_bytes() for path in private.rglob("*") if path.is_file()} == before


def test_a_private_text_in_the_grades_is_found_and_grades_that_cannot_be_computed_again_are_left_out(
    campaign: Path, repository: Path, tmp_path: Path
) -> None:
    source = f"""
from schemas.verdicts import Verdict

def ours(run, rubric):
    return Verdict(verdict="fail", reason="ask {MAIL}", outcome="failure")
"""
    (tmp_path / "ours.py").write_text(source)
    graded(campaign, f"{tmp_path / 'ours.py'}:ours")
    with pytest.raises(PrivateTextsError) as refused:
        publish_one(campaign, repository)
    assert {finding.where for finding in refused.value.findings} == {"column reason", "column explanation"}
    done = publish_one(campaign, repository, redact=True)
    redaction = done.campaigns[0].publication.redaction
    assert redaction is not None
    assert [name.split("@")[0] for name in redaction.dropped_grades] == ["ours"]
    assert MAIL.encode() not in everything(repository, tmp_path)


def test_a_word_that_the_publisher_names_is_private(campaign: Path, repository: Path) -> None:
    write_private_run(campaign, "case-word")
    graded(campaign)
    with pytest.raises(PrivateTextsError) as refused:
        publish_one(campaign, repository, words=("hello marguerite",))
    assert "private_word" in {finding.kind for finding in refused.value.findings}
    with pytest.raises(UsageError, match="--private"):
        publish_one(campaign, repository, words=("12",))


def test_a_private_identity_cannot_be_redacted(campaign: Path, repository: Path) -> None:
    write_private_run(campaign, "case-marguerite")
    graded(campaign)
    with pytest.raises(WorkError, match="run_id is itself private"):
        publish_one(campaign, repository, redact=True)


def test_a_file_that_cannot_be_searched_is_refused(campaign: Path, repository: Path) -> None:
    (campaign / "grades" / "picture.png").write_bytes(b"\x89PNG\r\n\xff\xfe\x00")
    with pytest.raises(PrivateTextsError, match="not_searchable"):
        publish_one(campaign, repository, redact=True)
