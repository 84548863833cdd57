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
    """A log of these lines: only `LogError` may come out, and a fold must not trust what the reader does not."""
    LOG.write_bytes(COMPRESSOR.compress(data))
    reader = RunReader(LOG)
    for _ in reader:
        pass
    assert reader.end is not None
    try:
        fold(LOG)
    except LogError:
        return
    assert reader.end.state != "corrupt"


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
