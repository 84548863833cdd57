"""What is known of a published campaign besides its answers: when, which model, served by what, under which policy.

A fact is taken from where it was written (`meta`, `metadata.json`, warm-ups, `summary.tsv`, file names) or is unknown;
`not_recorded` then names it. A profile from before there were tiers stays a profile. Pure.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import combinations
from pathlib import PurePosixPath
from typing import Any

import msgspec

from replay.importing.reading import ResultFile
from replay.importing.shapes import count, read_json, table, tables, texts
from replay.importing.sources import ARCHIVE_SUFFIXES, Source, SourceFile, Unit
from replay.unicode import well_formed
from schemas.policy import Limits, Policy, PromptInfo
from schemas.provenance import Capabilities, Engine, ServingPassport, unavailable_facts

UNKNOWN_DATE = "1970-01-01"
NO_LIMITS = Limits(
    max_iterations=0,
    max_history_chars=0,
    max_result_chars=None,
    max_tool_calls_per_iteration=None,
    strict_history_budget=False,
    retained_turns=0,
)
"""The limits of a run whose limits were not recorded: no agent could run under them."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SLUG = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_STEM = 255
_ROUTES = ("user", "catalog", "provider", "fallback")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a result file was published: the campaign's name, and all files that were published with it."""

    campaign: str
    slug: str
    file: SourceFile
    archive: SourceFile | None
    beside: Mapping[str, SourceFile]
    metadata: dict[str, Any]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the imported logs and their manifest say besides the answers. `model` has its provider in front."""

    date: str
    model: str
    policy: Policy
    profile: str | None
    serving: ServingPassport | None
    capabilities: Capabilities
    catalog_version: int | None
    revision: str | None
    not_recorded: tuple[str, ...]
    unmapped: dict[str, Any]
    notes: tuple[str, ...]


def places(source: Source) -> Iterator[Place]:
    """Every JSON file of a source with its surroundings, archives first by name, loose files last."""
    units = sorted(source.units, key=lambda unit: (unit.archive is None, unit.archive.path if unit.archive else ""))
    for unit in units:
        tops = {path.partition("/")[0] for path in unit.files}
        objects: dict[str, dict[str, Any]] = {}
        for path, file in sorted(unit.files.items()):
            if path.endswith(".json"):
                campaign = _campaign(source, unit, path)
                yield Place(
                    campaign=campaign,
                    slug=_slug(path, campaign, in_archive=unit.archive is not None, one_top=len(tops) == 1),
                    file=file,
                    archive=unit.archive,
                    beside=unit.files,
                    metadata=_metadata(source, unit, path, objects),
                )


def facts(place: Place, results: ResultFile, models: Mapping[str, str]) -> Facts:
    """The facts of one result file. `models` maps file-name forms of model tags to the tags of the whole source."""
    notes: list[str] = []
    meta, metadata = well_formed(results.meta), well_formed(place.metadata)
    tag, warmed = _tag(place, meta, models, notes)
    engine = _engine(meta, metadata)
    said = _string(table(meta.get("policy")).get("provider"))
    provider = said or (engine.name.lower() if engine else "not_recorded")
    policy, unknown, profile = _policy(meta, metadata, provider, tag)
    notes += _withheld(place)
    named_in = _DATE.search(place.campaign)
    day = _day(metadata.get("date")) or _day(named_in and named_in[0]) or UNKNOWN_DATE
    model = tag if "/" in tag or provider == "not_recorded" else f"{provider}/{tag}"
    return Facts(
        date=day,
        model=model,
        policy=policy,
        profile=profile,
        serving=_serving(meta, metadata, tag, engine, warmed),
        capabilities=_capabilities(meta),
        catalog_version=_int(meta.get("catalog_version")),
        revision=_string(metadata.get("source_revision")),
        not_recorded=(*unknown, "wall_time"),
        unmapped={f"meta.{key}": value for key, value in meta.items() if key not in _META_KEYS},
        notes=tuple(notes),
    )


_META_KEYS = {"policy", "profile", "limits", "capabilities", "catalog_version", "prompts", "tools", "serving"}


def known_models(source: Source) -> dict[str, str]:
    """The model tags that a source names anywhere, by the form they take in file names (`qwen3-8b`)."""
    tags: set[str] = set()
    for unit in source.units:
        for path, file in unit.files.items():
            if file.data is None:
                continue
            if path.endswith("summary.tsv"):
                tags |= {row.split("\t")[0] for row in file.data.decode("utf-8", "replace").splitlines()[1:] if row}
            elif path.endswith("-warm.json"):
                tags |= {warm["model"] for warm in [_object(file)] if isinstance(warm.get("model"), str)}
            elif path.endswith("metadata.json"):
                listed = _object(file).get("models")
                tags |= {*texts(listed), *texts([model.get("name") for model in tables(listed)])}
    return {_SLUG.sub("-", tag.removesuffix(":latest").replace(":", "-").replace("/", "-")): tag for tag in tags if tag}


def _campaign(source: Source, unit: Unit, path: str) -> str:
    if unit.archive is not None:
        where = PurePosixPath(unit.archive.path)
        name = where.name
        for suffix in ARCHIVE_SUFFIXES:
            name = name.removesuffix(suffix)
        name = name.removesuffix("artifacts").strip("-_. ") or where.parent.name or source.name
    else:
        name = next((parent.name for parent in _campaign_roots(unit, path)), source.name) or source.name
    return _SLUG.sub("-", name) or "imported"


def _campaign_roots(unit: Unit, path: str) -> Iterator[PurePosixPath]:
    """The directories above a loose file that carry their own metadata, nearest first; then the topmost one."""
    above = [parent for parent in PurePosixPath(path).parents if parent.name]
    yield from (parent for parent in above if f"{parent}/metadata.json" in unit.files)
    yield from above[-1:]


def _slug(path: str, campaign: str, *, in_archive: bool, one_top: bool) -> str:
    parts = PurePosixPath(path.removesuffix(".json")).parts
    if len(parts) > 1 and in_archive and one_top:
        parts = parts[1:]
    if not in_archive and campaign in parts[:-1]:
        parts = parts[parts.index(campaign) + 1 :]
    return _SLUG.sub("-", ".".join(parts))[:120]


def _metadata(source: Source, unit: Unit, path: str, objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The metadata of the nearest directory that has some, under what lies beside the archive.

    `objects` keeps what was read of a unit, by path: a directory's metadata stands for each of its files.
    """
    merged: dict[str, Any] = {}
    for parent in reversed(PurePosixPath(path).parents):
        name = str(PurePosixPath(parent, "metadata.json"))
        file = unit.files.get(name)
        if file is not None and name not in objects:
            objects[name] = _object(file)
        merged |= objects.get(name, {})
    if unit.archive is not None:
        where = PurePosixPath(unit.archive.path)
        prefix = where.name
        for suffix in ARCHIVE_SUFFIXES:
            prefix = prefix.removesuffix(suffix)
        name = prefix.removesuffix("artifacts") + "metadata.json"
        beside = "beside the archive"
        if beside not in objects:
            file = source.loose.get(str(PurePosixPath(where.parent, name)))
            objects[beside] = _object(file) if file else {}
        merged |= objects[beside]
    return merged


