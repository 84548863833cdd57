"""Commands of `korvid-replay` that carry results to others and back: `publish` and `fetch`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay import output
from replay.publishing.limits import BRANCH, DEFAULT_MAX_MIB
from schemas.words import counted

if TYPE_CHECKING:
    from replay.publishing.audit import Audit
    from replay.publishing.publish import Published, Ready

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]
Branch = Annotated[str, typer.Option("--branch", metavar="NAME", help="The branch of results.")]


def register(cli: typer.Typer) -> None:
    """Add the commands to the application."""
    cli.command()(publish)
    cli.command()(fetch)


def publish(
    campaigns: Annotated[list[Path], typer.Argument(metavar="CAMPAIGN...", help="Graded campaign directories.")],
    repo: Annotated[Path, typer.Option("--repo", metavar="DIR", help="A git repository.")] = Path("."),
    branch: Branch = BRANCH,
    push: Annotated[
        str | None, typer.Option("--push", metavar="REMOTE", help="Also push the branch to this remote or URL.")
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Replace private texts; digests are then those of the redacted bytes.")
    ] = False,
    private: Annotated[
        list[str] | None, typer.Option("--private", metavar="WORD", help="A further private word; repeatable.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show everything, store nothing.")] = False,
    supersedes: Annotated[
        str | None, typer.Option("--supersedes", metavar="PATH", help="The published directory that this corrects.")
    ] = None,
    max_mib: Annotated[
        int,
        typer.Option("--max-mib", metavar="N", parser=output.whole(1), help="Refuse a campaign of more than N MiB."),
    ] = DEFAULT_MAX_MIB,
    allow_unpublishable: Annotated[
        bool, typer.Option("--allow-unpublishable", help="Publish it all the same; RESULTS.md says why it should not.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Put campaigns on an append-only branch, each in a directory that never changes again.

    The campaigns, your work tree and your index are not touched. Keys, passwords, addresses, home paths, user and host
    names are searched for first, and refused with file and line. Publishing again what is there already does nothing.
    """
    from replay.publishing.landing import Target
    from replay.publishing.publish import Options, PrivateTextsError
    from replay.publishing.publish import publish as run_publish

    options = Options(
        target=Target(repository=repo, branch=branch, remote=push),
        redact=redact,
        dry_run=dry_run,
        allow_unpublishable=allow_unpublishable,
        supersedes=None if supersedes is None else supersedes.rstrip("/").removeprefix("campaigns/"),
        max_mib=max_mib,
        words=tuple(private or ()),
    )
    try:
        done = run_publish(campaigns, options, output.print_note)
    except PrivateTextsError as error:
        if as_json:
            output.print_json(error.findings)
        raise
    if as_json:
        output.print_json(done)
    else:
        _show_published(done, redact=redact)


def fetch(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A repository, its URL, or a plain directory.")],
    campaign: Annotated[
        str | None, typer.Argument(metavar="CAMPAIGN", help="One campaign, or the start of its name. Default: all.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the campaigns are put.")] = Path("fetched"),
    branch: Branch = BRANCH,
    as_json: JsonFlag = False,
) -> None:
    """Copy published campaigns here and check every checksum, the chain of frames and every log.

    Grades are not computed again yet; korvid-replay verify does that. Exit 1 if anything does not hold.
    """
    from replay.publishing.audit import audit
    from replay.publishing.fetching import fetch as run_fetch

    fetched = run_fetch(source, campaign, out, branch)
    found = [audit(out / "campaigns" / name, regrade=False) for name in fetched.campaigns]
    if campaign is None:
        found = [audit(out, regrade=False)]
    if as_json:
        output.print_json({"fetched": fetched, "audits": found})
    else:
        for name in fetched.campaigns:
            there = " (was there)" if name in fetched.already else ""
            output.print_line(f"{out / 'campaigns' / name}{there}")
        for one in found:
            show_audit(one)
        lie = out / "campaigns"
        got = out if campaign is None else lie / fetched.campaigns[0]
        output.print_note(f"next: korvid-replay verify {got}")
        output.print_note(f"the campaigns lie in {lie}; give that to ls, regrade, sql and scoreboard")
    if not all(one.clean for one in found):
        raise typer.Exit(1)


def show_audit(found: "Audit") -> None:
    """What an audit found: a line for each directory, then every problem."""
    for one in found.directories:
        compared = sum(receipt.rows for receipt in one.receipts)
        grades = f", {counted(compared, 'grade')} computed again" if one.receipts else ""
        state = counted(len(one.problems), "problem") if one.problems else "holds"
        output.print_line(
            f"{one.directory}: {state}; {counted(one.files, 'file')}, {counted(one.bytes, 'byte')}, "
            f"{counted(len(one.runs), 'run')}{grades}"
        )
        for note in one.notes:
            output.print_line(f"  note: {note}")
    for problem in found.problems:
        output.print_line(f"  {problem.file}: {problem.reason}")


def _show_published(done: "Published", *, redact: bool) -> None:
    for ready in done.campaigns:
        _show_ready(ready, redact=redact)
    landed = done.landed
    if landed is None:
        output.print_line("dry run: nothing was stored")
        return
    for placed in landed.placed:
        state = "was published before" if placed.already else "published"
        output.print_line(f"{placed.directory}: {state}")
    where = f", pushed to {landed.pushed_to}" if landed.pushed_to else f"; push it with git push REMOTE {landed.branch}"
    output.print_line(f"{landed.branch} is at {landed.commit}{where}")


def _show_ready(ready: "Ready", *, redact: bool) -> None:
    publication = ready.publication
    output.print_line(
        f"{ready.campaign}: {ready.directory}, {counted(len(ready.files), 'file')}, {counted(ready.bytes, 'byte')}"
    )
    output.print_line(
        f"  {counted(publication.runs, 'run')}, {publication.interrupted} interrupted; "
        f"{publication.grades.passed} of {publication.grades.graded} passed ({publication.grades.grader})"
    )
    for reason in publication.not_publishable_because:
        output.print_line(f"  not publishable, published all the same: {reason}")
    if publication.redaction is not None:
        listed = ", ".join(f"{count} {kind}" for kind, count in publication.redaction.replaced.items())
        moved = counted(publication.redaction.moved_verdicts, "verdict")
        output.print_line(f"  redacted: {listed}; {moved} moved")
        for name in publication.redaction.dropped_grades:
            output.print_line(f"  left out, because it could not be computed again: grades/{name}")
    for file in ready.files:
        output.print_line(f"  {file.sha256}  {file.bytes:>10}  {file.name}")
    if redact:
        for finding in ready.found:
            output.print_line(f"  replaced {finding.describe()}")
