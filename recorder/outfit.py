"""Which tools and which prompt each run of a campaign gets."""

from packs.loader import Pack
from packs.prompts import compose, fingerprint
from recorder.plan import PlannedRun
from recorder.run import Outfit
from recorder.settings import Settings
from recorder.tools import armed, schemas_for
from schemas.cases import Cluster
from schemas.errors import UsageError
from schemas.policy import PromptInfo, Tier


def common_outfit(settings: Settings, tier: Tier) -> Outfit:
    """The outfit over a cluster without backends: what the manifest names and fingerprints.

    Raises `UsageError` if `--without-tool` names a tool that no case of the campaign arms.
    """
    _refuse_stray(settings.pack, settings.without, tier)
    return _outfit(settings, tier, Cluster())


def outfit_of(settings: Settings, tier: Tier, planned: PlannedRun) -> Outfit:
    """The outfit of one run."""
    return _outfit(settings, tier, planned.case.stimulus.cluster)


def _outfit(settings: Settings, tier: Tier, cluster: Cluster) -> Outfit:
    surface = {spec.name for spec in armed(tier, cluster=cluster)}
    specs = armed(tier, cluster=cluster, without=surface.intersection(settings.without))
    prompt = compose(
        tier,
        [spec.name for spec in specs],
        tier_pack_text=settings.tier_pack[1] if settings.tier_pack else None,
        overlays=settings.overlays,
    )
    return Outfit(
        specs,
        prompt.system,
        PromptInfo(
            pack=settings.tier_pack[0] if settings.tier_pack else prompt.pack,
            overlays=prompt.overlays,
            source=prompt.source,
            sha256=fingerprint(prompt.system, schemas_for(specs, tier)),
        ),
    )


def _refuse_stray(pack: Pack, without: tuple[str, ...], tier: Tier) -> None:
    surface = {spec.name for case in pack.cases for spec in armed(tier, cluster=case.stimulus.cluster)}
    stray = sorted(set(without) - surface)
    if stray:
        raise UsageError(
            f"--without-tool {', '.join(stray)}: not armed in the {tier} tier here; "
            f"armed are {', '.join(sorted(surface))}"
        )
