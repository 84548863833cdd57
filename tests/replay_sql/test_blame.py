"""What an error of a statement points at."""

from pathlib import Path

import pytest

from replay.cli_sql import _split
from schemas.errors import UsageError
from tests.replay_sql.logs import whole_run
from tests.replay_sql.test_shell import piped


def test_the_line_of_an_error_in_a_script_is_counted_from_its_statement(tmp_path: Path) -> None:
    whole_run(tmp_path / "campaign", "case-r1-abc")
    done = piped(tmp_path / "campaign", "SELECT 1 AS a;\n\n\nSELECT\nnope FROM runs;\n")
    assert done.returncode == 2
    assert "(line 2)" in done.stderr


@pytest.mark.parametrize("words", [[], [""], ["campaigns", " \n"]])
def test_no_statement_is_told_with_an_example(words: list[str]) -> None:
    with pytest.raises(UsageError, match="no statement; for example: korvid-replay sql"):
        _split(words)
