"""Two campaigns with one difference differ in exactly that, and the fingerprint tells the prompt and the tools."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import recorder.tools.arming as arming
from packs.loader import load_pack
from recorder.machine import REVISION
from recorder.outfit import common_outfit, outfit_of
from recorder.plan import PlannedRun
from recorder.scripted import Reply, ScriptedServer
from recorder.settings import Flags, Settings, resolve
from recorder.tools import READS, schemas_for
from schemas.errors import UsageError
from schemas.provenance import differences
from tests.recorder.campaigns import asked, campaign

OVERLAY = "Answer in one sentence.\n"
FINGERPRINT = ("prompt.sha256",)


@pytest.fixture(autouse=True)
def build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REVISION, "build-a")


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    path = tmp_path / "short.md"
    path.write_text(OVERLAY)
    return path


ARMS: list[tuple[dict[str, Any], set[str]]] = [
    ({"arm": "b"}, set()),
    ({"without": ("diagnose_pod",)}, {"prompt.sha256", "tools.armed", "tools.count", "tools.omitted"}),
    ({"seed": 5}, {"seed"}),
    ({"stream": False}, {"policy.stream"}),
    ({"recover_calls": True}, {"policy.recover_calls_from_content"}),
    ({"repetitions": 2}, {"repetitions"}),
    ({"durability": "event"}, {"durability"}),
    ({"cases": ("oom-killed",)}, {"pack.case_ids", "pack.count", "pack.sha256"}),
    ({"overlay_files": "overlay"}, {"prompt.overlays", "prompt.sha256", "prompt.source"}),
]


@pytest.mark.parametrize(("change", "expected"), ARMS, ids=[next(iter(change)) for change, _ in ARMS])
def test_the_manifests_of_two_arms_differ_in_exactly_the_difference(
    tmp_path: Path, overlay: Path, change: dict[str, Any], expected: set[str]
) -> None:
    flags = {name: (overlay,) if value == "overlay" else value for name, value in change.items()}
    with ScriptedServer(lambda body: Reply(text="It is fine.")) as server:
        _, a = campaign(tmp_path / "a", asked(server), arm="a")
        _, b = campaign(tmp_path / "b", asked(server), **({"arm": "a"} | flags))
    assert {path for path, _, _ in differences(a, b)} == expected


def settings(**flags: Any) -> Settings:
    return resolve(Flags(**({"agent": "silent"} | flags)), {})


def fingerprint(**flags: Any) -> str:
    chosen = settings(**flags)
    return common_outfit(chosen, chosen.tier or "low").prompt.sha256


def test_the_fingerprint_changes_with_the_description_of_an_armed_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint()
    changed = tuple(
        msgspec.structs.replace(spec, description=spec.description + "!", low_description=None)
        if spec.name == "get_logs"
        else spec
        for spec in READS
    )
    monkeypatch.setattr(arming, "READS", changed)
    assert fingerprint() != before


def test_the_fingerprint_changes_with_a_parameter_of_an_armed_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint()
    changed = tuple(
        msgspec.structs.replace(spec, parameters=spec.parameters | {"additionalProperties": False})
        if spec.name == "get_logs"
        else spec
        for spec in READS
    )
    monkeypatch.setattr(arming, "READS", changed)
    assert fingerprint() != before


def test_the_fingerprint_changes_with_an_armed_tool_a_prompt_layer_and_the_tier(overlay: Path, tmp_path: Path) -> None:
    pack = tmp_path / "tier.md"
    pack.write_text("Look before you answer.\n")
    prints = [
        fingerprint(),
        fingerprint(without=("get_logs",)),
        fingerprint(without=("get_events",)),
        fingerprint(overlay_files=(overlay,)),
        fingerprint(tier_pack_file=pack),
        fingerprint(tier="high"),
    ]
    assert len(set(prints)) == len(prints)


def test_the_fingerprint_changes_with_nothing_else(overlay: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / overlay.name).write_text(OVERLAY)
    same = [
        fingerprint(),
        fingerprint(seed=3),
        fingerprint(repetitions=9),
        fingerprint(arm="b"),
        fingerprint(cases=("oom-killed",)),
        fingerprint(agent="oracle"),
        fingerprint(durability="event"),
        fingerprint(stream=False),
        fingerprint(tier="low"),
        fingerprint(recover_calls=True),
    ]
    assert len(set(same)) == 1
    assert fingerprint(overlay_files=(overlay,)) == fingerprint(overlay_files=(elsewhere / overlay.name,))


def test_a_case_with_a_backend_arms_its_tool_and_says_so_in_its_own_fingerprint() -> None:
    chosen = settings(tier="high")
    case = load_pack().cases[0]
    cluster = msgspec.structs.replace(case.stimulus.cluster, metrics=())
    measured = msgspec.structs.replace(case, stimulus=msgspec.structs.replace(case.stimulus, cluster=cluster))
    plain, more = (outfit_of(chosen, "high", PlannedRun(some, 1)) for some in (case, measured))
    assert {spec.name for spec in more.specs} - {spec.name for spec in plain.specs} == {"query_metrics"}
    assert plain.prompt.sha256 == common_outfit(chosen, "high").prompt.sha256 != more.prompt.sha256


def test_a_tool_that_is_left_out_is_gone_from_schema_and_prompt_and_a_stray_name_is_refused() -> None:
    outfit = common_outfit(settings(without=("get_logs", "open_logs")), "low")
    assert "get_logs" not in str(schemas_for(outfit.specs, "low"))
    assert "get_logs" not in outfit.system
    with pytest.raises(
        UsageError, match=r"--without-tool get_log: not armed in the low tier here; armed are .*get_logs"
    ):
        common_outfit(settings(without=("get_log",)), "low")
    with pytest.raises(UsageError, match="--without-tool navigate"):
        common_outfit(settings(without=("navigate",)), "low")
