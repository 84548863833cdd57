"""The verifier in docs/ stands alone and finds what is damaged."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from replay.publishing.staging import write_sums
from schemas.sealed import SEALED_VERSION, Frame, build_index, decode_index, encode_index
from tests.data.golden.make import HERE as GOLDEN
from tests.seal.indexes import rechained

VERIFIER = Path(__file__).parents[2] / "docs" / "verifier.py"


def verifier(*directories: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-I", str(VERIFIER), *map(str, directories)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def reindexed(directory: Path, change: Callable[[list[Frame]], list[Frame]]) -> None:
    """An index with other frames whose chain and sums are right again."""
    path = directory / "events.index.json"
    index = decode_index(path.read_bytes())
    made = build_index(
        index.campaign_id, change(list(index.frames)), file_bytes=index.file_bytes, level=index.level, zstd=index.zstd
    )
    path.write_bytes(encode_index(made))
    write_sums(directory)


def test_the_verifier_is_short_and_imports_nothing_of_ours() -> None:
    text = VERIFIER.read_text()
    assert len(text.splitlines()) <= 160
    imported = {
        line.split()[1].split(".")[0] for line in text.splitlines() if line.lstrip().startswith(("import ", "from "))
    }
    assert imported <= {"hashlib", "json", "re", "sys", "collections", "pathlib", "compression", "zstandard"}


def test_a_published_directory_holds(directory: Path) -> None:
    done = verifier(directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{directory}: holds\n", "")


def test_a_sealed_campaign_of_every_format_of_the_index_holds() -> None:
    directories = sorted(GOLDEN.glob("v*/*/sealed-*"))
    assert {path.name for path in directories} == {f"sealed-{number}" for number in range(1, SEALED_VERSION + 1)}
    done = verifier(*directories)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(f"{path}: holds\n" for path in directories)


def rewritten(directory: Path, old: bytes, new: bytes) -> None:
    """An index with another text whose chain and sums are right again."""
    path = directory / "events.index.json"
    data = path.read_bytes()
    assert old in data
    path.write_bytes(rechained(data.replace(old, new)))
    write_sums(directory)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b'"state":"interrupted",', b"", "its end is not what the index says"),
        (b',[16664,', b',[', "cannot be read any further: ValueError"),
        (b'"id_suffix":"-dcdcc9"', b'"id_suffix":"-dcdcc8"', "is the log of run healthy-deployment-r1-dcdcc9 of"),
        (b'"healthy-deployment-r1a2"', b'"healthy-deployment-r1"', "run healthy-deployment-r1-dcdcc9 is there twice"),
        (b'"schema_version":3', b'"schema_version":4', "has format 4, and this reads 1, 2 and 3"),
        (b'"schema_version":3', b'"schema_version":2', "cannot be read any further: "),
    ],
)  # fmt: skip
def test_what_an_index_says_of_its_runs_is_held_against_the_events(
    tmp_path: Path, old: bytes, new: bytes, problem: str
) -> None:
    directory = Path(shutil.copytree(GOLDEN / "v1" / "constant-oom" / "sealed-3", tmp_path / "sealed"))
    rewritten(directory, old, new)
    done = verifier(directory)
    assert (done.returncode, done.stderr) == (1, "")
    assert problem in done.stdout
    assert "the chain breaks" not in done.stdout


def test_without_anything_that_reads_zstd_it_says_what_to_install(directory: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "without.py"
    hidden.write_text(
        "import runpy, sys\n"
        "sys.modules['zstandard'] = sys.modules['compression.zstd'] = None\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    command = [sys.executable, "-I", str(hidden), str(VERIFIER), str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("error: nothing here can read zstd; pip install zstandard, or use Python 3.14 or later\n")


def test_without_a_directory_it_says_how_it_is_used() -> None:
    done = verifier()
    assert done.returncode == 2
    assert "verifier.py DIRECTORY" in done.stdout


@pytest.mark.parametrize(
    "name", ["campaign.json", "events.index.json", "events.jsonl.zst", "scoreboard.md", "SHA256SUMS"]
)
def test_a_flipped_byte_is_found_and_its_file_named(name: str, directory: Path) -> None:
    data = bytearray((directory / name).read_bytes())
    data[len(data) // 2] ^= 4
    (directory / name).write_bytes(data)
    done = verifier(directory)
    assert done.returncode == 1
    assert name in done.stdout.split("does not hold")[1]
    assert "Traceback" not in done.stderr


def test_a_missing_and_an_added_file_are_named(directory: Path) -> None:
    (directory / "events.index.json").unlink()
    (directory / "more.txt").write_text("x")
    done = verifier(directory)
    assert done.returncode == 1
    assert "events.index.json: is missing" in done.stdout
    assert "more.txt" in done.stdout


def test_an_index_whose_chain_breaks_is_found_though_the_sums_are_right(directory: Path) -> None:
    path = directory / "events.index.json"
    index = json.loads(path.read_bytes())
    index["file_bytes"] += 1
    path.write_bytes(json.dumps(index).encode())
    write_sums(directory)
    assert "the chain breaks" in verifier(directory).stdout


def test_events_that_were_changed_and_sealed_again_are_found_by_the_digest_of_the_run(directory: Path) -> None:
    path = directory / "events.jsonl.zst"

    def forged(frames: list[Frame]) -> list[Frame]:
        (frame,) = frames
        raw = zstandard.ZstdDecompressor().decompress(path.read_bytes())
        changed = raw.replace(b'"outcome":"answered"', b'"outcome":"ansvered"', 1)
        assert changed != raw
        packed = zstandard.ZstdCompressor(write_checksum=True, write_content_size=True).compress(changed)
        path.write_bytes(packed)
        return [
            Frame(
                offset=0, size=len(packed), raw_size=frame.raw_size, sha256=hashlib.sha256(packed).hexdigest(),
                runs=frame.runs,
            )
        ]  # fmt: skip

    reindexed(directory, forged)
    done = verifier(directory)
    assert done.returncode == 1
    assert "run_finished does not have the digest" in done.stdout


def test_a_dropped_run_is_found(directory: Path) -> None:
    def fewer(frames: list[Frame]) -> list[Frame]:
        (frame,) = frames
        return [Frame(offset=0, size=frame.size, raw_size=frame.raw_size, sha256=frame.sha256, runs=frame.runs[:-1])]

    reindexed(directory, fewer)
    assert "its runs" in verifier(directory).stdout
