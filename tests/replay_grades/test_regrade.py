"""Regrading a campaign: what is stored, what is refused, what moved."""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import msgspec
import pytest

from grading.registry import GRADERS
from replay import graders as graders_module
from replay import regrade as regrading
from replay.fold import fold
from replay.graders import load
from replay.regrade import Options, Regraded, regrade
from replay.seal.sealing import seal
from replay.sql.session import Session
from replay.sql.sources import campaigns_at
from replay.store import publish
from replay.verify import verify
from schemas.errors import UsageError, WorkError
from schemas.grades import COLUMNS, GradeRow, Receipt, StoredReceipt
from tests.replay_grades.tools import FAIL_ALL, PASS_ALL, digests, pack, raw, rows, run_regrade
from tests.synthetic import Options as Synthetic
from tests.synthetic import generate

GraderFile = Callable[[str], str]


def grade_files(campaign: Path) -> list[str]:
    return sorted(path.name for path in (campaign / "grades").iterdir())


def stored_receipt(campaign: Path, done: Regraded) -> StoredReceipt:
    path = campaign / "grades" / (done.receipt.grade_file[:-8] + ".json")
    return msgspec.json.decode(path.read_bytes(), type=StoredReceipt)


def as_told(stored: StoredReceipt) -> Receipt:
    """A stored receipt without its inputs."""
    return Receipt(**{name: getattr(stored, name) for name in Receipt.__struct_fields__})


def test_a_regrade_stores_a_row_for_each_log_and_a_receipt_beside_it(campaign: Path) -> None:
    done = run_regrade(campaign)
    logs = sorted(campaign.glob("runs/*"))
    assert done.written
    assert grade_files(campaign) == sorted([done.receipt.grade_file, done.receipt.grade_file[:-8] + ".json"])
    assert rows(campaign, "SELECT count(*), count(DISTINCT run_id) FROM grades") == [(len(logs), len(logs))]
    stored = stored_receipt(campaign, done)
    assert as_told(stored) == done.receipt
    assert stored.model_calls == 0
    assert stored.inputs == {fold(log).run_id: fold(log).log_sha256 for log in logs}


def test_the_columns_are_those_of_the_struct_with_the_declared_types(campaign: Path) -> None:
    done = run_regrade(campaign)
    assert tuple(COLUMNS) == GradeRow.__struct_fields__
    with duckdb.connect() as connection:
        found = connection.execute(
            f"DESCRIBE FROM read_parquet('{campaign}/grades/{done.receipt.grade_file}')"
        ).fetchall()
    assert {name: kind for name, kind, *_ in found} == COLUMNS


def test_the_logs_and_the_manifest_are_the_same_bytes_after_a_regrade(campaign: Path) -> None:
    before = digests(campaign)
    run_regrade(campaign, jobs=2)
    after = digests(campaign)
    assert {name: after[name] for name in before} == before


def test_what_the_harness_broke_is_counted_and_never_graded(campaign: Path) -> None:
    coverage = run_regrade(campaign).receipt.coverage
    counted = rows(
        campaign,
        "SELECT status, verdict, reason, count(*) FROM grades WHERE status <> 'completed' GROUP BY ALL ORDER BY ALL",
    )
    assert {status for status, *_ in counted} == {"interrupted", "provider_error", "harness_invalid"}
    assert all(verdict == "not_gradable" and reason == status for status, verdict, reason, _ in counted)
    assert coverage.interrupted > 0
    assert coverage.provider_error > 0
    assert coverage.harness_invalid > 0
    assert coverage.graded == coverage.passed + coverage.failed
    assert coverage.graded + coverage.not_gradable == coverage.recorded - coverage.superseded
    assert coverage.fraction == pytest.approx(coverage.graded / 48, abs=1e-6)


def test_a_superseded_attempt_is_listed_and_counts_in_nothing_else(campaign: Path) -> None:
    done = run_regrade(campaign)
    assert done.receipt.superseded
    assert all(f"{run_id}-a2" in stored_receipt(campaign, done).inputs for run_id in done.receipt.superseded)
    assert done.receipt.coverage.superseded == len(done.receipt.superseded)


