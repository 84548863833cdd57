"""The commands, from a recording to another machine and back."""

import json
from pathlib import Path

import typer
from typer.testing import CliRunner

from replay import cli_publish
from replay.publishing.publish import PrivateTextsError
from schemas.errors import WorkError
from tests.publishing.conftest import make_bare

cli = typer.Typer()
cli_publish.register(cli)
runner = CliRunner()


def test_publish_and_fetch_tell_what_they_did(campaign: Path, repository: Path, tmp_path: Path) -> None:
    bare = make_bare(tmp_path / "results.git")
    done = runner.invoke(cli, ["publish", str(campaign), "--repo", str(repository), "--push", str(bare)])
    assert done.exit_code == 0
    assert f"campaigns/{campaign.name}: published" in done.stdout
    assert f"pushed to {bare}" in done.stdout
    again = runner.invoke(cli, ["publish", str(campaign), "--repo", str(repository), "--push", str(bare), "--json"])
    assert json.loads(again.stdout)["landed"]["placed"][0]["already"]
    got = runner.invoke(cli, ["fetch", str(bare), "--out", str(tmp_path / "out")])
    assert got.exit_code == 0
    assert "holds;" in got.stdout
    assert f"korvid-replay verify {tmp_path / 'out'}" in got.stderr
    assert f"the campaigns lie in {tmp_path / 'out' / 'campaigns'}; give that" in got.stderr
    one = runner.invoke(cli, ["fetch", str(bare), campaign.name[:4], "--out", str(tmp_path / "one")])
    assert f"korvid-replay verify {tmp_path / 'one' / 'campaigns' / campaign.name}\n" in one.stderr


def test_publish_and_fetch_count_the_same_files_and_bytes(campaign: Path, repository: Path, tmp_path: Path) -> None:
    done = runner.invoke(cli, ["publish", str(campaign), "--repo", str(repository), "--json"])
    got = runner.invoke(cli, ["fetch", str(repository), "--out", str(tmp_path / "out"), "--json"])
    (ready,) = json.loads(done.stdout)["campaigns"]
    (directory,) = json.loads(got.stdout)["audits"][0]["directories"]
    assert (directory["files"], directory["bytes"]) == (len(ready["files"]), ready["bytes"])


def test_fetch_of_a_damaged_campaign_fails_and_names_the_file(fetched: Path, directory: Path, tmp_path: Path) -> None:
    path = directory / "events.jsonl.zst"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    got = runner.invoke(cli, ["fetch", str(fetched), directory.name, "--out", str(tmp_path / "out"), "--json"])
    assert got.exit_code == 1
    (audit,) = json.loads(got.stdout)["audits"]
    assert {problem["file"] for problem in audit["problems"]} == {"events.jsonl.zst"}


def test_private_texts_are_listed_as_json_without_the_texts(private: Path, repository: Path) -> None:
    done = runner.invoke(cli, ["publish", str(private), "--repo", str(repository), "--json"])
    assert isinstance(done.exception, PrivateTextsError)
    findings = json.loads(done.stdout)
    assert {"token", "email", "home_path"} <= {finding["kind"] for finding in findings}
    assert all(finding["file"] and "line" in finding for finding in findings)
    assert "Zq81mNcV" not in done.stdout


def test_a_dry_run_with_redact_lists_what_it_would_replace(private: Path, repository: Path) -> None:
    done = runner.invoke(cli, ["publish", str(private), "--repo", str(repository), "--redact", "--dry-run"])
    assert done.exit_code == 0
    assert "dry run: nothing was stored" in done.stdout
    assert "replaced events.jsonl.zst:" in done.stdout


def test_the_limit_of_the_command_line_counts(campaign: Path, repository: Path) -> None:
    (campaign / "grades" / "big.txt").write_text("abc " * 300_000)
    done = runner.invoke(cli, ["publish", str(campaign), "--repo", str(repository), "--max-mib", "1"])
    assert isinstance(done.exception, WorkError)
