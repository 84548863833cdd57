"""The forms of an answer."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from replay import cli_sql, output
from replay.sql.output import jsonable, unique
from schemas.errors import UsageError, WorkError
from tests.replay_sql.logs import whole_run


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("output")
    whole_run(directory, "case-r1-abc", answer='a "quoted", long\nanswer\x1b[31m ä')
    return directory


def run(*words: object, stdin: str | None = None) -> Result:
    application = output.app("test")
    cli_sql.register(application)
    return CliRunner().invoke(application, ["sql", *map(str, words)], input=stdin, catch_exceptions=True)


def test_json_is_an_array_of_objects_with_nested_json(campaign: Path) -> None:
    result = run(campaign, "SELECT run_id, message FROM messages", "--json")
    assert json.loads(result.stdout) == [{"run_id": "case-r1-abc", "message": {"role": "user", "content": "why?"}}]


def test_json_of_no_rows_is_an_empty_array(campaign: Path) -> None:
    assert json.loads(run(campaign, "FROM journal", "--format", "json").stdout) == []


def test_json_carries_every_type(campaign: Path) -> None:
    statement = """SELECT NULL AS a, 'nan'::DOUBLE AS b, 1.5::DECIMAL(4, 1) AS c, DATE '2026-08-01' AS d,
        [1, 2] AS e, {'x': 'y'} AS f, 10::HUGEINT AS g, 'ab'::BLOB AS h, true AS i, INTERVAL 2 SECOND AS j,
        uuid '11111111-1111-1111-1111-111111111111' AS k, MAP {'p': 1} AS l, TIMESTAMP '2026-08-01 10:00:00' AS m"""
    assert json.loads(run(campaign, statement, "--json").stdout) == [
        {
            "a": None,
            "b": None,
            "c": 1.5,
            "d": "2026-08-01",
            "e": [1, 2],
            "f": {"x": "y"},
            "g": 10,
            "h": "YWI=",
            "i": True,
            "j": 2.0,
            "k": "11111111-1111-1111-1111-111111111111",
            "l": {"p": 1},
            "m": "2026-08-01T10:00:00",
        }
    ]


def test_columns_of_one_name_are_told_apart(campaign: Path) -> None:
    assert json.loads(run(campaign, "SELECT 1 AS x, 2 AS x, 3 AS y", "--json").stdout) == [{"x": 1, "x_2": 2, "y": 3}]
    assert unique(["x", "x_2", "x"]) == ["x", "x_2", "x_3"]


def test_csv_has_a_heading_and_quotes_what_must_be(campaign: Path) -> None:
    result = run(campaign, "SELECT answer, NULL AS gap, true AS yes, [1] AS list FROM turns", "--format", "csv")
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows == [["answer", "gap", "yes", "list"], ['a "quoted", long\nanswer\x1b[31m ä', "", "true", "[1]"]]


def test_a_table_cannot_move_the_cursor(campaign: Path) -> None:
    result = run(campaign, "SELECT answer FROM turns")
    assert "\x1b" not in result.stdout
    assert 'a "quoted", long\\nanswer\\x1b[31m ä' in result.stdout


def test_parquet_is_written_whole_to_a_file(campaign: Path, tmp_path: Path) -> None:
    target = tmp_path / "it's.parquet"
    result = run(campaign, "SELECT run_id, status FROM runs", "--format", "parquet", "--out", target)
    assert result.exit_code == 0, result.output
    assert duckdb.read_parquet(str(target)).fetchall() == [("case-r1-abc", "completed")]
    assert result.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_the_other_forms_can_be_written_to_a_file_too(campaign: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / "answer"
    run(campaign, "SELECT run_id FROM runs", "--format", form, "--out", target)
    assert "case-r1-abc" in target.read_text()


def test_a_failing_statement_leaves_no_file(campaign: Path, tmp_path: Path) -> None:
    target = tmp_path / "answer.json"
    result = run(campaign, "SELECT run_id::INTEGER FROM runs", "--json", "--out", target)
    assert isinstance(result.exception, UsageError)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_in_the_way_of_the_file_is_named(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "answer").mkdir()
    result = run(campaign, "FROM runs", "--json", "--out", tmp_path / "answer")
    assert isinstance(result.exception, WorkError)
    assert "answer" in str(result.exception)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["FROM runs", "--format", "xml"], "not a format"),
        (["FROM runs", "--format", "parquet"], "--out"),
        (["FROM runs", "--out", "x"], "--out takes"),
        (["FROM runs", "--json", "--format", "csv"], "different things"),
        (["FROM runs", "--json", "--out", "nowhere/x.json"], "no directory nowhere"),
        (["FROM runs", "--history", "x"], "--shell"),
        ([], "no statement"),
        (["--shell", "--format", "parquet"], "--shell"),
    ],
)
def test_a_wrong_command_line_is_told_what_to_do(campaign: Path, words: list[str], why: str) -> None:
    positional = [campaign] if words and not words[0].startswith("--") else []
    result = run(*positional, *words)
    assert isinstance(result.exception, UsageError), result.output
    assert why in str(result.exception)


def test_a_directory_instead_of_a_statement_is_told_apart(campaign: Path) -> None:
    result = run(campaign)
    assert isinstance(result.exception, UsageError)
    assert "is a directory" in str(result.exception)


def test_a_statement_can_come_from_stdin(campaign: Path) -> None:
    result = run(campaign, "-", "--json", stdin="SELECT count(*) AS n FROM runs;\n")
    assert json.loads(result.stdout) == [{"n": 1}]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.timedeltas(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60)
@given(VALUES)
def test_whatever_a_column_holds_is_json(value: Any) -> None:
    json.dumps(jsonable(value), allow_nan=False)
