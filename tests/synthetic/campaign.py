"""Campaign directories full of synthetic runs."""

import json
import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec

from tests.synthetic.cases import PackName, cases
from tests.synthetic.plan import Fractions, draw
from tests.synthetic.run import Identity, write_run

BASELINES = ("oracle", "constant-oom", "constant-healthy", "silent", "echo")
"""A model of one of these names is written down as a baseline agent."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What to generate. `runs` counts the runs of each campaign (attempts that were repeated come on top)."""

    runs: int = 100
    seed: int = 1
    raw_kib: int = 50
    models: tuple[str, ...] = ("openai/synthetic-4b",)
    arms: tuple[str, ...] = ("base",)
    interrupted: float = 0.0
    provider_error: float = 3 / 675
    invalid: float = 0.0
    pack: PackName = "inline"


def generate(directory: Path, options: Options, *, jobs: int = 1) -> list[Path]:
    """Write one campaign for each arm and model below `directory` and return their directories."""
    found = []
    for arm in options.arms:
        for model in options.models:
            found.append(_campaign(directory, options, arm, model, jobs))
    return found


def _campaign(directory: Path, options: Options, arm: str, model: str, jobs: int) -> Path:
    campaign_id = f"synthetic-{arm}-{model.rsplit('/', 1)[-1]}"
    path = directory / campaign_id
    (path / "runs").mkdir(parents=True)
    pack = cases(options.pack)
    manifest = {
        "schema_version": 1,
        "campaign_id": campaign_id,
        "arm": arm,
        "model": model,
        "pack": {"name": "synthetic", "case_ids": [case.id for case in pack], "count": len(pack)},
        "repetitions": -(-options.runs // len(pack)),
        "planned_runs": options.runs,
    }
    (path / "campaign.json").write_text(json.dumps(manifest, indent=1) + "\n")
    if jobs == 1:
        _write(path, options, campaign_id, arm, model, 0, 1)
        return path
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        parts = [pool.submit(_write, path, options, campaign_id, arm, model, part, jobs) for part in range(jobs)]
        for part in parts:
            part.result()
    return path


def _write(path: Path, options: Options, campaign_id: str, arm: str, model: str, part: int, parts: int) -> None:
    pack = cases(options.pack)
    for index in range(part, options.runs, parts):
        case = pack[index % len(pack)]
        fractions = Fractions(options.interrupted, options.provider_error, options.invalid)
        for attempt in (1, 2):
            chance = random.Random(f"{options.seed}/{campaign_id}/{index}/{attempt}")
            if attempt == 2:
                fractions = Fractions(0.0, 0.0, 0.0)
            plan = draw(case, chance, fractions)
            repetition = index // len(pack) + 1
            name = model if model in BASELINES else "model"
            identity = Identity(
                campaign_id=campaign_id,
                run_id=f"{case.id}-r{repetition}" + (f"-a{attempt}" if attempt > 1 else ""),
                repetition=repetition,
                attempt=attempt,
                arm=arm,
                agent=name,
                model=model if name == "model" else "",
                wall_time=f"2026-08-{1 + index % 28:02d}T00:00:00Z",
            )
            write_run(
                path / "runs" / f"{identity.run_id}.jsonl.zst", case, identity, plan, chance, options.raw_kib * 1024
            )
            # Every second torn run was recorded again, as `--resume` does.
            if plan.torn_after is None or chance.random() < 0.5:
                break
