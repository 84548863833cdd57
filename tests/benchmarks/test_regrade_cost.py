"""Regrading stays near the cost of reading, in flat memory. Ratios of CPU at a small size, the best of three."""

from pathlib import Path

import pytest

from tests.benchmarks.measure import best_of_each
from tests.benchmarks.regrade import campaign_of, decoding, regrading


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the campaigns of these tests lie."""
    return tmp_path_factory.mktemp("campaigns")


def test_regrading_costs_little_more_than_decoding_in_little_memory(campaigns: Path) -> None:
    campaign = campaign_of(campaigns, 600)
    decoded, regraded = best_of_each(lambda: decoding(campaign), lambda: regrading(campaign))
    # Start-up counts on both sides: DuckDB and the grammar weigh more than the logs of 600 runs do.
    print(f"{regraded.cpu_s:.2f} s of CPU to regrade, {decoded.cpu_s:.2f} s to decode")
    assert regraded.cpu_s < 5 * decoded.cpu_s
    assert regraded.peak_mib < 300


def test_the_cost_grows_no_faster_than_the_runs_and_memory_hardly_at_all(campaigns: Path) -> None:
    smaller, larger = campaign_of(campaigns, 600), campaign_of(campaigns, 1_800)
    few, many = best_of_each(lambda: regrading(smaller), lambda: regrading(larger))
    print(f"{few.cpu_s:.2f} s of CPU for 600 runs, {many.cpu_s:.2f} s for 1,800")
    assert many.cpu_s < 1.5 * 3 * few.cpu_s
    assert many.peak_mib < 1.5 * few.peak_mib
