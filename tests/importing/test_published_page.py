"""The page of disagreements is what the published answers give under the cases and the grammar of this commit."""

from pathlib import Path

import pytest

from replay.importing.flips import Comparison, TurnFlip, compare, render
from replay.importing.korvid import ImportResult

PAGE = Path(__file__).parents[2] / "docs" / "published.md"
COMMAND = "python -m replay.importing.flips ../shared/data/korvid-eval-results --out docs/published.md"


@pytest.fixture(scope="module")
def comparison(imported: ImportResult) -> Comparison:
    """All published turns against ours."""
    return compare(imported)


def test_the_page_lists_todays_flips(comparison: Comparison) -> None:
    expected = "\n".join(render(comparison)) + "\n"
    assert PAGE.read_text() == expected, f"a published verdict moved: run {COMMAND} and read what changed"


def test_every_flip_has_a_reason_and_shows_what_it_rests_on(comparison: Comparison) -> None:
    found = comparison
    assert found.turns == found.agreed + len(found.flips)
    assert found.flips
    for flip in found.flips:
        assert flip.before != flip.after
        assert flip.reason
        assert flip.detail


def test_text_of_an_answer_cannot_break_the_page() -> None:
    flip = TurnFlip(
        case_id="oom-killed",
        turn=1,
        turns=1,
        before="pass",
        after="fail",
        reason="a reason",
        detail="ours heard «<img src=x> | **bold** [link](x)\n## heading»",
        run="campaign r1",
    )
    found = Comparison(
        grader="claims-only@1", campaigns=(), turns=1, agreed=0, not_compared=0, not_compared_cases=(), flips=(flip,)
    )
    line = next(line for line in render(found) if line.startswith("- `campaign r1`"))
    assert "\\<img src=x\\> \\| \\*\\*bold\\*\\* \\[link\\](x) ## heading" in line
