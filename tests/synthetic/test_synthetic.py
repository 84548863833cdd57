"""Synthetic campaigns are real logs with the distributions of real ones."""

from collections import Counter
from pathlib import Path

import pytest

from replay.fold import fold
from replay.verify import verify
from schemas.grades import RunState
from tests.replay_grades.tools import digests
from tests.synthetic import Options, generate
from tests.synthetic.plan import CALLS


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 small runs."""
    return generate(tmp_path_factory.mktemp("synthetic"), Options(runs=400, raw_kib=1))[0]


def test_every_log_verifies_request_bodies_included(campaign: Path) -> None:
    checks = list(verify(campaign))
    assert {check.state for check in checks} == {"complete"}
    assert sum(check.requests for check in checks) > len(checks)


def test_calls_a_run_are_distributed_as_published(campaign: Path) -> None:
    found = Counter(len(fold(log).turns[0].calls) for log in campaign.glob("runs/*"))
    for calls, published in enumerate(CALLS):
        share = published / sum(CALLS)
        assert found[calls] / 400 == pytest.approx(share, abs=4 * (share * (1 - share) / 400) ** 0.5)


def test_the_same_options_give_the_same_bytes_in_any_number_of_processes(tmp_path: Path) -> None:
    options = Options(runs=12, raw_kib=4, interrupted=0.3)
    generate(tmp_path / "one", options)
    generate(tmp_path / "two", options, jobs=2)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    generate(tmp_path / "other", Options(runs=12, raw_kib=4, interrupted=0.3, seed=2))
    assert digests(tmp_path / "one") != digests(tmp_path / "other")


def test_a_run_has_about_the_size_that_was_asked_for(tmp_path: Path) -> None:
    (made,) = generate(tmp_path, Options(runs=40, raw_kib=50))
    sizes = [check.raw_bytes / 1024 for check in verify(made)]
    assert sum(sizes) / len(sizes) == pytest.approx(50, rel=0.15)


def test_models_and_arms_make_campaigns_of_their_own_and_baselines_are_agents(tmp_path: Path) -> None:
    made = generate(tmp_path, Options(runs=4, raw_kib=1, models=("openai/a-1b", "oracle"), arms=("base", "other")))
    agents = {(run.campaign_id, run.arm, run.agent) for path in made for run in map(fold, path.glob("runs/*"))}
    assert len(made) == 4
    assert ("synthetic-other-oracle", "other", "oracle") in agents
    assert ("synthetic-base-a-1b", "base", "model") in agents


def test_what_was_asked_to_be_broken_is_broken(tmp_path: Path) -> None:
    fractions = {"interrupted": 0.2, "provider_error": 0.2, "invalid": 0.2}
    (made,) = generate(tmp_path, Options(runs=200, raw_kib=1, **fractions))
    found: Counter[RunState | None] = Counter(fold(log).status for log in made.glob("runs/*"))
    for status in (None, "provider_error", "harness_invalid"):
        assert found[status] == pytest.approx(40, abs=25)
    assert any(fold(log).attempt == 2 for log in made.glob("runs/*-a2.*"))
