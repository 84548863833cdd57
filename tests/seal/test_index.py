"""The formats of the index: what each says, that all say the same, and that there is one way to write it."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.campaigns import find_run, logs_in
from replay.reader import read_all
from replay.seal.recovering import recover
from replay.seal.sealing import seal
from replay.seal.unsealing import unseal
from replay.sealed import read_index
from replay.verify import verify
from schemas.errors import LogError
from schemas.sealed import (
    EVENTS,
    INDEX,
    MAX_RUN_ID_BYTES,
    SEALED_VERSION,
    Frame,
    SealedIndex,
    SealedRun,
    build_index,
    common_suffix,
    decode_index,
    encode_index,
    run_id_problem,
)
from tests.data.golden.make import HERE as GOLDEN
from tests.seal.campaigns import files, raw, record
from tests.seal.indexes import in_format, rechained, rewrite

FORMATS = range(1, SEALED_VERSION + 1)
VERIFIER = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "verifier.py"))


def frames(*groups: tuple[SealedRun, ...]) -> list[Frame]:
    """Frames that hold these runs, each placed behind the one before it."""
    made, at = [], 0
    for size, group in enumerate(groups, 10):
        inside, runs = 0, []
        for run in group:
            runs.append(msgspec.structs.replace(run, offset=inside))
            inside += run.length
        made.append(Frame(offset=at, size=size, raw_size=inside, sha256="ab" * 32, runs=tuple(runs), files="cd" * 8))
        at += size
    return made


def index_of(*groups: tuple[SealedRun, ...]) -> SealedIndex:
    return build_index("c-abc", frames(*groups), file_bytes=900, level=3, zstd="1.5.7")


def run(run_id: str, length: int = 100, **other: Any) -> SealedRun:
    return SealedRun(run_id=run_id, offset=0, length=length, **other)


SMALL = index_of(
    (
        run("one-r1-abc"),
        run("one-r2-abc", 200, state="interrupted", closed=False, tail="QUJD", file_sha256="ef" * 8),
        run("one-r3-abc", 300, repacks=False, file_sha256="01" * 8),
    ),
    (run("two-r1-abc", 400),),
)


def test_format_3_writes_columns_and_what_is_not_ordinary_behind_them() -> None:
    text = encode_index(SMALL).decode()
    assert text.replace(SMALL.chain, "CHAIN").replace("ab" * 32, "SHA256") == (
        '{"schema_version":3,"campaign_id":"c-abc","file_bytes":900,"level":3,"zstd":"1.5.7","id_suffix":"-abc",'
        '"chain":"CHAIN","frames":['
        '[10,"SHA256","cdcdcdcdcdcdcdcd",["one-r1","one-r2","one-r3"],[100,200,300],'
        '{"one-r2":{"state":"interrupted","closed":false,"tail":"QUJD","file_sha256":"efefefefefefefef"},'
        '"one-r3":{"repacks":false,"file_sha256":"0101010101010101"}}],'
        '[11,"SHA256","cdcdcdcdcdcdcdcd",["two-r1"],[400]]]}\n'
    )


@pytest.mark.parametrize("version", FORMATS)
def test_every_format_reads_as_the_same_runs_and_is_written_again_as_it_lay(version: int) -> None:
    data = in_format(SMALL, version)
    read = decode_index(data)
    assert read.schema_version == version
    assert read.frames == SMALL.frames
    assert encode_index(read) == data


def golden(version: int) -> list[Path]:
    return sorted(GOLDEN.glob(f"v*/*/sealed-{version}/{INDEX}"))


@pytest.mark.parametrize("version", FORMATS)
def test_the_chain_of_a_golden_campaign_is_that_of_its_rows_as_they_lie(version: int) -> None:
    assert golden(version)
    for path in golden(version):
        data = path.read_bytes()
        assert rechained(data) == data
        newest = path.parents[1] / f"sealed-{SEALED_VERSION}" / INDEX
        assert decode_index(data).frames == decode_index(newest.read_bytes()).frames


@pytest.mark.parametrize("version", FORMATS)
def test_every_byte_that_is_flipped_dropped_or_doubled_refuses_the_index(version: int) -> None:
    data = min((path.read_bytes() for path in golden(version)), key=len)
    for at, byte in enumerate(data):
        wrong = [bytes([byte ^ 1 << bit]) for bit in range(8)] + [b"", bytes([byte, byte])]
        for other in wrong:
            with pytest.raises(LogError, match=r"^index: |^index has schema_version"):
                decode_index(data[:at] + other + data[at + 1 :], "index")


@pytest.mark.parametrize("version", FORMATS)
def test_a_campaign_of_every_format_reads_run_by_run_and_comes_back(sealed: Path, version: int) -> None:
    truth = raw(sealed)
    unseal(sealed)
    plain = files(sealed)
    seal(sealed, level=3)
    rewrite(sealed, version)
    assert read_index(sealed).schema_version == version
    assert len(read_index(sealed).frames) > 2
    assert raw(sealed) == truth
    last = read_index(sealed).frames[-1]
    events = (sealed / EVENTS).read_bytes()
    (sealed / EVENTS).write_bytes(bytes(last.offset) + events[last.offset :])
    assert read_all(find_run(sealed, last.runs[-1].run_id))[1].state == "complete"
    (sealed / EVENTS).write_bytes(events)
    unseal(sealed)
    assert files(sealed) == plain


@pytest.mark.parametrize("version", FORMATS)
def test_a_damaged_campaign_of_every_format_is_recovered(sealed: Path, version: int) -> None:
    truth = raw(sealed)
    rewrite(sealed, version)
    hit = read_index(sealed).frames[1]
    data = bytearray((sealed / EVENTS).read_bytes())
    data[hit.offset + hit.size // 2] ^= 32
    (sealed / EVENTS).write_bytes(data)
    assert sum(check.state == "corrupt" for check in verify(sealed)) > 0
    (gap,) = (loss for loss in recover(sealed).losses if loss.offset is not None)
    assert set(gap.runs) <= {entry.run_id for entry in hit.runs}
    assert raw(sealed) == {name: digest for name, digest in truth.items() if name not in gap.runs}


def replaced(*pairs: str) -> Callable[[str], str]:
    """A change of the index's text: each of `pairs` by the one behind it."""

    def change(text: str) -> str:
        for old, new in zip(pairs[::2], pairs[1::2], strict=True):
            assert old in text
            text = text.replace(old, new)
        return text

    return change


