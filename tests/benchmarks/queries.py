"""Reading and asking: decode throughput, SQL without an index, and what it costs only to start.

`python -m tests.benchmarks.queries [--size 10000] [--directory DIR]`. The query groups every run of a synthetic
campaign, as it lies, by case and status. Start-up is `--help` of each command in a process of its own.
"""

import argparse
import gzip
import io
import json
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import zstandard

from replay.campaigns import run_files
from replay.fold import fold
from replay.reader import RunReader, whole_lines
from schemas import codec
from tests.benchmarks import measure, workload
from tests.benchmarks.regrade import campaign_of

QUERY = "SELECT case_id, status, count(*) AS runs FROM runs GROUP BY ALL ORDER BY ALL"
READ = 1_000
"""Runs that are read for the throughput of decoding."""


def _decompress(log: Path) -> int:
    return sum(map(len, whole_lines(log)))


def _decode(log: Path) -> int:
    size = 0
    for line in whole_lines(log):
        codec.decode(line)
        size += len(line)
    return size


def _read(log: Path) -> int:
    return sum(len(record.line) for record in RunReader(log))


def _fold(log: Path) -> int:
    fold(log)
    return 0


WAYS = {"decompress": _decompress, "decode": _decode, "read": _read, "fold": _fold}


PLAIN = ("gzip", "tar")
"""What the same events would be read from otherwise."""


def _plain(text: bytes) -> int:
    return sum(len(line) for line in text.splitlines() if json.loads(line))


def _read_gzip(path: Path) -> int:
    """What one would do with the events as JSON Lines under gzip."""
    return _plain(gzip.decompress(path.read_bytes()))


def _read_tar(path: Path) -> int:
    """What one would do with all of them in a tar under zstd."""
    size = 0
    with zstandard.open(path) as data, tarfile.open(fileobj=data, mode="r|") as tar:
        for member in tar:
            found = tar.extractfile(member)
            assert found is not None
            size += _plain(found.read())
    return size


def _reading(campaign: Path) -> dict[str, Any]:
    """CPU of each way of reading the same logs, in this process."""
    logs = [found.path for found in run_files(campaign)][:READ]
    spent: dict[str, float] = {}
    size = 0
    for name, way in WAYS.items():
        began = time.process_time()
        size = sum(map(way, logs)) or size
        spent[name] = time.process_time() - began
    with tempfile.TemporaryDirectory() as scratch:
        archive, zipped = Path(scratch) / "all.tar.zst", []
        with zstandard.open(archive, "wb") as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
            for log in logs:
                text = b"".join(whole_lines(log))
                zipped.append(Path(scratch) / f"{log.name}.gz")
                zipped[-1].write_bytes(gzip.compress(text))
                member = tarfile.TarInfo(log.name)
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text))
        began = time.process_time()
        for path in zipped:
            _read_gzip(path)
        spent["gzip"] = time.process_time() - began
        began = time.process_time()
        _read_tar(archive)
        spent["tar"] = time.process_time() - began
    return {"runs": float(len(logs)), "raw_bytes": float(size), **spent}


def _command(name: str) -> list[str]:
    return [str(Path(sys.executable).with_name(name))]


def run(size: int, directory: Path, repeats: int) -> dict[str, Any]:
    """The figures."""
    reading = measure.median(lambda: measure.operation("queries", "reading", "--at", campaign_of(directory, READ)), 3)
    found = reading.printed
    campaign = campaign_of(directory, size)
    sql = measure.median(lambda: measure.process([*_command("korvid-replay"), "sql", str(campaign), QUERY]), repeats)
    starts = {name: measure.middle([measure.process(argv) for _ in range(repeats)]) for name, argv in _starts().items()}
    return {
        "reading_ms_a_run": {name: found[name] / found["runs"] * 1e3 for name in (*WAYS, *PLAIN)},
        "reading_mb_a_cpu_second": {name: found["raw_bytes"] / 1e6 / found[name] for name in (*WAYS, *PLAIN)},
        "sql_runs": size,
        "sql_query": QUERY,
        "sql_cpu_s": sql.cpu_s,
        "sql_peak_mib": sql.peak_mib,
        "sql_most_asked_cpu_s": 3.0,
        "start_cpu_ms": {name: cost.cpu_s * 1e3 for name, cost in starts.items()},
    }


def _starts() -> dict[str, list[str]]:
    found = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "korvid-replay --help": [*_command("korvid-replay"), "--help"],
        "korvid-rec --help": [*_command("korvid-rec"), "--help"],
    }
    try:
        found["inspect --help"] = [str(workload.inspect_python().with_name("inspect")), "--help"]
    except workload.Missing as missing:
        print(f"without inspect --help: {missing}", file=sys.stderr)
    return found


def main() -> None:
    """Measure, or do the operation that is measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.queries", description=__doc__)
    parser.add_argument("--op", choices=("reading",))
    parser.add_argument("--at", type=Path)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--directory", type=Path)
    args = parser.parse_args()
    if args.op is not None:
        print(json.dumps(_reading(args.at)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        directory = args.directory or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        measure.save("queries", run(args.size, directory, args.repeats))


if __name__ == "__main__":
    main()
