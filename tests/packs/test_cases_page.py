"""docs/cases.md: its example is a sound case, and what it says of words is how the newest grammar reads them."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from grading.changes import rules_of
from grading.claims import claim_findings
from packs.check import check_case
from recorder.fixture_tools import run_tool
from replay.pins import newest_claims
from schemas.cases import RubricTurn
from tests.packs.conftest import UID, Author

PAGE = Path(__file__).parents[2] / "docs" / "cases.md"

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "queue-0", "namespace": "shop", "uid": UID},
    "spec": {"containers": [{"name": "queue", "image": "images.example.com/queue:1.4.0"}]},
    "status": {
        "phase": "Running",
        "containerStatuses": [
            {"name": "queue", "restartCount": 1, "lastState": {"terminated": {"reason": "Error", "exitCode": 1}}}
        ],
    },
}
LINES = {"current": ["2026-07-27T07:59:00Z write failed: no space left on device"], "previous": ["write failed"]}


def _example() -> dict[str, Any]:
    """The example with its `[...]` filled in."""
    (text,) = re.findall(r"^## A case\n\n```yaml\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    document: dict[str, Any] = yaml.safe_load(text)
    cluster = document["stimulus"]["cluster"]
    assert (cluster["objects"], cluster["events"], list(cluster["logs"])) == (["..."], ["..."], ["shop/queue-0/queue"])
    cluster |= {"objects": [POD], "events": [], "logs": {"shop/queue-0/queue": LINES}}
    return document


def _claimed(answer: str, keyword: str) -> bool:
    (finding,) = claim_findings(answer, RubricTurn(must_mention=((keyword,),)), False, rules_of())
    return finding.holds


def test_the_example_loads_and_nothing_is_wrong_with_it(author: Author) -> None:
    assert check_case(author.load(_example()), run_tool, newest_claims()) == []


def test_the_keyword_that_the_page_calls_cancelled_is_and_the_one_it_lists_instead_is_not() -> None:
    found = re.search(r'"([^"]+)" cancels `(\w+)`, so list `([^`]+)`', " ".join(PAGE.read_text().split()))
    assert found is not None
    answer, cancelled, instead = found.groups()
    assert not _claimed(answer, cancelled)
    assert _claimed(answer, instead)


@pytest.mark.parametrize(("answer", "cancelled"), [("not OOMKilled", "oomkilled"), ("the probe is fine", "probe")])
def test_negations_and_all_clears_cancel_as_the_page_says(answer: str, cancelled: str) -> None:
    assert f"(`{answer}`)" in PAGE.read_text()
    assert not _claimed(answer, cancelled)


@pytest.mark.parametrize("words", ["not ready", "no such tag"])
def test_a_keyword_that_brings_its_negation_is_a_claim(words: str) -> None:
    assert f"`{words}`" in PAGE.read_text()
    assert _claimed(f"There is {words}.", words)
