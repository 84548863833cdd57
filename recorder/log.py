"""The log writer: one run, one file, one zstd stream.

Every `append` compresses one line, flushes the block and hands it to the operating system before it returns: what was
acknowledged survives `kill -9`. Whether it also survives a power cut is the durability policy: fsync after each
`event`, each `turn` (also at the end of the run) or only at the end of the `run`. After a failed write the log takes no
more events, because the next one would be glued to a torn record.
"""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import zstandard

from recorder.transport.secret import is_secret
from schemas import codec
from schemas.errors import LogError
from schemas.events import KINDS, Event, RunFinished, RunStatus, TurnFinished

Durability = Literal["event", "turn", "run"]
REDACTED = b"[redacted]"

_LEVEL = 3
_SYNCED: dict[Durability, tuple[type[Event], ...]] = {"event": KINDS, "turn": (TurnFinished,), "run": ()}
"""The events after which the log is made durable."""


class RunLog:
    """The log of one run. `secrets` are keys that never reach the file; `clock` gives monotonic seconds.

    Raises `LogError` naming the file where it exists already or cannot be written.
    """

    def __init__(
        self,
        path: Path,
        *,
        durability: Durability = "turn",
        secrets: tuple[str, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.events = 0
        self.raw_bytes = 0
        self._synced = _SYNCED[durability]
        self._secrets = tuple(_as_json(secret) for secret in secrets if is_secret(secret))
        self._clock = clock
        self._start = clock()
        self._digest = hashlib.sha256()
        self._stream = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compressobj()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise LogError(f"{path}: cannot create the log: {error.strerror}") from None
        self._open = True
        try:
            sync_directory(path.parent)
        except OSError as error:
            self.close()
            raise LogError(f"{path}: cannot make the log durable: {error.strerror}") from None

    def elapsed(self) -> float:
        """Seconds since the log was opened."""
        return self._clock() - self._start

    def append(self, event: Event) -> int:
        """Write one event and return its `seq`. Raises `LogError` if it cannot be written; nothing follows then."""
        line = codec.encode(event, self.events, self.elapsed())
        for secret in self._secrets:
            line = line.replace(secret, REDACTED)
        self._write(self._stream.compress(line) + self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
        if isinstance(event, self._synced):
            self._sync()
        self._digest.update(line)
        self.raw_bytes += len(line)
        self.events += 1
        return self.events - 1

    def finish(self, status: RunStatus, *, reason: str | None = None, harness_cpu_s: float | None = None) -> None:
        """Write `run_finished` with the digest of all before it, and close the file durably."""
        self.append(
            RunFinished(
                status=status,
                sha256=self._digest.hexdigest(),
                events=self.events + 1,
                duration_s=round(self.elapsed(), 6),
                reason=reason,
                harness_cpu_s=harness_cpu_s,
            )
        )
        self._write(self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH))
        self._sync()
        self.close()

    def close(self) -> None:
        """Close the file as it is. Without `finish` the log stays interrupted. Closing twice is harmless."""
        if self._open:
            self._open = False
            os.close(self._file)

    def _write(self, data: bytes) -> None:
        if not self._open:
            raise LogError(f"{self.path}: the log is closed")
        try:
            written = os.write(self._file, data)
            while written < len(data):
                written += os.write(self._file, memoryview(data)[written:])
        except OSError as error:
            self.close()
            raise LogError(
                f"{self.path}: cannot write event {self.events}: {error.strerror}; "
                "the events before it are safe, free space and resume the campaign"
            ) from None

    def _sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            self.close()
            raise LogError(
                f"{self.path}: cannot make event {self.events} durable: {error.strerror}; resume the campaign"
            ) from None


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _as_json(secret: str) -> bytes:
    """A text as it would stand inside a JSON string."""
    return codec.encode_text(secret)[1:-1]
