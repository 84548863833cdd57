"""The three published campaigns import whole, keep their verdicts, and claim nothing that was not recorded."""

import io
import re
import shutil
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.campaigns import run_files
from replay.diff import between, render
from replay.fold import fold
from replay.graders import load
from replay.grades import basis
from replay.importing.korvid import ImportedCampaign, ImportResult, import_korvid
from replay.listing import rows
from replay.reader import RunReader
from replay.regrade import Options, regrade
from replay.verify import verify
from schemas.errors import UsageError
from schemas.recorded import RecordedRun
from tests.replay_grades.tools import digests
from tests.replay_grades.tools import rows as grade_rows

ROW = re.compile(r"^\| *([a-z0-9-]+) *\|.*?(\d+)/(\d+)")
ARCHIVES = {
    "2026-08-04": "results/2026-08-04/artifacts.tar.gz",
    "2026-08-04-r2": "results/2026-08-04-r2-artifacts.tar.gz",
    "2026-08-05-postmerge": "results/2026-08-05-postmerge-artifacts.tar.gz",
}


def reports(published: Path) -> Iterator[tuple[str, str, dict[str, tuple[int, int]]]]:
    """(campaign, name without suffix, successes and runs by case) of each Markdown report, read apart from the code."""
    for campaign, path in ARCHIVES.items():
        with tarfile.open(fileobj=io.BytesIO((published / path).read_bytes())) as archive:
            for member in archive:
                name = Path(member.name)
                if name.suffix != ".md" or name.name.startswith("._"):
                    continue
                file = archive.extractfile(member)
                assert file is not None
                found = (ROW.match(line) for line in file.read().decode().splitlines())
                yield campaign, member.name.removesuffix(".md"), {m[1]: (int(m[2]), int(m[3])) for m in found if m}


def by_file(imported: ImportResult) -> dict[tuple[str, str], ImportedCampaign]:
    return {
        (campaign.grader.removeprefix("korvid-published-"), campaign.file.removesuffix(".json")): campaign
        for campaign in imported.campaigns
    }


def runs_of(campaign: ImportedCampaign) -> list[RecordedRun]:
    return [fold(log) for log in run_files(Path(campaign.path))]


def test_every_report_has_its_campaign_with_the_same_cases_runs_and_successes(
    published: Path, imported: ImportResult
) -> None:
    campaigns = by_file(imported)
    seen = set()
    for campaign, name, cases in reports(published):
        runs: defaultdict[str, list[bool]] = defaultdict(list)
        for run in runs_of(campaigns[campaign, name]):
            assert run.published is not None
            runs[run.case_id].append(run.published.passed)
        assert {case: (sum(found), len(found)) for case, found in runs.items()} == cases, name
        seen.add((campaign, name))
    assert seen == set(campaigns)
    assert len(seen) == 39


def test_totals_are_those_of_the_reports(published: Path, imported: ImportResult) -> None:
    told: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for campaign, _, cases in reports(published):
        for passed, runs in cases.values():
            told[campaign] += Counter(passed=passed, runs=runs)
    ours: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for found in imported.campaigns:
        ours[found.grader.removeprefix("korvid-published-")] += Counter(passed=found.passed, runs=found.runs)
    assert ours == told
    assert {name: counts["runs"] for name, counts in ours.items()} == {
        "2026-08-04": 69 + 14 * 6 + 5 * 6 + 3 * 9 + 4 * 3,
        "2026-08-04-r2": 27,
        "2026-08-05-postmerge": 3 * 69 + 27 + 9,
    }


def test_models_are_the_ones_that_were_served(imported: ImportResult) -> None:
    by_campaign: defaultdict[str, set[str]] = defaultdict(set)
    for campaign in imported.campaigns:
        by_campaign[campaign.grader].add(campaign.model.removeprefix("ollama/"))
    small = {"qwen3:1.7b", "qwen3:8b", "qwen3-coder:30b"}
    assert by_campaign["korvid-published-2026-08-04-r2"] == small
    assert by_campaign["korvid-published-2026-08-05-postmerge"] == small
    assert by_campaign["korvid-published-2026-08-04"] >= small | {"llama3.3:70b", "mistral-small3.1", "granite3.2:2b"}
    assert not [note for each in imported.campaigns for note in each.notes if "model" in note]


