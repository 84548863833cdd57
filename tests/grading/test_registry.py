"""The graders by name and version, their digests, and what the grading room may load."""

import pickle
import subprocess
import sys

import pytest

from grading.changes import LATEST
from grading.pins import pins_of, read
from grading.registry import GRADERS, Grader, resolve, source_digest
from schemas.errors import UsageError


def test_a_name_means_its_newest_version_and_a_version_itself() -> None:
    assert resolve("claims").label == f"claims@{LATEST}"
    assert resolve("claims@1").changes == ()
    assert resolve("claims@3").changes == ("A-01", "A-02")


@pytest.mark.parametrize("spec", ["claims@0", f"claims@{LATEST + 1}", "claims@", "claims@x", "claims@-1", "other", ""])
def test_an_unknown_grader_or_version_is_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        resolve(spec)


def test_a_version_and_its_set_of_changes_are_the_same_grader() -> None:
    (pin, *_) = pins_of("A-02")
    grader = resolve("claims@3")
    same = GRADERS["claims"].applying(frozenset(grader.changes))
    assert read(grader.function(pin.run, pin.run.rubric), pin.reads) == pin.right
    assert grader.function(pin.run, pin.run.rubric) == same(pin.run, pin.run.rubric)


def test_a_grader_travels_to_another_process() -> None:
    grader: Grader = pickle.loads(pickle.dumps(resolve("claims@5").function))
    (pin, *_) = pins_of("A-04")
    assert callable(grader)
    assert read(grader(pin.run, pin.run.rubric), pin.reads) == pin.right


def test_the_digest_is_stable_and_covers_the_grammar() -> None:
    assert source_digest() == source_digest.__wrapped__()
    assert len(source_digest()) == 64


def test_grading_loads_nothing_that_could_reach_out() -> None:
    code = (
        "import sys, grading.registry, grading.statistics, grading.pins\n"
        "grading.registry.source_digest()\n"
        "banned = {'socket', 'asyncio', 'yaml', 'duckdb', 'litellm', 'httpx', 'textual', 'kubernetes',"
        " 'zstandard', 'scipy', 'numpy', 'recorder', 'replay', 'packs'}\n"
        "print(sorted(banned & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
