"""Coverage-guided fuzzing of the log reader. Run by hand where `atheris` is installed beside this project's packages:

python -m tests.fuzz.atheris_reader [-max_total_time=180] [CORPUS]

The input is the raw lines of a log before compression: the reader's own work begins behind zstd.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["schemas", "replay"]):
    import zstandard

    from replay.fold import fold
    from replay.reader import RunReader
    from schemas.errors import LogError

LOG = Path(tempfile.mkdtemp()) / "all-well-r1.jsonl.zst"
COMPRESSOR = zstandard.ZstdCompressor(level=1)


def one(data: bytes) -> None:
    """A log of these lines: only `LogError` may come out, and a run is whole for a grader only if it is for the reader.

    Of an interrupted log a fold leaves lines unread that a grader does not need; nothing is graded of it.
    """
    LOG.write_bytes(COMPRESSOR.compress(data))
    reader = RunReader(LOG)
    for _ in reader:
        pass
    assert reader.end is not None
    try:
        run = fold(LOG)
    except LogError:
        return
    assert run.status is None or reader.end.state == "complete"


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
