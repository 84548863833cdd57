"""docs/sql.md is what the code does."""

import re
from pathlib import Path

import pytest

from replay.sql.reference import with_reference
from replay.sql.session import Session
from replay.sql.views import VIEWS
from schemas.errors import UsageError

DOCUMENT = Path(__file__).parents[2] / "docs" / "sql.md"
QUESTIONS = re.findall(r"^### (\d+\. [^\n]+)\n.*?```sql\n(.*?)```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)


def test_the_reference_is_the_one_that_the_code_makes() -> None:
    text = DOCUMENT.read_text()
    assert with_reference(text, "docs/sql.md") == text, "run: python -m replay.sql.reference docs/sql.md"


def test_a_document_without_the_marks_is_refused() -> None:
    with pytest.raises(UsageError, match="marks"):
        with_reference("# nothing", "x.md")


def test_there_are_twenty_questions() -> None:
    assert [title.split(".")[0] for title, _ in QUESTIONS] == [str(number) for number in range(1, 21)]


@pytest.mark.parametrize(("title", "statement"), QUESTIONS, ids=[title for title, _ in QUESTIONS])
def test_every_question_has_an_answer(graded: Path, title: str, statement: str) -> None:
    with Session([graded]) as session:
        assert list(session.query(statement).rows()), title


def test_every_view_has_the_columns_and_types_it_declares(graded: Path) -> None:
    with Session([graded]) as session:
        for view in VIEWS:
            found = [row[:2] for row in session.query(f"DESCRIBE {view.name}").rows()]
            assert found == [(column.name, column.type) for column in view.columns], view.name
            assert all(column.meaning for column in view.columns), view.name
