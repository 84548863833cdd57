"""The commands that ask: `sql`, `index` and `scoreboard`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from replay import output
from schemas.errors import UsageError
from schemas.words import counted

Campaigns = Annotated[
    list[Path] | None,
    typer.Argument(metavar="CAMPAIGN...", help="Campaign directories, or directories of them (default: ./campaigns)."),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the result to this file.")]


def sql(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CAMPAIGN... SQL",
            help="Campaigns (default: ./campaigns), then one statement; `-` reads the statement from stdin.",
        ),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="table|json|csv|parquet", help="Default: table.")
    ] = None,
    out: Out = None,
    shell: Annotated[bool, typer.Option("--shell", help="Open a prompt; every argument is a campaign.")] = False,
    history: Annotated[
        Path | None, typer.Option("--history", metavar="FILE", help="Keep the history of the shell in this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Ask the record a question in SQL.

    Views: campaigns, runs, cases, turns, messages, model_requests, model_responses, model_errors, tool_calls,
    tool_results, screen_actions, journal, grades, latest_grades, flips, scoreboard. `DESCRIBE runs` shows columns;
    docs/sql.md explains them and answers twenty questions. Statements only read: files and network are out of reach.
    A CSV has texts as they were recorded: a spreadsheet runs those that begin with = + - @, so import them as text.
    """
    from replay.sql.load import stderr_progress
    from replay.sql.output import check_format, staging, write
    from replay.sql.session import Session
    from replay.sql.shell import Shell

    form = _one_format(form, as_json, "table")
    if shell:
        if out is not None or form == "parquet":
            raise UsageError("--shell answers on stdout as table, json or csv; leave --out out")
        with Session([Path(word) for word in words or ()], note=output.print_note, progress=stderr_progress()) as asked:
            Shell(asked, form).run(history)
        return
    if history is not None:
        raise UsageError("--history belongs to --shell")
    checked = check_format(form, out)
    paths, statement = _split(words or [])
    writable = [staging(out)] if out is not None else []
    with Session(paths, writable=writable, note=output.print_note, progress=stderr_progress()) as asked:
        count = write(asked, statement, checked, out)
    if out is not None:
        output.print_note(f"{out}: {counted(count, 'row')}")


def _one_format(form: str | None, as_json: bool, default: str) -> str:
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} say different things; give one")
    return "json" if as_json else form or default


def _split(words: list[str]) -> tuple[list[Path], str]:
    """The campaigns and the statement of a command line."""
    if not words or not words[-1].strip():
        raise UsageError(
            'no statement; for example: korvid-replay sql "SELECT status, count(*) FROM runs GROUP BY ALL"'
        )
    *paths, statement = words
    if os.path.isdir(statement):
        raise UsageError(f"{statement} is a directory and the last argument is the statement; --shell opens a prompt")
    return [Path(path) for path in paths], sys.stdin.read() if statement == "-" else statement


def index(
    campaigns: Campaigns = None,
    again: Annotated[bool, typer.Option("--again", help="Build it even if it is fresh.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")] = False,
) -> None:
    """Build a DuckDB file beside each campaign, so that `sql` need not read the logs.

    It is used while it is fresh, and can be deleted at any time.
    """
    from replay.sql.index import build
    from replay.sql.load import stderr_progress
    from replay.sql.sources import campaigns_at

    built = []
    for campaign in campaigns_at(campaigns or []):
        made = build(campaign, stderr_progress(), again=again)
        built.append(made)
        if not as_json:
            state = "built" if made.rebuilt else "is fresh"
            output.print_line(f"{made.path}: {state}, {counted(made.runs, 'run')}, {counted(made.bytes, 'byte')}")
    if as_json:
        output.print_json(built)


def scoreboard(
    campaigns: Campaigns = None,
    form: Annotated[str | None, typer.Option("--format", metavar="md|json|html", help="Default: md.")] = None,
    out: Out = None,
    grader: Annotated[
        str | None,
        typer.Option("--grader", metavar="NAME[@VERSION]", help="Whose verdicts count (default: claims, the newest)."),
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(
            "--rubric",
            metavar="recorded|current",
            help="Only verdicts by this rubric (default: recorded, where both are there).",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Show what the graded runs come to, with intervals, comparisons, costs and provenance.

    It grades nothing: run `regrade` first. Rows are ranked only as far as their differences are supported; baseline
    agents stand below the models. The same grades give the same bytes.
    """
    from replay.scoreboard.command import choice_of, deliver, form_of
    from replay.scoreboard.gather import gather
    from replay.sql.load import stderr_progress
    from replay.sql.output import staging

    chosen = form_of(_one_format(form, as_json, "md"))
    choice = choice_of(grader, rubric)
    if out is not None:
        staging(out)
    board = gather(campaigns or [], choice, note=output.print_note, progress=stderr_progress())
    deliver(board, chosen, out)


def register(cli: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    cli.command()(sql)
    cli.command()(index)
    cli.command()(scoreboard)
