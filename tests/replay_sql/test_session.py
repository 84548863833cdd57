"""A statement reads the views and nothing else."""

import shutil
import tempfile
from pathlib import Path

import pytest

from replay.seal.sealing import seal
from replay.sql import index
from replay.sql.session import Session
from replay.sql.views import VIEWS, tables_of
from schemas.errors import LogError, UsageError, WorkError
from tests.replay_sql.logs import whole_run


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    whole_run(tmp_path, "case-r1-abc")
    return tmp_path


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM RUNS",
        "FROM main.runs SELECT 1",
        "WITH q AS (FROM runs) SELECT count(*) FROM q JOIN turns USING (run_id)",
        "SELECT (SELECT count(*) FROM tool_calls) FROM runs NATURAL JOIN cases",
        "DESCRIBE runs",
        "SUMMARIZE runs",
        "SHOW TABLES",
        "EXPLAIN SELECT * FROM runs",
        "FROM query_table('runs')",
        "FROM query('SELECT * FROM turns')",
        "PIVOT runs ON status USING count(*) GROUP BY model",
        "SELECT 1 -- a comment",
        "VALUES (1)",
    ],
)
def test_every_way_to_read_gives_rows(campaign: Path, statement: str) -> None:
    with Session([campaign]) as session:
        assert list(session.query(statement).rows())


@pytest.mark.parametrize(
    "statement", ["FROM query_table('turns')", "FROM query('FROM turns')", "PIVOT turns ON outcome"]
)
def test_a_view_named_in_a_text_is_read_as_well(campaign: Path, statement: str) -> None:
    with Session([campaign]) as session:
        assert len(list(session.query(statement).rows())) == 1


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DROP VIEW runs", "read only"),
        ("CREATE TABLE t AS FROM runs", "read only"),
        ("INSERT INTO store.runs SELECT NULL", "read only"),
        ("COPY (FROM runs) TO 'x.csv'", "read only"),
        ("SET threads = 1", "read only"),
        ("ATTACH 'x.duckdb'", "read only"),
        ("INSTALL httpfs", "read only"),
        ("LOAD httpfs", "read only"),
        ("PRAGMA database_list", "read only"),
        ("CALL pragma_version()", "read only"),
        ("SELECT 1; DROP VIEW runs", "found 2"),
        ("", "found 0"),
        ("SELECT * FROM read_text('/etc/hostname')", "nothing else"),
        ("SELECT * FROM glob('/etc/*')", "nothing else"),
        ("FROM read_csv('http://127.0.0.1:1/x.csv')", "nothing else"),
        ("FROM '/etc/passwd'", "does not exist"),
        ("SELCT 1", "syntax error"),
        ("SELECT nope FROM runs", '"nope" not found'),
        ("FROM nope", "nope does not exist.* SHOW TABLES lists the views"),
        ("SELECT 'x'::INTEGER", "Could not convert"),
        ("SELECT 1\nFROM runs\nWHERE nope", r"\(line 3\)"),
    ],
)
def test_a_statement_that_may_not_or_cannot_run_is_one_line_and_wrong_usage(
    campaign: Path, statement: str, why: str
) -> None:
    with Session([campaign]) as session, pytest.raises(UsageError, match=why) as raised:
        list(session.query(statement).rows())
    assert "\n" not in str(raised.value)


def test_a_python_variable_is_not_a_table(campaign: Path) -> None:
    nope = [1]
    with Session([campaign]) as session, pytest.raises(UsageError, match="does not exist"):
        session.query("FROM nope")
    assert nope == [1]


def test_a_statement_reads_only_the_events_that_it_uses(campaign: Path) -> None:
    read: list[tuple[int, int]] = []
    with Session([campaign], progress=lambda done, total: read.append((done, total))) as session:
        session.query("SELECT 1")
        session.query("FROM campaigns")
        session.query("FROM grades")
        assert read == []
        session.query("FROM runs")
        session.query("SELECT count(*) FROM runs WHERE latest")
        assert read == [(1, 1)]


def test_every_view_but_that_of_manifests_rests_on_logs_or_grades() -> None:
    assert {view.name for view in VIEWS if not tables_of(view.name)} == {"campaigns"}
    assert {view.name for view in VIEWS if tables_of(view.name) == {"grades"}} == {"grades", "latest_grades", "flips"}


