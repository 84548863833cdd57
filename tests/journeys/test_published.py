"""The comparison with published answers reads the published form, and compares claims turn by turn."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.journeys.replay_answers import judge, main

RIGHT = "Nothing is unhealthy: catalog-1 and catalog-2 are ready."
WRONG = "catalog-2 is in CrashLoopBackOff."


def turn(answer: str, published: bool) -> dict[str, object]:
    return {"answer": answer, "grade": {"diagnosis_success": published}}


def archive(folder: Path, members: dict[str, object], name: str = "made-up.tar.gz") -> Path:
    path = folder / name
    with tarfile.open(path, "w:gz") as made:
        for member, value in members.items():
            data = json.dumps(value).encode()
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))
    return path


def results(*turns: dict[str, object]) -> list[dict[str, object]]:
    return [{"journey_id": "healthy-stop", "runs": [{"turns": list(turns)}]}]


def test_each_answer_is_judged_by_its_own_turn(tmp_path: Path) -> None:
    path = archive(tmp_path, {"x/journeys/m-1b.json": results(turn(RIGHT, True), turn(WRONG, True))})
    found = list(judge(path))
    assert [(item.model, item.turn, item.published, item.ours) for item in found] == [
        ("m-1b", 1, True, True),
        ("m-1b", 2, True, False),
    ]
    assert any("CrashLoopBackOff" in reason for reason in found[1].reasons)


def test_only_results_of_journeys_are_read(tmp_path: Path) -> None:
    members: dict[str, object] = {
        "x/journeys-r2/m.json": results(turn(RIGHT, True), turn(RIGHT, True)),
        "x/journeys/._m.json": "finder",
        "x/journeys/m-warm.json": {"warm": True},
        "x/tasks/m.json": [{"scenario": "oom-killed"}],
        "x/metadata.json": {},
    }
    assert len(list(judge(archive(tmp_path, members)))) == 2


def test_the_report_lists_disagreements_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = archive(tmp_path, {"x/journeys/m.json": results(turn(RIGHT, False), turn(WRONG, False))})
    assert main([str(path), "--markdown"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["| made-up | m | healthy-stop | 1.1 | fail -> pass |  |"]
    assert printed.err == "2 answers, 1 disagreements\n"
