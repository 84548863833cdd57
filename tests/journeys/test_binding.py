"""A claim counts where it is said of the right object, in whatever order; said of the wrong one it fails."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.changes import rules_of
from grading.claims import claim_findings, claims_hold
from schemas.cases import Bound, RubricTurn
from schemas.verdicts import ClaimFinding

ORDER = Bound(
    subject=("checkout", "checkout-1"),
    others=("payments", "payments-1", "search"),
    claim=("first", "start with", "prioritize", "more urgent", "before", "top priority"),
)
LATER = Bound(subject=("payments",), others=("checkout",), claim=("can wait", "less urgent", "second"))
CAUSE = Bound(
    subject=("payments", "payments-1"), others=("checkout", "search"), claim=("unauthorized", "cannot authenticate")
)
STILL = Bound(
    subject=("api-5c2f", "old replicaset"),
    others=("api-7b9d", "new replicaset"),
    claim=("still serves", "still serving"),
)
RULES = rules_of()

ORDERED = [
    "Inspect {0}-1 first.",
    "Inspect **{0}-1** first, then {1}-1.",
    "{0}-1 should be looked at before {1}-1.",
    "Start with {0}; {1} is next.",
    "{1}-1 has a problem too, but {0}-1 is more urgent.",
    "{0} is more urgent than {1}.",
    "Prioritize {0}-1 over {1}-1.",
    "Prioritize {0} instead of the pod {1}-1.",
    "First {0}-1 and then {1}-1.",
    "Of {0}-1 and {1}-1 I would start with {0}-1.",
    "| {1} | pull error |\n| {0} | crash |\n\nStart with {0}.",
    "- {1}-1: ImagePullBackOff\n- {0}-1: CrashLoopBackOff\n\nInspect first:\n**{0}-1**",
    "Don't start with {1}-1; {0}-1 has top priority.",
    "Before you touch {1}-1, look at {0}-1 first.",
]
CAUSED = [
    "{0}-1 is unauthorized.",
    "The registry answers unauthorized when it is asked for the image of {0}-1.",
    "Unauthorized: that is why {0}-1 does not start, while {1}-1 merely crashes.",
    "{1}-1 crashes on its own. {0}-1 cannot authenticate to the registry.",
    "{0}-1 is stuck.\n\n**Cause:** unauthorized\n",
    "It's {0}-1, not {1}-1, that cannot authenticate.",
    "Unlike {1}-1, {0}-1 is unauthorized.",
    "{0}-1 hangs in ImagePullBackOff. Ignore {1}-1 for now.\n\nThe exact cause: unauthorized.",
    "{0}-1 hangs. {1}-1 is healthy. Reason: unauthorized.",
]


def finding(answer: str, *bound: Bound) -> ClaimFinding:
    (found,) = claim_findings(answer, RubricTurn(must_mention=(), bound=(bound,)), False, RULES)
    return found


def holds(answer: str, *bound: Bound) -> bool:
    return claims_hold((finding(answer, *bound),), RULES)


@pytest.mark.parametrize("form", ORDERED)
def test_an_order_is_read_however_it_is_put_and_its_mirror_image_fails(form: str) -> None:
    assert holds(form.format("checkout", "payments"), ORDER)
    assert not holds(form.format("payments", "checkout"), ORDER)


@pytest.mark.parametrize("form", CAUSED)
def test_a_cause_is_read_however_it_is_put_and_its_mirror_image_fails(form: str) -> None:
    assert holds(form.format("payments", "checkout"), CAUSE)
    assert not holds(form.format("checkout", "payments"), CAUSE)


@given(
    st.lists(st.sampled_from(CAUSED[:4] + CAUSED[5:7]), min_size=1, max_size=4), st.sampled_from(["\n\n", " ", "\n- "])
)
def test_right_sentences_stay_right_in_any_number_and_order(forms: list[str], joint: str) -> None:
    sentences = [form.format("payments", "checkout") for form in forms]
    assert holds(joint.join(sentences), CAUSE)


@given(st.sampled_from(CAUSED), st.sampled_from(CAUSED[:4] + CAUSED[5:7]), st.booleans())
def test_a_mirrored_sentence_that_names_its_object_fails_an_answer_wherever_it_stands(
    right: str, wrong: str, first: bool
) -> None:
    pair = [right.format("payments", "checkout"), wrong.format("checkout", "payments")]
    assert not holds("\n\n".join(pair if first else pair[::-1]), CAUSE)


def test_naming_both_without_an_order_is_no_order() -> None:
    assert not holds("checkout-1 crashes and payments-1 cannot pull its image.", ORDER, LATER)


def test_an_alternative_binding_may_say_the_same_from_the_other_side() -> None:
    assert holds("payments-1 can wait.", ORDER, LATER)
    assert not holds("checkout-1 can wait.", ORDER, LATER)


def test_a_claim_that_two_objects_share_is_not_bound_to_one() -> None:
    assert not holds("Both checkout-1 and payments-1 are unauthorized.", CAUSE)


def test_a_claim_of_nothing_is_not_bound() -> None:
    found = finding("The cause: unauthorized.", CAUSE)
    assert (found.holds, found.rejected[0][0]) == (False, "no_subject")


def test_a_denied_claim_is_not_made_of_anything() -> None:
    assert not holds("payments-1 is not unauthorized.", CAUSE)
    assert holds("payments-1 is unauthorized; checkout-1 is not unauthorized.", CAUSE)


def test_a_contrast_without_an_object_of_its_own_mirrors_nothing() -> None:
    answer = "payments-1 is unauthorized. Inspect checkout-1 first, while unauthorized pulls may resolve themselves."
    assert holds(answer, CAUSE)


def test_a_name_is_not_met_by_a_longer_one_of_other_words() -> None:
    assert not holds("paymentsdb is unauthorized.", CAUSE)


def test_a_longer_name_of_the_same_object_is_the_object() -> None:
    assert holds("payments-6d5f8c9b7d-x2k9p is unauthorized.", CAUSE)


def test_an_unexclusive_binding_only_asks_that_it_be_said_of_the_subject() -> None:
    loose = Bound(subject=("payments",), others=("checkout",), claim=("crash", "unauthorized"), exclusive=False)
    assert holds("checkout-1 has a crash. payments-1 is unauthorized.", loose)
    assert not holds("checkout-1 has a crash.", loose)


def test_which_replicaset_serves_is_bound_too() -> None:
    assert holds("The old ReplicaSet api-5c2f still serves, api-7b9d does not start.", STILL)
    assert not holds("api-7b9d still serves, api-5c2f was scaled away.", STILL)


def test_a_finding_says_of_what_it_was_said() -> None:
    found = finding("checkout crashes. payments-1 is unauthorized.", CAUSE)
    assert found.span is not None
    assert found.subject is not None
    assert (found.alternative, found.span.text, found.subject.text) == ("unauthorized", "unauthorized", "payments-1")
    mirrored = finding("checkout-1 is unauthorized.", CAUSE)
    assert mirrored.subject is not None
    assert (mirrored.rejected[0][0], mirrored.subject.text) == ("other_subject", "checkout-1")


@given(st.text(alphabet="checkoutpayments-1 first.,;:\n()|and before than", max_size=200))
def test_any_text_is_read_without_an_error(answer: str) -> None:
    assert finding(answer, ORDER, LATER).role == "bound"