def with_grades_of(graded: Path, campaign: Path) -> Path:
    """A grade file of another campaign without its receipt."""
    (campaign / "grades").mkdir()
    return Path(shutil.copy(next(graded.glob("grades/*.parquet")), campaign / "grades"))


def test_a_grade_file_that_is_no_parquet_is_named_where_grades_are_used(campaign: Path) -> None:
    (campaign / "grades").mkdir()
    (campaign / "grades" / "claims@1.parquet").write_bytes(b"nothing")
    with Session([campaign]) as session:
        assert list(session.query("SELECT count(*) FROM runs").rows()) == [(1,)]
        for statement in ("SELECT count(*) FROM flips", "PIVOT runs ON status"):
            with pytest.raises(WorkError, match=r"claims@1\.parquet"):
                session.query(statement)


def test_a_grade_file_that_is_not_the_one_of_its_receipt_is_named_where_grades_are_used(
    graded: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(graded, tmp_path / "copy"))
    file = next(copy.glob("grades/*.parquet"))
    file.write_bytes(file.read_bytes() + b" ")
    with Session([copy]) as session:
        assert list(session.query("FROM runs").rows())
        for _ in range(2):
            with pytest.raises(WorkError, match=f"{file.name}: has SHA-256 .*, its receipt says"):
                session.query("SELECT count(*) FROM latest_grades")


@pytest.mark.parametrize(
    "receipt",
    [b"{", b'"\xff"', b"{}", b"[" * 5000, b'{"created": "", "grade_file": "", "grade_file_sha256": ""}'],
    ids=["cut", "not UTF-8", "empty", "deep", "of another file"],
)
def test_a_damaged_receipt_is_named_once_and_its_grades_count(campaign: Path, graded: Path, receipt: bytes) -> None:
    file = with_grades_of(graded, campaign)
    file.with_suffix(".json").write_bytes(receipt)
    notes: list[str] = []
    with Session([campaign], note=notes.append) as session:
        session.query("FROM runs")
        assert notes == []
        for _ in range(2):
            rows = session.query("SELECT DISTINCT graded_at FROM grades").rows()
            assert list(rows) == [(None,)]
    (note,) = notes
    assert note.startswith(f"{file.with_suffix('.json')}: not a receipt of grades (")
    assert "move it away and regrade" in note


def test_grades_of_another_build_have_null_where_a_column_is_missing(campaign: Path) -> None:
    import duckdb

    (campaign / "grades").mkdir()
    target = campaign / "grades" / "old.parquet"
    duckdb.sql("SELECT 'case-r1-abc' AS run_id, 'pass' AS verdict, 3::DOUBLE AS version").write_parquet(str(target))
    with Session([campaign]) as session:
        rows = list(session.query("SELECT run_id, verdict, version, reason, graded_at FROM grades").rows())
    assert rows == [("case-r1-abc", "pass", 3, None, None)]


def test_of_each_run_and_grader_the_newest_version_counts(graded: Path) -> None:
    with Session([graded]) as session:
        graders = dict(session.query("SELECT version, count(*) FROM grades GROUP BY ALL ORDER BY ALL").rows())
        latest = dict(session.query("SELECT version, count(*) FROM latest_grades GROUP BY ALL").rows())
        flips = list(session.query("SELECT DISTINCT from_version, to_version FROM flips").rows())
    first, newest = min(graders), max(graders)
    assert latest == {newest: graders[first]}
    assert flips == [(first, newest)]


def test_the_scoreboard_view_counts_each_case_and_repetition_once(graded: Path) -> None:
    with Session([graded]) as session:
        (row,) = session.query("SELECT recorded, planned, graded, passed, interrupted + invalid FROM scoreboard").rows()
        counts = session.query(
            "SELECT count(*) FILTER (latest), count(*) FILTER (latest AND status NOT IN ('completed')) FROM runs"
        )
        ((recorded, spoiled),) = counts.rows()
    assert row[0] == recorded == 160
    assert row[1] == 160
    assert 0 < row[3] < row[2] <= recorded - row[4]
    assert row[4] == spoiled


def test_a_session_that_cannot_begin_leaves_no_directory(
    campaign: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal(campaign, level=3)
    index.build(campaign)
    (campaign / "events.index.json").write_text("{")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("scratch")))
    with pytest.raises(LogError) as raised:
        Session([campaign])
    assert raised.tb is not None
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
