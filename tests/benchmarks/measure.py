"""Measuring on a shared machine: each operation in a process of its own, CPU time counted, repeated, medians taken.

CPU is user and system seconds of the process and of every child that it waited for; start-up counts unless a figure
says otherwise. Wall time and load are written down beside it. Nothing here asserts on a wall clock.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

RESULTS = Path(__file__).with_name("results")
ROOT = Path(__file__).resolve().parents[2]


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """One process: CPU and wall seconds, peak resident MiB of its largest process, output, the JSON printed last."""

    cpu_s: float
    wall_s: float
    peak_mib: float
    text: str = ""
    printed: dict[str, Any] = {}


_MARK = "\x1eused "
_LAUNCHER = f"""
import os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
sys.stdout.write({_MARK!r} + f"{{used.ru_utime + used.ru_stime}} {{used.ru_maxrss}}")
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(status) and 1)
"""
"""A child starts with the peak memory of the process that made it, so a measured process is made by a small one."""


class Failed(Exception):
    """A measured process ended with an error; the text is the end of what it wrote."""


def process(argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> Cost:
    """Run a process to its end. Raises `Failed` if it fails."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-S", "-c", _LAUNCHER, *argv],
        cwd=cwd,
        env={**os.environ, "PYTHONHASHSEED": "0", **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert child.stdout is not None
    with child.stdout as stdout:
        text, _, used = stdout.read().rpartition(_MARK)
    child.wait()
    if child.returncode or not used:
        raise Failed(f"{' '.join(argv[:6])} ended with {child.returncode}: {text[-2_000:]}")
    cpu_s, peak_kib = used.split()
    return Cost(
        cpu_s=float(cpu_s),
        wall_s=time.perf_counter() - began,
        peak_mib=int(peak_kib) / 1024,
        text=text,
        printed=_last_object(text),
    )


def operation(module: str, name: str, *arguments: object) -> Cost:
    """Run one operation of a benchmark module in this interpreter's environment."""
    return process([sys.executable, "-m", f"tests.benchmarks.{module}", "--op", name, *map(str, arguments)])


def best_of_each(*measures: Callable[[], Cost], rounds: int = 3) -> list[Cost]:
    """Of each of these the measurement with the least CPU, taken in turns.

    What else a machine does only ever adds CPU, and in turns it adds to all alike: so a ratio of these holds where the
    figures do not.
    """
    found = [[measure() for measure in measures] for _ in range(rounds)]
    return [min(each, key=lambda cost: cost.cpu_s) for each in zip(*found, strict=True)]


def median(measure: Callable[[], Cost], repeats: int) -> Cost:
    """The medians of several measurements, as `middle` takes them."""
    return middle([measure() for _ in range(repeats)])


def middle(costs: Sequence[Cost]) -> Cost:
    """The medians of measurements; of what they printed the last, its fractions as medians."""
    return Cost(
        cpu_s=statistics.median(cost.cpu_s for cost in costs),
        wall_s=statistics.median(cost.wall_s for cost in costs),
        peak_mib=statistics.median(cost.peak_mib for cost in costs),
        printed=_median_printed([cost.printed for cost in costs]),
    )


def save(name: str, figures: dict[str, Any]) -> None:
    """Write a benchmark's figures with the machine and the date, and print them."""
    result = {"benchmark": name, "machine": machine(), **figures}
    text = json.dumps(_rounded(result), indent=1) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(text)
    print(text, end="")


def machine() -> dict[str, Any]:
    """What was measured on, without a name that identifies it, and how busy it was."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "cpu": model or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_1m": round(os.getloadavg()[0], 1),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _last_object(text: str) -> dict[str, Any]:
    lines = text.strip().splitlines()
    if lines and lines[-1].startswith("{"):
        found = json.loads(lines[-1])
        if isinstance(found, dict):
            return found
    return {}


def _median_printed(printed: Sequence[dict[str, Any]]) -> dict[str, Any]:
    found = dict(printed[-1])
    for key, value in found.items():
        values = [each.get(key) for each in printed]
        if isinstance(value, float) and all(isinstance(each, (int, float)) for each in values):
            found[key] = statistics.median(each for each in values if each is not None)
    return found


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}") if abs(value) < 1_000 else round(value, 1)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
