"""The charts of a board as SVG that can stand in a page: drawn by matplotlib, coloured by the page.

The same board gives the same bytes. Colours are names that the page's style sheet defines for light and dark; text
stays text in the page's own font, so that it can be read aloud, searched and copied.
"""

import io
import re
import warnings
from collections.abc import Callable

import msgspec
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from replay.output import printable
from replay.scoreboard.model import Board, Row
from replay.scoreboard.tables import case_cell, percent
from schemas.words import counted

_INK, _MUTED, _ACCENT, _BASELINE, _GAIN, _LOSS, _ON_ACCENT = (f"#01020{number}" for number in range(3, 10))
_NAMES = {
    _INK: "ink",
    _MUTED: "muted",
    _ACCENT: "accent",
    _BASELINE: "baseline",
    _GAIN: "gain",
    _LOSS: "loss",
    _ON_ACCENT: "on-accent",
}
"""Stand-ins that matplotlib takes for colours, and the custom properties of the page that replace them."""

_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "korvid-replay",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _MUTED,
    "axes.edgecolor": _MUTED,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": False,
    "text.parse_math": False,
}
_INCH = 72
_LONGEST_NAME = 60
"""Of a row: a provider and the file of a model, and an arm behind it."""
_LONGEST_CASE = 40
_RATES_INCH = 7.2
_NAME_INCH = 0.09
"""What a character of a name beside a row takes."""
_SLANTED_INCH = 0.055
"""What a character of a name above a column takes, in width and about as much in height."""


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """One chart: `summary` is what a person who cannot see it should know, `svg` an element without a prologue."""

    id: str
    title: str
    caption: str
    summary: str
    svg: str
    width: int


def charts(board: Board) -> list[Chart]:
    """The charts that have something to show, in order."""
    drawn = [_rates(board), _heat_map(board), _flips(board)]
    return [chart for chart in drawn if chart is not None]


