"""Pins of the changes that bind a claim to its subject, and of refusals as evidence."""

from grading.pins.build import Pin, call, fetched, recorded
from schemas.cases import Bound, Evidence, RubricTurn

_LOG = {"pod": "ledger-1", "namespace": "billing"}
_FIRST = Bound(subject=("checkout",), others=("payments",), claim=("first", "start with", "before", "more urgent"))
_CAUSE = Bound(subject=("payments",), others=("checkout",), claim=("unauthorized",))
_STILL = Bound(subject=("old pod", "old one"), others=("new pod", "new one"), claim=("still serves", "still running"))


def _bound(name: str, answer: str, right: bool, *group: Bound) -> Pin:
    """A pin on whether a group of bound claims holds in an answer."""
    rubric = RubricTurn(must_mention=(), bound=(group,))
    return Pin(name=name, run=recorded(answer, rubric), reads="diagnosis_success", right=right)


BOUND: dict[str, tuple[Pin, ...]] = {
    "A-23": (
        _bound(
            "what the new pod does is not said of the old one",
            "The new pod still serves, the old one is gone.",
            False,
            _STILL,
        ),
        _bound(
            "an order told of another object is not the order",
            "Start with payments-1, checkout-1 can follow.",
            False,
            _FIRST,
        ),
        _bound(
            "a cause of no object is of none of them", "payments hangs. checkout crashes: unauthorized.", False, _CAUSE
        ),
    ),
    "A-22": (
        _bound(
            "conceding the right order and then reversing it",
            "checkout-1 first, one would say. But payments-1 is more urgent.",
            False,
            _FIRST,
        ),
        _bound(
            "the right cause, then the same of the wrong object",
            "payments-1 is unauthorized. checkout-1 is unauthorized too.",
            False,
            _CAUSE,
        ),
    ),
    "J-01": (
        fetched(
            "a refusal that was met is evidence of the refusal",
            Evidence(tool="get_logs", args=_LOG, error="forbidden"),
            call("get_logs", _LOG, "ERROR: API 403: pods/log is forbidden", ok=False, error_class="forbidden"),
            right=True,
        ),
    ),
}
