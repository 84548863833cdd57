"""`korvid-rec`: record what an agent does. Heavy imports happen inside the commands."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recorder.cli_packs import packs_app
from replay import output

if TYPE_CHECKING:
    from packs.check import GradeClaims
    from recorder.campaign import Summary

cli = output.app("Record an agent that operates a Kubernetes cluster, event by event.")

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]
ModelFlag = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="REF", help="provider/tag, over KORVID_EVAL_MODEL; embedded/0.5b and embedded/1.5b are ours."
    ),
]
UrlFlag = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="Where it is served, over KORVID_EVAL_BASE_URL.")
]
WarmupFlag = Annotated[bool, typer.Option("--warmup", help="Load the model first, before anything is measured.")]

STOPPED = 130
"""The exit status after Ctrl-C or a TERM signal."""


@cli.command()
def run(
    pack: Annotated[
        str | None, typer.Argument(metavar="PACK", help="A bundled pack or a directory [scenarios].")
    ] = None,
    case: Annotated[list[str] | None, typer.Option("--case", metavar="ID", help="Only this case; repeatable.")] = None,
    reps: Annotated[
        int | None, typer.Option("--reps", metavar="N", parser=output.whole(), help="Repetitions of each case [3].")
    ] = None,
    model: ModelFlag = None,
    base_url: UrlFlag = None,
    tier: Annotated[
        str | None,
        typer.Option("--tier", metavar="low|high", help="Limits and tools [as the catalog has the model, else low]."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The campaign's directory [campaigns/ID].")
    ] = None,
    durability: Annotated[
        str | None,
        typer.Option("--durability", metavar="event|turn|run", help="When the log is forced to disk [turn]."),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="DIR", help="Record what is missing or was interrupted there.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", parser=output.whole(), help="Sampling seed; repetition r gets N + r - 1."),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="NAME", help="model, oracle, constant-oom, constant-healthy, silent or echo."),
    ] = None,
    arm: Annotated[str | None, typer.Option("--arm", metavar="NAME", help="A label to compare campaigns by.")] = None,
    without_tool: Annotated[
        list[str] | None, typer.Option("--without-tool", metavar="NAME", help="Leave a tool out; repeatable.")
    ] = None,
    tier_pack_file: Annotated[
        Path | None, typer.Option("--tier-pack-file", metavar="FILE", help="Replace the tier's prompt layer.")
    ] = None,
    prompt_overlay_file: Annotated[
        list[Path] | None,
        typer.Option("--prompt-overlay-file", metavar="FILE", help="Add a prompt layer; repeatable."),
    ] = None,
    warmup: WarmupFlag = False,
    no_stream: Annotated[bool, typer.Option("--no-stream", help="Ask for whole answers instead of a stream.")] = False,
    recover_calls: Annotated[
        bool, typer.Option("--recover-calls", help="Run tool calls that the model wrote into its text.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Record a campaign: every case of PACK (default: scenarios), --reps times.

    With no endpoint configured the embedded model is started. Exit 1 if a run met an error of the provider or the
    harness, 2 for wrong usage before anything was made, 130 if it was stopped.

    How a model is asked is also read from KORVID_EVAL_API_KEY_ENV, KORVID_EVAL_OPTIONS_JSON, KORVID_EVAL_CA_BUNDLE and
    KORVID_EVAL_TIMEOUT_SECONDS.
    """
    from recorder.campaign import record_campaign
    from recorder.settings import Flags, resolve

    flags = Flags(
        pack=pack,
        cases=tuple(case or ()),
        repetitions=reps,
        model=model,
        base_url=base_url,
        tier=tier,
        out=out,
        durability=durability,
        seed=seed,
        agent=agent,
        arm=arm,
        without=tuple(without_tool or ()),
        tier_pack_file=tier_pack_file,
        overlay_files=tuple(prompt_overlay_file or ()),
        warmup=warmup,
        stream=not no_stream,
        recover_calls=recover_calls,
    )
    if resume is not None:
        from recorder.resume import completed

        flags = completed(flags, resume)
    settings = resolve(flags)
    for notice in settings.endpoint.notices if settings.endpoint else ():
        output.print_note(notice)
    try:
        summary = record_campaign(settings, resume=resume)
    except KeyboardInterrupt:
        # A Ctrl-C before the first run or after the last, or a second one that would not wait for a run to be closed.
        output.print_note("stopped")
        raise typer.Exit(STOPPED) from None
    if as_json:
        output.print_json(summary)
    else:
        _print_summary(summary)
    if summary.interrupted:
        raise typer.Exit(STOPPED)
    if summary.provider_errors or summary.harness_invalid:
        raise typer.Exit(1)


