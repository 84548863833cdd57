import pytest

from recorder.cluster import check_denials
from schemas.cases import Denial
from schemas.errors import CaseError
from schemas.kinds import KINDS, denial_problem, find_kind, resource


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("pods", "pods"),
        ("Pod", "pods"),
        ("po", "pods"),
        ("DEPLOY", "deployments"),
        ("deployments.apps", "deployments"),
        ("eps", "endpointslices"),
        ("ep", "endpoints"),
        ("job", "jobs"),
        (" pvc ", "persistentvolumeclaims"),
    ],
)
def test_every_alias_of_a_kind_names_it(word: str, plural: str) -> None:
    kind = find_kind(word)
    assert kind is not None
    assert kind.plural == plural


def test_no_alias_names_two_kinds() -> None:
    words = [word for kind in KINDS for word in {kind.plural, kind.kind.lower(), *kind.short, resource(kind)}]
    assert len(words) == len(set(words))


def test_only_four_kinds_are_cluster_scoped() -> None:
    scoped = {kind.plural for kind in KINDS if not kind.namespaced}
    assert scoped == {"nodes", "persistentvolumes", "storageclasses", "namespaces"}


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (Denial(kind="pod"), "write 'pods'"),
        (Denial(kind="Pods"), "write 'pods'"),
        (Denial(kind="widgets"), "no plural"),
        (Denial(kind=""), "blank"),
        (Denial(kind="pods", namespace=" "), "blank"),
        (Denial(kind="pods", name=""), "blank"),
        (Denial(kind="deployments", subresource="log"), "only pods/log"),
        (Denial(kind="pods", subresource="exec"), "only pods/log"),
        (Denial(kind="nodes", namespace="shop"), "cluster-scoped"),
    ],
)
def test_a_denial_that_could_match_nothing_does_not_load(rule: Denial, says: str) -> None:
    problem = denial_problem(rule)
    assert problem is not None
    assert says in problem
    with pytest.raises(CaseError, match=r"cluster\.forbidden\[1\]"):
        check_denials([Denial(kind="pods"), rule])


def test_a_sound_denial_loads() -> None:
    check_denials(
        [Denial(kind="pods", namespace="shop", subresource="log"), Denial(kind="events"), Denial(kind="nodes")]
    )
