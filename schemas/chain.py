"""The order of a log's lines, checked one line at a time.

A run is `run_started`, events with gapless `seq`, and `run_finished` with the SHA-256 of all raw bytes before it. The
check is pure: it is fed lines by whoever reads the file (the reader of `replay`, the resume of `recorder`).
"""

import hashlib
import re

from schemas import codec, upcast
from schemas.errors import LogError
from schemas.events import Event, RunFinished, RunStarted, Unknown

_ENVELOPE = re.compile(rb'\{"type":"([a-z_]+)","seq":(0|[1-9][0-9]{0,17}),"t":[0-9]')
"""What a line begins with that need not be decoded to be counted. A number of more digits is left to the decoder."""


class LineChain:
    """Feed it the lines of one run in order; it returns each event or raises `LogError` at the first wrong line.

    `raw_bytes` and `events` count the accepted lines; `started` and `finished` are the first and last event once seen.
    """

    def __init__(self) -> None:
        self.raw_bytes = 0
        self.events = 0
        self.started: RunStarted | None = None
        self.finished: RunFinished | None = None
        self._upcast: upcast.Upcast | None = None
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """The SHA-256 of all raw bytes accepted so far."""
        return self._digest.hexdigest()

    def accept(self, line: bytes, wanted: frozenset[bytes] | None = None) -> Event | Unknown | None:
        """The event of one whole line, newline included. Raises `LogError` if it cannot be the next one.

        With `wanted` (types as bytes; `run_started` and `run_finished` must be among them) a line of another type is
        counted and hashed, not decoded, and None is returned.
        """
        if self.finished is not None:
            raise LogError("an event follows run_finished")
        if self._upcast is None:
            self._upcast = upcast.for_version(upcast.version_of(line))
        current = self._upcast(line)
        event = None if wanted is not None and self._skips(current, wanted) else codec.decode(current)
        if event is not None:
            self._check(event)
        self._digest.update(line)
        self.raw_bytes += len(line)
        self.events += 1
        return event

    def _skips(self, line: bytes, wanted: frozenset[bytes]) -> bool:
        envelope = _ENVELOPE.match(line)
        if envelope is None or envelope[1] in wanted or not line.endswith(b"}\n"):
            return False
        if int(envelope[2]) != self.events:
            raise LogError(f"event number {self.events} is missing: found seq {int(envelope[2])}")
        return self.events > 0

    def _check(self, event: Event | Unknown) -> None:
        if event.seq != self.events:
            raise LogError(f"event number {self.events} is missing: found seq {event.seq}")
        if event.t < 0:
            raise LogError(f"event {event.seq} has no time")
        if (self.events == 0) != isinstance(event, RunStarted):
            raise LogError("the first event is not run_started" if self.events == 0 else "a second run_started")
        if isinstance(event, RunStarted):
            self.started = event
        elif isinstance(event, RunFinished):
            if event.sha256 != self.sha256:
                raise LogError(f"the events before run_finished have SHA-256 {self.sha256}, not {event.sha256}")
            if event.events != self.events + 1:
                raise LogError(f"run_finished counts {event.events} events, the log has {self.events + 1}")
            self.finished = event
