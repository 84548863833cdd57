"""What an answer cites, and how much of it carries a reference."""

from grading.changes import rules_of
from grading.citations import cite
from grading.pins.build import call
from schemas.verdicts import Citations

POD = {"pod": "web-1", "namespace": "shop"}


def cited(answer: str, *results: str) -> Citations:
    calls = tuple(call("get_logs", POD, text, number) for number, text in enumerate(results, 1))
    return cite(answer, calls, rules_of())


def test_references_are_split_into_cited_unsupported_and_uncited() -> None:
    found = cited("a [E1], b [E3]. c [E1]", "x", "y")
    assert (found.cited, found.unsupported, found.uncited_evidence) == (("E1",), ("E3",), ("E2",))
    assert found.precision == 0.5


def test_marks_in_the_results_are_what_is_minted() -> None:
    found = cited("a [E7]", "[E7] log", "plain")
    assert (found.cited, found.uncited_evidence) == (("E7",), ())


def test_failed_reads_and_screen_actions_mint_nothing() -> None:
    failed = call("get_logs", POD, "ERROR: no", ok=False)
    screen = call("open_logs", POD, "opened logs", 2, screen_action=True)
    assert cite("a [E1]", (failed, screen), rules_of()).unsupported == ("E1",)


def test_only_plain_numbers_are_references() -> None:
    assert cited("[E0] [E01] [e1] [E１] E1", "x").cited == ()


def test_markers_and_fragments_without_a_word_are_no_claims() -> None:
    found = cited("1) first. [E1]\n\n- second [E1]\n* ---\n+ third\n\n!!!", "x")
    assert (found.claims, found.claims_with_reference) == (3, 2)


def test_nothing_to_divide_is_unknown() -> None:
    found = cited("")
    assert (found.precision, found.coverage, found.claims) == (None, None, 0)
