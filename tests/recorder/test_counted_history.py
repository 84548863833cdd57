"""The history is counted as it grows: whatever happens to it, the count is what counting anew would give."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from recorder.conversation import Conversation
from schemas.policy import LIMITS

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "iterate", "interrupt", "no answer", "roll back", "trim"]), st.integers(0, 3000)
    ),
    max_size=30,
)


def counted_anew(conversation: Conversation) -> int:
    return sum(
        len(message["content"] or "")
        + sum(len(call["function"]["name"] + call["function"]["arguments"]) for call in message.get("tool_calls", ()))
        for message in conversation.messages()[1:]
    )


def take(conversation: Conversation, step: str, size: int) -> None:
    """One thing that can happen to a conversation."""
    if step == "begin" or not conversation.turns:
        conversation.begin_turn("u" * size)
    elif step == "iterate":
        calls = [{"id": "1", "function": {"name": "get_logs", "arguments": "a" * (size // 2)}}]
        asked = {"role": "assistant", "content": None, "tool_calls": calls}
        conversation.add([asked, {"role": "tool", "content": "r" * size}])
    elif step == "interrupt":
        conversation.note_interruption("p" * size)
    elif step == "no answer":
        conversation.note_no_answer("p" * size)
    elif step == "roll back":
        conversation.roll_back_turn()
    else:
        conversation.trim()


@given(STEPS, st.sampled_from([50, 2000, 9000]), st.sampled_from([0, 40_000]))
def test_the_count_of_a_history_is_that_of_its_messages(steps: list[tuple[str, int]], budget: int, system: int) -> None:
    limits = msgspec.structs.replace(LIMITS["low"], max_history_chars=budget, retained_turns=3)
    conversation = Conversation("s" * system, limits, 100)
    for step, size in steps:
        take(conversation, step, size)
        assert conversation.chars() == counted_anew(conversation)
        if step == "trim" and len(conversation.turns) > 1:
            assert not conversation.over_budget()
            assert not conversation.over_wire_ceiling()
