"""The claims grammar against phrasings whose meaning was written down first."""

from pathlib import Path

import pytest

from grading.before import Role
from grading.changes import LATEST, rules_of
from grading.claims import claim_findings
from grading.rules import Rules
from schemas.cases import RubricTurn
from schemas.verdicts import ClaimFinding

_ROLES: dict[str, tuple[tuple[Role, bool], ...]] = {
    "": (("required", False), ("forbidden", False)),
    "r": (("required", False),),
    "f": (("forbidden", False),),
    "c": (("required", True),),
    "cf": (("forbidden", True),),
}
FILES = sorted(Path(__file__).parent.glob("corpus*.txt"))
Line = tuple[str, tuple[str, ...], str]


def corpus() -> list[Line]:
    rows = [row for path in FILES for row in path.read_text(encoding="utf-8").splitlines()]
    lines = []
    for row in rows:
        if row and not row.startswith("#"):
            sign, group, answer = row.split(" | ", 2)
            lines.append((sign, tuple(group.split(" / ")), answer.replace("\\n", "\n")))
    return lines


def finding(answer: str, group: tuple[str, ...], role: Role, control: bool, rules: Rules) -> ClaimFinding:
    required = (group,) if role == "required" else ()
    forbidden = (group,) if role == "forbidden" else ()
    rubric = RubricTurn(must_mention=required, must_not_mention=forbidden)
    return claim_findings(answer, rubric, control, rules)[0]


def agrees(line: Line, rules: Rules) -> bool:
    sign, group, answer = line
    expected = sign.endswith("+")
    roles = _ROLES[sign.rstrip("+-")]
    return all(finding(answer, group, role, control, rules).holds is expected for role, control in roles)


@pytest.mark.parametrize("line", corpus(), ids=lambda line: f"{line[0]} {line[2][:50]!r}")
def test_the_newest_grammar_reads_a_phrasing_as_it_is_meant(line: Line) -> None:
    assert agrees(line, rules_of())


def test_the_history_agrees_with_ever_more_phrasings() -> None:
    lines = corpus()
    agreement = [sum(agrees(line, rules_of(version)) for line in lines) for version in (1, 18, LATEST)]
    print(f"agreement of claims@1, @18, @{LATEST} with {len(lines)} phrasings: {agreement}")
    assert len(lines) >= 150
    assert agreement[0] < agreement[1] < agreement[2] == len(lines)


def test_every_phrasing_is_listed_once() -> None:
    lines = corpus()
    assert len(set(lines)) == len(lines)
