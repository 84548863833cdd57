"""What an answer costs in CPU, without an index: ratios of whole processes, the best of three."""

import sys
from pathlib import Path

import pytest

from tests.benchmarks.measure import Cost, best_of_each, process
from tests.synthetic import Options, generate

ASK = "from replay import cli_sql, output; a = output.app('t'); cli_sql.register(a); output.run(a)"
MERELY_READ = """
import hashlib, pathlib, sys, zstandard
for log in pathlib.Path(sys.argv[1]).glob("runs/*"):
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(log.read_bytes())
    hashlib.sha256(raw).digest()
"""


def asking(campaign: Path, statement: str) -> Cost:
    """What a fresh process costs that answers this."""
    return process([sys.executable, "-c", ASK, "sql", str(campaign), statement])


@pytest.mark.slow
def test_a_group_by_over_ten_thousand_runs_costs_little_more_than_reading_them(tmp_path: Path) -> None:
    """On a machine that does nothing else the answer costs about 2 s; the ratio holds on a busy one too."""
    (campaign,) = generate(tmp_path, Options(runs=10_000, raw_kib=50, provider_error=0, interrupted=0), jobs=2)
    statement = "SELECT model, status, count(*) FROM runs GROUP BY ALL"
    asked, read = best_of_each(
        lambda: asking(campaign, statement), lambda: process([sys.executable, "-c", MERELY_READ, str(campaign)])
    )
    ratio = asked.cpu_s / read.cpu_s
    print(f"{asked.cpu_s:.2f} s of CPU to answer, {read.cpu_s:.2f} s to decompress and hash: ratio {ratio:.2f}")
    assert ratio < 3


def test_the_cost_grows_by_the_run_and_not_faster(tmp_path: Path) -> None:
    (one,) = generate(tmp_path / "few", Options(runs=100, raw_kib=20))
    (other,) = generate(tmp_path / "many", Options(runs=400, raw_kib=20))
    statement = "SELECT tool, count(*) FROM tool_calls JOIN runs USING (run_id) GROUP BY ALL"
    few, many = best_of_each(lambda: asking(one, statement), lambda: asking(other, statement))
    print(f"{few.cpu_s:.2f} s of CPU for 100 runs, {many.cpu_s:.2f} s for 400")
    assert many.cpu_s < 4 * few.cpu_s
