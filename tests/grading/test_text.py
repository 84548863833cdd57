"""Cutting an answer and finding keywords in it, for any text at any version."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.changes import LATEST, rules_of
from grading.claims import claim_findings, visible
from grading.grader import grade
from grading.matching import matches
from grading.pins.build import recorded
from grading.rules import Rules
from grading.text import cut, key_of
from schemas.cases import RubricTurn
from schemas.verdicts import ClaimFinding

GROUPS = (("oomkilled", "oom"), ("image pull",), ("no endpoints",), ("137", "3.1"), ("does not exist",), ("probe",))
RUBRIC = RubricTurn(must_mention=GROUPS, must_not_mention=GROUPS, symptom=GROUPS[:1])
WORDS = (
    "OOMKilled oom image pull no not isn't isn’t can't cannot endpoints 137 1.37 3.1 3.1.4 probe does exist fine is "
    "because due to and or nor but which ruled out rather than if check that <think> </think> would was é 漢 ** `"
)
JOINTS = [", ", ". ", "\n", "\n- ", " - ", " — ", " | ", "(", ")", ": ", "? ", "\ud800", "\x00"]
PIECES = st.sampled_from(WORDS.split() + JOINTS)
ANSWERS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=60).map(" ".join))
VERSIONS = st.integers(1, LATEST)


def words(text: str, rules: Rules | None = None) -> list[str]:
    return cut(text, rules or Rules()).words


def spans(findings: tuple[ClaimFinding, ...]) -> list[tuple[int, int, str]]:
    found = [finding.span for finding in findings if finding.span is not None]
    found += [span for finding in findings for _, span in finding.rejected]
    return [(span.start, span.end, span.text) for span in found]


def test_camel_case_acronyms_and_hyphens_cut_into_the_same_tokens() -> None:
    assert words("OOMKilled oom-killed OOM Killed") == ["oom", "killed"] * 3
    assert words("HTTPServer v9-typo nodeSelector") == ["http", "server", "v9", "typo", "node", "selector"]


def test_an_apostrophe_cuts_in_the_first_version_and_is_expanded_later() -> None:
    assert words("isn't") == ["isn", "t"]
    assert words("isn’t", rules_of()) == words("is not", rules_of()) == ["is", "not"]
    assert words("can't cannot won't", rules_of()) == ["can", "not", "can", "not", "will", "not"]


def test_clauses_end_at_punctuation_and_a_later_version_keeps_numbers_and_parentheses_whole() -> None:
    assert cut("10.0.3.1 fails", Rules()).clause == [0, 1, 2, 3, 3]
    assert cut("10.0.3.1 fails", rules_of()).clause == [0, 0, 0, 0, 0]
    assert cut("the pod (web) fails", rules_of()).clause == [0, 0, 1, 0]


def test_a_keyword_is_its_tokens_run_together() -> None:
    text = cut("It was OOM-Killed, unhealthy.", Rules())
    assert list(matches(text, key_of("oomkilled", Rules()), Rules())) == [(2, 3)]
    assert list(matches(text, key_of("healthy", Rules()), Rules())) == []


@given(ANSWERS, VERSIONS)
def test_every_span_lies_in_the_answer_and_shows_what_is_there(answer: str, version: int) -> None:
    rules = rules_of(version)
    shown = visible(answer, rules)
    for start, end, text in spans(claim_findings(answer, RUBRIC, False, rules)):
        assert 0 <= start < end <= len(answer)
        assert answer[start:end] == shown[start:end] == text


@given(ANSWERS, st.booleans(), st.frozensets(st.sampled_from(Rules.__struct_fields__)))
def test_any_answer_is_graded_the_same_twice_under_any_set_of_changes(
    answer: str, control: bool, switches: frozenset[str]
) -> None:
    rules = Rules(**dict.fromkeys(switches, True))
    assert claim_findings(answer, RUBRIC, control, rules) == claim_findings(answer, RUBRIC, control, rules)


@given(ANSWERS)
def test_a_whole_verdict_is_reached_for_any_answer(answer: str) -> None:
    run = recorded(answer, RUBRIC)
    assert grade(run, run.rubric).verdict == "fail"


@given(ANSWERS)
def test_blanking_thoughts_moves_nothing(answer: str) -> None:
    shown = visible(answer, rules_of())
    assert len(shown) == len(answer)
    assert all(now in (was, " ") for now, was in zip(shown, answer, strict=True))


def lines_run(work: Callable[[], Any]) -> int:
    """How many lines of Python a piece of work runs: a cost that no busy machine changes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


HOSTILE = {
    "matches in one clause": "oomkilled ",
    "negators": "not no never ",
    "a list without end": "no oomkilled, ",
    "a list of alternatives": "oomkilled, or image pull, ",
    "conjunctions": "oomkilled and image pull ",
    "open parentheses": "(oomkilled ",
    "labels": "ruled out: oomkilled\n",
    "bullets": "- ruled out:\n- oomkilled\n",
    "cells": "| oomkilled | no ",
    "thoughts": "<think>oomkilled ",
    "dotted": "oomkilled.image.pull.",
    "punctuation": "oomkilled ....,,,,;;;; ",
    "capitals": "OOMKILLED" * 2,
    "causes": "not due to oomkilled because of ",
    "contrasts": "normally suggests oomkilled, but ",
    "references": "x. [E1] ",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_the_cost_of_grading_grows_with_the_length_and_not_faster(piece: str) -> None:
    def cost(repeats: int) -> int:
        run = recorded(piece * repeats, RUBRIC)
        return lines_run(lambda: grade(run, run.rubric))

    cost(10)
    small, large = cost(100), cost(400)
    assert large < 4.6 * small


@settings(max_examples=20)
@given(st.sampled_from(list("-.,:(|*#>_ \n\t'\"")), st.integers(1000, 5000))
def test_a_long_run_of_one_character_is_one_gap(character: str, size: int) -> None:
    text = cut("a" + character * size + "b", rules_of())
    assert text.words == ["a", "b"]
