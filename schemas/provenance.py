"""Where a campaign's numbers come from: model server, machine, harness, policy. `campaign.json` is a `Manifest`.

Sources: design (event log, validity), evaluation semantics 10.1, 10.2. Pure: bytes in, structs out. A fact that could
not be read is None and is named in `unavailable`; it is never guessed. Fields that this build does not know are
ignored on reading, a newer `schema_version` is refused.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from schemas.errors import LogError
from schemas.policy import Policy, PromptInfo

MANIFEST_VERSION = 1
"""The format of `campaign.json`."""

PROTOCOL_VERSION = 1
"""The measuring protocol: raised when the same policy starts to mean something else to the model."""

PINNED_FACTS = ("engine", "digest", "quantization", "context_length")
"""The facts without which a campaign cannot be repeated, in the order in which `unavailable` lists them."""

_COMPARED_FACTS = ("engine", "model", *PINNED_FACTS[1:], "parameter_size", "max_context_length", "template_sha256")
_IDENTITY = ("schema_version", "campaign_id", "created", "arm", "publishable", "not_publishable_because")
_REPEATED = ("policy.tools", "policy.omitted_tools", "policy.prompt")
"""What `tools` and `prompt` of the manifest say already."""


class _Data(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Engine(_Data, frozen=True):
    """The software that served the model."""

    name: str
    version: str


class ServingPassport(_Data, frozen=True):
    """What served the model, as the server itself said.

    `context_length` is the context that was allocated, `max_context_length` the most the model could have; both in
    tokens. `template_sha256` is over the chat template, through which the model saw every message. `warmup` is None
    where none was asked for. `sources` gives for each known fact where it was read, `error`
    joins what went wrong on the way.
    """

    model: str
    engine: Engine | None = None
    digest: str | None = None
    quantization: str | None = None
    parameter_size: str | None = None
    context_length: int | None = None
    max_context_length: int | None = None
    template_sha256: str | None = None
    warmup: bool | None = None
    sources: dict[str, str] = {}
    unavailable: tuple[str, ...] = PINNED_FACTS
    error: str | None = None


class Machine(_Data, frozen=True):
    """The machine of the harness; memory in bytes, None where the system does not say. Never its name."""

    cpu: str
    cores: int
    memory_bytes: int | None
    os: str
    python: str


class Harness(_Data, frozen=True):
    """The build of korvid-rec. `revision` is a commit, with `+dirty` if its code was changed, or the version."""

    version: str
    revision: str


class Capabilities(_Data, frozen=True):
    """What the model can do, None where nobody said. `provenance` names the source of each known fact."""

    context_window_tokens: int | None = None
    supports_tools: bool | None = None
    supports_parallel_tools: bool | None = None
    supports_reasoning: bool | None = None
    recommended_tier: str | None = None
    provenance: dict[str, str] = {}


class PackInfo(_Data, frozen=True):
    """The cases that were asked; `sha256` is over their ids and digests."""

    name: str
    case_ids: tuple[str, ...]
    count: int
    sha256: str


class ToolsInfo(_Data, frozen=True):
    """The tools of the arm; `armed` is sorted, `omitted` were taken away on purpose."""

    armed: tuple[str, ...]
    count: int
    omitted: tuple[str, ...] = ()


class Manifest(_Data, frozen=True):
    """One campaign: what ran, and on what. `created` is RFC 3339 in UTC.

    `agent` is `model` for a served model, else the name of a baseline agent, which nothing serves. `publishable` is
    None until the campaign is over (`judged`).
    """

    campaign_id: str
    created: str
    arm: str
    agent: str
    model: str
    pack: PackInfo
    repetitions: int
    durability: Literal["event", "turn", "run"]
    seed: int | None
    policy: Policy
    capabilities: Capabilities
    catalog_version: int | None
    tools: ToolsInfo
    prompt: PromptInfo
    machine: Machine
    harness: Harness
    serving_before: ServingPassport | None = None
    serving_after: ServingPassport | None = None
    schema_version: int = MANIFEST_VERSION
    protocol_version: int = PROTOCOL_VERSION
    publishable: bool | None = None
    not_publishable_because: tuple[str, ...] = ()
    also_recorded_by: tuple[Harness, ...] = ()
    """Other builds that recorded some of the runs, after a resume."""


class _Version(msgspec.Struct):
    schema_version: int


def tools_info(armed: tuple[str, ...], omitted: tuple[str, ...]) -> ToolsInfo:
    """The manifest's entry for these tools."""
    return ToolsInfo(armed=tuple(sorted(armed)), count=len(armed), omitted=tuple(sorted(omitted)))