def test_a_file_that_its_source_withheld_says_so(imported: ImportResult) -> None:
    noted = {campaign.file: campaign.notes for campaign in imported.campaigns if campaign.notes}
    assert noted == {
        "2026-08-04/live-journeys/qwen3-8b.json": ("the source does not count this file among its publishable results",)
    }


def test_scenarios_and_journeys_are_the_published_ones(imported: ImportResult) -> None:
    journeys = {run.case_id for each in imported.campaigns if each.kind == "journey" for run in runs_of(each)}
    assert journeys == {"healthy-stop", "logs-to-events", "triage-and-correct", "live-triage-and-correct"}
    tasks = [campaign for campaign in imported.campaigns if campaign.cases == 23]
    assert [campaign.runs for campaign in tasks] == [69] * 4


def test_summaries_and_reports_agree_with_the_results_and_every_checksum_holds(imported: ImportResult) -> None:
    compared = [report for campaign in imported.campaigns for report in campaign.reports]
    assert sum(report.file.endswith("summary.tsv") for report in compared) == 17
    assert [report for report in compared if report.differences] == []
    assert imported.checksums.problems() == []
    assert sum(listed.ok for listed in imported.checksums.lists) == 143


def test_every_log_verifies_and_says_where_it_came_from(imported: ImportResult) -> None:
    campaign = next(each for each in imported.campaigns if each.file.endswith("tasks/qwen3-8b.json"))
    assert {check.state for check in verify(Path(campaign.path))} == {"complete"}
    reader = RunReader(run_files(Path(campaign.path))[0])
    list(reader)
    assert reader.started is not None
    imported_from = reader.started.imported
    assert imported_from is not None
    assert imported_from.file == "postmerge-124b1aa/tasks/qwen3-8b.json"
    assert imported_from.archive == Path(ARCHIVES["2026-08-05-postmerge"]).name
    assert imported_from.sha256.startswith(campaign.campaign_id.rpartition("-")[2])
    assert imported_from.place == "[0].runs[0]"


def test_a_profile_is_never_restated_as_a_tier(imported: ImportResult) -> None:
    profiles = set()
    for campaign in imported.campaigns:
        reader = RunReader(run_files(Path(campaign.path))[0])
        list(reader)
        assert reader.started is not None
        assert reader.started.imported is not None
        assert reader.started.policy.tier is None
        assert reader.started.policy.route_source == "not_recorded"
        assert {"policy.tier", "policy.limits"} <= set(reader.started.not_recorded)
        profiles.add(reader.started.imported.profile)
    assert profiles == {"small", None}


def test_what_was_never_recorded_is_named_and_evidence_is_not_gradable(imported: ImportResult) -> None:
    claims = load("claims")
    for campaign in imported.campaigns[:4]:
        for run in runs_of(campaign):
            assert {"stimulus", "rubric", "tool_arguments", "tool_results"} <= set(run.not_recorded)
            verdict = claims.grade(run, run.rubric)
            assert (verdict.verdict, verdict.reason) == ("not_gradable", "not_recorded")
            assert verdict.evidence_fetched is None
            assert verdict.diagnosis_success is not None


def test_a_provider_error_is_no_failure_of_the_model(imported: ImportResult) -> None:
    failed = next(each for each in imported.campaigns if each.file.endswith("aks-smoke/llama3.3-70b.json"))
    runs = runs_of(failed)
    assert Counter(run.status for run in runs) == {"provider_error": 5, "completed": 1}
    verdicts = {load("claims-only").grade(run, run.rubric).reason for run in runs if run.status == "provider_error"}
    assert verdicts == {"provider_error"}


def test_an_exhausted_iteration_limit_is_one(imported: ImportResult) -> None:
    full = next(each for each in imported.campaigns if "full-r3" in each.file)
    outcomes = Counter(run.turns[0].outcome for run in runs_of(full))
    assert outcomes == {"answered": 65, "iteration_limit": 4}


