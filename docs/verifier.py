"""Check a published campaign with nothing but Python and zstd: python verifier.py DIRECTORY...

A DIRECTORY holds SHA256SUMS, events.jsonl.zst, events.index.json and campaign.json. Checked are every file against
SHA256SUMS, the chain of frames in the index, every frame, the order of events in every run, and the digest that closes
each run. Exit 0 if all of it holds, 1 if not, with one line for each problem. Grades are not computed again; that takes
korvid-replay verify. Needs Python 3.14, or an older one with the package zstandard.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

try:
    from compression.zstd import ZstdError, decompress
except ImportError:
    try:
        import zstandard
        from zstandard import ZstdError
    except ImportError:
        sys.stderr.write("error: nothing here can read zstd; pip install zstandard, or use Python 3.14 or later\n")
        sys.exit(2)

    def decompress(data: bytes) -> bytes:
        frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        raw = frame.decompress(data)
        if not frame.eof or frame.unused_data:
            raise ValueError("is not one whole zstd frame")
        return raw


INDEX = "events.index.json"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def compact(value: list) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def check_sums(directory: Path) -> Iterator[str]:
    """Every file of the directory against SHA256SUMS."""
    listed = set()
    for line in (directory / "SHA256SUMS").read_bytes().decode().split("\n")[:-1]:
        found = re.fullmatch(r"([0-9a-f]{64})  ([^\n]+)", line)
        if not found or ".." in found[2].split("/") or found[2][0] == "/" or not found[2].isprintable():
            yield f"SHA256SUMS: not a digest and the name of a file: {line!r}"
            continue
        path = directory / found[2]
        listed.add(path)
        if not path.is_file():
            yield f"{found[2]}: is missing"
        elif sha256(path.read_bytes()) != found[1]:
            yield f"{found[2]}: does not have the SHA-256 that SHA256SUMS says; one of the two was changed"
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path not in listed and path.name != "SHA256SUMS":
            yield f"{path.relative_to(directory)}: SHA256SUMS does not name it"


def check_chain(index: dict, campaign_id: str) -> Iterator[str]:
    """The chain that binds the frames to each other and to the campaign."""
    if index["campaign_id"] != campaign_id:
        yield f"{INDEX}: of campaign {index['campaign_id']}, campaign.json is of {campaign_id}"
    head = [value for name, value in index.items() if name not in ("chain", "frames")]
    chain = sha256(b"korvid sealed campaign\n" + compact(head))
    for row in index["frames"]:
        chain = sha256(chain.encode() + compact(row))
    if index["chain"] != chain:
        yield f"{INDEX}: the chain breaks: it does not end where the index says"


def runs_of(index: dict, columns: list) -> list[tuple[str, int, dict]]:
    """Id, length and what is not ordinary of each run of a frame, in each of the three formats."""
    if index["schema_version"] not in (1, 2, 3):
        raise ValueError(f"{INDEX} has format {index['schema_version']}, and this reads 1, 2 and 3")
    if index["schema_version"] < 3:
        return [(run_id, length, (other or [None])[0] or {}) for run_id, length, *other in columns[0]]
    ids, lengths, others = [*columns, {}][:3]
    return [(i + index["id_suffix"], length, others.get(i, {})) for i, length in zip(ids, lengths, strict=True)]


def check_frames(index: dict, events: bytes, campaign_id: str) -> Iterator[str]:
    """Every frame behind the one before it, with the digest that the index says, and every run in it."""
    at, seen = 0, set()
    for size, digest, _, *columns in index["frames"]:
        where, packed = f"events.jsonl.zst: the frame at byte {at}", events[at : at + size]
        at += size
        if len(packed) != size:
            yield f"{where} is cut off"
            return
        if sha256(packed) != digest:
            yield f"{where} does not have the SHA-256 that the index says"
            continue
        raw, inside = decompress(packed), 0
        for run_id, length, other in runs_of(index, columns):
            if run_id in seen:
                yield f"{where}: run {run_id} is there twice"
            seen.add(run_id)
            part, inside = raw[inside : inside + length], inside + length
            if problem := run_problem(part, run_id, other, campaign_id):
                yield f"{where}: run {run_id}: {problem}"
        if inside != len(raw):
            yield f"{where} holds {len(raw)} bytes, its runs {inside}"
    if at != len(events):
        yield f"events.jsonl.zst: has {len(events)} bytes, its frames {at}"


def run_problem(raw: bytes, run_id: str, other: dict, campaign_id: str) -> str | None:
    """What is wrong with the lines of one run: `run_started`, events without a gap, `run_finished` with the digest."""
    digest, closed = hashlib.sha256(), False
    for number, line in enumerate(re.findall(rb"[^\n]*\n|[^\n]+$", raw)):
        event = json.loads(line)
        if closed or event["seq"] != number:
            return f"event {number} is not the next one"
        if (number == 0) != (event["type"] == "run_started"):
            return "does not begin with run_started, or holds a second one"
        if number == 0 and (event["run_id"], event["campaign_id"]) != (run_id, campaign_id):
            return f"is the log of run {event['run_id']} of campaign {event['campaign_id']}"
        if event["type"] == "run_finished":
            closed = True
            if event["sha256"] != digest.hexdigest() or event["events"] != number + 1:
                return "run_finished does not have the digest and count of what comes before it"
        digest.update(line)
    return None if closed == (other.get("state", "complete") == "complete") else "its end is not what the index says"


def check(directory: Path) -> Iterator[str]:
    """Everything that does not hold of one published directory."""
    try:
        yield from check_sums(directory)
        campaign_id = json.loads((directory / "campaign.json").read_bytes())["campaign_id"]
        index = json.loads((directory / INDEX).read_bytes())
        yield from check_chain(index, campaign_id)
        yield from check_frames(index, (directory / "events.jsonl.zst").read_bytes(), campaign_id)
    except OSError as error:
        yield f"{error.filename}: {error.strerror}"
    except (ValueError, KeyError, TypeError, ZstdError) as error:
        yield f"cannot be read any further: {type(error).__name__}: {error}"


def main(directories: list[str]) -> int:
    """Check each directory; the number to exit with."""
    if not directories:
        sys.stdout.write(__doc__)
        return 2
    bad = 0
    for name in directories:
        problems = list(check(Path(name)))
        bad += bool(problems)
        lines = [f"{name}: {'does not hold' if problems else 'holds'}", *(f"  {problem}" for problem in problems)]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
