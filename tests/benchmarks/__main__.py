"""`python -m tests.benchmarks [--small] [--directory DIR]`: every benchmark, then `docs/performance.md`.

What compares with Inspect is left out, and said to be, where `workload` names something that is missing. `--small` is
for a first look; it changes the results and the page as well.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from tests.benchmarks import report, workload
from tests.benchmarks.measure import ROOT


def _plan(directory: list[str], small: bool) -> list[list[str]]:
    sizes = ["1000", "5000"] if small else ["1000", "10000", "20000", "50000"]
    return [
        ["queries", "--size", "1000" if small else "10000", *directory],
        ["scale", "--only", "scale", "--size", *sizes, *directory],
        ["record", "--size", "100" if small else "1000", "--inspect-size", "20" if small else "200"],
        ["sizes"],
        ["scale", "--only", "inspect"],
    ]


def main() -> None:
    """Run them one after the other; exit 1 if one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--directory", type=Path, help="where synthetic campaigns are kept for the next time")
    args = parser.parse_args()
    plan = _plan(["--directory", str(args.directory)] if args.directory else [], args.small)
    try:
        workload.workload_path()
        workload.inspect_python()
    except workload.Missing as missing:
        print(f"without the comparison with Inspect: {missing}", file=sys.stderr)
        plan = plan[:2]
    failed = [step[0] for step in plan if _failed(step)]
    report.main()
    if failed:
        sys.exit(f"these benchmarks failed: {', '.join(failed)}")


def _failed(step: list[str]) -> bool:
    print(f"== {' '.join(step)}", file=sys.stderr)
    return subprocess.run([sys.executable, "-m", f"tests.benchmarks.{step[0]}", *step[1:]], cwd=ROOT).returncode != 0


if __name__ == "__main__":
    main()
