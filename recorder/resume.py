"""The flags of a campaign that is resumed, read back from its manifest."""

from pathlib import Path

import msgspec

from packs.loader import bundled, load_pack
from recorder.campaign import read_manifest
from recorder.plan import refuse_sealed
from recorder.settings import EMBEDDED_PROVIDER, Flags
from schemas.errors import UsageError
from schemas.provenance import PackInfo

_FIXED = {
    "cases": "--case",
    "repetitions": "--reps",
    "tier": "--tier",
    "seed": "--seed",
    "agent": "--agent",
    "arm": "--arm",
    "without": "--without-tool",
    "out": "--out",
    "stream": "--no-stream",
    "recover_calls": "--recover-calls",
}


def completed(flags: Flags, directory: Path) -> Flags:
    """`flags` with what the manifest in `directory` fixes.

    Raises `UsageError` for a sealed campaign, a flag that the campaign already decided, a pack that must be named
    again, and one that has not the cases of the campaign.
    """
    refuse_sealed(directory)
    manifest = read_manifest(directory)
    nothing = Flags()
    for name, flag in _FIXED.items():
        if getattr(flags, name) != getattr(nothing, name):
            raise UsageError(f"{flag}: with --resume it comes from {directory}; leave it out")
    if flags.pack is None and manifest.pack.name not in bundled():
        raise UsageError(f"--resume {directory}: give the directory of its pack {manifest.pack.name!r} as PACK again")
    pack = flags.pack or manifest.pack.name
    _refuse_other_pack(pack, manifest.pack, directory)
    embedded = manifest.policy.provider == EMBEDDED_PROVIDER
    return msgspec.structs.replace(
        flags,
        pack=pack,
        cases=manifest.pack.case_ids,
        repetitions=manifest.repetitions,
        tier=manifest.policy.tier if manifest.policy.route_source == "user" else None,
        seed=manifest.seed,
        durability=flags.durability or manifest.durability,
        agent=manifest.agent,
        arm=manifest.arm,
        without=manifest.policy.omitted_tools,
        model=manifest.model if embedded and flags.model is None else flags.model,
        stream=manifest.policy.stream,
        recover_calls=manifest.policy.recover_calls_from_content,
    )


def _refuse_other_pack(pack: str, recorded: PackInfo, directory: Path) -> None:
    """Raises `UsageError` if a pack lacks cases of the one that was recorded."""
    missing = sorted(set(recorded.case_ids) - {case.id for case in load_pack(pack).cases})
    if missing:
        way = "leave PACK out" if recorded.name in bundled() and pack != recorded.name else "give the pack as it was"
        raise UsageError(
            f"PACK: with --resume it comes from {directory}, whose pack {recorded.name!r} has {missing[0]!r}, and "
            f"{pack} has not; {way}"
        )
