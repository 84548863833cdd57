"""An object's name in an answer is met as a whole, an ordinary word in a compound too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.changes import rules_of
from grading.claims import claim_findings
from schemas.cases import Bound, Evidence, RubricTurn

NAMES = st.from_regex(r"[a-z]{2,8}-[0-9]{1,2}", fullmatch=True)
PIECES = st.from_regex(r"[a-z]*[aeiouy][a-z]*", fullmatch=True).filter(lambda piece: len(piece) > 9)
GENERATED = st.text("bcdfghjklmnpqrstvwxz2456789", min_size=5, max_size=5)


def claimed(keyword: str, answer: str, evidence: Evidence | None = None) -> bool:
    groups = ((evidence,),) if evidence else ()
    turn = RubricTurn(must_mention=((keyword,),), expected_evidence=groups)
    return claim_findings(answer, turn, False, rules_of())[0].holds


@given(NAMES, PIECES)
def test_a_name_is_not_met_in_a_longer_one(name: str, piece: str) -> None:
    for longer in (f"{name}-{piece}", f"{piece}-{name}", f"{name}.{piece}", f"{name}_{piece}"):
        assert not claimed(name, f"The pod {longer} crashed.")
        assert claimed(name, f"The pod {longer} waits for {name}.")


@given(NAMES)
def test_a_name_is_met_in_whatever_marks_or_encloses_it(name: str) -> None:
    for written in (f"`{name}`", f"**{name}**", f"_{name}_", f'"{name}"', f"shop/{name}", f"pod={name}", f"({name})"):
        assert claimed(name, f"The pod {written} crashed.")
    assert claimed(name, f"It is {name}.")
    assert claimed(name, f"- {name}: crashed\n- others run")


@given(NAMES, GENERATED, GENERATED)
def test_what_a_controller_appends_still_means_the_object(name: str, replica_set: str, pod: str) -> None:
    assert claimed(name, f"{name}-x4{replica_set}-7k{pod} crashed.")


@pytest.mark.parametrize(
    ("keyword", "written"),
    [
        ("oom", "OOM-killed"),
        ("memory limit", "memory-limit-related"),
        ("disk-pressure", "disk-pressure-eviction"),
        ("back-off", "image-pull-back-off-state"),
        ("x509", "x509-certificate"),
        ("503", "503-response"),
        ("exit-137", "exit-137-kill"),
        ("web", "web-frontend"),
    ],
)
def test_an_ordinary_word_is_met_in_a_compound(keyword: str, written: str) -> None:
    assert claimed(keyword, f"The cause is {written}.")


def test_a_plain_word_that_the_evidence_reads_is_a_name() -> None:
    read = Evidence(tool="get_resource", args={"kind": "deployments", "name": "web"})
    assert not claimed("web", "web-frontend crashed.", read)
    assert claimed("web", "web-7d9fc-x2x4z crashed.", read)
    assert claimed("web", "The web-pods crash.", read)
    assert claimed("web-frontend", "web-frontend crashed.", read)


@pytest.mark.parametrize(
    ("keyword", "written", "met"),
    [
        ("api-1", "api-1-7d9fc-x2x4z crashed.", True),
        ("worker-12", "worker-12-4xk9d was evicted.", True),
        ("db-0", "`db-0-9c8d7f6b5-2xv4q` is full.", True),
        ("api-1", "api-1-2m crashed.", False),
        ("api-1", "api-1-2 crashed.", False),
        ("api-1", "api-1-2canary crashed.", False),
        ("api-1", "api-12-7d9fc-x2x4z crashed.", False),
        ("137", "It used 137-4xk9d.", False),
    ],
)
def test_a_name_that_ends_in_a_number_is_met_before_what_a_controller_appends(
    keyword: str, written: str, met: bool
) -> None:
    assert claimed(keyword, written) == met


def test_a_replica_number_goes_with_a_workload_and_not_with_a_replica() -> None:
    assert claimed("ledger-db", "ledger-db-0 crashed.")
    assert not claimed("ledger-1", "ledger-1-0 crashed.")


def test_a_service_is_met_in_its_host_name() -> None:
    assert claimed("ledger-1", "ledger-1.shop.svc.cluster.local refuses connections.")
    assert claimed("ledger-1", "It is ledger-1.The others run.")


def test_a_claim_bound_to_an_object_is_not_made_of_a_longer_name() -> None:
    bound = Bound(subject=("api-1",), others=("web-1",), claim=("crashed",))
    turn = RubricTurn(must_mention=(), bound=((bound,),))
    assert claim_findings("api-1 crashed.", turn, False, rules_of())[0].holds
    assert not claim_findings("api-1-canary crashed.", turn, False, rules_of())[0].holds
