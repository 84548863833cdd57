"""The index answers as the logs do, and only while it is about them."""

import os
from pathlib import Path

import pytest

from replay.sql.index import INDEX, build, is_fresh
from replay.sql.session import Session
from replay.sql.sources import campaigns_at
from replay.sql.views import VIEWS
from schemas.errors import UsageError, WorkError
from tests.replay_sql.logs import damaged_run, torn_run, whole_run


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    whole_run(tmp_path / "it's", "case-r1-abc")
    torn_run(tmp_path / "it's", "case-r2-abc", repetition=2)
    damaged_run(tmp_path / "it's", "case-r3-abc", repetition=3)
    return tmp_path / "it's"


def test_every_view_says_the_same_with_and_without_an_index(campaign: Path) -> None:
    assert build(campaign).corrupt == 1
    with Session([campaign], use_index=True) as one, Session([campaign], use_index=False) as other:
        for view in VIEWS:
            statement = f"FROM {view.name} ORDER BY ALL"
            assert list(one.query(statement).rows()) == list(other.query(statement).rows()), view.name


def test_with_a_fresh_index_no_log_is_read(campaign: Path) -> None:
    build(campaign)
    read: list[int] = []
    with Session([campaign], progress=lambda done, _: read.append(done)) as session:
        assert list(session.query("SELECT count(*) FROM runs JOIN tool_calls USING (run_id)").rows()) == [(4,)]
    assert read == []


def test_campaigns_with_and_without_an_index_are_asked_together(campaign: Path) -> None:
    build(campaign)
    whole_run(campaign.parent / "other", "case-r9-def")
    with Session([campaign, campaign.parent / "other"]) as session:
        rows = session.query("SELECT run_id, path FROM runs WHERE status = 'completed' ORDER BY run_id").rows()
        assert list(rows) == [
            ("case-r1-abc", f"{campaign}/runs/case-r1-abc.jsonl.zst"),
            ("case-r9-def", f"{campaign.parent}/other/runs/case-r9-def.jsonl.zst"),
        ]


def test_a_fresh_index_is_not_built_again_unless_asked(campaign: Path) -> None:
    assert build(campaign).rebuilt
    assert not build(campaign).rebuilt
    assert build(campaign, again=True).rebuilt


def test_a_log_that_vanishes_while_it_is_looked_at_makes_the_index_stale(campaign: Path) -> None:
    build(campaign)
    (campaign / "runs" / "case-r9-abc.jsonl.zst").symlink_to("gone")
    assert not is_fresh(campaign)
    with pytest.raises(WorkError, match=r"cannot build the index: .*No such file"):
        build(campaign)


def test_a_new_log_makes_the_index_stale(campaign: Path) -> None:
    build(campaign)
    whole_run(campaign, "case-r4-abc", repetition=4)
    assert not is_fresh(campaign)
    with Session([campaign]) as session:
        assert list(session.query("SELECT count(*) FROM runs").rows()) == [(4,)]


def test_a_changed_log_makes_the_index_stale(campaign: Path) -> None:
    build(campaign)
    os.utime(campaign / "runs" / "case-r1-abc.jsonl.zst", (1, 1))
    assert not is_fresh(campaign)


@pytest.mark.parametrize("content", [b"", b"nothing", b"\0" * 20_000])
def test_a_damaged_index_is_ignored(campaign: Path, content: bytes) -> None:
    (campaign / INDEX).write_bytes(content)
    with Session([campaign]) as session:
        assert list(session.query("SELECT count(*) FROM runs").rows()) == [(3,)]
    assert build(campaign).rebuilt


def test_nothing_but_the_index_is_left_behind(campaign: Path) -> None:
    before = {path.name for path in campaign.iterdir()}
    build(campaign)
    assert {path.name for path in campaign.iterdir()} - before == {INDEX}


def test_an_index_that_cannot_be_written_is_named(campaign: Path) -> None:
    (campaign / INDEX).mkdir()
    with pytest.raises(WorkError, match=r"index\.duckdb"):
        build(campaign)


def test_no_index_is_made_where_duckdb_makes_no_file_and_the_answers_are_there_without_one(tmp_path: Path) -> None:
    campaign = tmp_path / "which?"
    whole_run(campaign, "case-r1-abc")
    with pytest.raises(
        UsageError, match=r"which\?/index\.duckdb: DuckDB makes no file below .* rename it, or ask without"
    ):
        build(campaign)
    assert [path.name for path in campaign.iterdir()] == ["runs"]
    with Session([campaign]) as session:
        assert list(session.query("SELECT count(*) FROM runs").rows()) == [(1,)]


def test_a_directory_whose_name_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    campaign = tmp_path / os.fsdecode(b"c\xff")
    whole_run(campaign, "case-r1-abc")
    with pytest.raises(UsageError, match="the name is not UTF-8, and DuckDB takes no other; rename it"):
        campaigns_at([campaign])
    with pytest.raises(UsageError, match="not UTF-8"):
        Session([campaign])