def _print_summary(summary: "Summary") -> None:
    from recorder.progress import duration, size
    from schemas.words import counted

    left = summary.planned - summary.already_recorded - summary.recorded
    errors = f"{counted(summary.provider_errors, 'provider error')}, {summary.harness_invalid} invalid"
    if summary.interrupted_runs:
        errors += f"; {counted(summary.interrupted_runs, 'interrupted run')} kept, to be recorded again"
    before = f" ({summary.already_recorded} already there)" if summary.already_recorded else ""
    share = 100 * summary.harness_cpu_s / summary.wall_s if summary.wall_s else 0.0
    stopped = ", stopped before its end" if summary.interrupted else ""
    output.print_line(f"campaign   {summary.campaign_id}{stopped}")
    output.print_line(f"recorded   {summary.recorded} of {counted(summary.planned, 'run')}{before}: {errors}")
    output.print_line(
        f"model      {counted(summary.input_tokens, 'token')} in, {summary.output_tokens} out, "
        f"{counted(summary.tool_calls, 'tool call')}"
    )
    output.print_line(
        f"time       {duration(summary.wall_s)}; the harness took {summary.harness_cpu_s:.1f} s of CPU, {share:.1f} %"
    )
    output.print_line(f"size       {size(summary.file_bytes)}, {size(summary.raw_bytes)} before compression")
    output.print_line(f"lies in    {summary.directory}")
    if summary.publishable is False:
        output.print_line(f"not publishable: {'; '.join(summary.not_publishable_because)}")
    if left:
        is_left = f"{counted(left, 'run')} {'is' if left == 1 else 'are'} left"
        output.print_line(f"next       korvid-rec run --resume {summary.directory}   ({is_left})")
    else:
        output.print_line(f"next       korvid-replay verify {summary.directory}")
        output.print_line(f"           korvid-replay ls {summary.directory}")
        output.print_line(f"           korvid-replay regrade {summary.directory}")


@cli.command()
def serve(
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="0.5b or 1.5b.")] = "0.5b",
    port: Annotated[
        int,
        typer.Option(
            "--port",
            metavar="N",
            parser=output.whole(0, 65_535),
            help="A loopback port [any free one].",
            show_default=False,
        ),
    ] = 0,
) -> None:
    """Run the embedded model server alone, until Ctrl-C."""
    from recorder import embedded

    embedded.serve(embedded.choose(model.removeprefix("embedded/")), port, echo=output.print_line)


@cli.command()
def probe(
    model: ModelFlag = None, base_url: UrlFlag = None, warmup: WarmupFlag = False, as_json: JsonFlag = False
) -> None:
    """Print the serving passport: engine, digest, quantization, context, and what is unavailable.

    How a model is asked is also read from KORVID_EVAL_API_KEY_ENV, KORVID_EVAL_OPTIONS_JSON, KORVID_EVAL_CA_BUNDLE and
    KORVID_EVAL_TIMEOUT_SECONDS.
    """
    from recorder.settings import Flags, resolve
    from recorder.site import probe_site

    passport = probe_site(resolve(Flags(model=model, base_url=base_url, warmup=warmup)))
    if as_json:
        output.print_json(passport)
        return
    engine = f"{passport.engine.name} {passport.engine.version}" if passport.engine else None
    facts = {
        "model": passport.model,
        "engine": engine,
        "digest": passport.digest,
        "quantization": passport.quantization,
        "parameter_size": passport.parameter_size,
        "context_length": passport.context_length,
        "max_context_length": passport.max_context_length,
        "template_sha256": passport.template_sha256,
        "warmup": passport.warmup,
    }
    output.print_table(
        ("fact", "value", "source"),
        (
            (name, "unavailable" if value is None else value, passport.sources.get(name, ""))
            for name, value in facts.items()
            if name != "warmup" or value is not None
        ),
    )
    if passport.unavailable:
        output.print_note(f"unavailable: {', '.join(passport.unavailable)}; a campaign on it is not publishable")
    if passport.error:
        output.print_note(passport.error)


def _grade_claims() -> "GradeClaims":
    from replay.pins import newest_claims

    return newest_claims()


cli.add_typer(packs_app(_grade_claims), name="packs")


def main() -> None:
    """Entry point of `korvid-rec`."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    output.run(cli)
