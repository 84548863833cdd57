"""The conversations that both recorders record: those of Inspect's own benchmark, loaded from its file.

The file lies outside of this repository: `KORVID_BENCH_WORKLOAD` names it. `KORVID_BENCH_INSPECT_PYTHON` names the
interpreter of an environment in which `inspect_ai` is installed. This module imports the standard library only, so that
it also runs there.

With `cases` the workload repeats: conversation `n` is about case `n % cases` and reads the same texts as every other
one about it, but words its thoughts and its answer anew. Without it every text is unique.
"""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

WORKLOAD = "KORVID_BENCH_WORKLOAD"
INSPECT_PYTHON = "KORVID_BENCH_INSPECT_PYTHON"
SEED = 7


class Missing(Exception):
    """What the comparison needs and has not been given."""


def workload_path() -> Path:
    """The file of the workload. Raises `Missing` with the way out."""
    named = os.environ.get(WORKLOAD, "")
    if not named or not Path(named).is_file():
        raise Missing(f"{WORKLOAD}: {named or 'not set'}; set it to the path of bench_inspect.py")
    return Path(named)


def inspect_python() -> Path:
    """The interpreter that has `inspect_ai`. Raises `Missing` with the way out."""
    named = os.environ.get(INSPECT_PYTHON, "")
    if not named or not Path(named).is_file():
        raise Missing(
            f"{INSPECT_PYTHON}: {named or 'not set'}; make a virtual environment of its own, "
            "install inspect_ai and openai there, and set it to its bin/python"
        )
    return Path(named)


def load(cases: int = 0) -> ModuleType:
    """The workload's module. Raises `Missing`."""
    path = workload_path()
    spec = importlib.util.spec_from_file_location("bench_inspect", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # `inspect score --scorer FILE@NAME` and dataclasses look a module up by its name.
    sys.modules["bench_inspect"] = module
    spec.loader.exec_module(module)
    if cases:
        _repeat(module, cases)
    return module


def _repeat(module: Any, cases: int) -> None:
    unique_case, unique_turns, unique_answer = module.case, module.turns, module.final_answer

    def case(seed: int, sample: int) -> dict[str, Any]:
        return {**unique_case(seed, sample % cases if sample < 10**6 else sample), "id": f"case-{sample:06d}"}

    def turns(seed: int, of: dict[str, Any]) -> list[dict[str, Any]]:
        number = int(of["id"][5:])
        same = unique_turns(seed, {**of, "id": f"case-{number % cases:06d}"})
        worded = unique_turns(seed + 1 + number // cases, of)
        return [{**call, "thought": other["thought"]} for call, other in zip(same, worded, strict=True)]

    def final_answer(seed: int, of: dict[str, Any]) -> str:
        return str(unique_answer(seed, of))

    module.case, module.turns, module.final_answer = case, turns, final_answer
