"""The budget of a conversation: refused before it is sent, cut between turns, and never over the wire ceiling."""

from pathlib import Path

from recorder.conversation import Conversation
from recorder.scripted import Call, Reply
from schemas.cases import Cluster, ContainerLogs
from schemas.events import HistoryTrimmed, ModelRequest, TurnFinished
from tests.recorder.recording import LOGS, answers, case_of, limits, record
from tests.tools.fixtures import pod

LOOK = Reply(tool_calls=(Call(name="get_logs", arguments=LOGS),))


def wordy(characters: int) -> Cluster:
    """A cluster whose pod logs so many characters."""
    return Cluster(
        objects=(pod("api-1"),), logs={"shop/api-1/app": ContainerLogs(current=("x" * 79,) * (characters // 80))}
    )


async def test_a_question_over_the_strict_budget_is_never_sent_and_leaves_nothing_behind(tmp_path: Path) -> None:
    case = case_of("y" * 500, "And now?")
    run = await record(tmp_path, answers("Fine."), case=case, within=limits(max_history_chars=400))
    first, second = run.of(TurnFinished)
    assert (first.outcome, first.iterations) == ("history_budget", 0)
    assert "over the budget of 400" in first.error
    assert second.outcome == "answered"
    assert len(run.requests) == 1
    assert "yyy" not in str(run.sent(1)), "the refused question is not part of the conversation"
    assert run.result.status == "completed"


async def test_a_history_that_outgrows_the_strict_budget_ends_the_turn_before_the_next_request(tmp_path: Path) -> None:
    case = case_of("Why?", "And now?", cluster=wordy(1_600))
    run = await record(tmp_path, [LOOK, *answers("Fine.")], case=case, within=limits(max_history_chars=1_500))
    first, second = run.of(TurnFinished)
    assert (first.outcome, first.iterations, first.answer, first.tool_calls) == ("history_budget", 1, "", 1)
    assert (second.outcome, second.answer) == ("answered", "Fine.")
    assert run.one(HistoryTrimmed).dropped_turns == 1, "the turn that was too long makes room for the next"


async def test_without_the_strict_budget_one_long_turn_goes_on_up_to_the_wire_ceiling(tmp_path: Path) -> None:
    within = limits(max_history_chars=1_000, strict_history_budget=False, max_result_chars=None)
    run = await record(tmp_path, [LOOK, *answers("Fine.")], case=case_of("Why?", cluster=wordy(2_000)), within=within)
    assert run.one(TurnFinished).outcome == "answered"


async def test_a_turn_over_the_wire_ceiling_is_rolled_back_whole(tmp_path: Path) -> None:
    within = limits(max_history_chars=500, strict_history_budget=False, max_result_chars=None, max_iterations=20)
    case = case_of("Why?", "And now?", cluster=wordy(4_000))
    script = [LOOK] * 3 + answers("Fine.")
    run = await record(tmp_path, script, case=case, within=within)
    first, second = run.of(TurnFinished)
    assert (first.outcome, first.iterations) == ("history_budget", 3)
    assert "wire ceiling" in first.error
    assert second.outcome == "answered"
    assert [message["role"] for message in run.sent(4)] == ["system", "user"]
    assert run.of(HistoryTrimmed) == [], "nothing was left to trim"


async def test_the_oldest_turns_make_room_with_an_event_and_the_newest_never_goes(tmp_path: Path) -> None:
    users = [f"{'q' * 100} {number}" for number in range(1, 6)]
    case = case_of(*users)
    run = await record(tmp_path, answers(*["a" * 100] * 5), case=case, within=limits(max_history_chars=900))
    trims = run.of(HistoryTrimmed)
    assert [trim.turn for trim in trims] == [4, 5]
    assert all(trim.dropped_turns == 1 and trim.chars_after <= 900 < trim.chars_before for trim in trims)
    last = run.sent(5)
    assert [message["role"] for message in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "qqq 3" in last[1]["content"]
    assert "qqq 5" in last[-1]["content"]


async def test_no_more_than_the_retained_turns_are_sent(tmp_path: Path) -> None:
    case = case_of(*(f"question {number}?" for number in range(1, 13)))
    run = await record(tmp_path, answers(*["Fine."] * 12), case=case)
    asked = [message["content"] for message in run.sent(12) if message["role"] == "user"]
    assert len(asked) == 8
    assert "question 5?" in asked[0]
    assert "question 12?" in asked[-1]
    assert [trim.turn for trim in run.of(HistoryTrimmed)] == [9, 10, 11, 12]
    assert all(request.messages[0][0] == 0 for request in run.of(ModelRequest)), "the system message stays first"


def test_the_wire_ceiling_is_twice_the_history_the_tools_and_a_little_more() -> None:
    within = limits(max_history_chars=1_000)
    conversation = Conversation(system="s" * 100, limits=within, tool_schema_chars=300)
    room = 2 * 1_000 + 300 + 8_192 - 100 - 300
    conversation.begin_turn("u" * room)
    assert not conversation.over_wire_ceiling()
    conversation.add([{"role": "assistant", "content": "v"}])
    assert conversation.over_wire_ceiling()


def test_trimming_keeps_whole_turns_and_the_newest_even_if_it_alone_is_too_long() -> None:
    conversation = Conversation(system="s", limits=limits(max_history_chars=50), tool_schema_chars=0)
    for text in ("a" * 20, "b" * 20, "c" * 90):
        conversation.begin_turn(text)
    assert conversation.trim() == 2
    assert conversation.trim() == 0
    assert [turn[0]["content"][0] for turn in conversation.turns] == ["c"]
    assert conversation.over_budget()


def test_names_and_arguments_of_calls_count_as_history() -> None:
    conversation = Conversation(system="s", limits=limits(), tool_schema_chars=0)
    conversation.begin_turn("12345")
    call = {"id": "a", "type": "function", "function": {"name": "get_logs", "arguments": '{"a": 1}'}}
    conversation.add([{"role": "assistant", "content": "", "tool_calls": [call]}])
    assert conversation.chars() == 5 + 8 + 8
