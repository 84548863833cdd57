"""Baseline agents: they need no model, are played through the scripted server, and calibrate the instrument.

The oracle plays the right calls and a right answer and must do perfectly; a constant agent says the same whatever it is
asked and must not do well. Each is an ordinary run in the log.
"""

from collections.abc import Callable

from recorder.scripted import Call, Reply
from schemas.cases import Case, Evidence

_OOM = "The container was OOMKilled: it ran out of memory, hit its memory limit and exited with code 137."
_HEALTHY = "Everything is healthy: there are no issues, all replicas are available and running normally."


def oracle(case: Case, armed: tuple[str, ...]) -> list[Reply]:
    """For each turn: one call for each evidence group by an armed tool, then the first answer pinned as passing."""
    replies = []
    for turn, pins in zip(case.rubric.turns, case.pins, strict=True):
        for location in _locations(turn.expected_evidence, armed):
            call = Call(name=location.tool, arguments=location.args)
            replies.append(Reply(tool_calls=(call,)))
        replies.append(Reply(text=pins.passing[0]))
    return replies


def _locations(groups: tuple[tuple[Evidence, ...], ...], armed: tuple[str, ...]) -> list[Evidence]:
    """The first armed location of each group, each distinct call once."""
    chosen: list[Evidence] = []
    for group in groups:
        location = next((place for place in group if place.tool in armed), None)
        if location and not any((seen.tool, seen.args) == (location.tool, location.args) for seen in chosen):
            chosen.append(location)
    return chosen


def _constant(text: str) -> Callable[[Case, tuple[str, ...]], list[Reply]]:
    return lambda case, armed: [Reply(text=text) for _ in case.rubric.turns]


def _echo(case: Case, armed: tuple[str, ...]) -> list[Reply]:
    return [Reply(text=turn.user) for turn in case.stimulus.turns]


BASELINES: dict[str, Callable[[Case, tuple[str, ...]], list[Reply]]] = {
    "oracle": oracle,
    "constant-oom": _constant(_OOM),
    "constant-healthy": _constant(_HEALTHY),
    "silent": _constant(""),
    "echo": _echo,
}
"""By name: the replies that an agent gives over the turns of a case, in order of the requests."""