def test_the_same_regrade_again_stores_nothing_and_says_so(campaign: Path) -> None:
    first = run_regrade(campaign)
    before = digests(campaign)
    again = run_regrade(campaign, jobs=2)
    assert (first.written, again.written) == (True, False)
    assert again.receipt == first.receipt
    assert digests(campaign) == before


def test_grades_are_the_same_bytes_whatever_the_number_of_processes(pristine: Path, tmp_path: Path) -> None:
    found = []
    for jobs in (1, 2):
        copy = Path(shutil.copytree(pristine, tmp_path / str(jobs) / pristine.name))
        done = run_regrade(copy, jobs=jobs)
        found.append((done.receipt.grade_file, (copy / "grades" / done.receipt.grade_file).read_bytes()))
    assert found[0] == found[1]


def test_two_regrades_at_once_both_succeed_and_leave_one_file(campaign: Path) -> None:
    grader = load("claims")
    done: list[bool] = []
    together = threading.Barrier(2)

    def work() -> None:
        together.wait()
        done.append(regrade(campaign, grader, Options()).clean)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True, True]
    assert len(grade_files(campaign)) == 2


def test_a_name_that_is_taken_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "stored").write_text("first")
    (tmp_path / "made").write_text("second")
    assert not publish(tmp_path / "made", tmp_path / "stored")
    assert (tmp_path / "stored").read_text() == "first"


def test_a_receipt_that_was_lost_is_written_again(campaign: Path) -> None:
    done = run_regrade(campaign)
    receipt = campaign / "grades" / (done.receipt.grade_file[:-8] + ".json")
    receipt.unlink()
    again = run_regrade(campaign)
    assert not again.written
    assert as_told(stored_receipt(campaign, again)) == again.receipt


@pytest.mark.parametrize(
    "damage", [{"inputs": None}, {"coverage": None}, {"version": "x"}, {"inputs_sha256": "0" * 64}]
)
def test_a_receipt_that_was_damaged_is_named(campaign: Path, damage: dict[str, str | None]) -> None:
    done = run_regrade(campaign)
    receipt = campaign / "grades" / (done.receipt.grade_file[:-8] + ".json")
    members = msgspec.json.decode(receipt.read_bytes()) | damage
    receipt.write_bytes(msgspec.json.encode({name: value for name, value in members.items() if value is not None}))
    with pytest.raises(WorkError, match=f"{receipt.name}: is not the receipt of"):
        run_regrade(campaign)


def test_a_stored_grade_that_was_changed_is_an_error_that_names_the_run(campaign: Path) -> None:
    done = run_regrade(campaign)
    file = campaign / "grades" / done.receipt.grade_file
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS FROM '{file}'")
        ((run_id,),) = connection.execute("SELECT min(run_id) FROM t WHERE verdict = 'fail'").fetchall()
        connection.execute("UPDATE t SET verdict = 'pass' WHERE run_id = ?", [run_id])
        file.unlink()
        connection.execute(f"COPY t TO '{file}' (FORMAT parquet)")
    with pytest.raises(WorkError, match=f"run {run_id}: claims@.* not deterministic, or that file was changed"):
        run_regrade(campaign)


def test_a_grader_that_gives_another_result_under_its_version_is_an_error_that_names_the_run(
    campaign: Path, grader_file: GraderFile
) -> None:
    body = """
import itertools
count = itertools.count()
def mine(run, rubric):
    return Verdict(verdict="pass", reason=f"number {next(count)}", outcome="success")
"""
    reference = grader_file(body)
    run_regrade(campaign, reference)
    with pytest.raises(WorkError, match=r"run .* for the same log, rubric and grading source"):
        run_regrade(campaign, reference)
    assert len(grade_files(campaign)) == 2