def _object(file: SourceFile) -> dict[str, Any]:
    try:
        return table(read_json(file.data or b""))
    except ValueError:
        return {}


def _tag(place: Place, meta: dict[str, Any], models: Mapping[str, str], notes: list[str]) -> tuple[str, bool]:
    """The model's tag, and whether a warm-up of it lies beside the results."""
    warm = place.beside.get(place.file.path.removesuffix(".json") + "-warm.json")
    warmed = _object(warm).get("model") if warm else None
    named = _string(table(meta.get("policy")).get("model")) or _string(meta.get("model"))
    if named is not None:
        return named, isinstance(warmed, str)
    if isinstance(warmed, str):
        return well_formed(warmed), True
    stem = well_formed(PurePosixPath(place.file.path).stem)
    for form in _parts(stem):
        if form in models:
            return models[form], False
    notes.append(f"the model is named after the file, {stem}: nothing else names it")
    return stem, False


def _parts(stem: str) -> Iterator[str]:
    """What stands between two hyphens of a file's name, or its ends: the longest first, of equals the leftmost."""
    cuts = [-1, *(at for at, character in enumerate(stem[:_LONGEST_STEM]) if character == "-"), len(stem)]
    found = {stem[left + 1 : right]: left for left, right in combinations(cuts, 2)}
    yield from sorted(found, key=lambda part: (-len(part), found[part]))


