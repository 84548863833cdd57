"""`docs/events.md` is what `docs/generate.py` writes, and its example lines are lines of a log."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from schemas import codec
from schemas.events import KINDS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_writes(generate: ModuleType) -> None:
    written = (DOCS / "events.md").read_text(encoding="utf-8")
    assert written == generate.page(), "run `python docs/generate.py`"


def test_every_kind_has_a_section_an_example_and_every_field_a_row(generate: ModuleType) -> None:
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", generate.page(), re.MULTILINE | re.DOTALL))
    for kind in KINDS:
        section = sections.pop(str(kind.__struct_config__.tag))
        fields = [field.name for field in msgspec.structs.fields(kind) if field.name not in ("seq", "t")]
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == fields
        (example,) = re.findall(r"```json\n(.*)\n```", section)
        assert isinstance(codec.decode(example.encode() + b"\n"), kind)
        # What the example holds beyond the envelope is a documented field.
        assert set(json.loads(example)) - {"type", "seq", "t"} <= set(fields)
    assert sections == {}


def test_the_last_example_line_counts_itself_among_the_lines(generate: ModuleType) -> None:
    last = json.loads(generate.example_lines()[-1])
    assert (last["type"], last["events"]) == ("run_finished", last["seq"] + 1)


def test_a_field_without_a_meaning_stops_the_script(generate: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(generate.MEANINGS, "message", {"id": "counts from 0", "massage": "a slip"})
    with pytest.raises(
        ValueError, match=r"message: the meanings in docs/generate.py are off by \['massage', 'message'\]"
    ):
        generate.page()
