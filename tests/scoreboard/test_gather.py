"""A board says what the verdicts say, and no more."""

import math
import shutil
from pathlib import Path

import pytest

from replay.scoreboard.gather import Choice, gather
from replay.scoreboard.markdown import markdown
from replay.scoreboard.model import Board, Row
from replay.seal.sealing import seal
from schemas.errors import UsageError
from tests.replay_sql.logs import damaged_run, whole_run
from tests.scoreboard.grades import campaign, grade, write_grades


def board(path: Path, **choice: object) -> Board:
    return gather([path], Choice(**choice))  # type: ignore[arg-type]


def only(path: Path, **choice: object) -> Row:
    (row,) = board(path, **choice).rows
    return row


def test_rates_are_of_graded_runs_with_wilson_over_runs_and_the_mean_over_cases(tmp_path: Path) -> None:
    campaign(tmp_path, {"a": "+++", "b": "+--", "c": "-?."})
    row = only(tmp_path)
    assert (row.passed.successes, row.passed.trials) == (4, 7)
    assert row.passed.wilson is not None
    assert row.passed.wilson.low == pytest.approx(0.2505, abs=1e-4)
    assert row.passed.wilson.high == pytest.approx(0.8418, abs=1e-4)
    assert row.passed.over_cases is not None
    assert row.passed.over_cases.estimate == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert [(case.case_id, case.passed, case.graded) for case in row.cases] == [("a", 3, 3), ("b", 1, 3), ("c", 0, 1)]
    assert (row.diagnosis.successes, row.evidence.successes, row.evidence.trials) == (4, 7, 7)
    assert row.failures == {"misdiagnosis": 3, "none": 4}


def test_coverage_counts_every_planned_and_recorded_run(tmp_path: Path) -> None:
    path = campaign(tmp_path, {"a": "+-?", "b": "..+"}, manifest={"pack": {"count": 3}, "repetitions": 3})
    whole_run(path, "b-r1a2-c-abc", campaign_id="c-abc", case_id="b", repetition=1, attempt=2)
    damaged_run(path, "d-r1-c-abc", campaign_id="c-abc", case_id="d")
    found = board(tmp_path)
    coverage = found.rows[0].coverage
    assert coverage.planned == 9
    assert (coverage.recorded, coverage.superseded) == (7, 1)
    assert (coverage.interrupted, coverage.corrupt) == (1, 1)
    assert (coverage.graded, coverage.not_gradable, coverage.not_graded) == (3, 2, 2)
    assert any("2 recorded runs without a verdict" in note for note in found.notes)
    assert any("1 corrupt log;" in note for note in found.notes)
    assert any("7 of 9 planned runs" in note for note in found.notes)


def test_successful_journeys_are_counted_where_a_campaign_holds_journeys_and_nowhere_else(tmp_path: Path) -> None:
    campaign(tmp_path, {"j": "++-", "k": "-?."}, name="c-j", kind="journey")
    campaign(tmp_path, {"a": "++"}, name="c-s", model="ollama/other")
    campaign(tmp_path, {"j": "?"}, name="c-n", model="ollama/none", kind="journey")
    found = {row.campaign_id: (row.successful_journeys, row.journeys) for row in board(tmp_path).rows}
    assert found == {"c-j": (2, 4), "c-s": (None, None), "c-n": (0, 0)}
    text = markdown(board(tmp_path))
    column = (
        next(line for line in text.splitlines() if "successful journeys" in line)
        .split(" | ")
        .index("successful journeys")
    )
    cells = {line.split(" | ")[0]: line.split(" | ")[column] for line in text.splitlines()[:20] if "| ollama" in line}
    assert cells == {"| ollama/tiny": "2/4", "| ollama/other": "—", "| ollama/none": "—"}


