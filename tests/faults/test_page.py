"""The page of faults names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_page_of_faults_names_is_there() -> None:
    named = re.findall(r"`([a-z_/]+\.py)::(\w+)`", (ROOT / "docs" / "faults.md").read_text())
    assert len(named) > 40
    gone = [(file, name) for file, name in named if f"def {name}(" not in (ROOT / "tests" / file).read_text()]
    assert gone == []
