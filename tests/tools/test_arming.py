import json

import pytest

from recorder.tools import NAMES, READS, WRITES, armed, describe, schemas_for
from recorder.tools.catalog import LOW_CHARS
from recorder.tools.toolbox import tool_names
from schemas.cases import Cluster
from schemas.errors import UsageError
from schemas.policy import Tier

BACKENDS = Cluster(metrics=(), log_search=())


@pytest.mark.parametrize(
    ("tier", "fixture", "count"),
    [("low", Cluster(), 12), ("low", BACKENDS, 12), ("high", Cluster(), 15), ("high", BACKENDS, 17)],
)
def test_a_read_only_run_arms_as_many_tools_as_its_tier_has(tier: Tier, fixture: Cluster, count: int) -> None:
    assert len(armed(tier, cluster=fixture)) == count


def test_a_backend_arms_its_own_tool_only() -> None:
    names = {spec.name for spec in armed("high", cluster=Cluster(metrics=()))}
    assert "query_metrics" in names
    assert "search_logs" not in names


def test_the_order_of_armed_tools_is_that_of_the_catalogue() -> None:
    order = [spec.name for spec in READS]
    names = [spec.name for spec in armed("high", cluster=BACKENDS, without=["get_logs"])]
    assert names == [name for name in order if name != "get_logs"]


def test_no_write_tool_is_ever_armed() -> None:
    assert not WRITES & {spec.name for spec in armed("high", cluster=BACKENDS)}


def test_leaving_out_a_name_twice_leaves_it_out_once() -> None:
    assert len(armed("low", cluster=Cluster(), without=["diagnose_pod", "diagnose_pod"])) == 11


@pytest.mark.parametrize("name", ["navigate", "query_metrics", "delete_resource", "diagnose_pods", ""])
def test_leaving_out_a_tool_that_is_not_armed_is_refused_with_the_list_of_armed_ones(name: str) -> None:
    with pytest.raises(UsageError, match=r"--without-tool .*armed are list_resources, get_resource"):
        armed("low", cluster=Cluster(), without=["diagnose_pod", name])


def test_low_tier_descriptions_are_within_their_limit() -> None:
    for spec in READS:
        assert 0 < len(describe(spec, "low")) <= LOW_CHARS, spec.name
        assert len(describe(spec, "low")) <= len(describe(spec, "high")), spec.name


def test_schemas_have_the_form_of_openai_tools() -> None:
    specs = armed("low", cluster=Cluster())
    schemas = schemas_for(specs, "low")
    assert [schema["function"]["name"] for schema in schemas] == [spec.name for spec in specs]
    for schema in schemas:
        assert schema["type"] == "function"
        parameters = schema["function"]["parameters"]
        assert parameters["type"] == "object"
        assert set(parameters["required"]) <= set(parameters["properties"])
        for parameter in parameters["properties"].values():
            assert parameter["type"] in {"string", "integer", "boolean"}


def test_the_schemas_of_the_low_tier_stay_small_enough_for_a_small_context() -> None:
    assert len(json.dumps(schemas_for(armed("low", cluster=Cluster()), "low"))) < 7_000


def test_every_tool_of_the_catalogue_can_be_run() -> None:
    assert tool_names() == NAMES - WRITES