def _rates(board: Board) -> Chart | None:
    rows = [row for row in board.rows if row.passed.over_cases is not None]
    if not rows:
        return None

    def draw(axes: Axes) -> None:
        for at, row in enumerate(rows):
            _rate(axes, at, row)
        axes.set_yticks(range(len(rows)), [_short(row.name) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(-1, 101)
        axes.set_xticks(range(0, 101, 20), [f"{value} %" for value in range(0, 101, 20)])
        axes.grid(axis="x", color=_MUTED, alpha=0.25, linewidth=0.6)
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)

    width = _RATES_INCH + _NAME_INCH * max(0, *(len(_short(row.name)) - _LONGEST_CASE for row in rows))
    return Chart(
        id="rates",
        title="Pass rate",
        caption="Mean over cases with its 95 % bootstrap interval (thick) and the Wilson interval over runs (thin). "
        "Hollow marks are baseline agents.",
        summary="; ".join(
            f"{row.name} {percent(row.passed.over_cases.estimate if row.passed.over_cases else None)}" for row in rows
        ),
        svg=_svg("rates", (width, 0.7 + 0.36 * len(rows)), draw),
        width=round(width * _INCH),
    )


def _rate(axes: Axes, at: int, row: Row) -> None:
    mean, runs = row.passed.over_cases, row.passed.wilson
    assert mean is not None
    colour = _BASELINE if row.baseline else _ACCENT
    if runs is not None:
        axes.plot([100 * runs.low, 100 * runs.high], [at, at], color=colour, linewidth=1, solid_capstyle="butt")
    axes.plot([100 * mean.low, 100 * mean.high], [at, at], color=colour, linewidth=4, alpha=0.55, solid_capstyle="butt")
    face = "none" if row.baseline else colour
    axes.plot([100 * mean.estimate], [at], marker="o", markersize=7, markerfacecolor=face, markeredgecolor=colour)


def _heat_map(board: Board) -> Chart | None:
    rows = [row for row in board.rows if row.cases]
    cases = sorted({case.case_id for row in rows for case in row.cases})
    if not rows:
        return None

    def draw(axes: Axes) -> None:
        for across, row in enumerate(rows):
            results = {case.case_id: case for case in row.cases}
            for down, case in enumerate(cases):
                result = results.get(case)
                share = result.passed / result.graded if result is not None and result.graded else 0.0
                axes.add_patch(
                    Rectangle((across + 0.03, down + 0.04), 0.94, 0.92, facecolor=_ACCENT, alpha=0.04 + 0.96 * share)
                )
                colour = _ON_ACCENT if share > 0.7 else _INK
                axes.text(across + 0.5, down + 0.52, case_cell(result), ha="center", va="center", color=colour, size=9)
        axes.set_xlim(0, len(rows))
        axes.set_ylim(len(cases), 0)
        axes.set_xticks([across + 0.5 for across in range(len(rows))], [_short(row.name) for row in rows])
        axes.set_yticks([down + 0.5 for down in range(len(cases))], [_short(case, _LONGEST_CASE) for case in cases])
        axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        for label in axes.get_xticklabels():
            label.set_rotation(35)
            label.set_horizontalalignment("left")
            label.set_verticalalignment("bottom")
        for spine in axes.spines.values():
            spine.set_visible(False)

    longest = max(len(_short(row.name)) for row in rows)
    width = 2.6 + max(0.62 * len(rows), 2.0) + _SLANTED_INCH * longest
    return Chart(
        id="heat-map",
        title="Cases",
        caption="Passes among graded repetitions: the stronger the colour, the more of them passed.",
        summary=f"{counted(len(cases), 'case')} against {counted(len(rows), 'row')}; "
        "the table of cases below has the same numbers",
        svg=_svg("heat-map", (width, 0.4 + _SLANTED_INCH * longest + 0.27 * len(cases)), draw),
        width=round(width * _INCH),
    )


def _flips(board: Board) -> Chart | None:
    moved: dict[str, list[int]] = {}
    for flip in board.flips:
        counts = moved.setdefault(flip.case_id, [0, 0, 0])
        counts[0 if flip.to_verdict == "pass" else 1 if flip.from_verdict == "pass" else 2] += flip.runs
    if not moved:
        return None
    cases = sorted(moved, key=lambda case: (-sum(moved[case]), case))

    def draw(axes: Axes) -> None:
        for at, case in enumerate(cases):
            gained, lost, other = moved[case]
            axes.barh(at, gained, color=_GAIN, height=0.62)
            axes.barh(at, -lost, color=_LOSS, height=0.62)
            axes.barh(at, other, left=gained, color=_MUTED, height=0.62)
        axes.axvline(0, color=_INK, linewidth=0.8)
        axes.set_yticks(range(len(cases)), [_short(case, _LONGEST_CASE) for case in cases])
        axes.set_ylim(len(cases) - 0.4, -0.6)
        reach = max(max(counts[0] + counts[2], counts[1]) for counts in moved.values())
        axes.set_xlim(-max(1, max(counts[1] for counts in moved.values())) * 1.15, reach * 1.1)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
        axes.set_xlabel("runs that no longer pass   |   runs that now pass")
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)

    gained, lost = sum(counts[0] for counts in moved.values()), sum(counts[1] for counts in moved.values())
    return Chart(
        id="flips",
        title="What newer graders moved",
        caption="Verdicts that changed between versions of the grader, over all rows.",
        summary=f"{counted(gained, 'run')} to pass now, {lost} no longer",
        svg=_svg("flips", (7.2, 0.9 + 0.3 * len(cases)), draw),
        width=round(7.2 * _INCH),
    )


def _short(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name as a label: one line, of characters that XML can hold, with its end if it is long."""
    name = printable(name)
    return name if len(name) <= longest else "…" + name[1 - longest :]


def _svg(prefix: str, size: tuple[float, float], draw: Callable[[Axes], None]) -> str:
    """One figure as an SVG element whose ids begin with `prefix` and whose colours are the page's."""
    with rc_context(_SETTINGS), warnings.catch_warnings():
        # The page's own fonts draw the text; matplotlib's only measure it.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure = Figure(figsize=size, layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        draw(axes)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _for_page(buffer.getvalue(), prefix)


def _for_page(text: str, prefix: str) -> str:
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"font-family: [^;\"]*; ?", "", text)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(url\(|xlink:href=")#', rf"\1#{prefix}-", text)
    text = re.sub(r'(<svg\b[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg\b[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = text.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)
    for colour, name in _NAMES.items():
        text = text.replace(colour, f"var(--{name})")
    return text
