"""Bytes a run: ours live and sealed, Inspect's `.eval`, JSON with gzip, and a tar of JSON under zstd -19.

`python -m tests.benchmarks.sizes [--size 75]`. Twice: 25 cases three times over, as campaigns are (repetitions read the
same fixture and word their answers anew), and unique text throughout. The plain forms are given both what our log holds
(every event) and the bare transcript (the messages and the tools, once).
"""

import argparse
import gzip
import io
import json
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import zstandard

from replay.reader import read_all, whole_lines
from replay.seal.sealing import seal
from schemas.events import Message, Toolset
from schemas.sealed import EVENTS, INDEX, SUMS
from tests.benchmarks import measure, workload
from tests.benchmarks.mock_model import scripts
from tests.benchmarks.record import inspect, record

CASES = 25


def transcript(log: Path) -> bytes:
    """The conversation of a run as one JSON document: each message and the tools, once."""
    events = [found.event for found in read_all(log)[0]]
    messages = [json.loads(bytes(event.message)) for event in events if isinstance(event, Message)]
    tools = [json.loads(bytes(event.tools)) for event in events if isinstance(event, Toolset)]
    return json.dumps({"messages": messages, "tools": tools}, ensure_ascii=False).encode()


def plain(documents: list[bytes]) -> tuple[int, int]:
    """Bytes of the documents, each under gzip by itself, and all in a tar under zstd at level 19."""
    zipped = sum(len(gzip.compress(document)) for document in documents)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for number, document in enumerate(documents):
            member = tarfile.TarInfo(f"{number:06d}.json")
            member.size = len(document)
            tar.addfile(member, io.BytesIO(document))
    return zipped, len(zstandard.ZstdCompressor(level=19).compress(buffer.getvalue()))


def of_workload(size: int, cases: int, stream: bool, their_bytes: int) -> dict[str, Any]:
    """Bytes a run of every form."""
    with tempfile.TemporaryDirectory() as scratch:
        campaign = Path(scratch) / "bench"
        conversations = scripts(workload.load(cases), size, stream=stream)
        logs = record(conversations, campaign, stream=stream, cases=cases)
        events = [b"".join(whole_lines(log)) for log in logs]
        transcripts = [transcript(log) for log in logs]
        manifest = {"schema_version": 1, "campaign_id": "bench"}
        (campaign / "campaign.json").write_text(json.dumps(manifest))
        live = sum(log.stat().st_size for log in logs)
        seal(campaign)
        frames = (campaign / EVENTS).stat().st_size
        kept = sum((campaign / name).stat().st_size for name in (EVENTS, INDEX, SUMS))
    gzip_events, tar_events = plain(events)
    gzip_transcripts, tar_transcripts = plain(transcripts)
    found = {
        "raw": sum(map(len, events)),
        "live": live,
        "sealed_frames": frames,
        "sealed_with_index": kept,
        "inspect_eval": their_bytes,
        "gzip_of_events": gzip_events,
        "tar_zstd19_of_events": tar_events,
        "gzip_of_transcripts": gzip_transcripts,
        "tar_zstd19_of_transcripts": tar_transcripts,
    }
    by_run: dict[str, Any] = {name: value / size for name, value in found.items()}
    return by_run | {
        "sealed_over_inspect": kept / their_bytes,
        "sealed_over_tar_zstd19": kept / tar_events,
        "sealed_frames_over_tar_zstd19": frames / tar_events,
    }


def eval_bytes(size: int, cases: int) -> int:
    """Bytes of Inspect's log of the same conversations. Raises `workload.Missing`."""
    with tempfile.TemporaryDirectory() as scratch:
        found = inspect("run", "--runs", size, "--cases", cases, "--log-dir", scratch)
    return int(found.printed["bytes"])


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sizes", description=__doc__)
    parser.add_argument("--size", type=int, default=75)
    parser.add_argument("--inspect-bytes", type=int, nargs=2, help="measured before: of the cases, of unique text")
    args = parser.parse_args()
    theirs = args.inspect_bytes or [eval_bytes(args.size, CASES), eval_bytes(args.size, 0)]
    figures: dict[str, Any] = {"runs": args.size, "most_asked": {"cases_over_inspect": 0.25, "unique_over_tar": 1.0}}
    for name, cases, their_bytes in (("cases", CASES, theirs[0]), ("unique", 0, theirs[1])):
        figures[name] = of_workload(args.size, cases, False, their_bytes)
        figures[f"{name}_streamed"] = of_workload(args.size, cases, True, their_bytes)
    measure.save("sizes", figures)


if __name__ == "__main__":
    main()
