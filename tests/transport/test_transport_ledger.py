import hashlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.transport import RequestLedger, Scrubber, Secret
from recorder.transport.ledger import FLUSH_BYTES, FLUSH_S, ranges
from schemas.events import Message, ModelRequest, WireChunk
from tests.transport.transport_tools import Run

NO_SECRET = Scrubber(None)
KEY = Scrubber(Secret("sk-sesame"))


def leave(ledger: RequestLedger, body: bytes, scrubber: Scrubber = NO_SECRET) -> int:
    return ledger.open(
        body,
        dialect="openai",
        method="POST",
        url="http://h/v1",
        stream=True,
        turn=1,
        iteration=1,
        attempt=1,
        scrubber=scrubber,
    )


def test_a_conversation_costs_a_log_that_grows_linearly():
    def raw_bytes(iterations):
        run = Run()
        messages = []
        for number in range(iterations):
            messages.append({"role": "user", "content": f"{number:04d} " + "x" * 500})
            leave(run.ledger, json.dumps({"messages": messages}).encode())
        return sum(map(len, run.lines))

    assert raw_bytes(100) < 2.1 * raw_bytes(50)


def test_a_trimmed_conversation_is_named_by_ranges_and_rebuilt():
    run = Run()
    bodies = [json.dumps({"messages": m, "n": None}).encode() for m in ([1, 2, 3, 4, 5], [1, 4, 5, 6], [6, 1, 1], [])]
    for body in bodies:
        leave(run.ledger, body)
    assert [r.messages for r in run.of(ModelRequest)] == [
        ((0, 4),),
        ((0, 0), (3, 5)),
        ((5, 5), (0, 0), (0, 0)),
        (),
    ]
    assert run.bodies() == bodies


@given(st.lists(st.integers(0, 9)))
def test_ranges_name_the_same_ids_in_the_same_order(ids):
    assert [n for first, last in ranges(ids) for n in range(first, last + 1)] == ids


@pytest.mark.parametrize(
    ("body", "kept"), [(b'{"messages":[\n1]}', "body"), (b"no JSON", "body"), (b"\xff\xfe", "body_base64")]
)
def test_a_body_that_cannot_be_taken_apart_is_kept_whole(body, kept):
    run = Run()
    leave(run.ledger, body)
    request = run.events[0]
    assert getattr(request, kept)
    assert request.rest is msgspec.UNSET
    assert request.body_sha256 == hashlib.sha256(body).hexdigest()
    if kept == "body":
        assert request.body.encode() == body


def test_pieces_are_written_together_until_time_or_size_is_due():
    run = Run()
    number = leave(run.ledger, b"{}")
    for at in (0.0, 0.1, FLUSH_S - 0.001):
        run.ledger.piece(number, 200, at, b"x")
    assert run.of(WireChunk) == []
    run.ledger.piece(number, 200, FLUSH_S, b"x")
    run.ledger.piece(number, 200, 0.6, b"y" * FLUSH_BYTES)
    run.ledger.piece(number, 200, 0.7, b"")
    run.ledger.piece(number, 200, 0.7, b"z")
    run.ledger.flush(number)
    run.ledger.flush(number)
    assert [[piece.at for piece in chunk.pieces] for chunk in run.of(WireChunk)] == [
        [0.0, 0.1, 0.499, 0.5],
        [0.6],
        [0.7],
    ]


@given(
    st.lists(
        st.sampled_from([b"sk-sesame", b"sk-", b"ses", b"ame", "ü".encode()[:1], "ü".encode()[1:], b"x"]), max_size=12
    ),
    st.lists(st.floats(0, 0.3), min_size=12, max_size=12),
)
def test_pieces_are_recorded_exactly_but_for_the_key_however_it_is_cut(pieces, gaps):
    run = Run()
    number = leave(run.ledger, b"{}", KEY)
    at = 0.0
    for piece, gap in zip(pieces, gaps, strict=False):
        at += gap
        run.ledger.piece(number, 200, at, piece)
    run.ledger.flush(number)
    whole = b"".join(pieces)
    assert run.received(number) == whole.replace(b"sk-sesame", b"[redacted]")


def test_a_key_in_a_body_is_replaced_and_the_digest_stays_that_of_what_left():
    run = Run()
    body = b'{"messages":[{"role":"user","content":"sk-sesame"}]}'
    leave(run.ledger, body, KEY)
    request = run.of(ModelRequest)[0]
    assert request.redacted
    assert request.body_sha256 == hashlib.sha256(body).hexdigest()
    assert b"[redacted]" in bytes(run.of(Message)[0].message)
    assert b"sesame" not in b"".join(run.lines)