def test_a_superseded_attempt_does_not_count(tmp_path: Path) -> None:
    path = campaign(tmp_path, {"a": "+"})
    identity: dict[str, object] = {"campaign_id": "c-abc", "case_id": "a", "repetition": 1, "attempt": 2}
    whole_run(path, "a-r1a2-c-abc", **identity)
    again = identity | {"agent": "model", "model": "ollama/tiny", "rubric": "recorded", "version": 3}
    write_grades(path, [grade("a-r1a2-c-abc", "fail", **again)])
    row = only(tmp_path)
    assert (row.passed.successes, row.passed.trials) == (0, 1)


def test_costs_are_means_with_the_sample_deviation_and_tokens_as_far_as_known(tmp_path: Path) -> None:
    path = campaign(tmp_path, {"a": "+"}, iterations=1, version=1)
    whole_run(path, "a-r2-c-abc", campaign_id="c-abc", case_id="a", repetition=2)
    more = {"campaign_id": "c-abc", "case_id": "a", "repetition": 2, "agent": "model", "model": "ollama/tiny"}
    write_grades(path, [grade("a-r2-c-abc", "fail", **more, iterations=4, input_tokens=None, output_tokens=None)])
    cost = only(tmp_path).cost
    assert cost.iterations is not None
    assert cost.iterations.sample == pytest.approx(3 / math.sqrt(2))
    assert cost.iterations.population == pytest.approx(1.5)
    assert (cost.input_tokens, cost.output_tokens, cost.tokens_unknown) == (300, 20, 1)


def test_reliability_is_unbiased_or_not_estimable(tmp_path: Path) -> None:
    campaign(tmp_path / "whole", {"a": "++-", "b": "+++"})
    campaign(tmp_path / "short", {"a": "++-", "b": "++?"})
    whole, short = only(tmp_path / "whole").reliability, only(tmp_path / "short").reliability
    assert whole is not None
    assert (whole.k, whole.all_of_k, whole.any_of_k) == (3, 0.5, 1.0)
    assert short is not None
    assert (short.all_of_k, short.any_of_k) == (None, None)


def cases(passing: int, of: int = 12) -> dict[str, str]:
    return {f"case-{number:02}": "+++" if number < passing else "---" for number in range(of)}


def test_rows_share_a_rank_where_their_difference_is_not_supported(tmp_path: Path) -> None:
    campaign(tmp_path, cases(12), name="c-1", model="good")
    campaign(tmp_path, cases(10), name="c-2", model="nearly")
    campaign(tmp_path, cases(0), name="c-3", model="bad")
    found = board(tmp_path)
    assert [(row.name, row.rank) for row in found.rows] == [("good", 1), ("nearly", 1), ("bad", 3)]
    supported = {(pair.first, pair.second): pair.supported for pair in found.comparisons}
    assert supported == {("bad", "good"): True, ("bad", "nearly"): True, ("good", "nearly"): False}
    assert all(pair.p_holm is not None and pair.p_value is not None for pair in found.comparisons)


def test_baselines_stand_below_the_models_without_a_rank(tmp_path: Path) -> None:
    campaign(tmp_path, cases(1), name="c-1", model="weak")
    campaign(tmp_path, cases(12), name="c-2", agent="oracle", model="")
    campaign(tmp_path, cases(3), name="c-3", agent="constant-oom", model="")
    found = board(tmp_path)
    assert [(row.name, row.rank, row.baseline) for row in found.rows] == [
        ("weak", 1, False),
        ("constant-oom", None, True),
        ("oracle", None, True),
    ]
    assert found.comparisons == ()
    assert not any("baseline" in note for note in found.notes)


def test_rows_graded_by_different_versions_are_not_ranked(tmp_path: Path) -> None:
    campaign(tmp_path, cases(12), name="c-1", model="new", version=2)
    campaign(tmp_path, cases(0), name="c-2", model="old", version=1)
    found = board(tmp_path)
    assert [row.rank for row in found.rows] == [None, None]
    assert found.comparisons == ()
    assert "they are not ranked" in found.notes[0]


