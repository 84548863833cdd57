"""Commands of `korvid-replay` about grades: regrade, diff, bisect, graders."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replay import output

if TYPE_CHECKING:
    from replay.bisect import Bisection
    from replay.diff import Differences
    from replay.regrade import Regraded

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]
Campaigns = Annotated[
    list[Path], typer.Argument(metavar="CAMPAIGN...", help="Campaign directories, or directories of campaigns.")
]
Grader = Annotated[
    str, typer.Option("--grader", metavar="NAME[@VERSION]", help="A grader, or path.py:function for one of your own.")
]
RubricOption = Annotated[
    Literal["recorded", "current"],
    typer.Option(
        "--rubric",
        metavar="recorded|current",
        parser=output.one_of("recorded", "current"),
        help="Measure by the rubric in the log, or by today's where the stimulus is the same.",
    ),
]
PackOption = Annotated[
    str | None, typer.Option("--pack", metavar="PACK", help="With --rubric current: a pack's name or directory.")
]
Where = Annotated[
    str | None, typer.Option("--where", metavar="SQL", help="Only runs that meet a condition over the view runs.")
]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", parser=output.whole(1), help="Processes to work with.")]
FromGrader = Annotated[
    str | None,
    typer.Option("--from", metavar="NAME[@VERSION]", help="Or path.py:function. Default: the first version of --to."),
]
ToGrader = Annotated[
    str | None,
    typer.Option("--to", metavar="NAME[@VERSION]", help="Or path.py:function. Default: the newest version of --from."),
]


def register(cli: typer.Typer) -> None:
    """Add the commands to the application."""
    cli.command()(regrade)
    cli.command()(diff)
    cli.command()(bisect)
    cli.command()(graders)


def regrade(
    paths: Campaigns,
    grader: Grader = "claims",
    rubric: RubricOption = "recorded",
    pack: PackOption = None,
    where: Where = None,
    jobs: Jobs = 1,
    as_json: JsonFlag = False,
) -> None:
    """Grade recorded runs again, without a model call, and show what moved.

    Appends a grade file and a receipt to each campaign; the logs are only read. Interrupted and invalid runs are
    counted, not graded. Of several campaigns, one without a run that meets --where is left alone. Exit 1 if a log
    could not be trusted or the grader failed on a run.
    """
    from replay.graders import load
    from replay.regrade import NoneSelected, Options
    from replay.regrade import regrade as regrade_one
    from replay.sql.sources import campaigns_at

    directories = campaigns_at(paths)
    loaded = load(grader)
    options = Options(rubric=rubric, pack=pack, where=where, jobs=jobs)
    done = []
    for directory in directories:
        try:
            with output.writing(directory):
                result = regrade_one(directory, loaded, options, output.print_note)
        except NoneSelected as nothing:
            if len(directories) == 1:
                raise
            output.print_note(str(nothing).partition(";")[0])
            continue
        done.append(result)
        _tell(result)
        if not as_json:
            _show(result, {change.id: change.title for change in loaded.changes})
    if not done:
        raise NoneSelected(f"--where: no run of these {len(directories)} campaigns meets {where!r}")
    if as_json:
        output.print_json(done)
    if not all(result.clean for result in done):
        raise typer.Exit(1)


def diff(
    paths: Campaigns,
    before: FromGrader = None,
    after: ToGrader = None,
    jobs: Jobs = 1,
    as_json: JsonFlag = False,
) -> None:
    """Show the verdicts that differ between two graders or versions, why, and where in the answer.

    Both are computed from the logs; nothing is stored.
    """
    from replay.diff import between, render
    from replay.sql.sources import campaigns_at

    found = between(campaigns_at(paths), before, after, jobs=jobs, note=output.print_note)
    _show_compared(found, render(found), as_json=as_json)


def bisect(
    paths: Campaigns,
    before: FromGrader = None,
    after: ToGrader = None,
    jobs: Jobs = 1,
    as_json: JsonFlag = False,
) -> None:
    """For each verdict that differs between two versions, name the one change responsible, or the smallest set."""
    from replay.bisect import bisected, render
    from replay.sql.sources import campaigns_at

    found = bisected(campaigns_at(paths), before, after, jobs=jobs, note=output.print_note)
    _show_compared(found, render(found), as_json=as_json)


def graders(
    grader: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="Default: all there are.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the graders with their version, digest and history of changes."""
    from replay.graders import all_graders, described, load

    named = [load(name, given_as="NAME") for name in grader or ()]
    found = [described(one) for one in named or all_graders(output.print_note)]
    if as_json:
        output.print_json(found)
        return
    for before, one in enumerate(found):
        output.print_line(f"{one.name}@{one.version}  {one.origin}  source {one.sha256[:16]}")
        same = next((other for other in found[:before] if one.changes and other.changes == one.changes), None)
        if same is not None:
            output.print_line(f"  the changes of {same.name}@{same.version}")
            continue
        for change in one.changes:
            output.print_line(f"  @{change.version:<3} {change.id:<5} {change.title}")


