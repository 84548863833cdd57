"""Small files that come to a lot once they are decompressed: refused in little memory and in work that is linear."""

import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from replay.seal.salvage import frames_in
from replay.seal.sealing import seal
from replay.verify import verify
from schemas.digest import sha256_hex
from schemas.sealed import EVENTS, INDEX, Frame, SealedRun, build_index, encode_index
from tests.faults.test_sizes import MB, recorded
from tests.fuzz.counting import grows_evenly
from tests.seal.campaigns import noise, raw

PEAK_KIB = 170 << 10
"""Python and DuckDB with all that a command loads take half of it."""
MEASURED = """
import sys
from pathlib import Path
from replay.cli import cli
try:
    cli(sys.argv[1:], standalone_mode=False)
except Exception as error:
    print(error)
(peak,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(peak)
"""
START = b'{"type":"run_started",'


def told_and_peak(*command: str) -> tuple[str, int]:
    """What a command prints, and the most memory that it had, in KiB."""
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, check=True)
    told, _, peak = done.stdout.strip().rpartition("\n")
    return told + done.stderr, int(peak)


def packed(begin: bytes, byte: bytes, count: int) -> bytes:
    """A frame as the seal writes them, of some bytes and then one byte over and over."""
    piece = byte * (1 << 20)
    stream = zstandard.ZstdCompressor(level=3, write_checksum=True).compressobj(size=len(begin) + count)
    pieces = [stream.compress(begin), *(stream.compress(piece[: count - at]) for at in range(0, count, len(piece)))]
    return b"".join(pieces) + stream.flush()


def sealed_bomb(directory: Path, begin: bytes, byte: bytes, count: int) -> Path:
    """A sealed campaign whose index says of a bomb what it is."""
    frame = packed(begin, byte, count)
    run = SealedRun(run_id="case-r1-abc", offset=0, length=len(begin) + count)
    entry = Frame(offset=0, size=len(frame), raw_size=run.length, sha256=sha256_hex(frame), runs=(run,), files="cd" * 8)
    index = build_index("c-abc", [entry], file_bytes=len(frame), level=3, zstd="1.5.7")
    directory.mkdir()
    (directory / EVENTS).write_bytes(frame)
    (directory / INDEX).write_bytes(encode_index(index))
    return directory


@pytest.mark.parametrize("command", ["verify", "ls", "regrade"])
def test_a_log_of_6_kb_that_holds_200_mib_of_empty_lines_is_refused_in_little_memory(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    log = tmp_path / "runs" / "case-r1-abc.jsonl.zst"
    log.write_bytes(packed(b"", b"\n", 200 << 20))
    assert log.stat().st_size < 8_000
    told, peak = told_and_peak(command, str(tmp_path))
    assert "corrupt" in told
    assert peak < PEAK_KIB


@pytest.mark.parametrize(("begin", "byte"), [(b"", b"\n"), (START, b"x"), (START + b"\n", b"\n")])
def test_a_sealed_file_of_20_kb_that_holds_600_mib_is_refused_in_little_memory(
    begin: bytes, byte: bytes, tmp_path: Path
) -> None:
    directory = sealed_bomb(tmp_path / "c", begin, byte, 600 << 20)
    told, peak = told_and_peak("verify", str(directory))
    assert "corrupt" in told
    # A line may have 256 MiB and is joined from its pieces; lines are not held.
    assert peak < PEAK_KIB + (300 << 10 if byte == b"x" else 0)


def test_a_sealed_file_that_claims_a_gibibyte_is_recovered_in_little_memory(tmp_path: Path) -> None:
    directory = sealed_bomb(tmp_path / "c", START + b"\n", b"\n", 1 << 30)
    told, peak = told_and_peak("recover", str(directory))
    assert "case-r1-abc" not in [path.name for path in (directory / "runs").iterdir()]
    assert f"the original is kept as {EVENTS}.damaged" in told
    assert peak < PEAK_KIB


def test_a_run_far_larger_than_memory_shall_be_is_verified_and_recovered_in_little(tmp_path: Path) -> None:
    recorded(tmp_path, [noise(number % 2, MB) for number in range(80)])
    before = raw(tmp_path)
    seal(tmp_path, level=-5)
    told, peak = told_and_peak("verify", str(tmp_path))
    assert "1 complete" in told
    assert peak < PEAK_KIB
    (tmp_path / INDEX).unlink()
    packed_bytes = (tmp_path / EVENTS).stat().st_size
    told, peak = told_and_peak("recover", str(tmp_path))
    # The sealed file is mapped; what is read of it counts as the process's own.
    assert peak < PEAK_KIB + (packed_bytes >> 10)
    assert raw(tmp_path) == before
    assert [check.state for check in verify(tmp_path)] == ["complete"]


def nested(size: int) -> bytes:
    """Frames inside one another: each is one raw block that holds the next one, and breaks off with the file."""
    made = b""
    while len(made) < size:
        inside = START + made
        head = b"\x28\xb5\x2f\xfd\xe4" + (1 << 20).to_bytes(8, "little")
        made = head + (len(inside) + 1 << 3).to_bytes(3, "little") + inside
    return made


def test_frames_that_are_nested_in_one_another_are_looked_for_in_work_that_follows_the_size(tmp_path: Path) -> None:
    files = {size: tmp_path / str(size) for size in (20_000, 80_000)}
    for size, file in files.items():
        file.write_bytes(nested(size))
    assert len(list(frames_in(files[20_000]))) > 1
    assert grows_evenly(lambda size: list(frames_in(files[size])), 20_000)
