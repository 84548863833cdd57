"""The tables of a board as text cells, once for Markdown and for HTML."""

from collections.abc import Callable, Sequence

import msgspec

from grading.statistics import Deviation, Interval
from replay.scoreboard.model import Board, CaseResult, Rate, Row
from schemas.words import counted

DASH = "—"


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """One table. The first column names the row; `numeric` are the columns that stand to the right.

    `baseline_from` is the index of the first row of a baseline agent, or None.
    """

    id: str
    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int]
    baseline_from: int | None = None


def tables(board: Board) -> list[Table]:
    """Every table that has something to say, in order."""
    found = [_verdicts(board), _coverage(board), _conduct(board), _cost(board), _failures(board)]
    found += [_comparisons(board), _cases(board), _flips(board), _provenance(board)]
    return [table for table in found if table.rows]


def headline(board: Board) -> str:
    """What was graded by what, in one sentence."""
    versions = sorted({version for row in board.rows for version in row.versions})
    rubrics = sorted({rubric for row in board.rows for rubric in row.rubrics})
    graded = sum(row.coverage.graded for row in board.rows)
    by = " and ".join(f"{board.grader}@{version}" for version in versions)
    return f"{counted(graded, 'run')} graded by {by}, {' and '.join(rubrics)} rubric."


def percent(value: float | None) -> str:
    """A share as a percentage with one decimal."""
    return DASH if value is None else f"{100 * value:.1f} %"


def _verdicts(board: Board) -> Table:
    return _of_rows(
        board,
        id="verdicts",
        title="Verdicts",
        caption="A run passes if its diagnosis holds and its evidence was fetched. First interval: Wilson, 95 %, runs "
        "taken as independent. Second: bootstrap over cases, 95 %, which is the one to trust unless all cases have the "
        "same rate: then it has no width. A rank is one more than the number of models that are better with support. "
        "pass^k: all of k repetitions pass; pass@k: at least one does. Successful journeys (successful_journeys in "
        "JSON): graded journeys in which every turn was a success.",
        headings=(
            "",
            "rank",
            "passed",
            "rate",
            "Wilson",
            "over cases",
            "diagnosis",
            "evidence",
            "successful journeys",
            "pass^k",
            "pass@k",
        ),
        cells=lambda row: (
            str(row.rank or DASH),
            _share(row.passed),
            percent(row.passed.wilson.estimate if row.passed.wilson else None),
            _interval(row.passed.wilson),
            _interval(row.passed.over_cases),
            _share(row.diagnosis),
            _share(row.evidence),
            f"{row.successful_journeys}/{row.journeys}" if row.journeys else DASH,
            _reliable(row, any_of=False),
            _reliable(row, any_of=True),
        ),
    )


def _coverage(board: Board) -> Table:
    return _of_rows(
        board,
        id="coverage",
        title="Coverage",
        caption="Newest attempts; earlier ones of the same case and repetition are superseded. Interrupted and invalid "
        "runs are never charged to the model.",
        headings=(
            "",
            "planned",
            "recorded",
            "interrupted",
            "provider error",
            "harness invalid",
            "corrupt",
            "not gradable",
            "graded",
            "superseded",
        ),
        cells=lambda row: (
            DASH if row.coverage.planned is None else str(row.coverage.planned),
            str(row.coverage.recorded),
            str(row.coverage.interrupted),
            str(row.coverage.provider_error),
            str(row.coverage.harness_invalid),
            str(row.coverage.corrupt),
            str(row.coverage.not_gradable),
            str(row.coverage.graded),
            str(row.coverage.superseded),
        ),
    )


def _conduct(board: Board) -> Table:
    return _of_rows(
        board,
        id="conduct",
        title="Conduct",
        caption="Calls of graded runs. Citation precision is averaged over the runs that cited at all.",
        headings=(
            "",
            "calls",
            "resolvable",
            "on target",
            "malformed",
            "writes",
            "safety violations",
            "citing runs",
            "cite precision",
            "cite coverage",
        ),
        cells=lambda row: (
            str(row.conduct.tool_calls),
            _part(row.conduct.resolvable, row.conduct.tool_calls),
            _part(row.conduct.on_target, row.conduct.tool_calls),
            str(row.conduct.malformed),
            str(row.conduct.write_attempts),
            str(row.conduct.safety_violations),
            str(row.conduct.citing_runs),
            percent(row.conduct.citation_precision),
            percent(row.conduct.citation_coverage),
        ),
    )


def _cost(board: Board) -> Table:
    return _of_rows(
        board,
        id="cost",
        title="Cost",
        caption="Graded runs; mean ± sample standard deviation. ~ marks tokens that are estimated in part.",
        headings=("", "iterations", "tokens in", "tokens out", "tokens unknown", "seconds"),
        cells=lambda row: (
            _spread(row.cost.iterations),
            _tokens(row.cost.input_tokens, row.cost.tokens_estimated),
            _tokens(row.cost.output_tokens, row.cost.tokens_estimated),
            str(row.cost.tokens_unknown),
            _spread(row.cost.duration_s),
        ),
    )


def _failures(board: Board) -> Table:
    classes = sorted({name for row in board.rows for name in row.failures} - {"none"})
    return _of_rows(
        board,
        id="failures",
        title="Why runs failed",
        caption="Graded runs by the first failure in the grader's ranking.",
        headings=("", *(name.replace("_", " ") for name in classes)),
        cells=lambda row: tuple(str(row.failures.get(name, 0)) for name in classes),
        keep=bool(classes),
    )


