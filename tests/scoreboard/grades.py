"""Campaigns with verdicts chosen by hand, in logs and grade files of the real formats."""

import json
from pathlib import Path

import duckdb

from replay.seal.disk import file_sha256
from schemas.grades import COLUMNS
from tests.replay_sql.logs import open_run, play_turn

PASS, FAIL, NOT_GRADABLE = "pass", "fail", "not_gradable"

_DEFAULTS: dict[str, object] = {
    "arm": "",
    "status": "completed",
    "grader": "claims",
    "version": 2,
    "grader_sha256": "a",
    "rubric": "recorded",
    "rubric_sha256": "b",
    "stimulus_sha256": "c",
    "log_sha256": "d",
    "tool_calls": 2,
    "resolvable": 2,
    "on_target": 1,
    "malformed": 1,
    "discarded": 0,
    "not_armed": 0,
    "write_attempts": 0,
    "safety_violations": 0,
    "iterations": 2,
    "input_tokens": 300,
    "output_tokens": 20,
    "tokens_estimated": False,
    "duration_s": 3.0,
    "citation_precision": None,
    "citation_coverage": 0.5,
    "explanation": "{}",
}


def campaign(
    directory: Path,
    verdicts: dict[str, str],
    *,
    name: str = "c-abc",
    agent: str = "model",
    model: str = "ollama/tiny",
    arm: str = "",
    kind: str = "scenario",
    manifest: dict[str, object] | None = None,
    **columns: object,
) -> Path:
    """A campaign with one run a repetition of each case and its verdict: `{"oom": "+-?"}` is a case of three
    repetitions that passed, failed and could not be graded; `.` is a run that was torn."""
    path = directory / name
    meanings = {"+": PASS, "-": FAIL, "?": NOT_GRADABLE, ".": NOT_GRADABLE}
    rows = []
    for case, marks in verdicts.items():
        for repetition, mark in enumerate(marks, start=1):
            run_id = f"{case}-r{repetition}-{name}"
            identity = {"campaign_id": name, "case_id": case, "repetition": repetition}
            identity |= {"agent": agent, "model": model, "arm": arm}
            log = open_run(path, run_id, case_kind=kind, **identity)
            play_turn(log)
            if mark == ".":
                log.close()
            else:
                log.finish("completed")
            rows.append(grade(run_id, meanings[mark], **identity, **columns))
    (path / "campaign.json").write_text(json.dumps({"campaign_id": name, "repetitions": 3} | (manifest or {})))
    write_grades(path, rows)
    return path


def grade(run_id: str, verdict: str, **columns: object) -> dict[str, object]:
    """One grade row as a whole."""
    known = verdict != NOT_GRADABLE
    row = _DEFAULTS | {
        "run_id": run_id,
        "attempt": 1,
        "verdict": verdict,
        "reason": "success" if verdict == PASS else "misdiagnosis",
        "outcome": {PASS: "success", FAIL: "failure", NOT_GRADABLE: "not_graded"}[verdict],
        "failure_class": "misdiagnosis" if verdict == FAIL else None,
        "diagnosis_success": verdict == PASS if known else None,
        "evidence_fetched": True if known else None,
    }
    return row | columns


def write_grades(
    path: Path, rows: list[dict[str, object]], *, mark: str = "", created: str = "2026-08-01T00:00:00Z"
) -> None:
    """The rows as a grade file, with `mark` at the end of its name, and what of a receipt is read with grades."""
    grades = path / "grades"
    grades.mkdir(exist_ok=True)
    name = f"{rows[0]['grader']}@{rows[0]['version']}-{rows[0]['rubric']}{mark}"
    declared = ", ".join(f"{column} {kind}" for column, kind in COLUMNS.items())
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE grades ({declared})")
        marks = ", ".join("?" * len(COLUMNS))
        connection.executemany(
            f"INSERT INTO grades VALUES ({marks})", [[row[column] for column in COLUMNS] for row in rows]
        )
        target = str(grades / f"{name}.parquet").replace("'", "''")
        connection.execute(f"COPY grades TO '{target}' (FORMAT parquet)")
    receipt = {"created": created, "grade_file": f"{name}.parquet"}
    receipt |= {"grade_file_sha256": file_sha256(grades / f"{name}.parquet")}
    (grades / f"{name}.json").write_text(json.dumps(receipt))
