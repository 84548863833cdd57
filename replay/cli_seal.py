"""Commands of `korvid-replay` about a campaign's files: seal, unseal, recover."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay import output
from schemas.words import counted

if TYPE_CHECKING:
    from replay.pool import Bar

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]
Campaign = Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="A campaign directory.")]
Level = Annotated[
    int,
    typer.Option("--level", metavar="N", parser=output.whole(1, 22), help="zstd level of the sealed file, 1 to 22."),
]


def register(cli: typer.Typer) -> None:
    """Add the commands to the application."""
    cli.command()(seal)
    cli.command()(unseal)
    cli.command()(recover)


def seal(campaign: Campaign, level: Level = 22, as_json: JsonFlag = False) -> None:
    """Pack a finished campaign into one checksummed file, a fraction of the size, that every command reads as before.

    Every log is verified first; one that cannot be trusted stops the seal. Safe to be killed and started again.
    """
    from replay.seal.leftovers import run_logs
    from replay.seal.sealing import seal as seal_campaign

    bars = _Bars(len(run_logs(campaign)))
    try:
        done = seal_campaign(campaign, level=level, progress=bars)
    finally:
        bars.close()
    if as_json:
        output.print_json(done)
        return
    output.print_line(f"{done.campaign}: {'was sealed already' if done.already else 'sealed'}")
    output.print_line(
        f"  {counted(done.runs, 'run')} ({done.interrupted} interrupted) in {counted(done.frames, 'frame')}"
    )
    output.print_line(f"  {counted(done.file_bytes, 'byte')} of logs are {done.sealed_bytes} now, index included")
    if done.torn_bytes:
        output.print_line(
            f"  kept in the index: {counted(done.torn_bytes, 'byte')} after the last whole event of torn logs"
        )
    if done.left:
        output.print_line(f"  no logs, so left in runs/: {', '.join(done.left)}")
    output.print_line(f"  chain {done.chain}")


def unseal(campaign: Campaign, as_json: JsonFlag = False) -> None:
    """Give a sealed campaign its log files back, byte for byte, for instance to resume it."""
    from replay.pool import Bar
    from replay.seal.unsealing import unseal as unseal_campaign
    from replay.sealed import is_sealed, read_index

    bar = Bar(f"unsealing {campaign.name}", read_index(campaign).run_count if is_sealed(campaign) else 0)
    try:
        done = unseal_campaign(campaign, progress=bar)
    finally:
        bar.close()
    if as_json:
        output.print_json(done)
        return
    output.print_line(
        f"{done.campaign}: unsealed, {counted(done.runs, 'log')}, {done.identical} byte for byte as they were"
    )
    if done.recompressed:
        output.print_line(
            f"  the same lines compressed by another zstd library: {', '.join(done.recompressed[:8])}"
            + (f" and {len(done.recompressed) - 8} more" if len(done.recompressed) > 8 else "")
        )
    for tail in done.tails:
        output.print_line(f"  the torn end of a log lies beside it: runs/{tail}")


def recover(campaign: Campaign, as_json: JsonFlag = False) -> None:
    """Bring a torn or damaged campaign back to a clean state, and say what was lost, by file and byte.

    Originals are kept beside under another name. Exit 1 if anything was lost for good.
    """
    from replay.seal.recovering import recover as recover_campaign

    done = recover_campaign(campaign)
    lost = any(loss.kind in ("corrupt", "damaged") for loss in done.losses)
    if as_json:
        output.print_json(done)
    else:
        for loss in done.losses:
            at = "" if loss.offset is None else f" at byte {loss.offset}"
            size = "" if loss.bytes is None else f", {counted(loss.bytes, 'byte')}"
            kept = "" if loss.kept_as is None else f"; the original is kept as {loss.kept_as}"
            output.print_line(f"{loss.file}: {loss.kind}{at}{size}: {loss.done}{kept}")
        state = "sealed" if done.sealed else "not sealed"
        how = "recovered" if done.losses else "clean"
        output.print_line(f"{done.campaign}: {how}, {counted(done.runs, 'run')}, {state}")
    if lost:
        raise typer.Exit(1)


class _Bars:
    """A progress bar for each thing that a seal does, one after the other."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._phase = ""
        self._bar: Bar | None = None

    def __call__(self, phase: str, done: int) -> None:
        """Say that the phase is done for so many runs."""
        from replay.pool import Bar

        if self._bar is None or phase != self._phase:
            self.close()
            self._phase, self._bar = phase, Bar(phase, self._total)
        self._bar(done)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
