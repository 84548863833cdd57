"""Leaked thinking: what its tags hide, and what they must not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.thoughts import without_thoughts

TEXTS = st.text("ab.\n `é漢", min_size=1, max_size=12)
TAGS = st.sampled_from(["<think>", "</think>", "<thinking>", "</Thinking>", "<thought>", "</thought>"])
ANSWERS = st.lists(st.one_of(TEXTS, TAGS), max_size=12).map("".join)


def shown(answer: str) -> str:
    return " ".join(without_thoughts(answer).split())


@pytest.mark.parametrize(
    ("answer", "visible"),
    [
        ("a <think>b</think> c", "a c"),
        ("<think>b</think>", ""),
        ("b</think> c", "c"),
        ("b</think> c </think> d", "d"),
        ("b</think> c </think>", "c"),
        ("a</think>", "a"),
        ("a\n</think>\n```\n</think>", "a ```"),
        ("a <think>", "a"),
        ("<think>b", ""),
        ("a <think>b", "a"),
        ("<think>b<think>c</think>d</think> e", "e"),
        ("a <think>b</think> c</think>", "a c"),
        ("a <think>b</think> c</think> d", "a d"),
        ("b</think> c <think>d", "c"),
        ("a</think><think>d</think>", "a"),
        ("漢</think>字", "字"),
        ("a < b and </thinker>", "a < b and </thinker>"),
    ],
)
def test_thoughts_are_hidden_and_answers_are_not(answer: str, visible: str) -> None:
    assert shown(answer) == visible


@given(ANSWERS)
def test_nothing_moves_and_no_tag_stays(answer: str) -> None:
    hidden = without_thoughts(answer)
    assert len(hidden) == len(answer)
    assert all(now in (was, " ") for now, was in zip(hidden, answer, strict=True))
    assert "<t" not in hidden.lower()
    assert "</t" not in hidden.lower()


@given(ANSWERS)
def test_closing_tags_at_the_end_hide_nothing_more(answer: str) -> None:
    assert shown(answer + "</think>\n</think>") == shown(answer + "</think>")


CLOSED = st.lists(st.one_of(TEXTS, st.just("</think>")), max_size=12)


@given(CLOSED)
def test_closing_tags_alone_leave_the_last_thing_that_was_said(pieces: list[str]) -> None:
    said = [part for part in "".join(pieces).split("</think>") if any(map(str.isalnum, part))]
    assert shown("".join(pieces)).startswith(" ".join(said[-1].split()) if said else "")
    assert any(map(str.isalnum, shown("".join(pieces)))) == bool(said)
