"""A board as Markdown, JSON and HTML: the same bytes for the same grades, safe, and readable without its looks."""

import json
import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from replay import cli_sql, output
from schemas.errors import UsageError, WorkError
from tests.scoreboard.grades import campaign, grade, write_grades

HOSTILE = "m|<script>alert(1)</script>&`*"


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("forms") / "campaigns"
    directory.mkdir()
    path = campaign(directory, {"a": "++-", "b": "+-?"}, name="c-1", model="ollama/one")
    identity = {"campaign_id": "c-1", "case_id": "a", "repetition": 1, "agent": "model", "model": "ollama/one"}
    write_grades(path, [grade("a-r1-c-1", "fail", **identity, version=1)])
    campaign(directory, {"a": "---", "b": "--."}, name="c-2", model=HOSTILE)
    campaign(directory, {"a": "+++", "b": "+++"}, name="c-3", agent="oracle", model="")
    return directory


def run(*words: object) -> Result:
    application = output.app("test")
    cli_sql.register(application)
    return CliRunner().invoke(application, ["scoreboard", *map(str, words)])


@pytest.mark.parametrize("form", ["md", "json", "html"])
def test_the_same_grades_give_the_same_bytes(campaigns: Path, tmp_path: Path, form: str) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(campaigns, moved)
    first, second = run(campaigns, "--format", form), run(moved, "--format", form)
    assert first.exit_code == 0, first.output
    assert first.stdout == second.stdout
    assert str(campaigns) not in first.stdout


def test_markdown_is_the_default_and_its_tables_are_whole(campaigns: Path) -> None:
    text = run(campaigns).stdout
    assert text.startswith("# Scoreboard\n\n16 runs graded by claims@2, recorded rubric.\n")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block
    assert "<script>" not in text
    assert "| oracle | — | 6/6 | 100.0 % |" in text


def test_json_is_the_whole_board(campaigns: Path) -> None:
    found = json.loads(run(campaigns, "--json").stdout)
    assert [row["name"] for row in found["rows"]] == ["ollama/one", HOSTILE, "oracle"]
    assert found["rows"][0]["passed"]["successes"] == 3
    assert found["flips"][0]["runs"] == 1


class _Page(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(campaigns: Path) -> tuple[str, _Page]:
    text = run(campaigns, "--format", "html").stdout
    parsed = _Page()
    parsed.feed(text)
    assert parsed.open == []
    return text, parsed


def test_the_page_needs_no_script_and_no_network(page: tuple[str, _Page]) -> None:
    text, parsed = page
    assert parsed.tags["script"] == parsed.tags["link"] == parsed.tags["img"] == parsed.tags["image"] == 0
    loading = [value or "" for _, name, value in parsed.attributes if name in ("src", "href", "xlink:href", "data")]
    assert loading
    assert all(value.startswith("#") for value in loading)
    assert "url(http" not in text
    assert "@import" not in text


def test_the_page_has_its_three_charts_with_words_for_those_who_cannot_see_them(page: tuple[str, _Page]) -> None:
    _, parsed = page
    assert parsed.tags["svg"] == 3
    labels = [value for _, name, value in parsed.attributes if name == "aria-label" and value != "Contents"]
    assert labels[0] == f"Chart, Pass rate: ollama/one 58.3 %; {HOSTILE} 0.0 %; oracle 100.0 %"
    assert labels[2] == "Chart, What newer graders moved: 1 run to pass now, 0 no longer"


@pytest.mark.filterwarnings("error")
def test_a_chart_of_one_row_with_a_long_name_has_room_for_the_name(tmp_path: Path) -> None:
    name = "embedded/qwen2.5-coder-0.5b-instruct-q4_k_m"
    path = campaign(tmp_path, {"a": "+", "b": "-"}, name="c-1", model=name)
    assert run(path, "--format", "html").exception is None


def test_a_chart_names_the_provider_of_an_embedded_model(tmp_path: Path) -> None:
    name = "embedded/qwen2.5-coder-0.5b-instruct-q4_k_m"
    campaign(tmp_path, {"a": "+"}, name="c-1", model=name)
    campaign(tmp_path, {"a": "+"}, name="c-2", model=name, arm="no-tools")
    text = run(tmp_path, "--format", "html").stdout
    assert re.findall(r"<text [^>]*>([^<]*qwen[^<]*)</text>", text) == [name, f"{name} [no-tools]"] * 2


def test_every_id_is_there_once_and_every_reference_has_its_target(page: tuple[str, _Page]) -> None:
    text, parsed = page
    ids = Counter(value for _, name, value in parsed.attributes if name == "id")
    assert max(ids.values()) == 1
    targets = {value[1:] for _, name, value in parsed.attributes if name.endswith("href") and value}
    targets |= {
        value for _, name, value in parsed.attributes if name in ("aria-labelledby", "aria-describedby") and value
    }
    targets |= set(re.findall(r"url\(#([^)]+)\)", text))
    assert targets <= set(ids)


def test_headings_of_tables_say_what_they_head(page: tuple[str, _Page]) -> None:
    _, parsed = page
    scopes = Counter(value for tag, name, value in parsed.attributes if (tag, name) == ("th", "scope"))
    assert scopes.total() == parsed.tags["th"]
    assert set(scopes) == {"col", "row"}


def test_nothing_in_the_page_says_when_it_was_made(page: tuple[str, _Page]) -> None:
    text, _ = page
    assert not re.search(r"dc:date|20\d\d-\d\d-\d\dT", text)
    assert "matplotlib.org" not in text


def test_a_board_can_be_written_to_a_file(campaigns: Path, tmp_path: Path) -> None:
    result = run(campaigns, "--format", "html", "--out", tmp_path / "board.html")
    assert result.stdout == ""
    assert (tmp_path / "board.html").read_text().startswith("<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir()] == ["board.html"]


def test_a_file_that_cannot_be_written_is_named(campaigns: Path, tmp_path: Path) -> None:
    for place, error in ((tmp_path / "nowhere" / "board.md", UsageError), (tmp_path, WorkError)):
        result = run(campaigns, "--out", place)
        assert isinstance(result.exception, error)
        assert f"--out {place}: " in str(result.exception)


def test_a_file_that_has_no_place_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    result = run(tmp_path / "no-campaign", "--out", tmp_path / "nowhere" / "board.md")
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(f"--out {tmp_path / 'nowhere' / 'board.md'}: no directory")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--format", "pdf"], "md, json, html"),
        (["--grader", "claims@new"], "claims@4"),
        (["--rubric", "old"], "recorded, current"),
        (["--json", "--format", "md"], "different things"),
    ],
)
def test_a_wrong_command_line_is_told_what_to_do(campaigns: Path, words: list[str], why: str) -> None:
    result = run(campaigns, *words)
    assert isinstance(result.exception, UsageError)
    assert why in str(result.exception)
