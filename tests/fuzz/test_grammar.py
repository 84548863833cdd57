"""The claims grammar and all that grading reads take any text: no exception, and no square of its length."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.changes import LATEST, rules_of
from grading.claims import claim_findings
from grading.structured import read_structured
from schemas.cases import RubricTurn
from tests.fuzz.counting import lines_run

RUBRIC = RubricTurn(
    must_mention=(("memory limit", "OOMKilled"), ("api-1",)),
    must_not_mention=(("image pull",), ("137",)),
    symptom=(("restarts",),),
)
_WORDS = (
    "the memory limit OOMKilled api-1 api-10 image pull 137 1137 not no isn't can't n't never without due to because "
    "but and or neither nor healthy fine ok is was , . ; : ! ? - — ( ) [ ] { } \n | # * ` ' ’ \" \t 1.37 e.g. i.e. "
    "check verify whether if ruled out rather than instead of — | --- - [E1] \u200b \ud83d\ude00 é ΑΒΓ\x00"
)
WORDS = st.sampled_from(_WORDS.split(" "))
TEXTS = st.one_of(
    st.text(max_size=300), st.lists(WORDS, max_size=60).map(" ".join), st.lists(WORDS, max_size=60).map("".join)
)


@settings(max_examples=200)
@given(TEXTS, st.booleans(), st.sampled_from([1, LATEST]))
def test_any_answer_is_graded_and_every_span_is_what_stands_there(text: str, control: bool, version: int) -> None:
    findings = claim_findings(text, RUBRIC, control, rules_of(version))
    assert len(findings) == 5
    for finding in findings:
        for span in (finding.span, *(span for _, span in finding.rejected)):
            if span is not None:
                assert 0 <= span.start < span.end <= len(text)
                assert text[span.start : span.end] == span.text


@settings(max_examples=200)
@given(
    st.one_of(
        st.text(max_size=200),
        st.lists(
            st.sampled_from(
                ["a:", " b", "\n", "- ", "  ", '"', "'", "|", ">-", "[]", "{}", "{", "\\x", "#", "---", ": "]
            ),
            max_size=40,
        ).map("".join),
    )
)
def test_any_result_reads_as_data_or_as_none(text: str) -> None:
    assert isinstance(read_structured(text), (dict, list, str, int, float, bool, type(None)))


HOSTILE = {
    "words": "memory limit is not OOMKilled and ",
    "negations": "not no never without ",
    "commas": "a, ",
    "open brackets": "(not [",
    "capitals": "AAAA",
    "hyphens": "a-",
    "claims": "OOMKilled ",
    "lines": "- OOMKilled: no\n",
    "cells": "| not OOMKilled | ",
    "quotes": "'\"`",
    "checks": "check whether OOMKilled. ",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_work_grows_with_the_answer_and_not_with_its_square(piece: str) -> None:
    rules = rules_of()

    def grade(size: int) -> int:
        return lines_run(lambda: claim_findings(piece * (size // len(piece)), RUBRIC, False, rules))

    grade(100)
    assert grade(8_000) < 1.5 * 4 * grade(2_000) + 2_000


@pytest.mark.parametrize("piece", ["a:\n ", "- ", "a: |\n", "k: v\n", "  - x\n", '"a', "{", "x: >\n\n"])
def test_reading_a_result_grows_with_it_and_not_with_its_square(piece: str) -> None:
    few, many = (lines_run(lambda size=size: read_structured(piece * size)) for size in (500, 2_000))  # type: ignore[misc]
    assert many < 1.5 * 4 * few + 2_000


@pytest.mark.parametrize("text", ["{\udce2}", '["\ud800"]', "[" * 100_000, '{"a":' * 100_000, '{"a":1e999}', "{'a'"])
def test_a_result_that_no_json_reader_takes_is_not_structured(text: str) -> None:
    assert read_structured(text) is None