def _show_compared(found: "Differences | Bisection", lines: Iterable[str], *, as_json: bool) -> None:
    """What a comparison found, whole or as lines. Exit 1 if a log could not be trusted."""
    if as_json:
        output.print_json(found)
    else:
        for line in lines:
            output.print_line(line)
    if found.corrupt:
        raise typer.Exit(1)


def _tell(result: "Regraded") -> None:
    """What went wrong, on stderr."""
    for corrupt in result.receipt.corrupt:
        output.print_note(f"refused {corrupt.file}: {corrupt.reason}")
    for failure in result.failures[:10]:
        output.print_note(f"{result.receipt.grader} failed on {failure.run_id} ({failure.where}): {failure.error}")
    if len(result.failures) > 10:
        output.print_note(f"... and on {len(result.failures) - 10} more runs")


def _show(result: "Regraded", titles: Mapping[str, str]) -> None:
    receipt, coverage = result.receipt, result.receipt.coverage
    planned = "?" if coverage.planned is None else coverage.planned
    invalid = coverage.provider_error + coverage.harness_invalid
    output.print_line(f"{result.campaign}: {receipt.grader}@{receipt.version}, {receipt.rubric} rubric")
    output.print_line(
        f"  planned {planned}, recorded {coverage.recorded}, superseded {coverage.superseded}, "
        f"interrupted {coverage.interrupted}, invalid {invalid}, corrupt {coverage.corrupt}, graded {coverage.graded}"
        + ("" if coverage.fraction is None else f" ({coverage.fraction:.1%})")
    )
    output.print_line(
        f"  pass {coverage.passed}, fail {coverage.failed}, not gradable {coverage.not_gradable}; model calls 0"
    )
    if receipt.flips:
        _show_flips(result, titles)
    else:
        output.print_line("  nothing moved: no earlier grade differs")
    stored = "stored" if result.written else "nothing new: the same grades were stored before as"
    output.print_line(f"  {stored} grades/{receipt.grade_file}")


def _show_flips(result: "Regraded", titles: Mapping[str, str]) -> None:
    """The verdicts that moved, by case, and below them what the changes are that moved them."""
    from replay.work import in_turns

    flips = result.receipt.flips
    to_pass = sum(flip.after == "pass" for flip in flips)
    to_fail = sum(flip.after == "fail" for flip in flips)
    origin = ", ".join(sorted({flip.from_grader for flip in flips}))
    output.print_line(f"  {len(flips)} moved since {origin}: {to_pass} to pass, {to_fail} to fail")
    groups: dict[tuple[str, str, str, str], int] = {}
    for flip in flips:
        key = (flip.case_id, flip.before, flip.after, "+".join(flip.cause.changes) + in_turns(flip.cause.turns))
        groups[key] = groups.get(key, 0) + 1
    output.print_table(
        ("  case", "from", "to", "because of", "runs"),
        ((f"  {case}", before, after, cause, count) for (case, before, after, cause), count in sorted(groups.items())),
    )
    for change in sorted({change for flip in flips for change in flip.cause.changes} & titles.keys()):
        output.print_line(f"  {change}: {titles[change]}")
