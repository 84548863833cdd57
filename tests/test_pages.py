"""README, Makefile and the page of architecture say what the code does."""

import os
import re
import subprocess
from pathlib import Path

from recorder import machine
from recorder.transport import endpoint

ROOT = Path(__file__).parents[1]


def test_the_readme_names_every_variable_that_is_read_and_not_deprecated() -> None:
    read = {name for module in (endpoint, machine) for name in vars(module).values() if _is_variable(name)}
    listed = re.findall(r"^\| `(KORVID_\w+)`", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert set(listed) == read - {endpoint.LEGACY_PROVIDER, endpoint.LEGACY_API_KEY}


def _is_variable(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"KORVID_[A-Z_]+", value) is not None


def test_the_page_of_architecture_names_every_reason_for_an_invalid_run() -> None:
    given = re.findall(r'"harness_invalid", f?"(\w+)', (ROOT / "recorder" / "run.py").read_text())
    (listed,) = re.findall(r"`harness_invalid` \(([^)]+)\)", (ROOT / "docs" / "architecture.md").read_text())
    assert set(given) == set(re.findall(r"`(\w+)`", listed))


def test_a_demonstration_deletes_no_campaign_that_is_there(tmp_path: Path) -> None:
    graded = tmp_path / "campaigns" / "demo" / "grades" / "claims.parquet"
    graded.parent.mkdir(parents=True)
    graded.write_bytes(b"a grade")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    for there in (tmp_path / "campaigns" / "demo", tmp_path / "campaigns"):
        made = subprocess.run(
            ["make", "--old-file=nowhere/.embedded", "demo", "VENV=nowhere", "PYTHON=false", f"DEMO_OUT={there}"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 2
        assert f"{there} is there already and is left as it is" in made.stderr
        assert graded.read_bytes() == b"a grade"