def _withheld(place: Place) -> Iterator[str]:
    """Whether the source lists its publishable results of this directory, and this file is none of them."""
    directory, name = PurePosixPath(place.file.path).parent.name, PurePosixPath(place.file.path).name
    for key, listed in sorted(place.metadata.items()):
        if key.startswith("publishable") and isinstance(listed, list):
            named = {PurePosixPath(str(path)).parts[-2:] for path in listed}
            if any(parts[0] == directory for parts in named) and (directory, name) not in named:
                yield "the source does not count this file among its publishable results"
                return


def _engine(meta: dict[str, Any], metadata: dict[str, Any]) -> Engine | None:
    beside = table(metadata.get("serving"))
    serving, version = table(meta.get("serving")).get("engine") or beside.get("engine"), beside.get("version")
    if isinstance(serving, dict):
        return Engine(name=str(serving.get("name")), version=str(serving.get("version")))
    if not isinstance(serving, str) or not serving.strip():
        return None
    name, _, number = serving.partition(" ")
    return Engine(name=name, version=str(version or number or "not recorded"))


def _serving(
    meta: dict[str, Any], metadata: dict[str, Any], tag: str, engine: Engine | None, warmed: bool
) -> ServingPassport | None:
    found = table(meta.get("serving"))
    model = next((model for model in tables(metadata.get("models")) if model.get("name") == tag), {})
    if engine is None and not model and not warmed and not found:
        return None
    warmup = found.get("warmup")
    passport = ServingPassport(
        model=tag,
        engine=engine,
        digest=_string(found.get("digest") or model.get("digest")),
        quantization=_string(found.get("quantization") or model.get("quantization")),
        parameter_size=_string(found.get("parameter_size")),
        context_length=_int(found.get("context_length") or metadata.get("runtime_context_length")),
        max_context_length=_int(found.get("max_context_length") or model.get("native_context_length")),
        warmup=warmup if isinstance(warmup, bool) else True if warmed else None,
        sources={"all": "as published"},
    )
    return msgspec.structs.replace(passport, unavailable=unavailable_facts(passport))


def _policy(
    meta: dict[str, Any], metadata: dict[str, Any], provider: str, tag: str
) -> tuple[Policy, tuple[str, ...], str | None]:
    """The policy, what of it was not recorded, and the profile where there was one."""
    said, prompts, tools, limits = (table(meta.get(name)) for name in ("policy", "prompts", "tools", "limits"))
    profile = meta.get("profile") or metadata.get("profile") or table(metadata.get("serving")).get("profile")
    tier = said.get("tier")
    route = said.get("route_source")
    unknown = [
        name
        for name, known in (
            ("policy.tier", tier in ("low", "high")),
            ("policy.limits", bool(limits)),
            ("policy.tools", bool(texts(tools.get("armed")))),
            ("policy.prompt", bool(prompts)),
        )
        if not known
    ]
    policy = Policy(
        provider=provider,
        model=tag,
        dialect="none",
        tier=tier if tier in ("low", "high") else None,
        route_source=route if route in _ROUTES else "not_recorded",
        limits=_limits(limits),
        tools=texts(tools.get("armed")),
        omitted_tools=texts(tools.get("omitted")),
        prompt=PromptInfo(
            pack=str(prompts.get("pack") or said.get("prompt_pack") or ""),
            overlays=texts(prompts.get("overlays")),
            source="default" if prompts.get("source", "default") == "default" else "override",
            sha256=str(prompts.get("sha256") or ""),
        ),
    )
    return policy, tuple(unknown), _string(profile)


def _limits(said: dict[str, Any]) -> Limits:
    known = {field: said[field] for field in Limits.__struct_fields__ if field in said}
    if any(count(value) is None for value in known.values() if not isinstance(value, bool | None)):
        return NO_LIMITS
    try:
        return msgspec.convert(msgspec.to_builtins(NO_LIMITS) | known, Limits)
    except msgspec.ValidationError:
        return NO_LIMITS


def _capabilities(meta: dict[str, Any]) -> Capabilities:
    try:
        return msgspec.convert(meta.get("capabilities") or {}, Capabilities)
    except msgspec.ValidationError:
        return Capabilities()


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _day(value: Any) -> str | None:
    """A day as `2026-08-06`, or None if it is none."""
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError:
        return None


def _int(value: Any) -> int | None:
    return count(value) or None
