"""Small recorded runs for the pins."""

from typing import Any

import msgspec

from schemas.cases import Evidence, Rubric, RubricTurn
from schemas.recorded import RecordedCall, RecordedRun, RecordedTurn
from schemas.verdicts import Verdict

Groups = tuple[tuple[str, ...], ...]


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded run, what is read off its verdict (see `read`), and what that must be."""

    name: str
    run: RecordedRun
    reads: str
    right: Any


def read(verdict: Verdict, reads: str) -> Any:
    """A field of a verdict, or of its first turn's citations (`citations.precision`)."""
    if reads.startswith("citations."):
        return getattr(verdict.turns[0].citations, reads.removeprefix("citations."))
    return getattr(verdict, reads)


def call(tool: str, args: dict[str, Any] | None, shown: str = "text", number: int = 1, **fields: Any) -> RecordedCall:
    """One executed call with its result; `fields` override what a successful read would have."""
    plain: dict[str, Any] = {"disposition": "executed", "ok": True, "arguments_raw": "", **fields}
    return RecordedCall(call=number, tool=tool, arguments=args, shown=shown, **plain)


def recorded(
    answer: str, rubric: RubricTurn, calls: tuple[RecordedCall, ...] = (), root_cause: str = "fault", **fields: Any
) -> RecordedRun:
    """A run of one answered turn."""
    turn = RecordedTurn(turn=1, user="what is wrong?", answer=answer, outcome="answered", calls=calls, iterations=1)
    plain: dict[str, Any] = {"case_kind": "scenario", "status": "completed", "turns": (turn,), **fields}
    return RecordedRun(
        campaign_id="pins",
        run_id="pin",
        case_id="pin",
        repetition=1,
        arm="",
        agent="model",
        model="pinned",
        stimulus_sha256="",
        rubric_sha256="",
        log_sha256="",
        rubric=Rubric(root_cause=root_cause, turns=(rubric,)),
        armed_tools=(),
        **plain,
    )


def claim(
    name: str,
    answer: str,
    right: bool,
    required: Groups = (),
    forbidden: Groups = (),
    symptom: Groups = (),
    control: bool = False,
) -> Pin:
    """A pin on whether the claims of an answer hold."""
    rubric = RubricTurn(must_mention=required, must_not_mention=forbidden, symptom=symptom)
    run = recorded(answer, rubric, root_cause="none" if control else "fault")
    return Pin(name=name, run=run, reads="diagnosis_success", right=right)


def fetched(name: str, location: Evidence, made: RecordedCall, right: bool) -> Pin:
    """A pin on whether one call meets one evidence location."""
    rubric = RubricTurn(must_mention=(), expected_evidence=((location,),))
    return Pin(name=name, run=recorded("done", rubric, (made,)), reads="evidence_fetched", right=right)


def cited(name: str, answer: str, reads: str, right: float | None) -> Pin:
    """A pin on the citations of an answer that had one read to cite."""
    run = recorded(answer, RubricTurn(must_mention=()), (call("get_logs", {"pod": "web-1", "namespace": "shop"}),))
    return Pin(name=name, run=run, reads=f"citations.{reads}", right=right)