def encode_manifest(manifest: Manifest) -> bytes:
    """`campaign.json`: indented JSON, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def decode_manifest(data: bytes, name: str = "campaign.json") -> Manifest:
    """The manifest in `data`; `name` is used in messages. Raises `LogError` if it is none, or of a newer format."""
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > MANIFEST_VERSION:
            raise LogError(
                f"{name} has schema_version {version} and this build reads up to {MANIFEST_VERSION}: "
                f"install a korvid-rec that reads version {version}"
            )
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LogError(f"{name} is not a campaign manifest: {error}") from None


def unavailable_facts(passport: ServingPassport) -> tuple[str, ...]:
    """The pinned facts that are not known, in their fixed order."""
    return tuple(fact for fact in PINNED_FACTS if getattr(passport, fact) is None)


def passport_changed(before: ServingPassport, after: ServingPassport) -> list[str]:
    """One sentence for each fact known both times and different: the engine was not the same throughout.

    A fact known only once is no change; the passport that lacks it says so in `unavailable`.
    """
    return list(_changes(before, after))


def with_learned(known: ServingPassport, now: ServingPassport) -> ServingPassport:
    """`known` with the facts that only `now` has, so that a later change of them is seen. Not for publishing."""
    missing = [fact for fact in _COMPARED_FACTS if getattr(known, fact) is None]
    return msgspec.structs.replace(known, **{fact: getattr(now, fact) for fact in missing})


def recorded_also_by(manifest: Manifest, build: Harness) -> Manifest:
    """The manifest of a campaign of which `build` records runs too."""
    builds = (manifest.harness, *manifest.also_recorded_by)
    if build in builds:
        return manifest
    return msgspec.structs.replace(manifest, also_recorded_by=(*manifest.also_recorded_by, build))


def publishability(manifest: Manifest) -> tuple[str, ...]:
    """Why the campaign must not be published; empty if it may. Source: design, Validity."""
    return tuple(_reasons(manifest))


def judged(manifest: Manifest) -> Manifest:
    """The manifest with `publishable` and its reasons filled in."""
    reasons = publishability(manifest)
    return msgspec.structs.replace(manifest, publishable=not reasons, not_publishable_because=reasons)


def differences(a: Manifest, b: Manifest) -> list[tuple[str, Any, Any]]:
    """What two campaigns did not have in common: (dotted path, value in a, value in b), sorted by path.

    Identity (campaign, arm label, time) and what follows from the rest (publishable) is left out. A list is compared
    whole. A value that one side lacks is None there.
    """
    left, right = msgspec.to_builtins(a), msgspec.to_builtins(b)
    for key in _IDENTITY:
        left.pop(key, None)
        right.pop(key, None)
    return sorted(
        (row for row in _differing("", left, right) if not row[0].startswith(_REPEATED)), key=lambda row: row[0]
    )


def _changes(before: ServingPassport, after: ServingPassport) -> Iterator[str]:
    for fact in _COMPARED_FACTS:
        first, last = getattr(before, fact), getattr(after, fact)
        if first is not None and last is not None and first != last:
            yield f"{fact} changed from {_shown(first)} to {_shown(last)}"


def _shown(fact: Any) -> str:
    return f"{fact.name} {fact.version}" if isinstance(fact, Engine) else str(fact)


def _reasons(manifest: Manifest) -> Iterator[str]:
    if manifest.prompt.source != "default":
        yield "the prompt is not the default one"
    for build in (manifest.harness, *manifest.also_recorded_by):
        if build.revision.endswith("+dirty"):
            yield f"the harness had uncommitted changes ({build.revision})"
    if manifest.also_recorded_by:
        yield f"{1 + len(manifest.also_recorded_by)} builds of the harness recorded parts of it"
    if manifest.agent == "model":
        yield from _serving_reasons(manifest.serving_before, manifest.serving_after)


def _serving_reasons(before: ServingPassport | None, after: ServingPassport | None) -> Iterator[str]:
    if before is None or after is None:
        yield f"the model server was not probed {'before' if before is None else 'after'} the campaign"
        return
    if before.warmup is not True:
        yield "the warm-up failed" if before.warmup is False else "the model was not warmed up"
    for when, passport in (("before", before), ("after", after)):
        missing = unavailable_facts(passport)
        if missing:
            yield f"not known of the model server {when} the campaign: {', '.join(missing)}"
    for change in _changes(before, after):
        yield f"the model server changed during the campaign: {change}"


def _differing(path: str, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in left.keys() | right.keys():
            yield from _differing(f"{path}.{key}" if path else key, left.get(key), right.get(key))
    elif left != right or isinstance(left, bool) != isinstance(right, bool):
        yield path, left, right
