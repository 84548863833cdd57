"""Parts of a request that are nested deeply: what was recorded must read wherever the reader stands on the stack."""

import sys
from collections.abc import Callable
from typing import TypeVar

import pytest

from recorder.transport.ledger import RequestLedger
from recorder.transport.secret import Scrubber
from schemas import codec
from schemas.events import Event
from schemas.requests import rebuild, split

Found = TypeVar("Found")


def recorded(body: bytes) -> list[Event]:
    events: list[Event] = []
    RequestLedger(events.append).open(
        body, dialect="ollama", method="POST", url="/", stream=True, turn=1, iteration=1, attempt=1,
        scrubber=Scrubber(None),
    )  # fmt: skip
    return events


def below(frames: int, work: Callable[[], Found]) -> Found:
    """What `work` gives when it is called so far down the stack."""
    return work() if not frames else below(frames - 1, work)


@pytest.mark.parametrize("levels", [100, 255, 256, 900, 985, 992])
@pytest.mark.parametrize(
    "body",
    [b'{"messages":[{"role":"tool","x":@}]}', b'{"messages":[1],"tools":@}', b'{"options":@,"messages":[1]}'],
)
def test_a_request_that_was_recorded_reads_far_down_the_stack(body: bytes, levels: int) -> None:
    nested = body.replace(b"@", b"[" * levels + b"]" * levels)
    lines = [codec.encode(event, seq, 0.0) for seq, event in enumerate(recorded(nested))]
    room = sys.getrecursionlimit() // 3
    assert [type(event) for event in below(room, lambda: [codec.decode(line) for line in lines])] == [
        type(event) for event in recorded(nested)
    ]


def test_brackets_inside_texts_and_beside_each_other_are_no_nesting() -> None:
    flat = b'{"messages":[{"content":"%b \\" %b"},[%b]]}' % (b"[{" * 400, b"[" * 400, b",".join([b"[]"] * 400))
    parts = split(flat)
    assert parts is not None
    assert rebuild(parts.rest, parts.messages, parts.tools, parts.separator) == flat
