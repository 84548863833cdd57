"""`python -m tests.synthetic DIR`: write synthetic campaigns and say where they lie."""

import argparse
from pathlib import Path

from tests.synthetic.campaign import Options, generate


def main() -> None:
    """Read the command line and generate."""
    default = Options()
    parser = argparse.ArgumentParser(prog="python -m tests.synthetic", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--runs", type=int, default=default.runs, help="runs of each campaign")
    parser.add_argument("--seed", type=int, default=default.seed)
    parser.add_argument("--raw-kib", type=int, default=default.raw_kib, help="KiB of raw events a run, about")
    parser.add_argument("--model", action="append", help="a model name; repeat for more campaigns")
    parser.add_argument("--arm", action="append", help="an arm; repeat for more campaigns")
    parser.add_argument("--interrupted", type=float, default=default.interrupted, help="fraction of torn runs")
    parser.add_argument("--invalid", type=float, default=default.invalid, help="fraction the harness broke")
    parser.add_argument("--provider-error", type=float, default=default.provider_error)
    parser.add_argument("--pack", choices=("inline", "bundled"), default="inline")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    options = Options(
        runs=args.runs,
        seed=args.seed,
        raw_kib=args.raw_kib,
        models=tuple(args.model or default.models),
        arms=tuple(args.arm or default.arms),
        interrupted=args.interrupted,
        invalid=args.invalid,
        provider_error=args.provider_error,
        pack=args.pack,
    )
    for campaign in generate(args.directory, options, jobs=args.jobs):
        print(campaign)


if __name__ == "__main__":
    main()
