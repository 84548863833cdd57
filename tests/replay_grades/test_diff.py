"""diff and bisect: which verdicts differ between two graders, why, and where in the answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from grading.registry import GRADERS
from replay.bisect import bisected
from replay.bisect import render as render_bisection
from replay.diff import between, excerpt, render, turn_moved
from schemas.errors import UsageError
from schemas.verdicts import ClaimFinding, Span, TurnVerdict
from tests.replay_grades.tools import FAIL_ALL, digests, pack, raw, run_regrade

LATEST = GRADERS["claims"].latest


def test_diff_shows_what_regrading_under_both_versions_moves(campaign: Path) -> None:
    found = between([campaign], "claims@1", None)
    run_regrade(campaign, "claims@1")
    flips = {flip.run_id: flip for flip in run_regrade(campaign).receipt.flips}
    moved = {run.run_id: run for run in found.moved}
    assert flips
    assert {run_id: (flip.before, flip.after, flip.cause) for run_id, flip in flips.items()} == {
        run_id: (run.before, run.after, run.cause) for run_id, run in moved.items()
    }
    assert (found.before, found.after) == ("claims@1", f"claims@{LATEST}")
    assert found.runs == len(list(campaign.glob("runs/*")))


def test_diff_and_bisect_store_nothing(pristine: Path) -> None:
    before = digests(pristine)
    between([pristine], None, None)
    bisected([pristine], None, None)
    assert digests(pristine) == before


def test_diff_gives_the_same_answer_in_several_processes(pristine: Path) -> None:
    assert between([pristine], None, None, jobs=2) == between([pristine], None, None)


def test_each_flip_is_explained_by_a_finding_and_the_words_in_the_answer(pristine: Path) -> None:
    found = between([pristine], "claims@1", None)
    lines = "\n".join(render(found))
    for run in found.moved:
        assert run.run_id in lines
        for turn in run.turns:
            assert turn.findings
            assert turn.marks
            assert all(f"«{mark.span.text}»" in turn.excerpt for mark in turn.marks)
        assert all(title in lines for title in run.titles)
    assert "is negated" in lines


def test_a_flip_without_another_finding_shows_what_stood_in_the_way_and_the_answer() -> None:
    symptom = ClaimFinding(role="symptom", group=("evicted", "eviction"), holds=False)
    before = TurnVerdict(turn=1, verdict="fail", reason="misdiagnosis", outcome="failure", claims=(symptom,))
    after = TurnVerdict(turn=1, verdict="pass", reason="success", outcome="success", claims=(symptom,))
    moved = turn_moved(before, after, "The node was low on memory." + " More." * 30)
    assert [(finding.role, finding.before, finding.after) for finding in moved.findings] == [
        ("symptom", "not claimed", "not claimed")
    ]
    assert moved.excerpt.startswith("The node was low on memory. More.")
    assert moved.excerpt.endswith("...")


def test_bisect_counts_each_change_and_names_every_flip(pristine: Path) -> None:
    found = bisected([pristine], "claims@1", f"claims@{LATEST}")
    assert found.flips
    assert sum(tally.to_pass + tally.to_fail + tally.other for tally in found.tallies) == len(found.flips)
    lines = list(render_bisection(found))
    assert all(any(flip.run_id in line and flip.cause.changes[0] in line for line in lines) for flip in found.flips)


def test_bisecting_over_one_version_names_that_versions_change(pristine: Path) -> None:
    versions = {change.id: number for number, change in enumerate(GRADERS["claims"].changes, 2)}
    for change in ("A-06", "C-05", "C-08"):
        number = versions[change]
        found = bisected([pristine], f"claims@{number - 1}", f"claims@{number}")
        assert {flip.cause.changes for flip in found.flips} <= {(change,)}


def test_bisecting_backwards_names_the_change_that_was_taken_away(pristine: Path) -> None:
    forward = bisected([pristine], "claims@1", None)
    backward = bisected([pristine], None, "claims@1")
    assert backward.flips == ()
    turned = bisected([pristine], f"claims@{LATEST}", "claims@1")
    assert {flip.run_id for flip in turned.flips} == {flip.run_id for flip in forward.flips}


def test_graders_of_different_names_can_be_compared_but_not_bisected(
    pristine: Path, grader_file: Callable[[str], str]
) -> None:
    reference = grader_file(FAIL_ALL.format(version=1))
    found = between([pristine], "claims", reference)
    assert found.moved
    assert all(run.cause.changes == ("grader",) and run.after == "fail" for run in found.moved)
    with pytest.raises(UsageError, match="share no history"):
        bisected([pristine], "claims", reference)
    with pytest.raises(UsageError, match="no earlier versions"):
        between([pristine], None, reference)


@pytest.mark.parametrize("flags", [("korvid-published-x", "claims"), (None, "inspect-published-x")])
def test_published_verdicts_that_no_run_came_with_are_refused_with_what_there_is(
    pristine: Path, flags: tuple[str | None, str]
) -> None:
    before, after = flags
    with pytest.raises(UsageError) as refused:
        between([pristine], before or "claims@1", after)
    assert str(refused.value).startswith("--from: none of" if before else "--to: none of")
    assert f"--from claims@1 --to claims@{LATEST}" in str(refused.value)


def test_a_corrupt_log_is_told_and_the_rest_compared(campaign: Path) -> None:
    log = next(iter(sorted(campaign.glob("runs/memory-limit-*"))))
    log.write_bytes(b"not a log")
    notes: list[str] = []
    found = between([campaign], None, None, note=notes.append)
    assert [corrupt.file for corrupt in found.corrupt] == [log.name]
    assert log.name in notes[0]


def test_an_excerpt_marks_each_span_once_and_leaves_the_rest_out() -> None:
    answer = "a" * 200 + " here " + "b" * 300 + " there " + "c" * 200
    spans = [Span(start=201, end=205, text="here"), Span(start=507, end=512, text="there")] * 2
    shown = excerpt(answer, spans)
    assert shown.startswith("...a")
    assert shown.endswith("c...")
    assert shown.count("«here»") == shown.count("«there»") == 1
    assert " ... " in shown
    assert excerpt(answer, []) == ""


def test_the_forged_log_of_another_answer_is_no_longer_that_run(campaign: Path) -> None:
    log = next(log for log in sorted(campaign.glob("runs/*")) if b'"outcome":"answered"' in raw_or_nothing(log))
    pack(log, raw(log).replace(b'"outcome":"answered"', b'"outcome":"empty"'))
    assert [corrupt.file for corrupt in between([campaign], None, None).corrupt] == [log.name]


def raw_or_nothing(log: Path) -> bytes:
    from replay.fold import WANTED
    from replay.sound import read_sound

    return raw(log) if read_sound(log, WANTED) else b""
