"""Grade files are compared within a fixed memory, whatever they hold, and by their rows rather than their bytes."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

from replay import store as stores
from replay.sorted_rows import sort_rows
from replay.store import GradeStore, publish
from schemas.errors import WorkError
from schemas.grades import COLUMNS, GradeRow

RUNS = 30_000
WIDTH = 3_000
MEMORY_MB = 88
"""Enough for writing. All explanations take 90 MB, and as much again in the file that they are compared with."""

PLAIN: dict[str, Any] = {
    "campaign_id": "c", "case_id": "case", "attempt": 1, "arm": "", "agent": "model", "model": "m",
    "status": "completed", "grader": "g", "grader_sha256": "1", "rubric": "recorded",
    "rubric_sha256": "2", "stimulus_sha256": "3", "reason": "", "outcome": "",
    "failure_class": None, "diagnosis_success": None, "evidence_fetched": None, "tool_calls": 0, "resolvable": None,
    "on_target": None, "malformed": None, "discarded": None, "not_armed": None, "write_attempts": None,
    "safety_violations": None, "iterations": 1, "input_tokens": None, "output_tokens": None, "tokens_estimated": False,
    "duration_s": 1.0, "citation_precision": None, "citation_coverage": None,
}  # fmt: skip


def stored(store: GradeStore, version: int, *, failed: int | None = None, width: int = WIDTH, runs: int = RUNS) -> Path:
    """Grade all runs under `version`, of which run `failed` fails and the others pass; the new file."""
    noise = random.Random(0).randbytes(width // 2).hex()

    def lines() -> Iterator[bytes]:
        for number in range(runs):
            text = f"{number} {noise}" if width else str(number)
            verdict = "fail" if number == failed else "pass"
            fields = PLAIN | {
                "run_id": f"r{number:05d}",
                "repetition": number,
                "version": version,
                "log_sha256": f"{number}",
                "verdict": verdict,
                "explanation": text,
            }
            yield msgspec.json.encode(GradeRow(**fields)) + b"\n"

    spool = store.scratch / "0.row"
    with spool.open("wb") as out:
        out.writelines(lines())
    rows = sort_rows([spool], store.scratch, b"")
    assert rows is not None
    return store.write_new(rows)


def rewritten(file: Path, columns: str = "*") -> None:
    """The same rows in other bytes, or others."""
    other = file.with_name("other")
    options = "FORMAT parquet, ROW_GROUP_SIZE 4096"
    duckdb.execute(f"COPY (SELECT {columns} FROM read_parquet('{file}')) TO '{other}' ({options})")
    assert other.read_bytes() != file.read_bytes()
    other.replace(file)


def test_earlier_grades_are_compared_in_less_memory_than_their_rows_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_MEMORY_MB", MEMORY_MB)
    with GradeStore(tmp_path) as store:
        publish(stored(store, 1), store.grades / "g@1.parquet")
    with GradeStore(tmp_path) as store:
        publish(stored(store, 2, failed=7), store.grades / "g@2.parquet")
        assert [(move.run_id, move.before, move.after) for move in store.moves()] == [("r00007", "pass", "fail")]
    rewritten(tmp_path / "grades" / "g@2.parquet")
    with GradeStore(tmp_path) as store:
        stored(store, 2, failed=7)
        assert store.differences(same_source=True) == []
        assert store.same_rows(tmp_path / "grades" / "g@2.parquet")
        assert not store.same_rows(tmp_path / "grades" / "g@1.parquet")


def test_rows_of_any_width_can_be_written(tmp_path: Path) -> None:
    with GradeStore(tmp_path) as store:
        file = stored(store, 1, width=16_000, runs=6_000)
        assert duckdb.execute(f"SELECT count(*) FROM read_parquet('{file}')").fetchall() == [(6_000,)]


@pytest.mark.parametrize(
    ("columns", "same"),
    [
        ("*", True),
        ("* REPLACE ('x' AS explanation)", False),
        ("* REPLACE (CASE WHEN run_id = 'r00009' THEN '9 ' ELSE explanation END AS explanation)", False),
        ("* EXCLUDE (explanation)", False),
        ("* REPLACE (coalesce(failure_class, '') AS failure_class)", False),
    ],
)
def test_a_stored_file_is_the_same_if_its_rows_are(tmp_path: Path, columns: str, same: bool) -> None:
    with GradeStore(tmp_path) as store:
        publish(stored(store, 1, width=0, runs=20), store.grades / "g@1.parquet")
        rewritten(store.grades / "g@1.parquet", columns)
        assert store.same_rows(store.grades / "g@1.parquet") is same


def test_a_stored_file_with_a_row_less_or_more_is_another(tmp_path: Path) -> None:
    with GradeStore(tmp_path) as store:
        publish(stored(store, 1, width=0, runs=20), store.grades / "g@1.parquet")
        for runs in (19, 21):
            stored(store, 1, width=0, runs=runs)
            assert not store.same_rows(store.grades / "g@1.parquet")


def test_a_changed_explanation_is_a_difference_of_the_same_source(tmp_path: Path) -> None:
    with GradeStore(tmp_path) as store:
        publish(stored(store, 1, width=0, runs=20), store.grades / "g@1.parquet")
        rewritten(
            store.grades / "g@1.parquet",
            "* REPLACE (CASE WHEN run_id = 'r00009' THEN '9 ' ELSE explanation END AS explanation)",
        )
        (difference,) = store.differences(same_source=True)
        assert (difference.run_id, difference.file) == ("r00009", "g@1.parquet")
        assert store.differences(same_source=False) == []


def test_the_columns_stand_as_the_contract_says(tmp_path: Path) -> None:
    with GradeStore(tmp_path) as store:
        file = stored(store, 1, width=0, runs=2)
        assert duckdb.execute(f"SELECT * FROM read_parquet('{file}')").description is not None
        names = [name for name, *_ in duckdb.execute(f"SELECT * FROM read_parquet('{file}')").description or ()]
    assert names == list(COLUMNS)


def test_too_little_memory_is_said_to_be_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_MEMORY_MB", 2)
    with GradeStore(tmp_path) as store, pytest.raises(WorkError, match=r"MB of memory are not enough.*--where"):
        stored(store, 1, runs=5_000)
