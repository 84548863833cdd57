"""What every format has in common: nothing is lost in silence, and the same campaign gives the same bytes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from replay.cli import cli
from replay.export import export
from replay.export.command import FORMATS
from replay.export.unmapped import PLACES
from replay.fold import fold
from schemas.codec import known_types
from schemas.errors import UsageError
from tests.replay_grades.tools import digests, pack, raw


@pytest.mark.parametrize("form", FORMATS)
def test_every_kind_of_event_has_a_place_or_a_reason(form: str) -> None:
    assert {field.partition(".")[0] for field in PLACES[form]} == known_types()


@pytest.mark.parametrize("form", FORMATS)
def test_the_notes_name_the_logs_the_files_and_what_had_no_place(campaign: Path, tmp_path: Path, form: str) -> None:
    done = export(campaign, form, tmp_path / "out")
    notes = json.loads((tmp_path / "out" / "export.json").read_bytes())
    assert notes["logs"] == {
        run.run_id: run.log_sha256
        for run in (fold(log) for log in campaign.glob("runs/*"))
        if run.run_id not in notes["left_out"]
    }
    assert done.runs + len(done.left_out) == len(list(campaign.glob("runs/*")))
    wire = [entry for entry in notes["unmapped"] if entry["field"] == "wire_chunk"]
    assert len(wire) == 1
    assert wire[0]["events"] > 0
    written = digests(tmp_path / "out")
    assert {file["path"]: file["sha256"] for file in notes["files"]} | {
        "export.json": written["export.json"]
    } == written


@pytest.mark.parametrize("form", ["atif", "inspect", "otel"])
def test_the_same_campaign_gives_the_same_bytes(campaign: Path, tmp_path: Path, form: str) -> None:
    export(campaign, form, tmp_path / "a" / "out")
    export(campaign, form, tmp_path / "b" / "out")
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def test_an_event_that_this_build_does_not_know_is_named(campaign: Path, tmp_path: Path) -> None:
    log = next(iter(sorted(campaign.glob("runs/*"))))
    lines = raw(log).splitlines(keepends=True)
    torn = [*lines[:-1], b'{"type":"novelty","seq":%d,"t":1.0}\n' % (len(lines) - 1)]
    copy = tmp_path / "c" / "runs"
    copy.mkdir(parents=True)
    pack(copy / log.name, b"".join(torn))
    done = export(tmp_path / "c", "atif", tmp_path / "out")
    assert ("novelty", 1) in [(entry.field, entry.events) for entry in done.unmapped]


def test_a_corrupt_log_is_left_out_by_name(campaign: Path, tmp_path: Path) -> None:
    logs = [log for log in sorted(campaign.glob("runs/*")) if fold(log).status == "completed"][:2]
    copy = tmp_path / "c" / "runs"
    copy.mkdir(parents=True)
    (copy / logs[0].name).write_bytes(logs[0].read_bytes())
    pack(copy / logs[1].name, raw(logs[1]).replace(b'"turn":1', b'"turn":7', 1))
    told: list[str] = []
    done = export(tmp_path / "c", "otel", tmp_path / "out", note=told.append)
    assert (done.runs, len(done.left_out)) == (1, 1)
    assert logs[1].name.removesuffix(".jsonl.zst") in told[0]


def test_a_directory_with_something_in_it_is_refused(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        export(campaign, "atif", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_several_campaigns_at_once_are_refused_with_their_names(campaign: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "many" / name / "runs").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"\(one, two\)"):
        export(tmp_path / "many", "atif", tmp_path / "out")


def test_the_command_tells_what_has_no_place(campaign: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["export", str(campaign), "--format", "atif", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.stderr
    assert "no place for wire_chunk" in done.stdout
    assert CliRunner().invoke(cli, ["export", str(campaign), "--format", "csv", "--out", "x"]).exit_code == 2
