"""Whatever is changed in a publication is found and named."""

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import msgspec
import pytest

from replay.publishing.audit import audit, is_published
from replay.publishing.staging import receipts_of, write_sums
from replay.receipts import GRADES
from schemas.errors import UsageError
from schemas.grades import StoredReceipt

FLIPS = 6


def all_files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_a_fetched_branch_holds_and_its_grades_are_computed_again(fetched: Path, directory: Path) -> None:
    found = audit(fetched)
    assert found.problems == ()
    assert audit(directory).problems == ()
    (one,) = found.directories
    assert [receipt.rows for receipt in one.receipts] == [len(one.runs)] * 2
    assert len(one.runs) >= 7
    assert one.notes == ()


def test_one_flipped_byte_in_any_published_file_is_found_and_named(fetched: Path) -> None:
    chance = random.Random(5)
    files = all_files(fetched)
    assert len(files) == 12
    for path in files:
        data = path.read_bytes()
        places = {0, len(data) - 1, *(chance.randrange(len(data)) for _ in range(FLIPS - 2))}
        for at in places:
            changed = bytearray(data)
            changed[at] ^= 1 << chance.randrange(8)
            path.write_bytes(changed)
            named = {problem.file for problem in audit(fetched, regrade=False).problems}
            assert path.relative_to(fetched).as_posix() in named, (path, at)
        path.write_bytes(data)
    assert audit(fetched, regrade=False).clean


def test_a_changed_line_break_in_the_sums_is_found(directory: Path) -> None:
    sums = directory / "SHA256SUMS"
    data = sums.read_bytes()
    for at, byte in enumerate(data):
        if byte == 0x0A:
            sums.write_bytes(data[:at] + b"\x0b" + data[at + 1 :])
            assert "SHA256SUMS" in {problem.file for problem in audit(directory, regrade=False).problems}


def test_a_missing_file_is_named(fetched: Path) -> None:
    for path in all_files(fetched):
        if path.name == "RESULTS.md":
            continue
        data = path.read_bytes()
        path.unlink()
        named = {problem.file for problem in audit(fetched, regrade=False).problems}
        assert path.relative_to(fetched).as_posix() in named
        path.write_bytes(data)


def test_a_file_that_was_not_published_is_named_and_later_grades_are_noted(directory: Path) -> None:
    (directory / "extra.txt").write_text("x")
    (directory / "grades" / "later.txt").write_text("x")
    found = audit(directory, regrade=False)
    assert [problem.file for problem in found.problems] == ["extra.txt"]
    assert any("grades/later.txt was added since" in note for note in found.directories[0].notes)


def test_a_directory_that_results_does_not_name_or_that_misses_is_found(fetched: Path, directory: Path) -> None:
    shutil.copytree(directory, directory.with_name("another"))
    assert "does not name campaigns/another" in str(audit(fetched, regrade=False).problems)
    shutil.rmtree(directory)
    assert f"names campaigns/{directory.name}, which is not there" in str(audit(fetched, regrade=False).problems)


def forged_grades(
    directory: Path, change: Callable[[StoredReceipt], StoredReceipt], statement: str | None = None
) -> None:
    """Edit the newest grades, and make every digest right again that lies beside them."""
    name, receipt = max(receipts_of(directory).items(), key=lambda item: item[1].version)
    path = directory / GRADES / receipt.grade_file
    if statement is not None:
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE grades AS FROM read_parquet('{path}')")
            connection.execute(statement)
            connection.execute(f"COPY grades TO '{path}' (FORMAT parquet)")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    receipt = change(msgspec.structs.replace(receipt, grade_file_sha256=digest))
    (directory / GRADES / name).write_bytes(msgspec.json.format(msgspec.json.encode(receipt), indent=1) + b"\n")
    write_sums(directory)


def same(receipt: StoredReceipt) -> StoredReceipt:
    return receipt


def fewer_failed(receipt: StoredReceipt) -> StoredReceipt:
    coverage = msgspec.structs.replace(receipt.coverage, passed=receipt.coverage.passed + 1)
    return msgspec.structs.replace(receipt, coverage=coverage)


def other_log(receipt: StoredReceipt) -> StoredReceipt:
    return msgspec.structs.replace(receipt, inputs=receipt.inputs | {next(iter(receipt.inputs)): "0" * 64})


@pytest.mark.parametrize(
    ("change", "statement", "reason"),
    [
        (same, "UPDATE grades SET verdict = CASE verdict WHEN 'pass' THEN 'fail' ELSE 'pass' END", "these logs give"),
        (same, "UPDATE grades SET explanation = '{}'", "these logs give"),
        (same, "DELETE FROM grades WHERE run_id = (SELECT min(run_id) FROM grades)", "its grade file has"),
        (same, "INSERT INTO grades FROM grades", "these logs give"),
        (fewer_failed, None, "coverage"),
        (other_log, None, "has SHA-256"),
    ],
)
def test_forged_grades_are_found_even_when_every_digest_was_made_right(
    change: Callable[[StoredReceipt], StoredReceipt], statement: str | None, reason: str, directory: Path
) -> None:
    forged_grades(directory, change, statement)
    problems = audit(directory).problems
    assert [problem.file.startswith("grades/claims@") for problem in problems] == [True]
    assert reason in problems[0].reason


def test_a_forgery_that_is_right_in_itself_is_found_by_results(fetched: Path, directory: Path) -> None:
    page = directory / "scoreboard.md"
    page.write_text(page.read_text() + "\nbetter than all others\n")
    write_sums(directory)
    assert audit(directory, regrade=False).clean
    named = {problem.file for problem in audit(fetched, regrade=False).problems}
    assert named == {f"campaigns/{directory.name}/SHA256SUMS"}


def test_a_publication_that_does_not_fit_its_campaign_is_found(directory: Path) -> None:
    path = directory / "publication.json"
    publication = json.loads(path.read_text()) | {"runs": 999, "publishable": False}
    path.write_text(json.dumps(publication))
    write_sums(directory)
    reasons = " ".join(problem.reason for problem in audit(directory, regrade=False).problems)
    assert "runs is 999" in reasons
    assert "publishable is False" in reasons


def test_events_of_another_campaign_are_found(directory: Path) -> None:
    manifest = directory / "campaign.json"
    manifest.write_text(manifest.read_text().replace("synthetic-base-synthetic-4b", "another"))
    write_sums(directory)
    assert "events.index.json" in {problem.file for problem in audit(directory, regrade=False).problems}


def test_a_grader_that_is_not_here_is_a_note_and_no_silence(directory: Path) -> None:
    forged_grades(directory, lambda receipt: msgspec.structs.replace(receipt, grader="theirs"))
    found = audit(directory)
    assert found.problems == ()
    assert any("theirs@" in note and "not graded again" in note for note in found.directories[0].notes)


def test_a_path_with_nothing_published_is_wrong_usage(tmp_path: Path, pristine: Path) -> None:
    assert not is_published(tmp_path)
    assert not is_published(pristine)
    with pytest.raises(UsageError, match="nothing is published there"):
        audit(tmp_path)
