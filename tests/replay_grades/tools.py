"""What the tests of grades do again and again."""

import hashlib
from pathlib import Path
from typing import Any

import duckdb
import zstandard

from replay.graders import load
from replay.regrade import Options, Regraded, regrade

PASS_ALL = """
def mine(run, rubric):
    return Verdict(verdict="pass", reason="success", outcome="success")
"""
FAIL_ALL = """
VERSION = {version}
def mine(run, rubric):
    return Verdict(verdict="fail", reason="misdiagnosis", outcome="failure")
"""


def run_regrade(campaign: Path, grader: str = "claims", **options: Any) -> Regraded:
    """Regrade with a reference."""
    return regrade(campaign, load(grader), Options(**options))


def rows(campaign: Path, query: str) -> list[tuple[Any, ...]]:
    """A query over all grade files of a campaign, as `grades`."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW grades AS FROM read_parquet('{campaign}/grades/*.parquet', filename = true)")
        return connection.execute(query).fetchall()


def digests(directory: Path) -> dict[str, str]:
    """Every file below a directory with the digest of its bytes."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def raw(log: Path) -> bytes:
    """The raw bytes of a whole log."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(log.read_bytes())


def pack(log: Path, data: bytes) -> None:
    """Make a log of raw bytes."""
    log.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(data))


def reclosed(lines: list[bytes]) -> bytes:
    """Lines of a log with `seq`, count and closing digest made right again, as a careful forger would."""
    import json

    done = b""
    for seq, line in enumerate(lines):
        event = json.loads(line)
        event["seq"] = seq
        if event["type"] == "run_finished":
            event["sha256"] = hashlib.sha256(done).hexdigest()
            event["events"] = seq + 1
        done += json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    return done
