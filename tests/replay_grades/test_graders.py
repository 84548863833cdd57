"""Finding graders: bundled ones, entry points, functions in files."""

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from grading.registry import GRADERS
from replay import graders
from replay.graders import all_graders, described, load
from replay.guard import NetworkRefused
from schemas.errors import UsageError
from tests.replay_grades.tools import PASS_ALL, run_regrade

GraderFile = Callable[[str], str]
HISTORY = GRADERS["claims"]


def test_a_name_is_its_newest_version_and_every_version_applies_one_more_change() -> None:
    assert load("claims").label == f"claims@{HISTORY.latest}"
    assert load("claims@1").applied == ()
    assert load("claims@4").applied == tuple(change.id for change in HISTORY.changes[:3])
    assert load("claims").applied == tuple(change.id for change in HISTORY.changes)


def test_the_digest_of_a_file_grader_is_that_of_its_bytes(grader_file: GraderFile) -> None:
    import hashlib

    reference = grader_file(PASS_ALL)
    file = Path(reference.rsplit(":", 1)[0])
    assert load(reference).sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    file.write_bytes(file.read_bytes().replace(b'"pass"', b'"fail"'))
    assert load(reference).sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_version_of_a_file_grader_is_what_the_file_says(grader_file: GraderFile) -> None:
    reference = grader_file("VERSION = 3\n" + PASS_ALL)
    assert load(reference).label == "mine@3"
    assert load(reference + "@3").version == 3
    with pytest.raises(UsageError, match="holds mine@3, not version 2"):
        load(reference + "@2")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("def other(run, rubric): ...\n", "has no function 'mine'"),
        ("mine = 3\n", "has no function 'mine'"),
        ("def mine(run\n", "does not load: SyntaxError"),
        ("import no_such_module\n", "does not load: ModuleNotFoundError"),
        ("raise RuntimeError('x')\n", "does not load: RuntimeError: x"),
        ("raise SystemExit(3)\n", "does not load: SystemExit: 3"),
        ("VERSION = 'two'\ndef mine(run, rubric): ...\n", "VERSION must be a whole number"),
        ("VERSION = True\ndef mine(run, rubric): ...\n", "VERSION must be a whole number"),
    ],
)
def test_a_file_that_holds_no_grader_is_refused_with_the_reason(
    body: str, problem: str, grader_file: GraderFile
) -> None:
    with pytest.raises(UsageError, match=problem):
        load(grader_file(body))


@pytest.mark.parametrize("reference", ["nope", "claims@0", "claims@999", "claims@", "no file.py:f", "@1", ""])
def test_a_reference_to_nothing_is_wrong_usage(reference: str) -> None:
    with pytest.raises(UsageError):
        load(reference)


def test_a_file_grader_cannot_take_a_bundled_name(tmp_path: Path) -> None:
    (tmp_path / "g.py").write_text("def claims(run, rubric): ...\n")
    with pytest.raises(UsageError, match="is bundled"):
        load(f"{tmp_path / 'g.py'}:claims")


def test_a_grader_that_returns_no_verdict_is_told_of_on_each_run(campaign: Path, grader_file: GraderFile) -> None:
    done = run_regrade(campaign, grader_file("def mine(run, rubric):\n    return 'pass'\n"))
    assert done.failures[0].error == "TypeError: mine returned str, not a Verdict"


def test_a_verdict_of_values_that_there_are_not_is_told_of_on_each_run(campaign: Path, grader_file: GraderFile) -> None:
    body = "def mine(run, rubric):\n    return Verdict(verdict='banana', reason='r', outcome='success')\n"
    done = run_regrade(campaign, grader_file(body))
    assert done.failures[0].error.startswith("ValidationError: Invalid enum value 'banana'")
    assert done.receipt.coverage.graded == 0
    assert done.receipt.coverage.not_gradable == len(done.failures) + done.receipt.coverage.interrupted + sum(
        (done.receipt.coverage.provider_error, done.receipt.coverage.harness_invalid)
    )


def test_an_entry_point_is_a_grader_like_any_other(
    tmp_path: Path, campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "korvid_test_plugin.py").write_text("from schemas.verdicts import Verdict\nVERSION = 2\n" + PASS_ALL)
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = EntryPoint("plugin", "korvid_test_plugin:mine", graders.GROUP)
    monkeypatch.setattr(graders, "_entry_points", lambda: [entry])
    assert [grader.label for grader in all_graders()] == [
        f"claims@{HISTORY.latest}",
        f"claims-only@{HISTORY.latest}",
        "plugin@2",
    ]
    done = run_regrade(campaign, "plugin")
    assert (done.receipt.grader, done.receipt.version) == ("plugin", 2)
    assert done.receipt.coverage.failed == 0
    monkeypatch.delitem(sys.modules, "korvid_test_plugin")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("raise RuntimeError('not today')\n", "does not load: RuntimeError: not today"),
        ("raise SystemExit(3)\n", "does not load: SystemExit: 3"),
        ("import no_such_module\n", "does not load: ModuleNotFoundError"),
        ("import socket\nsocket.socket()\n", "was refused: a grader works on the record alone"),
        (
            "import socket\ntry:\n    socket.socket()\nexcept Exception:\n    mine = print\n",
            "was refused: a grader works on the record alone",
        ),
        ("class Grader:\n    def __call__(self, run, rubric): ...\nmine = Grader()\n", "is no function"),
    ],
)
def test_an_entry_point_that_does_not_load_is_named_and_the_others_are_listed(
    body: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "korvid_broken_plugin.py").write_text(body)
    (tmp_path / "korvid_test_plugin.py").write_text("from schemas.verdicts import Verdict\n" + PASS_ALL)
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = {"broken": "korvid_broken_plugin", "whole": "korvid_test_plugin"}
    entries = [EntryPoint(name, f"{module}:mine", graders.GROUP) for name, module in modules.items()]
    monkeypatch.setattr(graders, "_entry_points", lambda: entries)
    notes: list[str] = []
    assert [grader.name for grader in all_graders(notes.append)] == ["claims", "claims-only", "whole"]
    (note,) = notes
    assert note.startswith("left out broken: entry point broken (korvid_broken_plugin:mine)")
    assert problem in note
    sys.modules.pop("korvid_broken_plugin", None)
    with pytest.raises((UsageError, NetworkRefused), match=r"^--grader: entry point broken"):
        load("broken")
    for module in modules.values():
        sys.modules.pop(module, None)


def test_claims_only_is_among_the_graders_that_a_wrong_name_is_told() -> None:
    with pytest.raises(UsageError, match=r"there are claims, claims-only"):
        load("nope")


def test_a_grader_is_described_with_the_changes_of_its_version() -> None:
    shown = described(load("claims@3"))
    assert [change.id for change in shown.changes] == [change.id for change in HISTORY.changes[:2]]
    assert all(change.title and change.story for change in shown.changes)
    assert shown.latest == HISTORY.latest
