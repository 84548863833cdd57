"""An exported Inspect log is read by Inspect itself, and comes back to us with the same verdicts."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from replay.campaigns import run_files
from replay.export import export
from replay.fold import fold
from replay.graders import load
from replay.importing.inspect_logs import import_inspect
from replay.scoreboard.gather import Choice, gather
from schemas.recorded import RecordedRun
from tests.scoreboard import grades

HERE = Path(__file__).parent
READER = HERE.parents[1] / ".venv" / "inspect-reader"


@pytest.fixture(scope="module")
def exported(campaign: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign as an `.eval` file."""
    out = tmp_path_factory.mktemp("inspect") / "out"
    export(campaign, "inspect", out)
    return next(out.glob("*.eval"))


def by_case(logs: list[Any]) -> dict[tuple[str, int], RecordedRun]:
    """The newest attempt at each case and repetition."""
    runs = sorted((fold(log) for log in logs), key=lambda run: run.attempt)
    return {(run.case_id, run.repetition): run for run in runs}


def test_a_sample_is_a_case_and_an_epoch_with_our_grades_as_scores(campaign: Path, exported: Path) -> None:
    with zipfile.ZipFile(exported) as archive:
        assert archive.testzip() is None
        header = json.loads(archive.read("header.json"))
        samples = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")]
    runs = by_case(run_files(campaign))
    assert {(sample["id"], sample["epoch"]) for sample in samples} == set(runs)
    assert header["results"]["total_samples"] == len(samples)
    grader = load("claims")
    for sample in samples:
        run = runs[sample["id"], sample["epoch"]]
        verdict = grader.grade(run, run.rubric).verdict
        score = sample["scores"].get(grader.label, {}).get("value")
        assert score == {"pass": "C", "fail": "I", "not_gradable": None}[verdict]


def test_of_several_grades_of_one_version_and_rubric_the_newest_is_the_score(tmp_path: Path) -> None:
    graded = grades.campaign(tmp_path, {"oom": "-"})
    other = grades.grade("oom-r1-c-abc", grades.PASS, campaign_id="c-abc", case_id="oom", repetition=1, agent="model")
    earlier = "2026-07-31T00:00:00Z"
    grades.write_grades(graded, [other | {"model": "ollama/tiny"}], mark="-z", created=earlier)
    export(graded, "inspect", tmp_path / "out")
    (log,) = (tmp_path / "out").glob("*.eval")
    with zipfile.ZipFile(log) as archive:
        (sample,) = (json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/"))
    assert sample["scores"]["claims@2"]["value"] == "I"


@pytest.mark.parametrize("agent", ["oracle", "model"])
def test_what_comes_back_was_answered_by_the_same_agent(tmp_path: Path, agent: str) -> None:
    made = grades.campaign(tmp_path, {"oom-killed": "+"}, agent=agent)
    export(made, "inspect", tmp_path / "out")
    back = import_inspect([next((tmp_path / "out").glob("*.eval"))], tmp_path / "imported").campaigns[0]
    (run,) = (fold(log) for log in run_files(Path(back.path)))
    assert run.agent == agent
    assert json.loads((Path(back.path) / "campaign.json").read_bytes())["agent"] == agent
    (row,) = gather([Path(back.path)], Choice()).rows
    assert row.baseline == (agent != "model")


def test_what_comes_back_has_the_same_turns_calls_and_verdicts(campaign: Path, exported: Path, tmp_path: Path) -> None:
    back = import_inspect([exported], tmp_path).campaigns[0]
    ours, theirs = by_case(run_files(campaign)), by_case(run_files(Path(back.path)))
    assert set(ours) == set(theirs)
    grader = load("claims")
    compared = 0
    for key, run in ours.items():
        other = theirs[key]
        if run.status not in ("completed", "provider_error"):
            continue
        assert other.status == run.status
        assert [turn.answer for turn in other.turns] == [turn.answer for turn in run.turns if turn.outcome]
        one, two = grader.grade(run, run.rubric), grader.grade(other, other.rubric)
        assert (two.verdict, two.failure_class, two.evidence_fetched) == (
            one.verdict,
            one.failure_class,
            one.evidence_fetched,
        )
        for mine, yours in zip(run.turns, other.turns, strict=True):
            assert [(c.tool, c.arguments, c.disposition, c.ok, c.error_class, c.shown) for c in yours.calls] == [
                (c.tool, c.arguments, c.disposition, c.ok, c.error_class, c.shown) for c in mine.calls
            ]
        compared += 1
    assert compared > 20


@pytest.fixture(scope="session")
def inspect_python() -> Path:
    """An interpreter that has Inspect, made beside ours the first time."""
    python = READER / "bin" / "python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(READER)], check=True)
    wanted = [str(python), "-m", "pip", "install", "-q", "-r", str(HERE / "inspect-requirements.txt")]
    subprocess.run(wanted, check=True, capture_output=True)
    return python


@pytest.mark.slow
def test_inspect_reads_the_log_and_what_inspect_writes_is_read_here(
    campaign: Path, exported: Path, inspect_python: Path, tmp_path: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(inspect_python), str(HERE / "read_eval.py"), str(exported)]
    done = subprocess.run(command, capture_output=True, env=environment, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (seen,) = json.loads(done.stdout)
    runs = by_case(run_files(campaign))
    assert seen["status"] == "success"
    assert sorted(map(tuple, seen["summaries"])) == sorted(runs)
    assert {(sample["id"], sample["epoch"]) for sample in seen["samples"]} == set(runs)
    for sample in seen["samples"]:
        run = runs[sample["id"], sample["epoch"]]
        calls = [call for turn in run.turns for call in turn.calls]
        assert sample["calls"] == [[call.tool, call.arguments or {}] for call in calls]
        assert sample["results"] == [call.shown for call in calls if call.ok is not None]
        assert (sample["error"] is None) == (run.status == "completed")
        if run.turns and run.turns[-1].outcome == "answered":
            assert sample["answer"] == run.turns[-1].answer
    back = import_inspect([Path(seen["rewritten"])], tmp_path).campaigns[0]
    again = by_case(run_files(Path(back.path)))
    grader = load("claims")
    assert {key: grader.grade(run, run.rubric).verdict for key, run in again.items()} == {
        key: grader.grade(run, run.rubric).verdict for key, run in runs.items()
    }