def test_names_are_as_short_as_they_can_be_and_tell_rows_apart(tmp_path: Path) -> None:
    campaign(tmp_path, cases(1), name="c-1", model="m", arm="base")
    campaign(tmp_path, cases(1), name="c-2", model="m", arm="no-diagnose")
    campaign(tmp_path, cases(1), name="c-3", model="m", arm="no-diagnose")
    assert sorted(row.name for row in board(tmp_path).rows) == [
        "m [base]",
        "m [no-diagnose] (c-2)",
        "m [no-diagnose] (c-3)",
    ]


def test_an_older_version_can_be_asked_for(tmp_path: Path) -> None:
    path = campaign(tmp_path, {"a": "+"}, version=2)
    identity = {"campaign_id": "c-abc", "case_id": "a", "repetition": 1, "agent": "model", "model": "ollama/tiny"}
    write_grades(path, [grade("a-r1-c-abc", "fail", **identity, version=1)])
    assert only(tmp_path).passed.successes == 1
    assert only(tmp_path, version=1).passed.successes == 0
    (flip,) = board(tmp_path).flips
    assert (flip.case_id, flip.from_version, flip.to_version, flip.from_verdict, flip.to_verdict) == (
        "a",
        1,
        2,
        "fail",
        "pass",
    )


def test_provenance_comes_from_the_manifest(tmp_path: Path) -> None:
    manifest: dict[str, object] = {
        "publishable": False,
        "not_publishable_because": ["the model was not warmed up"],
        "serving_after": {
            "engine": {"name": "ollama", "version": "0.9"},
            "digest": "sha256:abc",
            "context_length": 4096,
        },
        "prompt": {"source": "default", "sha256": "f" * 64},
        "harness": {"version": "1", "revision": "deadbeef"},
    }
    campaign(tmp_path, {"a": "+"}, manifest=manifest)
    provenance = only(tmp_path).provenance
    assert provenance.publishable is False
    assert provenance.not_publishable_because == ("the model was not warmed up",)
    assert (provenance.engine, provenance.digest, provenance.context_length) == ("ollama 0.9", "sha256:abc", 4096)
    assert (provenance.prompt, provenance.harness, provenance.quantization) == (
        "default ffffffffffff",
        "deadbeef",
        None,
    )


def test_a_manifest_of_another_shape_leaves_its_facts_unknown(tmp_path: Path) -> None:
    campaign(tmp_path, {"a": "+"}, manifest={"harness": "something else"})
    assert only(tmp_path).provenance.harness is None


def test_a_campaign_without_verdicts_stands_there_as_not_graded(tmp_path: Path) -> None:
    campaign(tmp_path, {"a": "+"}, name="c-1", model="graded")
    whole_run(tmp_path / "c-2", "a-r1-c-2", campaign_id="c-2", model="new")
    found = board(tmp_path)
    assert [(row.name, row.rank, row.coverage.graded) for row in found.rows] == [("graded", 1, 1), ("new", None, 0)]
    assert any(note.startswith("new: no run has a verdict of claims yet") for note in found.notes)


@pytest.mark.parametrize(
    ("choice", "why"),
    [({"grader": "other"}, "claims@2"), ({"version": 9}, "claims@2"), ({"rubric": "current"}, "recorded")],
)
def test_verdicts_that_are_not_there_are_refused_with_those_that_are(
    tmp_path: Path, choice: dict[str, object], why: str
) -> None:
    campaign(tmp_path, {"a": "+"})
    with pytest.raises(UsageError, match=why):
        board(tmp_path, **choice)


def test_without_any_verdict_the_way_out_is_regrade(tmp_path: Path) -> None:
    whole_run(tmp_path, "a-r1-abc")
    with pytest.raises(UsageError, match="korvid-replay regrade"):
        board(tmp_path)


