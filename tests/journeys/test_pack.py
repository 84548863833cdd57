"""The bundled journeys keep what a pack promises: fair, whole, reachable, and pinned in both directions."""

import pytest

from packs.check import DIAGNOSE, ToolAnswer, check_case, shows
from recorder.fixture_tools import run_tool
from schemas.cases import Case, Evidence
from schemas.policy import Tier
from tests.journeys.conftest import journeys
from tests.journeys.replay_answers import claims

CASES = list(journeys().values())
every_journey = pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
both_tiers = pytest.mark.parametrize("tier", ["low", "high"])


def graded(case: Case, turn: int, answer: str) -> str | None:
    holds, reasons = claims(case, turn + 1, answer)
    return None if holds else "; ".join(reasons)


def test_there_are_the_eight_journeys() -> None:
    assert [case.id for case in CASES] == [
        "compare-namespaces",
        "healthy-stop",
        "logs-to-events",
        "namespace-triage",
        "rbac-evidence-gap",
        "rollout-owner-chain",
        "triage-and-correct",
        "tui-follow",
    ]
    assert all(case.kind == "journey" and case.notes for case in CASES)


@every_journey
@both_tiers
def test_a_journey_passes_every_check_an_author_can_run(case: Case, tier: Tier) -> None:
    def run(case: Case, tool: str, arguments: dict[str, object]) -> ToolAnswer:
        return run_tool(case, tool, arguments, tier)

    assert check_case(case, run, graded) == []


@every_journey
def test_every_turn_is_pinned_by_several_answers_each_way(case: Case) -> None:
    for pins in case.pins:
        assert len(set(pins.passing)) >= 3
        assert len(set(pins.failing)) >= 3
        assert set(pins.passing).isdisjoint(pins.failing)


@every_journey
def test_every_turn_is_gradable_without_the_diagnose_tools(case: Case) -> None:
    for turn in case.rubric.turns:
        for group in turn.expected_evidence:
            assert any(reached(case, place) for place in group if not place.tool.startswith(DIAGNOSE))


@every_journey
def test_every_turn_has_a_budget_that_its_evidence_fits_in(case: Case) -> None:
    for turn in case.rubric.turns:
        plain = [[place for place in group if not place.tool.startswith(DIAGNOSE)] for group in turn.expected_evidence]
        calls = {(group[0].tool, tuple(sorted(group[0].args.items()))) for group in plain}
        assert turn.max_tool_calls is not None
        assert len(calls) <= turn.max_tool_calls


@every_journey
def test_the_answers_of_other_journeys_are_wrong(case: Case) -> None:
    for other in CASES:
        if other.id == case.id:
            continue
        for pins in other.pins:
            for answer in pins.passing:
                assert not all(claims(case, turn, answer)[0] for turn in range(1, len(case.rubric.turns) + 1))


@every_journey
def test_a_service_has_its_slice_and_no_old_endpoints(case: Case) -> None:
    kinds = [item["kind"] for item in case.stimulus.cluster.objects]
    assert kinds.count("Service") == kinds.count("EndpointSlice")
    assert "Endpoints" not in kinds


def test_a_turn_that_asks_for_the_screen_takes_nothing_but_the_action() -> None:
    asked = {
        (case.id, number): {place.tool for group in turn.expected_evidence for place in group}
        for case in CASES
        for number, turn in enumerate(case.rubric.turns, 1)
    }
    on_screen = {place: tools for place, tools in asked.items() if tools & {"open_describe", "open_logs"}}
    assert on_screen == {
        ("triage-and-correct", 3): {"open_describe"},
        ("tui-follow", 2): {"open_describe"},
        ("tui-follow", 3): {"open_logs"},
    }


def test_the_namespace_with_the_warnings_is_the_healthy_one() -> None:
    warnings = {"prod": 0, "staging": 0}
    for event in journeys()["compare-namespaces"].stimulus.cluster.events:
        warnings[event["involvedObject"]["namespace"]] += event["count"]
    assert warnings == {"prod": 0, "staging": 8}


def reached(case: Case, place: Evidence) -> bool:
    answer = run_tool(case, place.tool, dict(place.args))
    return answer.error == place.error and shows(place, answer.text)