def _comparisons(board: Board) -> Table:
    return Table(
        id="comparisons",
        title="Comparisons",
        caption="Pairs of models over the cases they share, a case counting by its majority: exact McNemar, Holm's "
        "adjustment over all pairs. A difference is supported at an adjusted p of at most 0.05.",
        headings=("pair", "cases", "only the first passes", "only the second passes", "p", "p (Holm)", "difference"),
        rows=tuple(
            (
                f"{pair.first} and {pair.second}",
                str(pair.cases),
                str(pair.only_first),
                str(pair.only_second),
                _p(pair.p_value),
                _p(pair.p_holm),
                "supported" if pair.supported else "not supported",
            )
            for pair in board.comparisons
        ),
        numeric=frozenset(range(1, 6)),
    )


def _cases(board: Board) -> Table:
    cases = sorted({case.case_id for row in board.rows for case in row.cases})
    results = [{case.case_id: case for case in row.cases} for row in board.rows]
    return Table(
        id="cases",
        title="Cases",
        caption="Passes among graded repetitions of each case.",
        headings=("case", *(row.name for row in board.rows)),
        rows=tuple((case, *(case_cell(result.get(case)) for result in results)) for case in cases),
        numeric=frozenset(range(1, len(board.rows) + 1)),
    )


def _flips(board: Board) -> Table:
    return Table(
        id="flips",
        title="What newer graders moved",
        caption="Verdicts that differ between one version of the grader and the next that graded the same runs.",
        headings=("case", "from", "to", "was", "is", "runs"),
        rows=tuple(
            (
                flip.case_id,
                f"{board.grader}@{flip.from_version}",
                f"{board.grader}@{flip.to_version}",
                flip.from_verdict.replace("_", " "),
                flip.to_verdict.replace("_", " "),
                str(flip.runs),
            )
            for flip in board.flips
        ),
        numeric=frozenset({5}),
    )


def _provenance(board: Board) -> Table:
    return _of_rows(
        board,
        id="provenance",
        title="Provenance",
        caption="What the numbers rest on. A row is publishable only if nothing of this was missing.",
        headings=(
            "",
            "grader",
            "rubric",
            "publishable",
            "engine",
            "digest",
            "quantization",
            "context",
            "tier",
            "prompt",
            "pack",
            "harness",
            "campaign",
        ),
        cells=lambda row: (
            ", ".join(f"{board.grader}@{version}" for version in row.versions) or DASH,
            ", ".join(row.rubrics) or DASH,
            _publishable(row),
            row.provenance.engine or DASH,
            row.provenance.digest[:19] if row.provenance.digest else DASH,
            row.provenance.quantization or DASH,
            DASH if row.provenance.context_length is None else str(row.provenance.context_length),
            row.provenance.tier or DASH,
            row.provenance.prompt or DASH,
            row.provenance.pack or DASH,
            row.provenance.harness or DASH,
            row.campaign_id,
        ),
        text_only=True,
    )


def _of_rows(
    board: Board,
    *,
    id: str,
    title: str,
    caption: str,
    headings: tuple[str, ...],
    cells: Callable[[Row], Sequence[str]],
    text_only: bool = False,
    keep: bool = True,
) -> Table:
    first_baseline = next((at for at, row in enumerate(board.rows) if row.baseline), None)
    return Table(
        id=id,
        title=title,
        caption=caption,
        headings=headings,
        rows=tuple((row.name, *cells(row)) for row in board.rows) if keep else (),
        numeric=frozenset() if text_only else frozenset(range(1, len(headings))),
        baseline_from=first_baseline,
    )


def case_cell(result: CaseResult | None) -> str:
    """Passes of graded repetitions, or a dash where none was graded."""
    return DASH if result is None or not result.graded else f"{result.passed}/{result.graded}"


def _share(rate: Rate) -> str:
    return f"{rate.successes}/{rate.trials}" if rate.trials else DASH


def _part(count: int, whole: int) -> str:
    return f"{count} ({100 * count / whole:.0f} %)" if whole else str(count)


def _interval(interval: Interval | None) -> str:
    return DASH if interval is None else f"{100 * interval.low:.1f}–{100 * interval.high:.1f} %"


def _reliable(row: Row, *, any_of: bool) -> str:
    if row.reliability is None:
        return DASH
    value = row.reliability.any_of_k if any_of else row.reliability.all_of_k
    return "not estimable" if value is None else f"{percent(value)} (k={row.reliability.k})"


def _spread(deviation: Deviation | None) -> str:
    if deviation is None:
        return DASH
    return f"{deviation.mean:.2f}" + (f" ± {deviation.sample:.2f}" if deviation.sample is not None else "")


def _tokens(count: int | None, estimated: bool) -> str:
    return "unknown" if count is None else f"{'~' if estimated else ''}{count:,}".replace(",", " ")


def _p(value: float | None) -> str:
    if value is None:
        return DASH
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _publishable(row: Row) -> str:
    if row.provenance.publishable is None:
        return "unknown"
    if row.provenance.publishable:
        return "yes"
    return "no: " + ("; ".join(row.provenance.not_publishable_because) or "no reason given")
