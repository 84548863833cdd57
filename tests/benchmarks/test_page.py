"""docs/performance.md is what the results beside this module give."""

from tests.benchmarks.report import PAGE, page


def test_the_page_of_performance_is_made_from_the_results() -> None:
    assert PAGE.read_text() == page(), "run: python -m tests.benchmarks.report"
