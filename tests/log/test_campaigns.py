"""Where campaigns lie: places that may not be looked into are named."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from replay.campaigns import campaign_directories, find_run, run_files
from schemas.errors import UsageError, WorkError
from tests.replay_sql.logs import whole_run


def test_a_directory_that_may_not_be_looked_into_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_run(tmp_path / "a", "case-r1-c")
    (tmp_path / "b").mkdir()
    real = Path.stat

    def denied(path: Path, **named: Any) -> os.stat_result:
        if path.parent == tmp_path / "b":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, **named)

    monkeypatch.setattr(Path, "stat", denied)
    with pytest.raises(WorkError, match=f"{tmp_path / 'b'}.*: Permission denied; make it readable"):
        run_files(tmp_path)
    assert len(run_files(tmp_path / "a")) == 1


def test_who_gives_one_log_where_a_campaign_belongs_is_told_to_give_its_directory(tmp_path: Path) -> None:
    log = whole_run(tmp_path / "a", "case-r1-c")
    with pytest.raises(UsageError, match="is one log; give the directory of its campaign"):
        campaign_directories(log)
    assert len(run_files(log)) == 1


def test_a_run_that_lies_in_two_campaigns_is_told_with_both_places(tmp_path: Path) -> None:
    logs = [whole_run(tmp_path / name, "case-r1-c") for name in ("a", "b")]
    with pytest.raises(UsageError, match="lies in several campaigns") as found:
        find_run(tmp_path, "case-r1-c")
    assert all(str(log) in str(found.value) for log in logs)
    assert find_run(tmp_path / "a", "case-r1").path == logs[0]
