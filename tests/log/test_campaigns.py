"""Where campaigns lie: places that may not be looked into are named."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from replay.campaigns import run_files
from schemas.errors import WorkError
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