def test_calls_iterations_and_tokens_are_the_published_numbers(imported: ImportResult) -> None:
    smoke = next(each for each in imported.campaigns if each.file.endswith("tier8-smoke/qwen3-1.7b.json"))
    runs = runs_of(smoke)
    assert sum(run.turns[0].tool_calls for run in runs) == 7
    assert sum(run.turns[0].iterations for run in runs) / 6 == pytest.approx(2.1666666666666665)
    assert sum(run.duration_s for run in runs) / 6 == pytest.approx(23.89979335432872)
    assert all(run.turns[0].usage.input_tokens for run in runs)


def test_importing_twice_adds_nothing_and_the_logs_are_the_same_bytes(published: Path, tmp_path: Path) -> None:
    archive = published / ARCHIVES["2026-08-04-r2"]
    first = import_korvid(archive, tmp_path / "a", graded=False)
    before = digests(tmp_path / "a")
    again = import_korvid(archive, tmp_path / "a", graded=False)
    assert [campaign.written for campaign in first.campaigns] == [True] * 3
    assert [campaign.written for campaign in again.campaigns] == [False] * 3
    assert digests(tmp_path / "a") == before
    import_korvid(published, tmp_path / "b", graded=False)
    other = digests(tmp_path / "b")
    assert len(before) == 27 + 2 * 3
    assert {name: other.get(name) for name in before} == before


def test_the_published_verdicts_are_grades_that_diff_compares_with_ours(published: Path, tmp_path: Path) -> None:
    result = import_korvid(published / ARCHIVES["2026-08-04-r2"], tmp_path)
    campaign = next(each for each in result.campaigns if each.model == "qwen3:8b")
    stored = grade_rows(
        Path(campaign.path),
        "SELECT grader, count(*), count(*) FILTER (verdict = 'pass') FROM grades GROUP BY 1 ORDER BY 1",
    )
    assert stored == [("claims", 9, 0), ("korvid-published-2026-08-04-r2", 9, 3)]
    calls = grade_rows(Path(campaign.path), "SELECT sum(tool_calls) FROM grades WHERE grader = 'claims'")
    assert calls[0][0] > 9
    found = between([Path(campaign.path)], "korvid-published-claims-2026-08-04-r2", "claims-only")
    assert found.runs == 9
    with pytest.raises(UsageError, match=r"there are korvid-published-2026-08-04-r2; .* --to claims-only"):
        between([Path(campaign.path)], "korvid-published-2026-08-04", "claims")
    assert [run for run in found.moved if run.before == run.after] == []
    text = "\n".join(render(found))
    for run in found.moved:
        assert run.run_id in text
        assert "published: " in run.before_reason


def test_claims_are_graded_by_todays_case_of_the_same_id(imported: ImportResult, tmp_path: Path) -> None:
    campaign = next(each for each in imported.campaigns if each.file.endswith("aks-smoke/qwen3-8b.json"))
    copy = Path(shutil.copytree(campaign.path, tmp_path / campaign.campaign_id))
    done = regrade(copy, load("claims-only"), Options(rubric="current"))
    assert done.receipt.coverage.graded == 6
    assert done.receipt.coverage.planned == 6


def test_a_case_that_is_not_bundled_is_refused_by_name(imported: ImportResult, tmp_path: Path) -> None:
    live = next(each for each in imported.campaigns if each.ungradable_cases)
    copy = Path(shutil.copytree(live.path, tmp_path / live.campaign_id))
    run = fold(run_files(copy)[0])
    assert basis(run, None).problem == "rubric_not_recorded"
    assert basis(run, {}).problem == "case_missing"


def test_a_published_verdict_needs_no_rubric(published: Path, tmp_path: Path) -> None:
    result = import_korvid(published / ARCHIVES["2026-08-04"], tmp_path)
    live = [campaign for campaign in result.campaigns if campaign.ungradable_cases]
    query = "SELECT count(*) FILTER (verdict = 'pass') FROM grades WHERE grader = 'korvid-published-2026-08-04'"
    assert [grade_rows(Path(campaign.path), query)[0][0] for campaign in live] == [c.passed for c in live]
    assert sum(campaign.passed for campaign in live) == 4


def test_runs_are_listed_with_their_model_and_outcome(imported: ImportResult) -> None:
    campaign = next(each for each in imported.campaigns if each.file.endswith("aks-smoke/devstral.json"))
    listed = list(rows(Path(campaign.path)))
    assert {row.model for row in listed} == {"ollama/devstral"}
    assert {row.status for row in listed} == {"completed"}
