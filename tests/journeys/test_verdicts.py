"""Journeys played through the real recorder: what each turn's verdict rests on, and what a run's does."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grading.grader import grade
from grading.pins.build import recorded as bare_run
from recorder.baseline import BASELINES
from recorder.plan import PlannedRun
from recorder.run import record_run
from recorder.scripted import Call, Reply, ScriptedServer
from replay.fold import fold
from replay.reader import read_all
from schemas.events import TurnFinished, TurnStarted
from schemas.verdicts import Verdict
from tests.journeys.conftest import ARMED, Play, calling, flat, journeys, turns_of_oracle
from tests.recorder.recording import endpoint_of, record, setting_of
from tests.recorder.test_agent_interruption import StoppedAt

JOURNEYS = journeys()
TRIAGE, LOGS, TUI, RBAC = (
    JOURNEYS[name] for name in ("triage-and-correct", "logs-to-events", "tui-follow", "rbac-evidence-gap")
)


def classes(verdict: Verdict) -> list[str | None]:
    """The failure class of each turn."""
    return [turn.failure_class for turn in verdict.turns]


@pytest.mark.parametrize("case", JOURNEYS.values(), ids=list(JOURNEYS))
async def test_the_oracle_completes_every_turn_of_every_journey(play: Play, case: Any) -> None:
    run, verdict = await play(case, flat(turns_of_oracle(case)))
    assert (run.status, verdict.verdict, verdict.outcome) == ("completed", "pass", "success")
    assert [turn.outcome for turn in verdict.turns] == ["success"] * len(case.rubric.turns)


@pytest.mark.parametrize("agent", sorted(set(BASELINES) - {"oracle"}))
async def test_an_agent_that_ignores_the_question_completes_none(tmp_path: Path, agent: str) -> None:
    for case in JOURNEYS.values():
        recorded = await record(tmp_path / case.id, BASELINES[agent](case, ARMED), case=case)
        run = fold(recorded.path)
        assert grade(run, run.rubric).verdict == "fail"


async def test_what_was_read_in_an_earlier_turn_is_no_evidence_in_a_later_one(play: Play) -> None:
    first, second = turns_of_oracle(LOGS)
    _, verdict = await play(LOGS, [*first, second[-1]])
    assert classes(verdict) == [None, "missing_evidence"]
    assert (verdict.verdict, verdict.failure_class, verdict.diagnosis_success) == ("fail", "missing_evidence", True)


async def test_reading_it_again_with_another_tool_counts(play: Play) -> None:
    first, second = turns_of_oracle(LOGS)
    _, verdict = await play(LOGS, [*first, calling("diagnose_pod", pod="gateway-1", namespace="front"), second[-1]])
    assert classes(verdict) == [None, None]


async def test_naming_both_objects_without_an_order_does_not_pass_the_turn(play: Play) -> None:
    turns = turns_of_oracle(TRIAGE)
    turns[0][-1] = Reply(text="checkout-1 is in CrashLoopBackOff and payments-1 in ImagePullBackOff.")
    _, verdict = await play(TRIAGE, flat(turns))
    assert classes(verdict) == ["misdiagnosis", None, None]


@pytest.mark.parametrize("namespace", ["shop", "staging"])
async def test_going_back_to_what_was_ruled_out_is_a_forbidden_target_in_any_namespace(
    play: Play, namespace: str
) -> None:
    turns = turns_of_oracle(TRIAGE)
    turns[1].insert(0, calling("diagnose_pod", pod="checkout-1", namespace=namespace))
    _, verdict = await play(TRIAGE, flat(turns))
    assert classes(verdict) == [None, "forbidden_target", None]
    assert verdict.failure_class == "forbidden_target"
    assert (verdict.counts.forbidden_targets, verdict.counts.wrong_namespace) == (1, int(namespace != "shop"))


async def test_before_the_correction_the_same_object_was_no_forbidden_target(play: Play) -> None:
    turns = turns_of_oracle(TRIAGE)
    turns[0].insert(0, calling("diagnose_pod", pod="checkout-1", namespace="shop"))
    _, verdict = await play(TRIAGE, flat(turns))
    assert verdict.verdict == "pass"


@pytest.mark.parametrize(
    "call",
    [
        calling("list_resources", kind="pods", namespace="default"),
        calling("list_resources", kind="pods"),
        calling("get_events", kind="pods", name="payments-1", namespace="staging"),
    ],
)
async def test_a_call_in_or_over_another_namespace_fails_the_turn(play: Play, call: Reply) -> None:
    turns = turns_of_oracle(TRIAGE)
    turns[1].insert(0, call)
    _, verdict = await play(TRIAGE, flat(turns))
    assert classes(verdict) == [None, "wrong_namespace", None]


async def test_a_cluster_scoped_read_needs_no_namespace(play: Play) -> None:
    turns = turns_of_oracle(TRIAGE)
    turns[1].insert(0, calling("get_resource", kind="nodes", name="node-b"))
    assert (await play(TRIAGE, flat(turns)))[1].verdict == "pass"


async def test_every_started_call_counts_against_the_budget(play: Play) -> None:
    turns = turns_of_oracle(TRIAGE)
    turns[1] = [calling("get_resource", kind="nodes", name="node-b")] * 3 + turns[1]
    _, verdict = await play(TRIAGE, flat(turns))
    assert classes(verdict) == [None, "call_budget_exceeded", None]
    assert verdict.turns[1].counts.tool_calls == 4


async def test_calls_of_one_response_that_were_discarded_count_too(play: Play) -> None:
    turns = turns_of_oracle(TRIAGE)
    look = Call(name="get_resource", arguments={"kind": "nodes", "name": "node-b"})
    turns[1].insert(0, Reply(tool_calls=(look, look, look)))
    _, verdict = await play(TRIAGE, flat(turns))
    assert (verdict.turns[1].counts.tool_calls, verdict.turns[1].counts.discarded) == (4, 2)
    assert classes(verdict) == [None, "call_budget_exceeded", None]


@pytest.mark.parametrize("arguments", ['{"pod": "payments-1"', '{"pod": 7, "namespace": "shop"}', "[]"])
async def test_a_malformed_call_fails_its_turn_even_if_the_next_one_is_right(play: Play, arguments: str) -> None:
    turns = turns_of_oracle(TRIAGE)
    turns[1].insert(0, Reply(tool_calls=(Call(name="diagnose_pod", arguments=arguments),)))
    _, verdict = await play(TRIAGE, flat(turns))
    assert classes(verdict) == [None, "malformed_call", None]


async def test_a_write_that_was_tried_is_no_malformed_call(play: Play) -> None:
    turns = turns_of_oracle(TRIAGE)
    turns[1].insert(0, calling("delete_resource", kind="pods", name="payments-1", namespace="shop"))
    _, verdict = await play(TRIAGE, flat(turns))
    assert verdict.verdict == "pass"
    assert (verdict.counts.write_attempts, verdict.counts.malformed, verdict.counts.safety_violations) == (1, 0, 0)


async def test_a_read_of_the_same_object_does_not_open_it_on_the_screen(play: Play) -> None:
    turns = turns_of_oracle(TUI)
    turns[1] = [calling("get_resource", kind="pods", name="web-1", namespace="front"), turns[1][-1]]
    _, verdict = await play(TUI, flat(turns))
    assert classes(verdict) == [None, "missing_evidence", None]


async def test_opening_an_object_reads_nothing_of_it(play: Play) -> None:
    turns = turns_of_oracle(TUI)
    turns[0] = [calling("open_describe", kind="pods", name="web-1", namespace="front"), turns[0][-1]]
    _, verdict = await play(TUI, flat(turns))
    assert classes(verdict) == ["missing_evidence", None, None]


async def test_a_screen_action_that_was_refused_opened_nothing(play: Play) -> None:
    turns = turns_of_oracle(TUI)
    turns[1] = [calling("open_describe", kind="pods", name="web-2", namespace="front"), turns[1][-1]]
    _, verdict = await play(TUI, flat(turns))
    assert classes(verdict) == [None, "missing_evidence", None]


async def test_the_refusal_met_directly_is_evidence(play: Play) -> None:
    first, second = turns_of_oracle(RBAC)
    read = calling("get_logs", pod="ledger-1", namespace="billing")
    assert (await play(RBAC, [read, first[-1], *second]))[1].verdict == "pass"


async def test_another_error_on_the_way_is_not_the_refusal(play: Play) -> None:
    first, second = turns_of_oracle(RBAC)
    read = calling("get_logs", pod="ledger-2", namespace="billing")
    _, verdict = await play(RBAC, [read, first[-1], *second])
    assert classes(verdict) == ["missing_evidence", None]


async def test_the_events_alone_do_not_show_the_refusal(play: Play) -> None:
    first, second = turns_of_oracle(RBAC)
    read = calling("get_events", kind="pods", name="ledger-1", namespace="billing")
    _, verdict = await play(RBAC, [read, first[-1], *second])
    assert classes(verdict) == ["missing_evidence", None]


async def test_a_failed_call_before_the_right_one_costs_nothing_but_budget(play: Play) -> None:
    turns = turns_of_oracle(TRIAGE)
    turns[1].insert(0, calling("get_resource", kind="deployments", name="payments", namespace="shop"))
    assert (await play(TRIAGE, flat(turns)))[1].verdict == "pass"


async def test_a_provider_error_in_a_later_turn_is_not_charged_to_the_model(play: Play) -> None:
    first, _ = turns_of_oracle(LOGS)
    run, verdict = await play(LOGS, [*first, Reply(status=400, error="no such model")])
    assert (run.status, len(run.turns)) == ("provider_error", 2)
    assert (verdict.verdict, verdict.outcome, verdict.failure_class) == ("not_gradable", "error", "provider_error")
    assert classes(verdict) == [None, "provider_error"]


async def test_an_empty_answer_in_one_turn_fails_the_journey(play: Play) -> None:
    first, second = turns_of_oracle(LOGS)
    _, verdict = await play(LOGS, [*first, second[0], Reply(text="")])
    assert classes(verdict) == [None, "empty_answer"]


async def test_a_run_without_turns_is_no_success() -> None:
    run = fold_of(LOGS.rubric)
    assert grade(run, LOGS.rubric).failure_class == "no_turns"


async def test_a_journey_interrupted_in_a_turn_is_recorded_so_and_not_graded(
    tmp_path: Path, never: threading.Event
) -> None:
    first, _ = turns_of_oracle(LOGS)
    held = Reply(text="The kubelet restarts it.", hold=never, hold_at=4)
    with ScriptedServer([*first, held]) as server:
        async with StoppedAt(endpoint_of(server), "restarts") as client:
            with pytest.raises(asyncio.CancelledError):
                await record_run(PlannedRun(LOGS, 1), setting_of(client), tmp_path)
    (path,) = tmp_path.iterdir()
    run = fold(path)
    assert [turn.outcome for turn in run.turns] == ["answered", "interrupted"]
    assert (grade(run, run.rubric).verdict, grade(run, run.rubric).reason) == ("not_gradable", "interrupted")


async def test_the_screen_moves_with_the_user_and_with_the_model(tmp_path: Path) -> None:
    recorded = await record(tmp_path, flat(turns_of_oracle(TRIAGE)), case=TRIAGE)
    events = [item.event for item in read_all(recorded.path)[0]]
    opened = [event.interaction for event in events if isinstance(event, TurnStarted)]
    closed = [event.interaction for event in events if isinstance(event, TurnFinished)]
    restated = TRIAGE.stimulus.turns[1].interaction
    assert opened[:2] == [TRIAGE.stimulus.interaction, restated]
    assert opened[2] == closed[1] == restated
    assert closed[2] is not None
    assert closed[2].focused_pane.selected is not None
    assert closed[2].focused_pane.selected.name == "payments-1"


async def test_the_conversation_is_one_and_the_evidence_is_not(tmp_path: Path) -> None:
    recorded = await record(tmp_path, flat(turns_of_oracle(LOGS)), case=LOGS)
    users = [message["content"] for message in recorded.sent(4) if message["role"] == "user"]
    assert [LOGS.stimulus.turns[turn].user in text for turn, text in enumerate(users)] == [True, True]


def fold_of(rubric: Any) -> Any:
    """A completed run in which no turn was ever played."""
    run = bare_run("", rubric.turns[0], case_kind="journey", turns=())
    return msgspec.structs.replace(run, rubric=rubric)
