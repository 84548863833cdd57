"""Importers take any source: it becomes campaigns that verify, or one refusal of ours that leaves nothing behind."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.importing.checksums import check
from replay.importing.conversation import conversation
from replay.importing.facts import Place, facts, known_models, places
from replay.importing.korvid import import_korvid
from replay.importing.reading import result_file
from replay.importing.reports import tallies
from replay.importing.shapes import MAX_DEPTH
from replay.importing.sources import Source, SourceFile, Unit
from replay.sql.session import Session
from replay.sql.views import VIEWS
from tests.fuzz.counting import grows_evenly
from tests.fuzz.importing import META, METADATA, OURS, eval_file, imported, korvid_source, workplace
from tests.importing.conftest import scenario
from tests.importing.test_inspect_logs import HEADER, log, members, sample, zstd_log
from tests.importing.test_korvid_files import lay

RELAXED = settings(max_examples=100)
NUMBERS = st.lists(st.integers(0, 1 << 16), min_size=3, max_size=30)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


@RELAXED
@given(shape=st.integers(0, 2), numbers=NUMBERS)
def test_results_changed_anywhere_become_campaigns_that_verify_or_one_refusal(shape: int, numbers: list[int]) -> None:
    with workplace() as here:
        imported(korvid_source(here / "in", shape, numbers), here / "out")


@RELAXED
@given(ours=st.booleans(), numbers=NUMBERS)
def test_an_inspect_log_changed_anywhere_becomes_a_campaign_that_verifies_or_one_refusal(
    ours: bool, numbers: list[int]
) -> None:
    with workplace() as here:
        said = imported(eval_file(here / "a.eval", ours, numbers), here / "out")
        assert said is None or "a.eval: " in said


@RELAXED
@given(data=st.data())
def test_an_inspect_log_damaged_anywhere_is_refused_or_read_as_it_was(data: st.DataObject) -> None:
    with workplace() as here:
        method = data.draw(st.sampled_from([*METHODS, None]))
        path = here / "a.eval"
        whole = zstd_log(path, members()) if method is None else eval_file(path, False, [], compression=method)
        changed = bytearray(whole.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            at = len(changed) - 1 - data.draw(st.integers(0, 200) | st.integers(0, len(changed) - 1))
            changed[max(at, 0)] = data.draw(st.sampled_from([0, 255, 128]) | st.integers(0, 255))
        path.write_bytes(changed[: data.draw(st.just(len(changed)) | st.integers(0, len(changed)))])
        said = imported(path, here / "out")
        assert said is None or said.startswith(str(path))


@pytest.mark.parametrize(
    "header",
    [{"meta": META | {name: value}} for name in META for value in ("text", 5, ["x"], {"armed": 5, "engine": 5}, None)],
    ids=lambda header: "",
)
def test_what_is_said_of_a_campaign_in_another_shape_counts_as_not_said(tmp_path: Path, header: dict[str, Any]) -> None:
    source = lay(tmp_path / "in", {"tasks.json": header | {"scenarios": [scenario()]}})
    assert imported(source, tmp_path / "out") is None


@pytest.mark.parametrize("name", METADATA)
@pytest.mark.parametrize("value", ["text", 5, [["x"]], {"x": {}}, [None]], ids=str)
def test_metadata_in_another_shape_counts_as_not_said(tmp_path: Path, name: str, value: Any) -> None:
    files = {"tasks.json": [scenario()], "metadata.json": METADATA | {name: value}}
    assert imported(lay(tmp_path / "in", files), tmp_path / "out") is None


@pytest.mark.parametrize("day", ["2026-13-45", "9999-99-99", "२०२६-०८-०६", 5])
def test_a_day_that_is_none_counts_as_unknown(tmp_path: Path, day: Any) -> None:
    source = lay(tmp_path / "in", {"tasks.json": [scenario()], "metadata.json": {"date": day}})
    (campaign,) = import_korvid(source, tmp_path / "out", graded=False).campaigns
    with Session([Path(campaign.path)]) as session:
        assert list(
            session.query("SELECT count(*) FROM runs WHERE wall_time = TIMESTAMPTZ '1970-01-01 00:00:00+00'").rows()
        ) == [(1,)]


HALF = "half \ud83d"


def test_lone_surrogates_wherever_a_text_stands_are_imported(tmp_path: Path) -> None:
    meta = META | {"profile": HALF, "prompts": {"pack": HALF}, "capabilities": {"provenance": {HALF: HALF}}, HALF: HALF}
    case = scenario(answer=HALF, error=HALF, **{HALF: [HALF]}) | {"root_cause": HALF}
    files = {"tasks.json": {"meta": meta, "x": [case]}, "metadata.json": METADATA | {"profile": HALF, HALF: HALF}}
    assert imported(lay(tmp_path / "in", files), tmp_path / "out", graded=True) is None
    one = sample(id=HALF, target=HALF, error={"message": HALF}, metadata={HALF: HALF, "korvid": OURS | {"arm": HALF}})
    header = HEADER | {"eval": {"task": HALF, "model": HALF, "created": HALF}}
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/1.json", json.dumps(one))
        archive.writestr("header.json", json.dumps(header))
    assert imported(path, tmp_path / "inspect", graded=True) is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"total_time": "1e999"}, "no duration"),
        ({"total_time": 10**400}, "no duration"),
        ({"epoch": 10**30}, "no number of a repetition"),
        ({"epoch": -1}, "no number of a repetition"),
        ({"attachments": ["x"]}, "AttributeError"),
        ({"metadata": {"korvid": OURS | {"turns": [{"outcome": "answered", "duration_s": -5.0}]}}}, "ValidationError"),
        ({"metadata": {"korvid": OURS | {"turns": [OURS["turns"][0] | {"duration_s": -5.0}]}}}, "duration_s"),  # type: ignore[operator, index]
    ],
)
def test_a_sample_that_cannot_have_been_one_names_its_member(tmp_path: Path, change: Any, problem: str) -> None:
    said = imported(log(tmp_path / "a.eval", [sample() | change]), tmp_path / "out")
    assert said is not None
    assert said.startswith("a.eval: samples/oom-killed_epoch_")
    assert problem in said


@pytest.mark.parametrize("seconds", ["1e999", 10**400, "nan", 1e308])
def test_a_run_that_took_no_possible_time_names_its_place(tmp_path: Path, seconds: Any) -> None:
    said = imported(lay(tmp_path / "in", {"tasks.json": [scenario(wall_time_s=seconds)]}), tmp_path / "out")
    assert said is not None
    assert said.startswith("tasks.json: [0].runs[0]: not a run of the reference project")


def test_counts_that_nothing_has_are_unknown_and_every_view_still_reads(tmp_path: Path) -> None:
    huge = scenario(input_tokens=10**30, iterations=10**25, tool_calls=-3)
    assert imported(lay(tmp_path / "in", {"tasks.json": [huge]}), tmp_path / "out" / "korvid", graded=True) is None
    usage = {"a": {"input_tokens": 10**30, "output_tokens": 4}, "b": {"input_tokens": "x"}, "c": 5}
    path = log(tmp_path / "a.eval", [sample(model_usage=usage)])
    assert imported(path, tmp_path / "out" / "inspect", graded=True) is None
    campaigns = sorted((tmp_path / "out").glob("*/*"))
    with Session(campaigns) as session:
        assert all(list(session.query(f"FROM {view.name}").rows()) is not None for view in VIEWS)
        found = session.query("SELECT input_tokens, output_tokens FROM runs ORDER BY ALL").rows()
        assert list(found) == [(None, 4), (None, 60)]


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_values_nested_as_deep_as_may_be_are_imported_and_deeper_ones_are_named(tmp_path: Path) -> None:
    for number, (levels, whole) in enumerate([(MAX_DEPTH - 10, True), (MAX_DEPTH + 1, False), (900, False)]):
        out = tmp_path / str(number)
        said = imported(log(tmp_path / "a.eval", [sample(extra={"x": nested(levels)})]), out / "inspect")
        assert (said is None) is whole
        assert whole or f"nested deeper than {MAX_DEPTH} levels" in str(said)
        source = lay(out / "in", {"tasks.json": [scenario(extra=nested(levels))]})
        assert (imported(source, out / "korvid") is None) is whole


def test_arguments_that_are_text_of_endless_depth_are_malformed(tmp_path: Path) -> None:
    one = sample()
    one["messages"][2]["tool_calls"][0]["arguments"] = "[" * 5_000
    assert imported(log(tmp_path / "a.eval", [one]), tmp_path / "out") is None


@pytest.mark.parametrize("method", METHODS[2:])
def test_a_way_of_compression_that_inspect_does_not_write_is_refused(tmp_path: Path, method: int) -> None:
    said = imported(eval_file(tmp_path / "a.eval", False, [], compression=method), tmp_path / "out")
    assert said == f"{tmp_path}/a.eval: header.json is compressed in a way that Inspect does not write: refused"


@pytest.mark.parametrize("at", ["version needed", "name of a member"])
def test_a_directory_of_members_that_python_cannot_read_is_no_inspect_log(tmp_path: Path, at: str) -> None:
    path = eval_file(tmp_path / "a.eval", False, [])
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02")
    if at == "version needed":
        data[entry + 6] = 255
    else:
        data[entry + 9] |= 8
        data[entry + 46] = 0x9B
    path.write_bytes(data)
    said = imported(path, tmp_path / "out")
    assert said is not None
    assert said.startswith(f"{path}: not an Inspect .eval log: ")


def unit(files: dict[str, bytes], archive: SourceFile | None = None) -> Unit:
    found = {name: SourceFile(path=name, size=len(data), sha256="0" * 64, data=data) for name, data in files.items()}
    return Unit(files=found, archive=archive)


PACKED = SourceFile(path="c/x-artifacts.tar.gz", size=1, sha256="1" * 64)


@pytest.mark.parametrize("archive", [None, PACKED], ids=["loose", "in an archive"])
def test_placing_many_files_costs_no_more_than_their_number(archive: SourceFile | None) -> None:
    def work(size: int) -> list[Place]:
        files = {f"c/{number}.json": b"[]" for number in range(size)}
        files |= {"c/metadata.json": json.dumps({"models": [{"name": f"m:{n}"} for n in range(size)]}).encode()}
        source = Source(name="x", units=(unit({}), unit(files, archive)) if archive else (unit(files),))
        return list(places(source))

    assert len(work(10)) == 11
    assert grows_evenly(work, 100)


def test_naming_the_model_of_many_files_costs_no_more_than_their_number() -> None:
    results = result_file(json.dumps([scenario()]).encode(), "t.json")
    assert results is not None

    def work(size: int) -> set[str]:
        rows = "".join(f"model-{number}:8b\n" for number in range(size))
        files = {f"x-model-{n}-8b-y.json": b"[]" for n in range(size)} | {"summary.tsv": f"model\n{rows}".encode()}
        source = Source(name="x", units=(unit(files),))
        models = known_models(source)
        return {facts(place, results, models).model for place in places(source)}

    assert work(3) == {"model-0:8b", "model-1:8b", "model-2:8b"}
    assert grows_evenly(work, 60)


def test_reading_many_cases_costs_no_more_than_their_number() -> None:
    def work(size: int) -> int:
        cases = [scenario() | {"scenario": f"case-{number}"} for number in range(size)]
        found = result_file(json.dumps(cases).encode(), "t.json")
        assert found is not None
        return len(tallies(found))

    assert work(5) == 5
    assert grows_evenly(work, 60)


def test_one_very_deep_name_does_not_cost_every_other_line_of_a_checksum_list() -> None:
    def work(size: int) -> int:
        lines = [f"{'0' * 64}  c/{number}.json" for number in range(size)] + [f"{'0' * 64}  {'a/' * size * 10}x"]
        (listed,) = check(Source(name="x", units=(unit({"SHA256SUMS": "\n".join(lines).encode()}),))).lists
        return len(listed.missing)

    assert work(5) == 6
    assert grows_evenly(work, 100)


def test_a_long_conversation_costs_no_more_than_its_messages() -> None:
    one = sample()

    def work(size: int) -> int:
        return len(conversation(one | {"messages": one["messages"] * size}, {}).turns)

    assert work(3) == 3
    assert grows_evenly(work, 50)
