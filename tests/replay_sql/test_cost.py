"""What an answer costs in CPU, without an index: user and system seconds of a whole process, the best of three."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.synthetic import Options, generate

PROGRAM = "from replay import cli_sql, output; a = output.app('t'); cli_sql.register(a); output.run(a)"


def cpu_seconds(campaign: Path, statement: str) -> float:
    """What a fresh `sql` process costs."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "sql", str(campaign), statement, "--format", "csv"], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
def test_a_group_by_over_ten_thousand_runs_costs_less_than_three_seconds(tmp_path: Path) -> None:
    (campaign,) = generate(tmp_path, Options(runs=10_000, raw_kib=50, interrupted=0.01), jobs=2)
    statement = "SELECT model, status, count(*) FROM runs GROUP BY ALL"
    assert min(cpu_seconds(campaign, statement) for _ in range(3)) < 3


def test_the_cost_grows_by_the_run_and_not_faster(tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    (one,) = generate(few, Options(runs=100, raw_kib=20))
    (other,) = generate(many, Options(runs=400, raw_kib=20))
    statement = "SELECT tool, count(*) FROM tool_calls JOIN runs USING (run_id) GROUP BY ALL"
    assert cpu_seconds(other, statement) < 4 * cpu_seconds(one, statement)
