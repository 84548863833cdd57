"""Commands of `korvid-replay` that carry results from and to other formats: `import` and `export`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replay import output
from schemas.words import counted

if TYPE_CHECKING:
    from replay.importing.inspect_logs import InspectResult
    from replay.importing.korvid import ImportResult

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the campaigns are made.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]

importing = output.app("Make campaigns of what others published. Each run says what it came from and what it lacks.")


def register(cli: typer.Typer) -> None:
    """Add the commands to the application."""
    cli.add_typer(importing, name="import")
    cli.command()(export)


@importing.command("korvid")
def import_korvid(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A .tar.gz, a directory, or a git repository.")],
    out: Out = Path("campaigns"),
    branch: Annotated[
        str, typer.Option("--branch", metavar="NAME", help="The branch with the results, if SOURCE is a repository.")
    ] = "eval-results",
    as_json: JsonFlag = False,
) -> None:
    """Import the reference project's published results: a campaign for each result file.

    The published verdicts are kept as grades, and the claims are graded again. What was imported before is passed over.
    Exit 1 if a checksum is wrong; what it belongs to is not imported.
    """
    from replay.importing.korvid import import_korvid as run_import

    result = run_import(source, out, branch=branch, note=output.print_note)
    for problem in result.checksums.problems():
        output.print_note(problem)
    if as_json:
        output.print_json(result)
    else:
        _show_korvid(result)
    if result.refused or any(listed.wrong for listed in result.checksums.lists):
        raise typer.Exit(1)


@importing.command("inspect")
def import_inspect(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.eval...", help="Logs that Inspect wrote.")],
    out: Out = Path("campaigns"),
    pack: Annotated[
        str | None, typer.Option("--pack", metavar="PACK", help="Only take rubrics from this pack [all bundled].")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Import Inspect logs, so that their answers and tool calls can be graded here.

    A sample is measured by our case whose id it has. Its own scores are kept as grades. What was imported before is
    passed over.
    """
    from replay.importing.inspect_logs import import_inspect as run_import

    result = run_import(files, out, pack=pack, note=output.print_note)
    if as_json:
        output.print_json(result)
    else:
        _show_inspect(result)


def export(
    path: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="A campaign directory.")],
    form: Annotated[
        Literal["atif", "inspect", "otel", "parquet"],
        typer.Option(
            "--format",
            metavar="atif|inspect|otel|parquet",
            parser=output.one_of("atif", "inspect", "otel", "parquet"),
            help="What to write.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="An empty or new directory for the files.")],
    as_json: JsonFlag = False,
) -> None:
    """Write a campaign in another format, with a list of what that format has no place for.

    atif: one trajectory a run. inspect: one .eval log. otel: GenAI spans as OTLP JSON. parquet: the tables behind sql.
    """
    from replay.export import export as run_export

    with output.writing(out):
        done = run_export(path, form, out, note=output.print_note)
    if as_json:
        output.print_json(done)
        return
    output.print_line(f"{done.out}: {counted(done.runs, 'run')} as {done.format}, {counted(len(done.files), 'file')}")
    for unmapped in done.unmapped:
        output.print_line(f"  no place for {unmapped.field}: {unmapped.reason}")


def _show_korvid(result: "ImportResult") -> None:
    output.print_table(
        ("campaign", "model", "cases", "runs", "published successes", ""),
        (
            (row.campaign_id, row.model, row.cases, row.runs, row.passed, "imported" if row.written else "was there")
            for row in result.campaigns
        ),
    )
    runs = sum(campaign.runs for campaign in result.campaigns)
    ok = sum(listed.ok for listed in result.checksums.lists)
    output.print_line(
        f"{counted(len(result.campaigns), 'campaign')}, {counted(runs, 'run')}; checksums that hold: {ok}"
    )
    for case_id in sorted({case for campaign in result.campaigns for case in campaign.ungradable_cases}):
        output.print_note(f"{case_id}: no bundled case has this id, so its claims cannot be graded yet")
    for skipped in result.skipped:
        output.print_note(f"{skipped}: holds no results")


def _show_inspect(result: "InspectResult") -> None:
    output.print_table(
        ("campaign", "model", "samples", ""),
        (
            (row.campaign_id, row.model, row.runs, "imported" if row.written else "was there")
            for row in result.campaigns
        ),
    )
