"""What regrading costs against merely decompressing and decoding the same logs, as ratios in one run.

`python -m tests.benchmarks.regrade [--runs 10000] [--directory DIR]` prints: the CPU ratio on one core, the peak
memory, how much faster two processes are, and the CPU of a run at growing sizes. Each measurement is a fresh process,
so start-up counts on both sides. CPU is user and system time of a process and of the workers it waited for.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.measure import ROOT, Cost, Failed, process
from tests.synthetic import Options, generate

DECODE = """
import sys
from pathlib import Path
import msgspec, zstandard
from schemas import codec
events = 0
for log in sorted(Path(sys.argv[1]).glob("runs/*.jsonl.zst")):
    data = zstandard.ZstdDecompressor().decompressobj().decompress(log.read_bytes())
    for line in data.split(b"\\n"):
        if line:
            codec.decode(line)
            events += 1
print(events)
"""
REGRADE = """
import json, resource, sys
from pathlib import Path
from replay.graders import load
from replay.regrade import Options, regrade
if __name__ == "__main__":
    found = regrade(Path(sys.argv[1]), load(sys.argv[2]), Options(jobs=int(sys.argv[3])))
    own, workers = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({
        "graded": found.receipt.coverage.graded,
        "own_cpu_s": own.ru_utime + own.ru_stime,
        "workers_cpu_s": workers.ru_utime + workers.ru_stime,
    }))
"""


def cost(code: str, *arguments: str) -> Cost:
    """Run Python code in a fresh process and say what it cost. Raises `Failed` if it fails."""
    return process([sys.executable, "-c", code, *arguments])


def decoding(campaign: Path) -> Cost:
    """Decompress and decode every event of every log, typed, and nothing else."""
    return cost(DECODE, str(campaign))


def regrading(campaign: Path, *, jobs: int = 1, grader: str = "claims") -> Cost:
    """Grade the campaign anew, without earlier grades."""
    shutil.rmtree(campaign / "grades", ignore_errors=True)
    return cost(REGRADE, str(campaign), grader, str(jobs))


def machine_speed_up(campaign: Path) -> float:
    """How much faster this machine does two things at once than one after the other: two processes that share nothing.

    It is 2 on idle cores of their own. No work on two processes can be faster than that.
    """

    def wall(count: int) -> float:
        began = time.perf_counter()
        children = [
            subprocess.Popen([sys.executable, "-c", DECODE, str(campaign)], cwd=ROOT, stdout=subprocess.DEVNULL)
            for _ in range(count)
        ]
        codes = [child.wait() for child in children]
        if any(codes):
            raise Failed("decoding failed")
        return time.perf_counter() - began

    rounds = [(wall(1), wall(2)) for _ in range(3)]
    return 2 * statistics.median(one for one, _ in rounds) / statistics.median(two for _, two in rounds)


def campaign_of(directory: Path, runs: int) -> Path:
    """A whole synthetic campaign of that many runs, kept for the next time."""
    found = directory / str(runs)
    if not found.is_dir():
        made = directory / f".{runs}"
        shutil.rmtree(made, ignore_errors=True)
        generate(made, Options(runs=runs), jobs=2)
        made.rename(found)
    return next(path for path in found.iterdir() if path.is_dir())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.regrade", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 5_000, 20_000])
    parser.add_argument("--directory", type=Path, help="where synthetic campaigns are kept (default: a temporary one)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = args.directory or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        _main_figures(campaign_of(directory, args.runs), args.runs)
        for size in args.sizes:
            one = regrading(campaign_of(directory, size))
            print(f"{size:>7} runs: {one.cpu_s / size * 1e3:.3f} ms CPU a run, peak {one.peak_mib:.0f} MiB")


def _main_figures(campaign: Path, runs: int) -> None:
    raw = decoding(campaign)
    one = regrading(campaign)
    two = regrading(campaign, jobs=2)
    print(f"{runs} runs, {raw.text.strip()} events, {one.printed['graded']} graded")
    print(f"decode:          {raw.cpu_s:.2f} s CPU ({raw.cpu_s / runs * 1e3:.3f} ms a run)")
    print(f"regrade:         {one.cpu_s:.2f} s CPU, {one.wall_s:.2f} s wall, peak {one.peak_mib:.0f} MiB")
    print(f"regrade / decode {one.cpu_s / raw.cpu_s:.2f} (at most 2.5)")
    print(f"--jobs 2:        {two.cpu_s:.2f} s CPU, {two.wall_s:.2f} s wall, peak {two.peak_mib:.0f} MiB")
    machine = machine_speed_up(campaign)
    print(f"speed-up         {one.wall_s / two.wall_s:.2f} (at least 1.7), where this machine can do {machine:.2f}")


if __name__ == "__main__":
    main()
