"""The Markdown reports and summaries that were published beside results, to compare with the results themselves. Pure.

A report is one table whose first column names the case, with a column `success` (`3/3`). `summary.tsv` has a row
a model. What does not agree is named; the results count either way.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from replay.importing.facts import Place
from replay.importing.reading import ResultFile
from replay.importing.sources import SourceFile


class Tally(msgspec.Struct, frozen=True, order=True):
    """Successes of so many runs."""

    passed: int
    runs: int


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A published report and in what it differs from the results."""

    file: str
    sha256: str
    differences: tuple[str, ...]


def tallies(results: ResultFile) -> dict[str, Tally]:
    """Successes of each case as a report counts them, by case."""
    passed, runs = Counter[str](), Counter[str]()
    for run in results.runs:
        runs[run.case_id] += 1
        passed[run.case_id] += run.passed
    return {case_id: Tally(passed[case_id], runs[case_id]) for case_id in results.case_ids}


def report_tallies(text: str) -> dict[str, Tally]:
    """Successes of each case in a Markdown report; empty if it holds no such table."""
    found: dict[str, Tally] = {}
    column = -1
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "success" in cells:
            column = cells.index("success")
        elif 0 < column < len(cells):
            passed, slash, runs = cells[column].partition("/")
            if slash and passed.isdigit() and runs.isdigit():
                found[cells[0]] = Tally(int(passed), int(runs))
    return found


def compared(place: Place, results: ResultFile, tag: str) -> tuple[Compared, ...]:
    """Every report beside a result file, compared with it."""
    found = []
    stem = place.file.path.removesuffix(".json")
    report = place.beside.get(stem + ".md")
    if report is not None and report.data is not None:
        theirs = report_tallies(report.data.decode("utf-8", "replace"))
        found.append(_compared(report, list(_table_differences(tallies(results), theirs))))
    summary = place.beside.get((stem.rpartition("/")[0] + "/summary.tsv").lstrip("/"))
    if summary is not None and summary.data is not None and results.kind == "scenario":
        row = _summary_row(summary.data.decode("utf-8", "replace"), tag)
        if row is not None and stem.rpartition("/")[2] == tag.replace(":", "-"):
            found.append(_compared(summary, list(_summary_differences(results, row))))
    return tuple(found)


def _compared(file: SourceFile, differences: list[str]) -> Compared:
    return Compared(file=file.path, sha256=file.sha256, differences=tuple(differences))


def _table_differences(ours: Mapping[str, Tally], theirs: Mapping[str, Tally]) -> Iterator[str]:
    for case_id in sorted(ours.keys() | theirs.keys()):
        one, two = ours.get(case_id), theirs.get(case_id)
        if one != two:
            yield f"{case_id}: the results have {_shown(one)}, the report has {_shown(two)}"


def _shown(tally: Tally | None) -> str:
    return "no such case" if tally is None else f"{tally.passed}/{tally.runs}"


def _summary_row(text: str, tag: str) -> dict[str, str] | None:
    lines = [line.split("\t") for line in text.splitlines() if line]
    for cells in lines[1:]:
        if cells[0] == tag:
            return dict(zip(lines[0], cells, strict=False))
    return None


def _summary_differences(results: ResultFile, row: Mapping[str, str]) -> Iterator[str]:
    first = [run.turns[0].published for run in results.runs]
    ours = {
        "success": sum(run.passed for run in results.runs),
        "runs": len(results.runs),
        "evidence": sum(turn.evidence_fetched is True for turn in first),
        "calls": sum(turn.counts.get("tool_calls", 0) for turn in first),
        "malformed": sum(turn.counts.get("malformed_tool_calls", 0) for turn in first),
        "safety": sum(turn.counts.get("safety_violations", 0) for turn in first),
    }
    for name, count in ours.items():
        if name in row and row[name] != str(count):
            yield f"{name}: the results have {count}, the summary has {row[name]}"
