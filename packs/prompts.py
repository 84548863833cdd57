"""The system prompt, composed from layers, and the user message with its screen context.

The layers are files in packs/prompts: safety contract, common role, one pack a tier, and capability clauses that depend
on the armed tools. Their order is fixed, so the safety contract stays first whatever is added. `source` says whether
the text is the one that ships. Source: evaluation semantics 7.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from schemas.cases import Interaction
from schemas.errors import UsageError
from schemas.policy import LIMITS, Tier

_HOME = Path(__file__).parent / "prompts"

WRITE_TOOLS = frozenset({"delete_resource", "scale_resource", "rollout_restart", "resize_pod", "propose_write"})
SCREEN_TOOLS = frozenset({"navigate", "set_filter", "open_logs", "open_describe", "drill_down"})
EXTERNAL_TOOLS = frozenset({"query_metrics", "search_logs"})

STATIC_SHARE = 0.25
"""The most that the system prompt may take of a tier's history budget."""
CONTEXT_LABEL = "workspace context:"
_MAX_TEXT = 512
_MAX_FILTER = 2048
_LINE_BREAKS = ("\x85", "\u2028", "\u2029")


class Layer(msgspec.Struct, frozen=True):
    """One part of a system prompt, in the order in which they stand in it."""

    name: str
    text: str


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A composed system prompt. `overlays` are the names of added layers; `pack` is that of the tier."""

    pack: Tier
    system: str
    layers: tuple[Layer, ...]
    overlays: tuple[str, ...]
    source: Literal["default", "override"]


def compose(
    tier: Tier,
    armed_tool_names: Iterable[str],
    *,
    tier_pack_text: str | None = None,
    overlays: Sequence[tuple[str, str]] = (),
) -> Prompt:
    """The system prompt of a tier for these armed tools.

    `tier_pack_text` stands in for the tier's own pack; `overlays` are (name, text), placed after it. Text that says
    exactly what ships is still `default`. Raises `UsageError` for a blank text, and for one that would take more than a
    quarter of the tier's history budget.
    """
    armed = frozenset(armed_tool_names)
    shipped = _joined(_layers(tier, armed, _file(f"tier-{tier}"), ()))
    if tier_pack_text is not None:
        _refuse_blank("the tier pack", tier_pack_text)
    for name, text in overlays:
        _refuse_blank(f"the overlay {name}", text)
    layers = _layers(tier, armed, tier_pack_text or _file(f"tier-{tier}"), overlays)
    system = _joined(layers)
    _refuse_too_long(tier, system)
    return Prompt(
        pack=tier,
        system=system,
        layers=layers,
        overlays=tuple(name for name, _ in overlays),
        source="default" if system == shipped else "override",
    )


def fingerprint(system: str, tool_schemas: Sequence[dict[str, Any]]) -> str:
    """SHA-256 over the system prompt, a NUL byte and the tool schemas as JSON with sorted keys."""
    schemas = json.dumps(list(tool_schemas), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(system.encode() + b"\0" + schemas.encode()).hexdigest()


def user_message(text: str, interaction: Interaction) -> str:
    """What the user said and, in one labelled line, the screen: compact JSON with sorted keys.

    `<` and `>` are escaped, texts are cut to 512 characters and filters to 2,048, so that a name in a cluster can
    neither open a tag nor fill the prompt.
    """
    shown = _bounded(msgspec.to_builtins(interaction))
    line = json.dumps(shown, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    line = line.replace("<", "\\u003c").replace(">", "\\u003e")
    for character in _LINE_BREAKS:
        line = line.replace(character, f"\\u{ord(character):04x}")
    return f"{text}\n\n{CONTEXT_LABEL} {line}"


def read_tier_pack(file: Path) -> tuple[str, str]:
    """The (name, text) of a file that stands in for a tier pack. Raises `UsageError` if it is empty or unreadable."""
    return _read_override("--tier-pack-file", file)


def read_overlay(file: Path) -> tuple[str, str]:
    """The (name, text) of an overlay file. Raises `UsageError` if it is empty or unreadable."""
    return _read_override("--prompt-overlay-file", file)


def _read_override(flag: str, file: Path) -> tuple[str, str]:
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{flag} {file}: not UTF-8 at byte {error.start}; save it as UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"{flag} {file}: cannot be read ({error.strerror}); give a readable text file") from None
    _refuse_blank(f"{flag} {file}", text)
    return file.stem, text


def _refuse_blank(what: str, text: str) -> None:
    if not text.strip():
        raise UsageError(f"{what}: holds no text; write some, or leave it out")


def _refuse_too_long(tier: Tier, system: str) -> None:
    budget = int(LIMITS[tier].max_history_chars * STATIC_SHARE)
    if len(system) > budget:
        what = f"the {tier} tier's prompt has {len(system)} characters, more than a quarter of its history budget"
        raise UsageError(f"{what} ({budget}); shorten the tier pack or the overlays")


def _layers(
    tier: Tier, armed: frozenset[str], tier_text: str, overlays: Sequence[tuple[str, str]]
) -> tuple[Layer, ...]:
    return (
        Layer("safety", _file("safety")),
        Layer("role", _file("role")),
        Layer(f"tier-{tier}", tier_text.strip()),
        *(Layer(name, text.strip()) for name, text in overlays),
        *_capabilities(armed),
    )


def _capabilities(armed: frozenset[str]) -> list[Layer]:
    clauses = [
        ("capability-writes" if armed & WRITE_TOOLS else "capability-no-writes", WRITE_TOOLS),
        ("capability-screen", SCREEN_TOOLS),
        ("capability-external", EXTERNAL_TOOLS),
    ]
    return [
        Layer(name, _file(name).replace("{tools}", ", ".join(sorted(armed & tools))))
        for name, tools in clauses
        if armed & tools or name == "capability-no-writes"
    ]


def _joined(layers: Sequence[Layer]) -> str:
    return "\n\n".join(layer.text for layer in layers)


@cache
def _file(name: str) -> str:
    return (_HOME / f"{name}.md").read_text("utf-8").strip()


def _bounded(value: Any, limit: int = _MAX_TEXT) -> Any:
    if isinstance(value, str):
        return value[:limit]
    if isinstance(value, dict):
        return {key: _bounded(item, _MAX_FILTER if key == "filter" else _MAX_TEXT) for key, item in value.items()}
    return value
