"""Bound claims and refusals as evidence: what an author may write, and what does not load."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from packs.loader import load_case
from schemas.cases import Bound, Case, rubric_digest, rubric_from_wire, to_wire
from schemas.errors import CaseError
from tests.journeys.conftest import journeys

BUNDLED = Path(__file__).parents[2] / "packs" / "journeys" / "rbac-evidence-gap.yaml"
GOOD: dict[str, Any] = {"subject": ["ledger"], "others": ["invoice"], "claim": ["denied"]}


def with_turn(tmp_path: Path, **changes: Any) -> Case:
    """The RBAC journey with members of its first rubric turn replaced (`...` removes one)."""
    document = yaml.safe_load(BUNDLED.read_text("utf-8"))
    turn = document["rubric"]["turns"][0]
    for key, value in changes.items():
        turn.pop(key, None)
        if value is not ...:
            turn[key] = value
    file = tmp_path / "case.yaml"
    unshared = json.loads(json.dumps(document))
    file.write_text(yaml.safe_dump(unshared, sort_keys=False), "utf-8")
    return load_case(file)


def test_a_turn_may_ask_for_bound_claims_alone(tmp_path: Path) -> None:
    turn = with_turn(tmp_path, must_mention=..., bound=[[GOOD, {**GOOD, "exclusive": False}]]).rubric.turns[0]
    bound = Bound(subject=("ledger",), others=("invoice",), claim=("denied",))
    assert turn.must_mention == ()
    assert turn.bound == ((bound, Bound(subject=("ledger",), others=("invoice",), claim=("denied",), exclusive=False)),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"must_mention": ...}, "write `must_mention` or `bound`"),
        ({"bound": []}, "bound: has 0 of at least 1"),
        ({"bound": [[]]}, "bound[0]: has 0 of at least 1"),
        ({"bound": [GOOD]}, "bound[0]: must be a list, not a mapping"),
        ({"bound": [[{**GOOD, "subject": []}]]}, "subject: has 0 of at least 1"),
        ({"bound": [[{**GOOD, "others": ["ledger"]}]]}, "stands under subject too ('ledger')"),
        ({"bound": [[{**GOOD, "other": ["x"]}]]}, "did you mean others?"),
        ({"bound": [[{"subject": ["ledger"], "claim": ["denied"]}]]}, "others: missing"),
        ({"bound": [[{**GOOD, "claim": ["--"]}]]}, "would match nothing"),
        ({"bound": [[{**GOOD, "exclusive": "maybe"}]]}, "must be true or false ('maybe')"),
        ({"expected_evidence": [[{"tool": "get_logs", "args": {"pod": "ledger-1"}}]]}, "says nothing about the result"),
        (
            {"expected_evidence": [[{"tool": "get_logs", "args": {"pod": "ledger-1"}, "error": "denied"}]]},
            "is no class of error ('denied')",
        ),
    ],
)
def test_what_is_malformed_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CaseError) as caught:
        with_turn(tmp_path, **changes)
    assert message in str(caught.value)
    assert "case.yaml: rubric.turns[0]" in str(caught.value)


@pytest.mark.parametrize("case", journeys().values(), ids=list(journeys()))
def test_a_rubric_with_bound_claims_comes_back_from_a_log_with_its_digest(case: Case) -> None:
    assert rubric_digest(rubric_from_wire(to_wire(case.rubric))) == rubric_digest(case.rubric)
