"""Where a row's numbers come from, as far as the manifest says."""

import json
from typing import Any

import msgspec

from replay.scoreboard.model import Provenance

Record = dict[str, Any]


class _Engine(msgspec.Struct, frozen=True):
    name: str
    version: str


class _Serving(msgspec.Struct, frozen=True):
    engine: _Engine | None = None
    digest: str | None = None
    quantization: str | None = None
    context_length: int | None = None


class _Prompt(msgspec.Struct, frozen=True):
    source: str | None = None
    sha256: str | None = None


class _Pack(msgspec.Struct, frozen=True):
    name: str | None = None
    sha256: str | None = None


class _Harness(msgspec.Struct, frozen=True):
    version: str | None = None
    revision: str | None = None


class _Manifest(msgspec.Struct, frozen=True):
    """The members of a manifest that a board shows; any of them may be missing."""

    prompt: _Prompt = _Prompt()
    pack: _Pack = _Pack()
    harness: _Harness = _Harness()
    serving_before: _Serving | None = None
    serving_after: _Serving | None = None


def provenance(covered: Record, campaign: Record) -> Provenance:
    """What a row of `campaigns` and the row of coverage say of where the numbers come from."""
    try:
        manifest = msgspec.convert(json.loads(campaign.get("manifest") or "{}"), _Manifest)
    except msgspec.ValidationError:
        # A manifest of another build: what it says elsewhere stands, these facts are unknown.
        manifest = _Manifest()
    serving = manifest.serving_after or manifest.serving_before or _Serving()
    return Provenance(
        publishable=campaign.get("publishable"),
        not_publishable_because=tuple(campaign.get("not_publishable_because") or ()),
        engine=f"{serving.engine.name} {serving.engine.version}" if serving.engine else None,
        digest=serving.digest,
        quantization=serving.quantization,
        context_length=serving.context_length,
        tier=covered["tier"],
        prompt=_joined(manifest.prompt.source, manifest.prompt.sha256),
        pack=_joined(manifest.pack.name, manifest.pack.sha256),
        harness=manifest.harness.revision or manifest.harness.version,
    )


def _joined(name: str | None, digest: str | None) -> str | None:
    return " ".join(part for part in (name, digest[:12] if digest else None) if part) or None
