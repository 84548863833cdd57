"""A sealed campaign answers as it did before."""

from pathlib import Path
from typing import Any

from replay.seal.sealing import seal
from replay.sql.index import build, is_fresh
from replay.sql.session import Session
from replay.sql.views import VIEWS
from tests.replay_sql.logs import torn_run, whole_run


def everything(campaign: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all views; where a log lies and what it weighs on disk is another matter once it is sealed."""
    with Session([campaign]) as session:
        return {
            view.name: list(
                session.query(
                    f"SELECT {'* EXCLUDE (path, file_bytes)' if view.name == 'runs' else '*'} FROM {view.name} "
                    "ORDER BY ALL"
                ).rows()
            )
            for view in VIEWS
        }


def test_every_view_says_the_same_before_and_after_sealing(tmp_path: Path) -> None:
    whole_run(tmp_path, "case-r1-abc")
    torn_run(tmp_path, "case-r2-abc", repetition=2)
    before = everything(tmp_path)
    seal(tmp_path)
    assert not list(tmp_path.glob("runs/*"))
    assert everything(tmp_path) == before
    assert len(before["tool_calls"]) == 4


def test_sealing_makes_an_index_stale(tmp_path: Path) -> None:
    whole_run(tmp_path, "case-r1-abc")
    build(tmp_path)
    seal(tmp_path)
    assert not is_fresh(tmp_path)
    before = everything(tmp_path)
    assert build(tmp_path).rebuilt
    assert is_fresh(tmp_path)
    assert everything(tmp_path) == before