def test_among_several_graders_one_must_be_named_unless_claims_is_there(tmp_path: Path) -> None:
    path = campaign(tmp_path, {"a": "+"}, grader="one")
    identity = {"campaign_id": "c-abc", "case_id": "a", "repetition": 1, "agent": "model", "model": "ollama/tiny"}
    write_grades(path, [grade("a-r1-c-abc", "fail", **identity, grader="two")])
    with pytest.raises(UsageError, match=r"--grader one\|two"):
        board(tmp_path)
    assert only(tmp_path, grader="two").passed.successes == 0


def told(*paths: Path) -> tuple[Board, list[str]]:
    notes: list[str] = []
    return gather(paths, Choice(), note=notes.append), notes


def test_a_run_that_lies_in_two_directories_counts_once_and_both_are_named(tmp_path: Path) -> None:
    path = campaign(tmp_path, {"a": "+-"})
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    alone = board(path)
    both, notes = told(path, copy)
    assert both == alone
    assert notes == [f"2 runs lie in {path} and in {copy}: counted once"]
    seal(copy)
    assert told(path, copy) == (alone, notes)


def test_a_copy_without_grades_leaves_no_run_without_a_verdict(tmp_path: Path) -> None:
    path = campaign(tmp_path, {"a": "+"})
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    shutil.rmtree(copy / "grades")
    both, notes = told(path, copy)
    assert both.rows[0].coverage == only(path).coverage
    assert not any("without a verdict" in note for note in both.notes)
    assert notes == [f"1 run lies in {path} and in {copy}: counted once"]


def test_the_same_run_id_with_different_logs_is_warned_of(tmp_path: Path) -> None:
    path = campaign(tmp_path, {"a": "+"})
    other = whole_run(tmp_path / "other", "a-r1-c-abc", campaign_id="c-abc", case_id="a", seed=7).parent.parent
    both, notes = told(path, other)
    assert (both.rows[0].coverage.recorded, both.rows[0].coverage.graded) == (1, 1)
    assert len(notes) == 1
    assert notes[0].startswith(f"1 run id is in {path} and in {other} with different logs, of which one counts")


def test_a_row_whose_runs_are_not_gradable_is_said_to_be_graded_and_why(tmp_path: Path) -> None:
    campaign(tmp_path, {"a": "??"}, name="c-1", reason="not_recorded")
    campaign(tmp_path, {"a": "?"}, name="c-2", model="broken", reason="provider_error")
    found = board(tmp_path)
    notes = {note.partition(":")[0]: note for note in found.notes}
    assert "2 runs graded by claims, none gradable (not_recorded: 2)" in notes["ollama/tiny"]
    assert "regrade over c-1 with --grader claims-only" in notes["ollama/tiny"]
    assert notes["broken"] == "broken: 1 run graded by claims, none gradable (provider_error: 1)."
    assert {row.campaign_id: row.not_gradable for row in found.rows} == {
        "c-1": {"not_recorded": 2},
        "c-2": {"provider_error": 1},
    }


def test_a_row_without_an_arm_has_no_brackets(tmp_path: Path) -> None:
    campaign(tmp_path, cases(1), name="c-1", model="m")
    campaign(tmp_path, cases(1), name="c-2", model="m", arm="no-diagnose")
    assert sorted(row.name for row in board(tmp_path).rows) == ["m", "m [no-diagnose]"]


@pytest.mark.parametrize(
    ("choice", "flags"),
    [
        ({"grader": "claims-only"}, "--grader claims-only"),
        ({"rubric": "current"}, "--grader claims --rubric current"),
        ({"version": 9}, "--grader claims@9"),
    ],
)
def test_verdicts_that_are_not_there_come_from_the_regrade_that_is_named(
    tmp_path: Path, choice: dict[str, object], flags: str
) -> None:
    campaign(tmp_path, {"a": "+"})
    with pytest.raises(UsageError) as refused:
        board(tmp_path, **choice)
    assert str(refused.value).endswith(f"run: korvid-replay regrade {tmp_path} {flags}")
