"""`korvid-replay`: the record, again. No command here can call a model."""

from pathlib import Path
from typing import Annotated

import typer

from replay import cli_grades, cli_publish, cli_seal, cli_sql, cli_travel, output
from schemas.errors import UsageError
from schemas.words import counted

cli = output.app("Read, verify and re-grade what korvid-rec recorded. Nothing here calls a model.")

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]
CampaignPath = Annotated[
    Path, typer.Argument(metavar="PATH", help="A campaign directory, a directory of campaigns, or one run's log.")
]


@cli.command()
def verify(path: CampaignPath, as_json: JsonFlag = False) -> None:
    """Re-derive every digest: one line a run, complete, interrupted at byte N, or corrupt and why.

    Also the grades with their receipts, and of a sealed campaign the files around the runs, each with a line if it is
    wrong. Of what was published or fetched: every checksum, the frame chain, and the receipts, graded again and
    compared. Exit 1 if anything is corrupt.
    """
    from replay.publishing.audit import audit, is_published
    from replay.verify import RunCheck
    from replay.verify import verify as verify_all

    if is_published(path):
        found = audit(path)
        if as_json:
            output.print_json(found)
        else:
            cli_publish.show_audit(found)
        if not found.clean:
            raise typer.Exit(1)
        return
    checks = []
    for check in verify_all(path):
        checks.append(check)
        if not as_json:
            output.print_line(check.describe())
    corrupt = sum(check.state == "corrupt" for check in checks)
    if as_json:
        output.print_json(checks)
    else:
        states = [check.state for check in checks if isinstance(check, RunCheck)]
        counts = ", ".join(f"{states.count(state)} {state}" for state in ("complete", "interrupted", "corrupt"))
        output.print_note(f"{counted(len(states), 'run')}: {counts}")
    if corrupt:
        raise typer.Exit(1)


@cli.command("ls")
def list_runs(path: CampaignPath = Path("campaigns"), as_json: JsonFlag = False) -> None:
    """List the runs with status, calls, tokens, time and size."""
    from replay.listing import rows

    found = list(rows(path))
    if as_json:
        output.print_json(found)
        return
    output.print_table(
        ("run", "case", "rep", "model", "status", "outcome", "calls", "in", "out", "seconds", "bytes"),
        (
            (
                row.run_id,
                row.case_id,
                row.repetition,
                row.model if row.agent == "model" else row.agent,
                row.status,
                row.outcome,
                row.tool_calls,
                row.input_tokens,
                row.output_tokens,
                row.duration_s,
                row.file_bytes,
            )
            for row in found
        ),
    )


@cli.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run id, the start of one, or the path of a log.")],
    path: Annotated[
        Path | None, typer.Option("--in", metavar="PATH", help="Where to look for the run (default: ./campaigns).")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Do not clip long texts.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print the transcript of one run: turns, calls, results, timings, tokens."""
    from replay.campaigns import find_run
    from replay.transcript import render, transcript

    if Path(run).is_dir():
        raise UsageError(f"{run}: is a directory; name one of its runs: korvid-replay show RUN --in {run}")
    log = Path(run) if Path(run).is_file() else find_run(path or Path("campaigns"), run)
    shown = transcript(log)
    if as_json:
        output.print_json(shown)
        return
    for line in render(shown, whole=whole):
        output.print_line(line)


cli_grades.register(cli)
cli_sql.register(cli)
cli_seal.register(cli)
cli_travel.register(cli)
cli_publish.register(cli)


def main() -> None:
    """Entry point of `korvid-replay`."""
    output.run(cli)
