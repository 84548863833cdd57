"""Spooled rows are sorted and counted as a table in memory would be, and are never all in memory."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay import sorted_rows
from replay.sorted_rows import SortedRows, sort_rows

STATUSES = ("completed", "interrupted", "provider_error", "harness_invalid")
VERDICTS = ("pass", "fail", "not_gradable")


def row(number: int, **fields: Any) -> dict[str, Any]:
    plain = {
        "run_id": f"run-{number}",
        "campaign_id": "c",
        "case_id": "case",
        "repetition": 1,
        "attempt": 1,
        "arm": "",
        "agent": "model",
        "model": "m",
        "status": "completed",
        "verdict": "pass",
        "log_sha256": f"{number:064x}",
        "rubric_sha256": None,
        "stimulus_sha256": "5",
    }
    return plain | fields


def sort(directory: Path, *spools: list[dict[str, Any]]) -> SortedRows:
    directory.mkdir(exist_ok=True)
    files = []
    for number, rows in enumerate(spools):
        files.append(directory / f"{number}.row")
        files[-1].write_text("".join(json.dumps(one) + "\n" for one in rows))
    found = sort_rows(files, directory, b"grader")
    assert found is not None
    return found


def read(found: SortedRows) -> list[dict[str, Any]]:
    return [json.loads(line) for line in found.file.read_text().splitlines()]


def place(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["case_id"], one["repetition"], one["attempt"], one["run_id"]


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "case_id": st.sampled_from(["a", "b", "B", "a-b", "\u00e4", "\U0001f600", "\ufffd"]),
            "repetition": st.integers(1, 11),
            "attempt": st.integers(1, 3),
            "arm": st.sampled_from(["", "x"]),
            "model": st.sampled_from(["m", "n"]),
            "status": st.sampled_from(STATUSES),
            "verdict": st.sampled_from(VERDICTS),
            "rubric_sha256": st.sampled_from([None, "1", "2"]),
        }
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(rows=ROWS, cut=st.integers(0, 40), held=st.sampled_from([1, 700, 1 << 20]))
def test_rows_are_sorted_and_counted_as_a_list_would_be(
    rows: list[dict[str, Any]], cut: int, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_rows, "_STRETCH", held)
    plain = [row(number, **fields) for number, fields in enumerate(rows)]
    found = sort(tmp_path / "work", plain[:cut], plain[cut:])
    expected = sorted(plain, key=place)
    assert read(found) == expected
    assert found.longest == max(len(json.dumps(one)) + 1 for one in plain)
    inputs = json.loads(f"{{{found.inputs.read_text()}}}")
    assert list(inputs.items()) == [(one["run_id"], one["log_sha256"]) for one in expected]
    last = {tuple(one[name] for name in ("arm", "model", "case_id", "repetition")): one["run_id"] for one in expected}
    newest = [one for one in plain if one["run_id"] in last.values()]
    assert found.superseded == tuple(sorted({one["run_id"] for one in plain} - set(last.values())))
    for counts, name in ((found.statuses, "status"), (found.verdicts, "verdict")):
        values = [one[name] for one in newest]
        assert counts == {value: values.count(value) for value in values}
    for case, used in found.rubrics.items():
        digests = {one["rubric_sha256"] for one in plain if one["case_id"] == case}
        assert used == tuple(sorted(digests - {None}))


def test_the_digest_depends_on_the_inputs_and_not_on_who_spooled_what(tmp_path: Path) -> None:
    one, two, three = (row(number) for number in range(3))
    first = sort(tmp_path / "a", [one, two, three])
    second = sort(tmp_path / "b", [three], [two, one])
    other = sort(tmp_path / "c", [three], [two, one | {"log_sha256": "f" * 64}])
    assert first.inputs_sha256 == second.inputs_sha256 != other.inputs_sha256


def test_no_rows_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "0.row").write_bytes(b"")
    assert sort_rows([tmp_path / "0.row"], tmp_path, b"") is None
    assert sort_rows([], tmp_path, b"") is None


def test_what_is_held_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        (tmp_path / str(count)).mkdir()
        spool = tmp_path / str(count) / "0.row"
        with spool.open("w") as out:
            out.writelines(json.dumps(row(number, explanation="x" * 1500)) + "\n" for number in range(count))
        tracemalloc.start()
        try:
            assert sort_rows([spool], tmp_path / str(count), b"") is not None
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(8_000) < 1.3 * peak(2_000)
