"""The words by which claims are turned down or upheld, in any order: no text of them breaks the grammar."""

from hypothesis import given, settings
from hypothesis import strategies as st

from grading.changes import CHANGES, rules_of
from grading.claims import claim_findings
from schemas.cases import Evidence, RubricTurn

_WORDS = (
    "zero 0 that wrong idea of far from other than except named called no not anything but well below limit to call "
    "blame wrongly misled into the a it is was would be mistake count : , . ; \n | - -- _ . api-1 -canary web -7x .svc "
    "sufficient enough plenty room has for as should least all leaves sign none label: ? first suspected "
    "turned actually real because due fail ready every otherwise containers "
    "save nothing short of little evidence few guess which turned out what should without problems works OOMKilled "
    "memory limit quota 5 0.5 0/3 never and or"
)
TEXTS = st.builds(str.join, st.sampled_from((" ", "", "-")), st.lists(st.sampled_from(_WORDS.split(" ")), max_size=30))
TURN = RubricTurn(
    must_mention=(("memory limit", "OOMKilled"), ("api-1",), ("web",), ("quota",), ("0 restarts", "zero", "_x_", "-")),
    must_not_mention=(("that",), ("zero oom",)),
    expected_evidence=((Evidence(tool="get_resource", args={"name": "web"}),),),
)
NEW = tuple(change.id for change in CHANGES if change.id in {f"R-{number}" for number in range(13, 27)})


@settings(max_examples=400)
@given(TEXTS, st.booleans(), st.sets(st.sampled_from(NEW)))
def test_any_order_of_these_words_is_read(text: str, control: bool, left_out: set[str]) -> None:
    rules = rules_of(changes=frozenset(change.id for change in CHANGES) - left_out)
    for finding in claim_findings(text, TURN, control, rules):
        assert finding.holds is (finding.span is not None)
        assert finding.span is None or text[finding.span.start : finding.span.end] == finding.span.text


@given(st.lists(st.sampled_from(("an image pull error", "a probe failure", "an eviction")), max_size=3))
def test_a_zero_denies_the_faults_of_its_list(others: list[str]) -> None:
    answer = ", ".join(["There were zero OOM kills", *others, "or a quota violation."])
    turn = RubricTurn(must_mention=(), must_not_mention=(("oom",), ("quota",)))
    assert not any(finding.holds for finding in claim_findings(answer, turn, False, rules_of()))
