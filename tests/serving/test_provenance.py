"""The campaign manifest: there and back, what forbids publishing, what two arms did not share."""

import re
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from schemas.errors import LogError
from schemas.policy import LIMITS, Policy, PromptInfo
from schemas.provenance import (
    Capabilities,
    Engine,
    Harness,
    Machine,
    Manifest,
    PackInfo,
    ServingPassport,
    decode_manifest,
    differences,
    encode_manifest,
    judged,
    passport_changed,
    publishability,
    tools_info,
    unavailable_facts,
)

PASSPORT = ServingPassport(
    model="qwen3:8b",
    engine=Engine(name="ollama", version="0.12.6"),
    digest="ab" * 32,
    quantization="Q4_K_M",
    context_length=4_096,
    warmup=True,
    unavailable=(),
)


def manifest(**changes: Any) -> Manifest:
    prompt = PromptInfo(pack="low", sha256="aa")
    whole = Manifest(
        campaign_id="c1",
        created="2026-11-30T10:00:00Z",
        arm="base",
        agent="model",
        model="ollama/qwen3:8b",
        pack=PackInfo(name="scenarios", case_ids=("oom-killed",), count=1, sha256="bb"),
        repetitions=3,
        durability="turn",
        seed=None,
        policy=Policy(
            provider="ollama",
            model="qwen3:8b",
            dialect="ollama",
            tier="low",
            route_source="catalog",
            limits=LIMITS["low"],
            tools=("get_logs", "get_events"),
            prompt=prompt,
        ),
        capabilities=Capabilities(supports_tools=True, provenance={"supports_tools": "catalog"}),
        catalog_version=1,
        tools=tools_info(("get_logs", "get_events"), ()),
        prompt=prompt,
        machine=Machine(cpu="x", cores=2, memory_bytes=1, os="Linux", python="3.11"),
        harness=Harness(version="0.1.0", revision="c0ffee"),
        serving_before=PASSPORT,
        serving_after=replace(PASSPORT, warmup=None),
    )
    return replace(whole, **changes)


def test_a_manifest_reads_back_as_it_was_written() -> None:
    data = encode_manifest(manifest())
    assert decode_manifest(data) == manifest()
    assert data.endswith(b"}\n")
    assert data.count(b"\n") > 20


def test_a_field_of_a_later_build_is_no_hindrance() -> None:
    plain = msgspec.json.decode(encode_manifest(manifest()))
    plain["colour"] = "green"
    plain["machine"]["gpu"] = "none"
    assert decode_manifest(msgspec.json.encode(plain)) == manifest()


def test_a_newer_format_is_refused_with_the_version_that_is_needed() -> None:
    plain = msgspec.json.decode(encode_manifest(manifest()))
    plain["schema_version"] = 9
    with pytest.raises(LogError, match=r"x/campaign.json has schema_version 9 .* reads version 9"):
        decode_manifest(msgspec.json.encode(plain), "x/campaign.json")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"schema_version":1}', b"\xff", b'{"schema_version":"1"}'])
def test_what_is_no_manifest_is_refused_with_its_name(data: bytes) -> None:
    with pytest.raises(LogError, match=r"campaign\.json is not a campaign manifest"):
        decode_manifest(data)


def test_tools_are_sorted_and_counted() -> None:
    info = tools_info(("b", "a"), ("d", "c"))
    assert (info.armed, info.count, info.omitted) == (("a", "b"), 2, ("c", "d"))


def test_unavailable_facts_come_in_their_fixed_order() -> None:
    assert unavailable_facts(ServingPassport(model="m")) == ("engine", "digest", "quantization", "context_length")
    assert unavailable_facts(replace(PASSPORT, context_length=None, engine=None)) == ("engine", "context_length")


def test_a_campaign_with_everything_known_may_be_published() -> None:
    assert publishability(manifest()) == ()
    assert judged(manifest()).publishable is True


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"prompt": PromptInfo(pack="low", source="override")}, "the prompt is not the default one"),
        ({"harness": Harness(version="1", revision="c0ffee+dirty")}, "uncommitted changes"),
        ({"serving_before": None}, "not probed before"),
        ({"serving_after": None}, "not probed after"),
        ({"serving_before": replace(PASSPORT, warmup=None)}, "not warmed up"),
        ({"serving_before": replace(PASSPORT, warmup=False)}, "warm-up failed"),
        ({"serving_before": replace(PASSPORT, digest=None)}, "not known of the model server before.*: digest$"),
        ({"serving_after": replace(PASSPORT, context_length=None)}, "not known .* after .*: context_length$"),
        ({"serving_after": replace(PASSPORT, context_length=2_048)}, "context_length changed from 4096 to 2048"),
    ],
)
def test_each_gap_forbids_publishing_and_says_so(changes: dict[str, Any], reason: str) -> None:
    verdict = judged(manifest(**changes))
    assert verdict.publishable is False
    assert len(verdict.not_publishable_because) == 1
    assert re.search(reason, verdict.not_publishable_because[0])


def test_a_baseline_agent_needs_no_model_server() -> None:
    assert publishability(manifest(agent="oracle", serving_before=None, serving_after=None)) == ()


def test_a_changed_engine_is_named_and_a_fact_known_once_is_no_change() -> None:
    newer = replace(PASSPORT, engine=Engine(name="ollama", version="0.13.0"), digest=None)
    assert passport_changed(PASSPORT, newer) == ["engine changed from ollama 0.12.6 to ollama 0.13.0"]
    assert passport_changed(PASSPORT, replace(PASSPORT, warmup=None)) == []


def test_two_arms_differ_in_exactly_what_was_changed() -> None:
    base = manifest()
    other = manifest(
        campaign_id="c2",
        created="2026-11-30T11:00:00Z",
        arm="no-logs",
        policy=replace(base.policy, tools=("get_events",), omitted_tools=("get_logs",)),
        tools=tools_info(("get_events",), ("get_logs",)),
        prompt=replace(base.prompt, sha256="cc"),
    )
    assert differences(base, manifest(campaign_id="c3", arm="again")) == []
    assert differences(base, other) == [
        ("prompt.sha256", "aa", "cc"),
        ("tools.armed", ("get_events", "get_logs"), ("get_events",)),
        ("tools.count", 2, 1),
        ("tools.omitted", (), ("get_logs",)),
    ]


def test_a_block_that_one_side_lacks_is_one_difference() -> None:
    rows = differences(manifest(), manifest(serving_after=None))
    assert [(path, right) for path, _, right in rows] == [("serving_after", None)]
