"""`seal`, `unseal`, `recover`, and every other command on a sealed campaign."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from replay.cli import cli
from replay.output import run
from tests.seal.campaigns import campaign, files


def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["korvid-replay", *words])
    code = 0
    try:
        run(cli)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda *words: call(capsys, monkeypatch, *map(str, words))


def test_a_campaign_is_sealed_verified_and_unsealed_from_the_command_line(ask: Any, plain: Path) -> None:
    before = files(plain)
    code, out, _ = ask("seal", plain, "--level", 3)
    assert (code, "8 runs (1 interrupted)" in out, "chain" in out) == (0, True, True)
    code, out, err = ask("verify", plain)
    assert (code, "8 runs: 7 complete, 1 interrupted, 0 corrupt" in err) == (0, True)
    assert "was sealed already" in ask("seal", plain)[1]
    code, out, _ = ask("unseal", plain, "--json")
    assert (code, json.loads(out)["identical"]) == (0, 8)
    assert files(plain) == before


def test_recover_exits_with_1_only_if_something_cannot_be_had_back(ask: Any, plain: Path) -> None:
    code, out, _ = ask("recover", plain)
    assert (code, "runs/api-1-r3-abc.jsonl.zst: torn at byte" in out) == (0, True)
    (plain / "runs" / "api-1-r1-abc.jsonl.zst").write_bytes(b"not a log at all")
    code, out, _ = ask("recover", plain)
    assert (code, "corrupt" in out, "kept as api-1-r1-abc.jsonl.zst.corrupt" in out) == (1, True, True)


def test_a_damaged_sealed_campaign_fails_verify_with_file_and_byte(ask: Any, sealed: Path) -> None:
    path = sealed / "events.jsonl.zst"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    code, out, err = ask("verify", sealed)
    assert code == 1
    assert "events.jsonl.zst: the frame at byte 0 has SHA-256" in out
    assert "corrupt" in err


def test_mistakes_exit_with_2_and_no_traceback(ask: Any, tmp_path: Path, plain: Path) -> None:
    for words in (("seal", tmp_path / "nothing"), ("unseal", plain), ("recover", tmp_path / "nothing")):
        code, _, err = ask(*words)
        assert (code, err.startswith("error: "), "Traceback" in err) == (2, True, False)


QUESTIONS = (
    ("ls", "{}", "--json"),
    ("show", "api-1-r3a2", "--in", "{}", "--json"),
    ("verify", "{}", "--json"),
    ("sql", "{}", "SELECT * EXCLUDE (file_bytes) FROM runs ORDER BY run_id", "--json"),
    ("sql", "{}", "SELECT run_id, call, result FROM tool_results ORDER BY ALL", "--json"),
    ("regrade", "{}", "--json"),
)
PLACES = ("path", "file_bytes", "detail", "file", "created", "grade_file_sha256", "written")


def comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items() if key not in PLACES}
    if isinstance(value, list):
        return sorted((comparable(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: " ".join(question)[:40])
def test_a_command_answers_the_same_for_all_three_states(ask: Any, tmp_path: Path, question: tuple[str, ...]) -> None:
    directory = campaign(tmp_path / "c")
    words = [word.format(directory) for word in question]
    answers = [ask(*words)]
    shutil.copytree(directory / "runs", tmp_path / "kept")
    ask("seal", directory, "--level", "3")
    answers.append(ask(*words))
    shutil.copytree(tmp_path / "kept", directory / "runs")
    answers.append(ask(*words))
    assert [code for code, _, _ in answers] == [0, 0, 0]
    first, *others = (comparable(json.loads(out)) for _, out, _ in answers)
    if question[0] == "verify":
        others = [[row for row in other if "run_id" in row] for other in others]
    assert others == [first, first]


def test_an_index_is_fresh_until_the_campaign_is_sealed_and_then_built_from_the_frames(ask: Any, plain: Path) -> None:
    query = ("sql", plain, "SELECT count(*) AS n FROM tool_results", "--json")
    expected = json.loads(ask(*query)[1])
    for _ in range(2):
        assert "built" in ask("index", plain)[1]
        assert "is fresh" in ask("index", plain)[1]
        assert json.loads(ask(*query)[1]) == expected
        ask("seal", plain, "--level", "3")


def test_a_regrade_in_two_processes_reads_a_sealed_campaign(ask: Any, tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c", torn=False)
    first = json.loads(ask("regrade", directory, "--json")[1])
    ask("seal", directory, "--level", "3")
    second = json.loads(ask("regrade", directory, "--jobs", "2", "--json")[1])
    assert (first[0]["written"], second[0]["written"]) == (True, False)
    assert second[0]["receipt"]["inputs_sha256"] == first[0]["receipt"]["inputs_sha256"]
