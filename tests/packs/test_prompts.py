"""The system prompt is composed from layers in a fixed order; its fingerprint changes with what a model is told."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packs.check import mentions
from packs.loader import load_pack
from packs.prompts import (
    CONTEXT_LABEL,
    STATIC_SHARE,
    Prompt,
    compose,
    fingerprint,
    read_overlay,
    read_tier_pack,
    user_message,
)
from schemas.cases import Interaction, Pane, Selection
from schemas.errors import UsageError
from schemas.policy import LIMITS, Tier

READS = ["list_resources", "get_resource", "get_logs", "get_events", "diagnose_pod"]
SCREEN = Interaction(focused_pane=Pane(kind="pods", scope="shop"))
TIERS: tuple[Tier, ...] = ("low", "high")


def _names(prompt: Prompt) -> list[str]:
    return [layer.name for layer in prompt.layers]


@pytest.mark.parametrize("tier", TIERS)
def test_the_safety_contract_comes_first_and_overlays_after_the_tier_pack(tier: Tier) -> None:
    prompt = compose(tier, READS, overlays=[("house", "Be brief."), ("more", "Be kind.")])
    assert _names(prompt) == ["safety", "role", f"tier-{tier}", "house", "more", "capability-no-writes"]
    assert prompt.system == "\n\n".join(layer.text for layer in prompt.layers)
    assert prompt.overlays == ("house", "more")


@pytest.mark.parametrize("tier", TIERS)
def test_the_static_layers_leave_three_quarters_of_the_history_budget(tier: Tier) -> None:
    armed = [*READS, "open_logs", "open_describe", "navigate", "query_metrics", "search_logs", "scale_resource"]
    assert len(compose(tier, armed).system) <= LIMITS[tier].max_history_chars * STATIC_SHARE


def test_the_low_tiers_prompt_is_short() -> None:
    assert len(compose("low", [*READS, "open_logs", "open_describe"]).system) < 3_500


def test_capability_clauses_follow_the_armed_tools() -> None:
    assert "capability-no-writes" in _names(compose("low", READS))
    armed = compose("high", [*READS, "scale_resource", "open_logs", "navigate", "query_metrics"])
    assert _names(armed)[3:] == ["capability-writes", "capability-screen", "capability-external"]
    assert "Write tools: scale_resource." in armed.system
    assert "Screen tools: navigate, open_logs." in armed.system
    assert "External reads: query_metrics." in armed.system


def test_the_order_in_which_tools_are_armed_does_not_matter() -> None:
    armed = [*READS, "open_logs", "open_describe"]
    assert compose("low", armed) == compose("low", reversed(armed))


def test_text_that_repeats_what_ships_is_default_and_any_other_an_override() -> None:
    shipped = compose("low", READS)
    tier_text = next(layer.text for layer in shipped.layers if layer.name == "tier-low")
    assert shipped.source == "default"
    assert compose("low", READS, tier_pack_text=f"\n{tier_text}\n").source == "default"
    assert compose("low", READS, tier_pack_text=tier_text + " Hurry.").source == "override"
    assert compose("low", READS, overlays=[("house", "Hurry.")]).source == "override"


def test_a_tier_pack_stands_in_for_that_layer_only() -> None:
    changed = compose("low", READS, tier_pack_text="Do as you like.")
    shipped = compose("low", READS)
    assert [layer.text for layer in changed.layers if layer.name != "tier-low"] == [
        layer.text for layer in shipped.layers if layer.name != "tier-low"
    ]
    assert "Do as you like." in changed.system


def test_a_prompt_that_would_crowd_out_the_conversation_is_refused() -> None:
    with pytest.raises(UsageError, match=r"more than a quarter of its history budget \(6000\)"):
        compose("low", READS, overlays=[("house", "x" * 6_000)])


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_a_blank_override_is_wrong_usage(tmp_path: Path, blank: str) -> None:
    file = tmp_path / "mine.md"
    file.write_text(blank)
    for read, flag in ((read_tier_pack, "--tier-pack-file"), (read_overlay, "--prompt-overlay-file")):
        with pytest.raises(UsageError, match=rf"{flag} .*mine\.md: holds no text"):
            read(file)
    with pytest.raises(UsageError, match="the tier pack: holds no text"):
        compose("low", READS, tier_pack_text=blank)
    with pytest.raises(UsageError, match="the overlay house: holds no text"):
        compose("low", READS, overlays=[("house", blank)])


def test_an_unreadable_override_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_tier_pack(tmp_path / "absent.md")
    binary = tmp_path / "binary.md"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8 at byte 0"):
        read_overlay(binary)


def test_an_override_is_named_after_its_file(tmp_path: Path) -> None:
    file = tmp_path / "terse.md"
    file.write_text("Be terse.\n")
    assert read_overlay(file) == ("terse", "Be terse.\n")


def test_the_fingerprint_is_what_its_rule_says() -> None:
    schemas = [{"b": 1, "a": "ü"}]
    expected = hashlib.sha256(b"hi\0" + '[{"a": "ü", "b": 1}]'.encode()).hexdigest()
    assert fingerprint("hi", schemas) == expected


def test_the_fingerprint_changes_with_prompt_description_and_tools_and_with_nothing_else() -> None:
    schemas = [{"name": "get_logs", "description": "Read."}, {"name": "get_events", "description": "Read."}]
    first = fingerprint("system", schemas)
    assert first == fingerprint("system", [dict(reversed(list(schema.items()))) for schema in schemas])
    others = {
        fingerprint("system.", schemas),
        fingerprint("system", [{**schemas[0], "description": "Read it."}, schemas[1]]),
        fingerprint("system", schemas[:1]),
    }
    assert len(others) == 3
    assert first not in others


def test_the_screen_is_one_line_of_compact_sorted_json() -> None:
    selected = Selection(kind="pods", name="a-1", namespace="shop")
    screen = Interaction(
        kube_context="eval", context_epoch=1, focused_pane=Pane(kind="pods", scope="shop", selected=selected)
    )
    said, line = user_message("What is it?", screen).split("\n\n")
    assert said == "What is it?"
    assert line == (
        CONTEXT_LABEL + ' {"context_epoch":1,"focused_pane":{"kind":"pods","scope":"shop","selected":'
        '{"kind":"pods","name":"a-1","namespace":"shop"}},"kube_context":"eval"}'
    )


def test_long_texts_of_the_screen_are_cut() -> None:
    screen = Interaction(kube_context="c" * 600, focused_pane=Pane(kind="pods", scope="s", filter="f" * 3_000))
    shown = json.loads(user_message("x", screen).partition(CONTEXT_LABEL)[2])
    assert len(shown["kube_context"]) == 512
    assert len(shown["focused_pane"]["filter"]) == 2_048


@given(st.text(max_size=200))
def test_no_name_can_leave_the_line_or_open_a_tag(name: str) -> None:
    screen = Interaction(focused_pane=Pane(kind="pods", scope="s", selected=Selection(kind="pods", name=name)))
    line = user_message("", screen)[2:]
    assert len(line.splitlines()) == 1
    assert "<" not in line
    assert ">" not in line
    assert json.loads(line.partition(CONTEXT_LABEL)[2])["focused_pane"]["selected"]["name"] == name


@pytest.mark.parametrize("tier", TIERS)
def test_the_prompt_tells_no_case_s_answer(tier: Tier) -> None:
    armed = [*READS, "open_logs", "navigate", "query_metrics", "scale_resource"]
    systems = [compose(tier, armed).system, compose(tier, READS).system]
    for case in load_pack("scenarios").cases:
        for system in systems:
            groups = case.rubric.turns[0].must_mention
            told = [word for group in groups for word in group if mentions(system, word)]
            assert not all(any(word in told for word in group) for group in groups), case.id
            if case.rubric.root_cause != "none":
                assert not any(mentions(system, word) for word in groups[0]), (case.id, told)
                assert not mentions(system, case.rubric.root_cause)
    assert SCREEN.focused_pane.scope not in systems[0]
