"""What an answer costs in CPU, without an index: user and system seconds of whole processes, the best of three."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.synthetic import Options, generate

ASK = "from replay import cli_sql, output; a = output.app('t'); cli_sql.register(a); output.run(a)"
MERELY_READ = """
import hashlib, pathlib, sys, zstandard
for log in pathlib.Path(sys.argv[1]).glob("runs/*"):
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(log.read_bytes())
    hashlib.sha256(raw).digest()
"""


def cpu_seconds(program: str, *words: object) -> float:
    """What a fresh Python process costs."""
    child = subprocess.Popen([sys.executable, "-c", program, *map(str, words)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
def test_a_group_by_over_ten_thousand_runs_costs_little_more_than_reading_them(tmp_path: Path) -> None:
    """On a machine that does nothing else the answer costs about 2 s; the ratio holds on a busy one too."""
    (campaign,) = generate(tmp_path, Options(runs=10_000, raw_kib=50, provider_error=0, interrupted=0), jobs=2)
    statement = "SELECT model, status, count(*) FROM runs GROUP BY ALL"
    asked = min(cpu_seconds(ASK, "sql", campaign, statement) for _ in range(3))
    read = min(cpu_seconds(MERELY_READ, campaign) for _ in range(3))
    print(f"{asked:.2f} s of CPU to answer, {read:.2f} s to decompress and hash: ratio {asked / read:.2f}")
    assert asked < 3 * read


def test_the_cost_grows_by_the_run_and_not_faster(tmp_path: Path) -> None:
    (one,) = generate(tmp_path / "few", Options(runs=100, raw_kib=20))
    (other,) = generate(tmp_path / "many", Options(runs=400, raw_kib=20))
    statement = "SELECT tool, count(*) FROM tool_calls JOIN runs USING (run_id) GROUP BY ALL"
    assert cpu_seconds(ASK, "sql", other, statement) < 4 * cpu_seconds(ASK, "sql", one, statement)
