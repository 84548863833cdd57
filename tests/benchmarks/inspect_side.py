"""Inspect's side of a comparison; runs under the interpreter that has `inspect_ai` and imports nothing of ours.

`python -m tests.benchmarks.inspect_side --op run --runs 75 --cases 25 --log-dir DIR` prints one JSON object. `score` is
what Inspect offers for grading a log again from Python: read, score anew, write.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from tests.benchmarks import workload


def _record(bench: Any, runs: int, directory: Path) -> dict[str, Any]:
    task, model = bench.build_task(workload.SEED, runs), bench.build_model(workload.SEED)
    began = time.process_time()
    logs = bench.inspect_eval(
        task, model=model, log_dir=str(directory), log_format="eval", display="none", fail_on_error=True
    )
    path = logs[0].location.removeprefix("file://")
    return {"cpu_inside_s": time.process_time() - began, "log": path, "bytes": os.path.getsize(path)}


def _score(bench: Any, log: Path) -> dict[str, Any]:
    scored = bench.inspect_score(bench.read_eval_log(str(log)), bench.evidence(), action="overwrite", display="none")
    target = log.with_suffix(".scored.eval")
    bench.write_eval_log(scored, str(target))
    target.unlink()
    return {"rows": len(scored.samples)}


def texts_cost(bench: Any, runs: int) -> dict[str, Any]:
    """CPU seconds of making the texts alone."""
    began = time.process_time()
    for number in range(runs):
        about = bench.case(workload.SEED, number)
        bench.question(about)
        for turn in bench.turns(workload.SEED, about):
            bench.tool_output(workload.SEED, about["ns"], turn["verb"], turn["args"]["name"])
        bench.final_answer(workload.SEED, about)
    return {"cpu_inside_s": time.process_time() - began}


def main() -> None:
    """Do one operation."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.inspect_side", description=__doc__)
    parser.add_argument("--op", choices=("import", "run", "score", "workload"), required=True)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--log-dir", type=Path)
    parser.add_argument("--log", type=Path)
    args = parser.parse_args()
    bench = workload.load(args.cases)
    found: dict[str, Any] = {}
    if args.op == "run":
        found = _record(bench, args.runs, args.log_dir)
    elif args.op == "score":
        found = _score(bench, args.log)
    elif args.op == "workload":
        found = texts_cost(bench, args.runs)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
