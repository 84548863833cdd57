"""What regrading costs by the number of runs, beside decoding the same logs and beside Inspect's scoring.

`python -m tests.benchmarks.scale --size 1000 10000 50000 [--directory DIR] [--repeats 3]`. Campaigns are synthetic, of
about 50 KiB of raw events a run (see `tests.synthetic`); `--directory` keeps them for the next time. Decoding is the
floor: decompress every log, decode every event, typed, and nothing else. Beside Inspect both sides grade the same
conversations (see `workload`), compared without the start-up of either and with that of both.

The speed-up of two processes is given by the wall clock, which a busy machine spoils, and by CPU: what one process
spends, over what the parent spends and half of what both workers do, which is the wall time of idle cores.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks import measure, workload
from tests.benchmarks.mock_model import scripts
from tests.benchmarks.record import inspect, record
from tests.benchmarks.regrade import campaign_of, decoding, machine_speed_up, regrading

SIZES = (1_000, 10_000, 20_000, 50_000)
FEW = 50
"""What regrading so few costs is taken for the start-up."""
MANY = 20_000
"""Above this a measurement is not repeated."""


def of_size(directory: Path, size: int, repeats: int) -> dict[str, Any]:
    """One campaign: regraded in one process and in two, and decoded."""
    campaign = campaign_of(directory, size)
    repeats = 1 if size > MANY else repeats
    # One after the other and again, so that a busy minute falls on all of them alike.
    rounds = [
        (
            decoding(campaign),
            regrading(campaign),
            regrading(campaign, jobs=2),
        )
        for _ in range(repeats)
    ]
    decoded, one, two = (measure.middle(list(costs)) for costs in zip(*rounds, strict=True))
    return {
        "runs": size,
        "repeats": repeats,
        "decode_ms_a_run": decoded.cpu_s / size * 1e3,
        "regrade_ms_a_run": one.cpu_s / size * 1e3,
        "runs_a_cpu_second": size / one.cpu_s,
        "regrade_over_decode": one.cpu_s / decoded.cpu_s,
        "peak_mib": one.peak_mib,
        "peak_mib_two_processes": two.peak_mib,
        "cpu_s": one.cpu_s,
        "wall_s": one.wall_s,
        "two_processes_cpu_s": two.cpu_s,
        "two_processes_wall_s": two.wall_s,
        "speed_up_two_processes_wall": one.wall_s / two.wall_s,
        "speed_up_machine": machine_speed_up(campaign),
        "speed_up_two_processes_cpu": one.cpu_s / (two.printed["own_cpu_s"] + two.printed["workers_cpu_s"] / 2),
    }


def beside_inspect(ours: int, theirs: int, log: Path | None, repeats: int) -> dict[str, Any]:
    """Both sides on the workload's conversations. `log` is an `.eval` of `theirs` samples made before, or None.

    Inspect's conversations are not streamed; ours are graded as such and with every piece of the stream as well.
    Ratios are medians of those of each round.
    """
    with tempfile.TemporaryDirectory() as scratch:
        few, whole, streamed = (Path(scratch) / name for name in ("few", "whole", "streamed"))
        for directory, runs, stream in ((few, FEW, False), (whole, ours, False), (streamed, ours, True)):
            record(scripts(workload.load(), runs, stream=stream), directory, stream=stream)
        if log is None:
            log = Path(inspect("run", "--runs", theirs, "--log-dir", scratch).printed["log"])
        rounds = [
            (
                regrading(few),
                regrading(whole),
                regrading(streamed),
                inspect("import"),
                inspect("score", "--log", log),
            )
            for _ in range(repeats)
        ]
    figures = [_beside(*(cost.cpu_s for cost in costs), ours=ours, theirs=theirs) for costs in rounds]
    return {
        "ours_runs": ours,
        "inspect_runs": theirs,
        "repeats": repeats,
        **{name: statistics.median(each[name] for each in figures) for name in figures[0]},
        "ours_peak_mib": statistics.median(costs[1].peak_mib for costs in rounds),
        "inspect_peak_mib": statistics.median(costs[4].peak_mib for costs in rounds),
        "least_ratio_asked": 50,
    }


def _beside(
    start_s: float, whole_s: float, streamed_s: float, bare_s: float, scored_s: float, *, ours: int, theirs: int
) -> dict[str, float]:
    """The figures of one round, from the CPU seconds of its processes."""
    whole_ms, streamed_ms = ((spent - start_s) / (ours - FEW) * 1e3 for spent in (whole_s, streamed_s))
    theirs_ms = (scored_s - bare_s) / theirs * 1e3
    return {
        "ours_ms_a_run": whole_ms,
        "ours_streamed_ms_a_run": streamed_ms,
        "inspect_ms_a_run": theirs_ms,
        "inspect_over_ours": theirs_ms / whole_ms,
        "inspect_over_ours_streamed": theirs_ms / streamed_ms,
        "inspect_over_ours_with_start": (theirs_ms * ours / 1e3 + bare_s) / whole_s,
    }


def run(sizes: list[int], directory: Path, repeats: int) -> dict[str, Any]:
    """The figures of all sizes, and how evenly the cost grows from the smallest to 20,000 runs."""
    found = [of_size(directory, size, repeats) for size in sizes]
    by_size = {each["runs"]: each for each in found}
    growth = None
    if len(by_size) > 1:
        few = min(by_size)
        many = max((size for size in by_size if size <= MANY), default=few)
        growth = by_size[many]["regrade_ms_a_run"] / by_size[few]["regrade_ms_a_run"]
    return {
        "sizes": found,
        "cost_of_a_run_at_most_over_least_size": growth,
        "most_asked": {"regrade_over_decode": 2.5, "peak_mib": 300},
        "least_asked": {"speed_up_two_processes": 1.7},
    }


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.scale", description=__doc__)
    parser.add_argument("--size", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--directory", type=Path, help="where synthetic campaigns are kept (default: a temporary one)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("scale", "inspect"))
    parser.add_argument("--inspect-size", type=int, default=300)
    parser.add_argument("--inspect-log", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = args.directory or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        if args.only != "inspect":
            measure.save("scale", run(args.size, directory, args.repeats))
        if args.only != "scale":
            measure.save("scoring", beside_inspect(1_000, args.inspect_size, args.inspect_log, args.repeats))


if __name__ == "__main__":
    main()
