"""Text of others in Markdown of ours, with a real reader of Markdown as the oracle."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from replay.markdown import escaped

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PIECES = st.sampled_from(("\\", "`", "*", "_", "~~", "|", "[a](b)", "<b>", "&lt;", "&amp;", "#", "a", " ", "\n", "!"))


def shown(cell: str) -> list[str]:
    """What the cells of a row read as; a name of its kind for whatever is not plain text."""
    tokens = READER.parse(f"| one |\n|---|\n| x{cell}x |\n\nbelow\n")
    inline = [token for token in tokens if token.type == "inline"]
    assert [inline[0].content, inline[-1].content] == ["one", "below"]
    return [
        "".join(child.content if child.type == "text" else f"({child.type})" for child in token.children or ())
        for token in inline[1:-1]
    ]


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
@example("~~a~~ &lt; <https://a.b> \\")
def test_a_cell_reads_as_the_text_it_was_made_of(text: str) -> None:
    flat = " ".join(text.split())
    if flat.isprintable():
        assert shown(escaped(text)) == [f"x{flat}x"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("see https://a.b/c", r"see https\://a.b/c"),
        ("see WWW.a.b", r"see WWW\.a.b"),
        ("ollama/qwen3:8b", "ollama/qwen3:8b"),
        ("$x$", r"\$x\$"),
    ],
)
def test_an_address_is_no_link_and_a_name_stays_as_it_is(text: str, written: str) -> None:
    assert escaped(text) == written