EDITED = "it was edited"
NONE = "not the index of a sealed campaign"
FORGED: dict[str, tuple[Callable[[str], str], str]] = {
    "a shorter suffix": (replaced('"-abc"', '"abc"', '-r1"', '-r1-"', '-r2"', '-r2-"', '-r3"', '-r3-"'), "id_suffix"),
    "no suffix": (replaced('"-abc"', '""', '-r1"', '-r1-abc"', '-r2"', '-r2-abc"', '-r3"', '-r3-abc"'), "id_suffix"),
    "a suffix longer than an id": (replaced('"-abc"', f'"{"-" * 300}"'), "id_suffix is longer than 240 bytes"),
    "a frame larger than a file": (replaced("[10,", "[18446744073709551615,"), NONE),
    "frames larger than a file": (replaced("[10,", "[9223372036854775807,"), "more than a file can have"),
    "a suffix left out": (replaced('"id_suffix":"-abc",', ""), NONE),
    "a length too few": (replaced("[100,200,300]", "[100,200]"), "frame 0 has 3 ids and 2 lengths"),
    "a length too many": (replaced("[400]", "[400,1]"), "frame 1 has 1 ids and 2 lengths"),
    "no columns at all": (replaced('["two-r1"],[400]', "[],[]"), "frame 1 is empty"),
    "an id twice": (replaced('["two-r1"]', '["one-r1"]'), "run one-r1-abc is there twice"),
    "an other of no run": (replaced('{"one-r2":', '{"one-r9":'), "others names 'one-r9', which is no run"),
    "an other by the whole id": (replaced('{"one-r2":', '{"one-r2-abc":'), "which is no run"),
    "an other of another frame": (replaced('{"one-r2":', '{"two-r1":'), "which is no run"),
    "an other that is ordinary": (replaced('{"one-r2":', '{"one-r1":{},"one-r2":'), "others holds nothing of 'one-r1'"),
    "an other of defaults": (
        replaced("[400]]", '[400],{"two-r1":{"state":"complete","repacks":true,"closed":true,"tail":""}}]'),
        "others holds nothing of 'two-r1'",
    ),
    "no others, written": (replaced("[400]]", "[400],{}]"), EDITED),
    "others as null": (replaced("[400]]", "[400],null]"), NONE),
    "a default written out": (replaced('"repacks":false', '"repacks":false,"closed":true'), EDITED),
    "the keys of an other turned": (
        replaced('"closed":false,"tail":"QUJD"', '"tail":"QUJD","closed":false'), EDITED
    ),
    "the keys of an other twice": (replaced('"closed":false', '"closed":true,"closed":false'), EDITED),
    "an other twice": (replaced('{"one-r2":', '{"one-r2":{"tail":"QUJE"},"one-r2":'), EDITED),
    "others in another order": (
        replaced('"one-r2":{', '"A":{', '"one-r3":{', '"one-r2":{', '"A":{', '"one-r3":{'), EDITED
    ),
    "an other that says more": (replaced('"repacks":false', '"repacks":false,"note":"x"'), NONE),
    "a member more in a row": (replaced("[400]]", "[400],{},1]"), NONE),
    "a tail that is no base64": (replaced("QUJD", "QUJ"), "the tail of run one-r2-abc is not base64"),
    "a fraction": (replaced("[400]", "[400.0]"), NONE),
    "a power": (replaced("[400]", "[4e2]"), NONE),
    "a length below one": (replaced("[400]", "[0]"), "run two-r1-abc has 0 raw bytes"),
    "a blank in a row": (replaced("[400]", "[400 ]"), EDITED),
    "a blank between rows": (replaced("}}],[", "}}], ["), EDITED),
    "an escape": (replaced('"two-r1"', '"\\u0074wo-r1"'), EDITED),
    "a version that never was": (replaced('"schema_version":3', '"schema_version":0'), NONE),
    "called format 2": (replaced('"schema_version":3', '"schema_version":2'), NONE),
    "the chain before the suffix": (
        lambda text: f'{{"chain":"{SMALL.chain}",' + text[1:].replace(f'"chain":"{SMALL.chain}",', ""), EDITED
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_an_index_that_is_written_in_another_way_is_refused_though_its_chain_is_right(name: str) -> None:
    change, message = FORGED[name]
    data = encode_index(SMALL)
    forged = rechained(change(data.decode()).encode())
    assert forged != data
    with pytest.raises(LogError, match=message):
        decode_index(forged)


@pytest.mark.parametrize(
    "change",
    [replaced('"two-r1"', '"\\ud83d"'), replaced('"-abc"', '"\\ude00"', '-r1"', '-r1\\ud83d"')],
    ids=["in an id", "one in the suffix, one in the ids"],
)
def test_half_a_surrogate_pair_is_no_text(change: Callable[[str], str]) -> None:
    with pytest.raises(LogError, match=NONE):
        decode_index(change(encode_index(SMALL).decode()).encode())


@pytest.mark.parametrize(
    ("version", "old", "new", "message"),
    [
        (1, ',100,null]', ',100]', EDITED),
        (2, ',100]', ',100,null]', EDITED),
        (2, '"repacks":false', '"repacks":false,"closed":true', EDITED),
        (1, ',100,null]', ',100,{}]', EDITED),
        (2, '"chain"', '"id_suffix":"","chain"', NONE),
        (1, '"schema_version":1', '"schema_version":2', EDITED),
        (2, '"schema_version":2', '"schema_version":1', EDITED),
        (2, '"schema_version":2', '"schema_version":3', NONE),
    ],
)  # fmt: skip
def test_an_index_of_an_older_format_is_refused_so_too(version: int, old: str, new: str, message: str) -> None:
    text = in_format(SMALL, version).decode()
    assert old in text
    with pytest.raises(LogError, match=message):
        decode_index(rechained(text.replace(old, new).encode()))


def test_a_suffix_that_leaves_an_id_empty_is_refused() -> None:
    index = index_of((run("abc"), run("x-abc")))
    text = encode_index(index).decode()
    assert '"id_suffix":"bc"' in text
    assert '["a","x-a"]' in text
    forged = text.replace('"id_suffix":"bc"', '"id_suffix":"abc"').replace('["a","x-a"]', '["","x-"]')
    with pytest.raises(LogError, match="id_suffix is 'abc', and the run ids have 'bc' in common"):
        decode_index(rechained(forged.encode()))


def test_the_only_run_of_a_campaign_keeps_its_id_whole() -> None:
    text = encode_index(index_of((run("one-r1-abc"),))).decode()
    assert '"id_suffix":""' in text
    assert '["one-r1-abc"]' in text
    forged = text.replace('"id_suffix":""', '"id_suffix":"-abc"').replace('["one-r1-abc"]', '["one-r1"]')
    with pytest.raises(LogError, match="id_suffix is '-abc', and the run ids have '' in common"):
        decode_index(rechained(forged.encode()))


@pytest.mark.parametrize(
    ("ids", "suffix"),
    [
        ([], ""),
        (["a-r1-abc"], ""),
        (["a-r1-abc", "b-r1-abc"], "-r1-abc"),
        (["a-r1-abc", "a-r2-abc"], "-abc"),
        (["a-abc", "b-abd"], ""),
        (["abc", "x-abc"], "bc"),
        (["x-abc", "abc", "y-bc"], "bc"),
        (["c", "bc"], ""),
        (["a", "a"], ""),
        (["", "a"], ""),
        (["aé", "bé"], "é"),
    ],
)
def test_the_suffix_is_the_longest_common_end_that_leaves_no_id_empty(ids: list[str], suffix: str) -> None:
    assert common_suffix(ids) == suffix


class Sliced(str):
    """A text that counts the characters that its slices come to."""

    __slots__ = ()
    copied = 0

    def __getitem__(self, key: Any) -> "Sliced":
        part = super().__getitem__(key)
        Sliced.copied += len(part)
        return Sliced(part)


def test_the_suffix_of_long_ids_takes_work_that_follows_their_length() -> None:
    assert common_suffix([Sliced("a" * 20_000), Sliced("b" * 20_000)]) == ""
    assert Sliced.copied < 200_000


@pytest.mark.parametrize("data", [b'{"x":' + b"[" * 200_000, b"[" * 200_000])
def test_an_index_nested_deeper_than_can_be_read_is_none(data: bytes) -> None:
    with pytest.raises(LogError, match=NONE):
        decode_index(data)


LETTERS = st.characters(codec="utf-8") | st.sampled_from('"\\,]ab\u00e9\U0001f600')
IDS = st.lists(
    st.builds(
        str.__add__, st.text(LETTERS, max_size=20), st.sampled_from(["", "-abc", '"]', "é-abc", "x" * 200])
    ).filter(lambda name: run_id_problem(name) is None),
    min_size=1,
    max_size=8,
    unique=True,
)


@given(IDS)
def test_the_suffix_is_the_longest_one_of_any_ids(ids: list[str]) -> None:
    suffix = common_suffix(ids)
    assert all(name.endswith(suffix) and name != suffix for name in ids)
    longer = ids[0][len(ids[0]) - len(suffix) - 1 :]
    assert len(ids) == 1 or not all(name.endswith(longer) and name != longer for name in ids)


@given(ids=IDS, cut=st.integers(1, 8), torn=st.sets(st.integers(0, 7)), version=st.sampled_from(FORMATS))
def test_any_run_ids_come_back_from_every_format_and_the_verifier_reads_the_same(
    ids: list[str], cut: int, torn: set[int], version: int
) -> None:
    other: dict[str, Any] = {"state": "interrupted", "closed": False, "tail": "QUJD", "file_sha256": "ef" * 8}
    runs = [run(name, 1 + number, **(other if number in torn else {})) for number, name in enumerate(ids)]
    index = index_of(*(tuple(runs[at : at + cut]) for at in range(0, len(runs), cut)))
    data = in_format(index, version)
    read = decode_index(data)
    assert read.frames == index.frames
    assert encode_index(read) == data
    plain = msgspec.json.decode(data)
    assert list(VERIFIER["check_chain"](plain, "c-abc")) == []
    seen = [entry for row in plain["frames"] for entry in VERIFIER["runs_of"](plain, row[3:])]
    assert [(name, length, bool(what)) for name, length, what in seen] == [
        (name, 1 + number, number in torn) for number, name in enumerate(ids)
    ]


def test_an_id_of_the_greatest_length_that_others_share_the_end_of_is_kept_whole() -> None:
    longest = "é" * (MAX_RUN_ID_BYTES // 2)
    index = index_of((run(longest), run("x" + longest[1:])))
    assert [entry.run_id for _, entry in decode_index(encode_index(index)).runs()] == [longest, "x" + longest[1:]]


def test_a_campaign_whose_ids_share_nothing_or_hold_quotes_seals_and_reads(tmp_path: Path) -> None:
    directory = tmp_path / "c"
    ids = ['he said "no"', "größe", "x" * MAX_RUN_ID_BYTES, "[1,2]", "plain"]
    for run_id in ids:
        record(directory, run_id, run_id=run_id)
    before = files(directory)
    seal(directory, level=3)
    assert {log.run_id for log in logs_in(directory)} == set(ids)
    assert {check.state for check in verify(directory)} == {"complete"}
    unseal(directory)
    assert files(directory) == before