def test_an_edited_grader_under_an_unchanged_version_is_refused_by_name(
    campaign: Path, grader_file: GraderFile
) -> None:
    run_regrade(campaign, grader_file(PASS_ALL))
    before = digests(campaign)
    with pytest.raises(WorkError, match=r"mine@1 was edited: .* set VERSION = 2"):
        run_regrade(campaign, grader_file(PASS_ALL + "\n# not even the verdicts differ\n"))
    assert digests(campaign) == before
    done = run_regrade(campaign, grader_file(FAIL_ALL.format(version=2)))
    assert done.receipt.version == 2


def test_a_grader_with_a_history_may_grow_as_long_as_no_result_changes(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_regrade(campaign, "claims@1")
    grown = GRADERS["claims"]
    notes: list[str] = []

    def another_source(version: int) -> object:
        return msgspec.structs.replace(grown.at(version), digest="f" * 64)

    monkeypatch.setitem(GRADERS, "claims", msgspec.structs.replace(grown, at=another_source))
    done = regrade(campaign, load("claims@1"), Options(), notes.append)
    assert done.written
    assert len(done.receipt.edited_from) == 1
    assert "the results are the same" in notes[0]

    def edited(version: int) -> object:
        found = grown.at(version)
        newest = grown.at(grown.latest)
        return msgspec.structs.replace(found, digest="e" * 64, function=newest.function)

    monkeypatch.setitem(GRADERS, "claims", msgspec.structs.replace(grown, at=edited))
    with pytest.raises(WorkError, match=r"run .*: claims@1 was edited: it gives .* under the same version"):
        run_regrade(campaign, "claims@1")


def test_a_grader_that_fails_on_a_run_leaves_the_others_graded(campaign: Path, grader_file: GraderFile) -> None:
    body = """
def mine(run, rubric):
    if run.case_id == "all-well":
        raise KeyError("surprise")
    return Verdict(verdict="pass", reason="success", outcome="success")
"""
    done = run_regrade(campaign, grader_file(body))
    assert not done.clean
    reasons = rows(campaign, "SELECT verdict, reason, min(case_id) FROM grades WHERE status = 'completed' GROUP BY ALL")
    assert ("not_gradable", "grader_error: KeyError", "all-well") in reasons
    assert ("pass", "success", "memory-limit") in reasons
    assert done.failures[0].where == "graders.py:5"
    assert set(done.receipt.grader_errors) == {failure.run_id for failure in done.failures}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_grader_that_ends_the_program_fails_on_its_runs_only(
    jobs: int, campaign: Path, grader_file: GraderFile
) -> None:
    done = run_regrade(campaign, grader_file("def mine(run, rubric):\n    raise SystemExit(0)\n"), jobs=jobs)
    assert {failure.error for failure in done.failures} == {"SystemExit: 0"}
    assert not done.clean


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_grader_prints_goes_to_stderr(
    jobs: int, campaign: Path, grader_file: GraderFile, capfd: pytest.CaptureFixture[str]
) -> None:
    run_regrade(campaign, grader_file(PASS_ALL.replace("    return", "    print('noise')\n    return")), jobs=jobs)
    out, err = capfd.readouterr()
    assert out == ""
    assert "noise" in err


def test_a_grader_of_strangers_never_sees_a_run_that_is_not_complete(campaign: Path, grader_file: GraderFile) -> None:
    body = """
def mine(run, rubric):
    assert run.status == "completed"
    return Verdict(verdict="pass", reason="success", outcome="success")
"""
    assert run_regrade(campaign, grader_file(body)).clean


def test_a_corrupt_log_is_refused_by_name_and_the_rest_is_graded(campaign: Path) -> None:
    log = next(log for log in sorted(campaign.glob("runs/*")) if fold(log).status == "completed")
    pack(log, raw(log).replace(b'"ok":true', b'"ok":false', 1))
    done = run_regrade(campaign)
    assert not done.clean
    assert [(found.file, "SHA-256" in found.reason) for found in done.receipt.corrupt] == [(log.name, True)]
    assert str(campaign) not in done.receipt.corrupt[0].reason
    assert rows(campaign, f"SELECT count(*) FROM grades WHERE run_id = '{log.name[:-10]}'") == [(0,)]


@pytest.mark.parametrize("left", [0, 1, 100])
def test_a_run_that_was_killed_within_its_first_event_counts_as_interrupted(campaign: Path, left: int) -> None:
    before = run_regrade(campaign).receipt.coverage
    log = next(log for log in sorted(campaign.glob("runs/*")) if fold(log).status == "completed")
    log.write_bytes(log.read_bytes()[:left])
    done = run_regrade(campaign)
    assert done.clean
    after = done.receipt.coverage
    assert (after.recorded, after.interrupted, after.graded) == (
        before.recorded,
        before.interrupted + 1,
        before.graded - 1,
    )
    assert [check.state for check in verify(log)] == ["interrupted"]


def test_a_campaign_of_which_every_run_was_killed_at_its_start_says_so(campaign: Path) -> None:
    for log in campaign.glob("runs/*"):
        log.write_bytes(b"")
    with pytest.raises(WorkError, match="every log is torn before its first event ends"):
        run_regrade(campaign)
    assert grade_files(campaign) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_campaign_that_is_sealed_meanwhile_is_not_corrupt_and_nothing_is_stored(
    jobs: int, campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = regrading.run_files(campaign)
    seal(campaign, level=1)
    monkeypatch.setattr(regrading, "run_files", lambda _: listed)
    with pytest.raises(WorkError, match=r"\.jsonl\.zst: was there and is gone: .*try again"):
        run_regrade(campaign, jobs=jobs)
    assert grade_files(campaign) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_log_of_another_campaign_is_refused_by_name(jobs: int, campaign: Path) -> None:
    manifest = campaign / "campaign.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"campaign_id":', b'"campaign_id":"other","was":'))
    with pytest.raises(WorkError, match=r"no log can be read; .*\.jsonl\.zst: event 0: this run belongs to campaign"):
        run_regrade(campaign, jobs=jobs)
    assert not list((campaign / "grades").iterdir())


def test_a_campaign_without_one_readable_log_stores_nothing(campaign: Path) -> None:
    for log in campaign.glob("runs/*"):
        log.write_bytes(b"no zstd at all")
    with pytest.raises(WorkError, match="no log can be read"):
        run_regrade(campaign)
    assert grade_files(campaign) == []


def test_where_selects_by_the_runs_view_and_the_rest_is_counted_as_not_selected(campaign: Path) -> None:
    done = run_regrade(campaign, where="case_id = 'all-well' AND status = 'completed'")
    assert rows(campaign, "SELECT DISTINCT case_id, status FROM grades") == [("all-well", "completed")]
    graded = len(stored_receipt(campaign, done).inputs)
    assert done.receipt.coverage.not_selected == len(list(campaign.glob("runs/*"))) - graded
    whole = run_regrade(campaign)
    assert whole.receipt.grade_file != done.receipt.grade_file
    assert whole.receipt.flips == ()


@pytest.mark.parametrize("where", ["nonsense = 1", "case_id = ", "case_id = 'no such case'"])
def test_a_wrong_condition_is_a_usage_error_and_stores_nothing(where: str, campaign: Path) -> None:
    with pytest.raises(UsageError, match=r"SQL|--where"):
        run_regrade(campaign, where=where)
    assert not (campaign / "grades").exists()


def test_a_whole_history_of_versions_moves_verdicts_for_the_reasons_it_gives(campaign: Path) -> None:
    run_regrade(campaign, "claims@1")
    done = run_regrade(campaign)
    assert done.receipt.flips
    causes = {flip.cause.changes for flip in done.receipt.flips}
    assert causes <= {("A-06",), ("C-05",), ("C-08",)}
    answers = {log.name[:-10]: fold(log).turns[0].answer for log in campaign.glob("runs/*") if fold(log).turns}
    for flip in done.receipt.flips:
        answer = answers[flip.run_id]
        if "—" in answer.splitlines()[0]:
            assert flip.cause.changes == ("A-06",)
        assert (flip.from_grader, flip.to_grader) == ("claims@1", f"claims@{GRADERS['claims'].latest}")


def test_the_previous_grade_is_that_of_the_nearest_older_version(campaign: Path) -> None:
    latest = GRADERS["claims"].latest
    run_regrade(campaign, f"claims@{latest}")
    run_regrade(campaign, f"claims@{latest - 1}")
    run_regrade(campaign, "claims@1")
    done = run_regrade(campaign, f"claims@{latest}")
    assert not done.written
    assert all(flip.from_grader == f"claims@{latest - 1}" for flip in done.receipt.flips)
    middle = run_regrade(campaign, "claims@3")
    assert all(flip.from_grader == "claims@1" for flip in middle.receipt.flips)


def current_pack(campaign: Path, tmp_path: Path, change: Callable[[dict[str, object]], None]) -> str:
    """A pack directory with the case that the campaign recorded, changed."""
    case: dict[str, object] = {
        "id": "memory-limit",
        "stimulus": {
            "question": "What is the matter with api-1?",
            "interaction": {
                "focused_pane": {
                    "kind": "pods",
                    "scope": "shop",
                    "selected": {"kind": "pods", "name": "api-1", "namespace": "shop"},
                }
            },
            "cluster": fold_stimulus(campaign)["cluster"],
        },
        "rubric": {
            "root_cause": "oom_killed",
            "must_mention": [["OOMKilled"]],
            "must_not_mention": [["image pull"]],
            "expected_evidence": [
                [
                    {
                        "tool": "diagnose_pod",
                        "args": {"pod": "api-1", "namespace": "shop"},
                        "contains": "reason: OOMKilled",
                    }
                ]
            ],
        },
        "pins": {"pass": ["OOMKilled."], "fail": ["image pull"]},
    }
    change(case)
    directory = tmp_path / "pack"
    directory.mkdir(exist_ok=True)
    (directory / "memory-limit.yaml").write_text(json.dumps(case))
    return str(directory)


def fold_stimulus(campaign: Path) -> dict[str, object]:
    log = next(iter(sorted(campaign.glob("runs/memory-limit-*"))))
    stimulus = json.loads(raw(log).split(b"\n", 1)[0])["stimulus"]
    assert isinstance(stimulus, dict)
    return stimulus


def test_a_current_rubric_is_used_where_the_stimulus_is_the_recorded_one(campaign: Path, tmp_path: Path) -> None:
    recorded = run_regrade(campaign)
    reference = current_pack(campaign, tmp_path, lambda case: None)
    done = run_regrade(campaign, rubric="current", pack=reference)
    assert done.receipt.rubric == "current"
    assert done.receipt.pack is not None
    assert done.receipt.pack.startswith("pack ")
    found = rows(campaign, "SELECT case_id, reason FROM grades WHERE rubric = 'current' AND verdict = 'not_gradable'")
    assert {case for case, reason in found if reason == "case_missing"} == {"all-well", "no-secret", "wrong-tag"}
    assert not [reason for case, reason in found if case == "memory-limit" and reason == "case_missing"]
    moved = [flip for flip in done.receipt.flips if flip.case_id == "memory-limit"]
    assert moved
    assert all(flip.cause.changes == ("rubric",) for flip in moved)
    assert recorded.receipt.rubrics["memory-limit"] != done.receipt.rubrics["memory-limit"]


def test_a_move_away_from_a_rubric_that_is_not_at_hand_is_blamed_on_the_rubric(campaign: Path, tmp_path: Path) -> None:
    def other_question(case: dict[str, object]) -> None:
        assert isinstance(case["stimulus"], dict)
        case["stimulus"]["question"] = "Something else?"

    reference = current_pack(campaign, tmp_path, other_question)
    run_regrade(campaign, rubric="current", pack=reference)
    back = run_regrade(campaign)
    assert back.receipt.flips
    assert {flip.cause.changes for flip in back.receipt.flips} == {("rubric",)}
    older = run_regrade(campaign, "claims@1", rubric="current", pack=reference)
    assert not older.receipt.flips


def test_a_changed_stimulus_is_not_gradable_by_name(campaign: Path, tmp_path: Path) -> None:
    def other_question(case: dict[str, object]) -> None:
        assert isinstance(case["stimulus"], dict)
        case["stimulus"]["question"] = "Something else?"

    run_regrade(campaign, rubric="current", pack=current_pack(campaign, tmp_path, other_question))
    found = rows(
        campaign,
        "SELECT DISTINCT verdict, reason, rubric_sha256 FROM grades "
        "WHERE case_id = 'memory-limit' AND status = 'completed'",
    )
    assert found == [("not_gradable", "stimulus_changed", None)]


def test_a_pack_without_the_current_rubric_is_wrong_usage(campaign: Path) -> None:
    with pytest.raises(UsageError, match="--rubric current"):
        run_regrade(campaign, pack="scenarios")


def test_an_empty_campaign_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "c" / "runs").mkdir(parents=True)
    with pytest.raises(WorkError, match="korvid-rec run"):
        run_regrade(tmp_path / "c")


def test_a_campaign_given_twice_is_graded_once(pristine: Path) -> None:
    assert campaigns_at([pristine, pristine.parent]) == [pristine]


def test_a_directory_with_the_characters_of_a_pattern_and_a_quote_grades_like_any_other(tmp_path: Path) -> None:
    (campaign,) = generate(tmp_path / "it's [a] *?", Synthetic(runs=4, raw_kib=4))
    assert run_regrade(campaign).written
    assert not run_regrade(campaign).written


def test_a_row_with_a_very_long_explanation_is_stored_whole(campaign: Path, grader_file: GraderFile) -> None:
    body = """
def mine(run, rubric):
    return Verdict(verdict="pass", reason="x" * 3_000_000, outcome="success")
"""
    run_regrade(campaign, grader_file(body), where="case_id = 'all-well' AND repetition < 3")
    assert rows(campaign, "SELECT DISTINCT len(reason) FROM grades WHERE status = 'completed'") == [(3_000_000,)]


def test_a_lone_surrogate_in_a_verdict_is_stored_as_a_replacement(campaign: Path, grader_file: GraderFile) -> None:
    body = """
def mine(run, rubric):
    return Verdict(verdict="pass", reason="lone \\ud800", outcome="success")
"""
    run_regrade(campaign, grader_file(body))
    assert rows(campaign, "SELECT DISTINCT reason FROM grades WHERE status = 'completed'") == [("lone �",)]


def test_an_edit_while_the_processes_start_is_refused(campaign: Path, grader_file: GraderFile) -> None:
    reference = grader_file(PASS_ALL)
    grader = load(reference)
    grader_file(FAIL_ALL.format(version=1))
    with pytest.raises(UsageError, match="was edited while it was running"):
        regrade(campaign, grader, Options())
    assert graders_module.load(reference).sha256 != grader.sha256


@pytest.mark.parametrize("options", [Options(), Options(rubric="current")], ids=["recorded", "current"])
def test_a_manifest_nested_deeper_than_can_be_read_is_an_error_that_names_it(campaign: Path, options: Options) -> None:
    (campaign / "campaign.json").write_bytes(b'{"x":' + b"[" * 200_000)
    with pytest.raises(WorkError, match=r"campaign\.json: not a campaign manifest"):
        regrade(campaign, load("claims"), options)


def test_grades_below_a_directory_that_is_named_like_a_pattern_are_those_that_are_read(campaign: Path) -> None:
    run_regrade(campaign, "claims@1")
    named = Path(shutil.copytree(campaign, campaign.with_name(f"{campaign.name[0]}[{campaign.name[1:]}]*")))
    run_regrade(named)
    with Session([named]) as session:
        answer = session.query("SELECT DISTINCT version FROM grades ORDER BY version")
        assert list(answer.rows()) == [(1,), (load("claims").version,)]
        written = named / "out[1].parquet"
    with Session([named], writable=[written]) as session:
        assert session.write_parquet("SELECT run_id FROM runs", written) == len(list(named.glob("runs/*")))
