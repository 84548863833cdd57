"""A log of any bytes is complete, interrupted or corrupt, or a `LogError`; both ways of reading agree on it."""

from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.fold import WANTED, fold
from replay.reader import RunReader, lines_of
from replay.sound import read_sound
from schemas import codec
from schemas.chain import LineChain
from schemas.errors import LogError
from schemas.sealed import decode_index, encode_index
from tests.fuzz.counting import grows_evenly
from tests.seal.indexes import rechained
from tests.synthetic import Options, generate

RELAXED = settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A sound log."""
    (campaign,) = generate(tmp_path_factory.mktemp("fuzz"), Options(runs=1, raw_kib=2))
    (log,) = (campaign / "runs").iterdir()
    return log.read_bytes()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where the log of one example lies, under the name of the sound one."""
    return tmp_path / "all-well-r1.jsonl.zst"


def judged(log: Path) -> str:
    """What the streaming reader makes of a log; a fold, which takes the quick way, must not trust what it does not."""
    reader = RunReader(log)
    try:
        for _ in reader:
            pass
    except LogError:
        return "refused"
    assert reader.end is not None
    try:
        run = fold(log)
    except LogError:
        return reader.end.state
    assert run.status is None or reader.end.state == "complete"
    assert run.status is None or run.log_sha256 == reader.end.sha256
    return reader.end.state


@RELAXED
@given(data=st.binary(max_size=500))
def test_random_bytes_are_no_complete_log(log: Path, data: bytes) -> None:
    log.write_bytes(data)
    assert judged(log) in ("interrupted", "corrupt", "refused")
    log.write_bytes(zstandard.compress(data))
    assert judged(log) in ("interrupted", "corrupt", "refused")


@RELAXED
@given(data=st.data())
def test_a_changed_log_is_never_complete(log: Path, whole: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(whole) - 1))
    how = data.draw(st.sampled_from(["flip", "cut", "drop", "double", "splice"]))
    changed = {
        "flip": whole[:at] + bytes([whole[at] ^ 1 << data.draw(st.integers(0, 7))]) + whole[at + 1 :],
        "cut": whole[:at],
        "drop": whole[:at] + whole[at + 1 :],
        "double": whole + whole[: at + 1],
        "splice": whole[:at] + data.draw(st.binary(min_size=1, max_size=9)) + whole[at:],
    }[how]
    log.write_bytes(changed)
    state = judged(log)
    if state == "complete":
        # Only what is outside of the content may differ: the reader vouches for the events, not for the wrapping.
        assert zstandard.ZstdDecompressor().decompressobj().decompress(changed) == (
            zstandard.ZstdDecompressor().decompressobj().decompress(whole)
        )


@RELAXED
@given(data=st.data())
def test_changed_lines_under_sound_compression_are_never_complete(log: Path, whole: bytes, data: st.DataObject) -> None:
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(whole)
    lines = raw.splitlines(keepends=True)
    # The digest in the last line is of the lines before it; of itself only count and form are checked.
    at, other = data.draw(st.integers(0, len(lines) - 2)), data.draw(st.integers(0, len(lines) - 1))
    place = data.draw(st.integers(0, len(lines[at]) - 1))
    how = data.draw(st.sampled_from(["swap", "drop", "double", "byte", "text"]))
    if how == "swap":
        lines[at], lines[other] = lines[other], lines[at]
    elif how == "drop":
        del lines[at]
    elif how == "double":
        lines.insert(at, lines[at])
    elif how == "byte":
        lines[at] = lines[at][:place] + bytes([data.draw(st.integers(0, 255))]) + lines[at][place + 1 :]
    else:
        lines[at] = lines[at][:place] + data.draw(st.text(min_size=1, max_size=5)).encode() + lines[at][place:]
    changed = b"".join(lines)
    log.write_bytes(zstandard.compress(changed))
    assert judged(log) != "complete" or changed == raw


@pytest.mark.parametrize(
    "line", [b'{"type":"run_finished","seq":21,"x":1,', b'{"type":"run_finished","seq":21,"t":-1,']
)
def test_an_event_without_a_time_is_refused(log: Path, whole: bytes, line: bytes) -> None:
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(whole)
    *before, last = raw.splitlines(keepends=True)
    assert last.startswith(b'{"type":"run_finished","seq":21,"t":')
    log.write_bytes(zstandard.compress(b"".join(before) + line + last.split(b",", 3)[3]))
    assert judged(log) == "corrupt"
    assert read_sound(log, WANTED) is None


@RELAXED
@given(line=st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)))
def test_a_line_is_an_event_or_a_log_error(line: bytes) -> None:
    for prefix in (b"", b'{"type":"run_started","seq":0,"t":0,', b'{"type":"tool_result","seq":1,"t":0.5,'):
        for read in (codec.decode, LineChain().accept, lambda data: LineChain().accept(data, WANTED), decode_index):
            try:
                read(prefix + line)
            except LogError:
                continue


NAMES = st.text("abcdé-x", min_size=1, max_size=3)
OTHERS: st.SearchStrategy[object] = st.sampled_from(
    [None, None, None, {"state": "interrupted"}, {"closed": False, "tail": "QUJD"}, {}, {"tail": "?"}, []]
)
RUNS = st.lists(st.tuples(NAMES, st.integers(0, 9), OTHERS), min_size=1, max_size=3, unique_by=lambda run: run[0])


def members(version: int, runs: list[tuple[str, int, object]]) -> list[object]:
    """The runs of a frame in about the form of a format: an ordinary one is what has None."""
    if version < 3:
        return [[[name, size, *([] if version == 2 and other is None else [other])] for name, size, other in runs]]
    others = {name: other for name, _, other in runs if other is not None}
    return [[name for name, _, _ in runs], [size for _, size, _ in runs], *([others] if others else [])]


@RELAXED
@given(
    version=st.integers(1, 3),
    suffix=st.sampled_from(["", "", "-x", "-x", "x", None]),
    frames=st.lists(RUNS, min_size=1, max_size=2),
    data=st.data(),
)
def test_an_index_of_any_rows_is_written_again_as_it_lay_or_a_log_error(
    version: int, suffix: str | None, frames: list[list[tuple[str, int, object]]], data: st.DataObject
) -> None:
    suffix = suffix if version == 3 or data.draw(st.integers(0, 9)) == 9 else None
    form = data.draw(st.sampled_from([version] * 9 + [1, 2, 3]))
    rows = [[size, "ab", "cd", *members(form, runs)] for size, runs in enumerate(frames, 1)]
    if data.draw(st.integers(0, 3)) == 3:
        row = data.draw(st.sampled_from(rows))
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(st.sampled_from([None, 1, "a", [], [1], ["a"], {}]))
    head: dict[str, object] = {"schema_version": version, "campaign_id": "c", "file_bytes": 1, "level": 3, "zstd": "1"}
    head |= {} if suffix is None else {"id_suffix": suffix}
    written = rechained(msgspec.json.encode(head | {"chain": "CHAIN", "frames": rows}) + b"\n")
    try:
        index = decode_index(written)
    except LogError:
        return
    assert encode_index(index) == written
    assert index.schema_version == version


@given(st.lists(st.binary(max_size=20), max_size=30))
def test_lines_are_those_of_the_whole_however_it_is_cut(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    assert b"".join(lines_of(pieces)) == whole
    assert list(lines_of(pieces)) == list(lines_of([whole]))


def test_a_line_in_many_pieces_costs_no_more_than_their_number() -> None:
    assert grows_evenly(lambda size: list(lines_of([b"x" * 10] * size + [b"\n"])), 200)
