"""What the tests do not depend on: the load of the machine, and the git of whoever runs them."""

import os
import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.publishing.tools import git

ROOT = Path(__file__).parents[1]
INSIDE = "tests/serving/test_machine.py::test_the_revision_is_the_commit_that_holds_the_code"


@given(st.integers())
def test_no_property_fails_because_the_machine_is_busy(number: int) -> None:
    assert settings.default is not None
    assert settings.default.deadline is None


def test_a_property_draws_the_same_examples_every_time_unless_it_is_asked_for_fresh_ones() -> None:
    same, fresh = settings.get_profile("same"), settings.get_profile("fresh")
    assert (same.derandomize, fresh.derandomize) == (True, False)
    assert fresh.deadline is None


def test_tests_that_a_git_hook_runs_leave_its_repository_and_the_configuration_of_its_user_alone(
    tmp_path: Path,
) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    (tmp_path / ".gitconfig").write_text("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTEST_"))},
        "HOME": str(tmp_path),
        "GIT_DIR": str(outer / ".git"),
        "GIT_INDEX_FILE": str(outer / ".git" / "index"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", INSIDE]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert git(outer, "for-each-ref") == ""
    assert not (outer / ".git" / "index").exists()
