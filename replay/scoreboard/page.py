"""A board as one self-contained HTML file: no script, no network, light and dark, readable on a phone and on paper."""

from collections.abc import Iterator
from html import escape

from replay.scoreboard.charts import Chart, charts
from replay.scoreboard.model import Board
from replay.scoreboard.tables import Table, headline, tables

_STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fdfdfb; --panel: #f4f4f0; --ink: #1d2126; --muted: #666e78; --line: #d9dad4;
  --accent: #1f6f8b; --on-accent: #ffffff; --baseline: #8a6d1f; --gain: #2c7a4b; --loss: #b3412f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --panel: #1c2024; --ink: #e6e8ea; --muted: #9aa3ad; --line: #31373d;
    --accent: #5fb3cf; --on-accent: #0c1215; --baseline: #d2b15c; --gain: #63bd86; --loss: #ea8571;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 78rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .6rem; }
p { max-width: 44rem; margin: .4rem 0; }
.lead { color: var(--muted); margin-bottom: 1rem; }
.notes { margin: 1rem 0; padding: .6rem 1rem .6rem 2rem;
  background: var(--panel); border-left: 4px solid var(--baseline); }
nav ul { list-style: none; padding: 0; margin: 1rem 0 0; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; }
a { color: var(--accent); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: .88rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .38rem .6rem; text-align: left; vertical-align: top; }
thead th { background: var(--panel); font-weight: 600; vertical-align: bottom; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 600; position: sticky; left: 0; background: var(--paper); overflow-wrap: anywhere;
  min-width: 8.5rem; }
@media (min-width: 48rem) { tbody th { min-width: 14rem; } }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody + tbody > tr:first-child > * { border-top: 3px double var(--line); }
.number { text-align: right; white-space: nowrap; }
thead .number { white-space: normal; }
.baseline th, .baseline td { color: var(--baseline); }
#provenance td { min-width: 6.5rem; }
figure { margin: 0; }
figure .scroll { padding: .8rem; }
figcaption, .caption { color: var(--muted); font-size: .85rem; margin: .45rem 0 1.2rem; max-width: 44rem; }
svg { display: block; width: 100%; height: auto; margin: 0 auto; }
svg * { stroke-linejoin: round; }
svg text { font-family: inherit; }
@media print { .scroll { overflow: visible; } nav { display: none; } body { max-width: none; } }
"""


def page(board: Board) -> str:
    """The whole document."""
    drawn, told = charts(board), tables(board)
    body = [
        "<header>",
        "<h1>Scoreboard</h1>",
        f'<p class="lead">{escape(headline(board))}</p>',
        *_notes(board.notes),
        *_contents(told),
        "</header>",
        "<main>",
        *(line for block in _blocks(drawn, told) for line in block),
        "</main>",
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""",
            "<title>Scoreboard</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def _blocks(drawn: list[Chart], told: list[Table]) -> Iterator[list[str]]:
    """Each chart right before the table that has its numbers."""
    before = {"rates": "verdicts", "heat-map": "cases", "flips": "flips"}
    for table in told:
        chart = next((chart for chart in drawn if before[chart.id] == table.id), None)
        yield [
            f'<section id="{table.id}" aria-labelledby="{table.id}-title">',
            f'<h2 id="{table.id}-title">{escape(table.title)}</h2>',
            *(_figure(chart) if chart else ()),
            *_table(table),
            "</section>",
        ]


def _notes(notes: tuple[str, ...]) -> Iterator[str]:
    if notes:
        yield '<ul class="notes">'
        yield from (f"<li>{escape(note)}</li>" for note in notes)
        yield "</ul>"


def _contents(told: list[Table]) -> Iterator[str]:
    yield '<nav aria-label="Contents"><ul>'
    yield from (f'<li><a href="#{table.id}">{escape(table.title)}</a></li>' for table in told)
    yield "</ul></nav>"


def _figure(chart: Chart) -> Iterator[str]:
    label = escape(f"Chart, {chart.title}: {chart.summary}", quote=True)
    yield f'<figure id="chart-{chart.id}">'
    yield f'<div class="scroll" tabindex="0" role="img" aria-label="{label}">'
    size = f"min-width: {chart.width * 5 // 6}px; max-width: {chart.width * 4 // 3}px"
    yield chart.svg.replace("<svg", f'<svg style="{size}"', 1)
    yield "</div>"
    yield f"<figcaption>{escape(chart.caption)}</figcaption>"
    yield "</figure>"


def _table(table: Table) -> Iterator[str]:
    yield f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{table.id}-title">'
    yield f'<table aria-labelledby="{table.id}-title" aria-describedby="{table.id}-caption">'
    yield "<thead><tr>"
    for at, heading in enumerate(table.headings):
        shown = escape(heading) or "<span>agent or model</span>"
        yield f'<th scope="col"{_class(table, at)}>{shown}</th>'
    yield "</tr></thead>"
    cut = len(table.rows) if table.baseline_from is None else table.baseline_from
    yield from _body(table, table.rows[:cut], "")
    yield from _body(table, table.rows[cut:], ' class="baseline"')
    yield "</table></div>"
    yield f'<p class="caption" id="{table.id}-caption">{escape(table.caption)}</p>'


def _body(table: Table, rows: tuple[tuple[str, ...], ...], kind: str) -> Iterator[str]:
    if not rows:
        return
    yield f"<tbody{kind}>"
    for row in rows:
        cells = (f"<td{_class(table, at)}>{escape(cell)}</td>" for at, cell in enumerate(row) if at)
        yield f'<tr><th scope="row">{escape(row[0])}</th>{"".join(cells)}</tr>'
    yield "</tbody>"


def _class(table: Table, at: int) -> str:
    return ' class="number"' if at in table.numeric else ""
