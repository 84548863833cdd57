"""Hostile names of cases, tools and models: every command takes them as text, and none leads anywhere."""

import json
import os
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from packs.loader import load_pack
from recorder.log import RunLog
from recorder.scripted import Call, Reply, ScriptedServer
from replay.cli import cli
from replay.fold import fold
from replay.reader import read_all
from replay.verify import verify
from schemas.errors import CaseError
from schemas.events import ToolCall, ToolResult, TurnFinished, TurnStarted
from tests.builders import run_started
from tests.faults.forked import Forks
from tests.publishing.conftest import make_repository
from tests.publishing.tools import git, make_publishable
from tests.recorder.commands import server_env
from tests.seal.campaigns import files
from tests.synthetic import Options, generate

ESCAPED = f"/tmp/escaped-{uuid.uuid4().hex[:8]}"
HOSTILE = {
    "path": f"../../../..{ESCAPED}",
    "absolute": ESCAPED,
    "quote": 'it\'s "quoted" `too`',
    "sql": f"x'; DROP VIEW runs; ATTACH '{ESCAPED}' AS e; --",
    "newline": "first\nsecond\r\nerror: third",
    "terminal": "\x1b[2J\x1b]0;title\x07",
    "nul": "a\0b",
    "markup": "<script>alert(1)</script>|[x](javascript:y)|**",
    "pattern": "*[?]{a,b}%s{0}",
    "wide": "漢字\u202egnp.exe\ufeff",
    "half": "half \ud83d",
    "long": "n" * 300,
    "formula": "$\\frac{1}{$ $x_",
    "empty": "",
}
NAMES = "SELECT case_id, model, tool FROM runs JOIN tool_calls USING (run_id) WHERE run_id = 'hostile-r1'"
CAMPAIGN = "synthetic-base-synthetic-4b"
COMMANDS = (
    ("verify", CAMPAIGN),
    ("ls", CAMPAIGN),
    ("show", "hostile", "--in", CAMPAIGN),
    ("show", "hostile", "--in", CAMPAIGN, "--json"),
    ("regrade", CAMPAIGN),
    ("regrade", CAMPAIGN, "--grader", "claims@1"),
    ("diff", CAMPAIGN, "--from", "claims@1"),
    ("bisect", CAMPAIGN, "--from", "claims@1"),
    ("index", CAMPAIGN),
    ("sql", CAMPAIGN, "FROM runs JOIN tool_calls USING (run_id)"),
    ("sql", CAMPAIGN, "FROM tool_results", "--format", "csv"),
    ("scoreboard", CAMPAIGN, "--out", "board.md"),
    ("scoreboard", CAMPAIGN, "--format", "html", "--out", "board.html"),
    ("export", CAMPAIGN, "--format", "atif", "--out", "atif"),
    ("export", CAMPAIGN, "--format", "inspect", "--out", "inspect"),
    ("export", CAMPAIGN, "--format", "otel", "--out", "otel"),
    ("export", CAMPAIGN, "--format", "parquet", "--out", "parquet"),
    ("seal", CAMPAIGN),
    ("verify", CAMPAIGN),
    ("publish", CAMPAIGN, "--repo", "repository"),
)
"""Every command that shows a name or writes one, in an order that makes sense."""


@pytest.fixture(scope="module")
def recorders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("outputs")) as server:
        yield server


def hostile_campaign(base: Path, name: str) -> Path:
    """A publishable campaign, one of whose logs says this name wherever a log can say one."""
    (directory,) = generate(base, Options(runs=2, raw_kib=2))
    campaign_id = json.loads((directory / "campaign.json").read_text())["campaign_id"]
    log = RunLog(directory / "runs" / "hostile-r1.jsonl.zst", durability="run")
    log.append(run_started("hostile-r1", campaign_id, case_id=name, model=name, arm=name))
    log.append(TurnStarted(turn=1, user=name))
    log.append(
        ToolCall(
            call=1, turn=1, iteration=1, request=1, call_id=name, tool=name, arguments_raw=name, arguments={name: name},
            disposition="not_armed",
        )
    )  # fmt: skip
    log.append(ToolResult(call=1, tool=name, ok=False, result=name, error_class="not_armed"))
    log.append(TurnFinished(turn=1, outcome="answered", answer=name, iterations=1, tool_calls=1, duration_s=0.5))
    log.finish("completed")
    make_publishable(directory)
    return directory


@pytest.mark.parametrize("kind", HOSTILE)
def test_every_command_takes_a_hostile_name_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    name = HOSTILE[kind]
    work = tmp_path / "a" / "b" / "c"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    campaign = hostile_campaign(work, name).name
    assert campaign == CAMPAIGN
    make_repository(work / "repository")
    for arguments in COMMANDS:
        done = CliRunner().invoke(cli, list(arguments))
        assert done.exit_code == 0, (arguments, done.stderr, done.exception)
        assert "csv" in arguments or "\x1b" not in done.stdout + done.stderr
    assert {check.state for check in verify(Path(campaign))} == {"complete"}
    assert os.listdir(tmp_path) == ["a"]
    assert os.listdir(tmp_path / "a") == ["b"]
    assert os.listdir(tmp_path / "a" / "b") == ["c"]
    assert not Path(ESCAPED).exists()
    assert git(work / "repository", "ls-tree", "--name-only", "eval-results:campaigns") == campaign
    assert "<script>" not in (work / "board.html").read_text().partition("</style>")[2]


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind != "half"])
def test_sql_gives_a_hostile_name_back_as_it_is(tmp_path: Path, kind: str) -> None:
    name = HOSTILE[kind]
    campaign = hostile_campaign(tmp_path, name)
    done = CliRunner().invoke(cli, ["sql", str(campaign), NAMES, "--json"])
    assert done.exit_code == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert set(row.values()) == {name}
    assert fold(campaign / "runs" / "hostile-r1.jsonl.zst").turns[0].calls[0].tool == name


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind not in ("half", "empty")])
def test_a_model_that_calls_a_tool_by_a_hostile_name_is_recorded_with_it(
    recorders: Forks, tmp_path: Path, kind: str
) -> None:
    name = HOSTILE[kind]
    with ScriptedServer(
        [Reply(text="", tool_calls=(Call(name=name, arguments={name: name}),)), Reply(text="It is fine.")]
    ) as server:
        flags = ("run", "scenarios", "--case", "healthy-deployment", "--reps", "1", "--out", "c")
        child = recorders.start(*flags, cwd=tmp_path, env=server_env(server))
        assert child.wait() == 0, child.stderr
    assert "\x1b" not in child.stdout + child.stderr
    (log,) = (tmp_path / "c" / "runs").iterdir()
    (call,) = [record.event for record in read_all(log)[0] if isinstance(record.event, ToolCall)]
    assert call.tool == name
    assert call.disposition == "not_armed"
    assert {check.state for check in verify(tmp_path / "c")} == {"complete"}
    assert os.listdir(tmp_path) == ["c"]


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind not in ("nul", "half", "empty")])
def test_a_model_with_a_hostile_name_is_recorded_or_refused_by_the_name_of_the_variable(
    recorders: Forks, tmp_path: Path, kind: str
) -> None:
    name = HOSTILE[kind]
    with ScriptedServer([Reply(text="It is fine.")]) as server:
        env = server_env(server) | {"KORVID_EVAL_MODEL": f"ollama/{name}"}
        flags = ("run", "scenarios", "--case", "healthy-deployment", "--reps", "1", "--out", "c")
        child = recorders.start(*flags, cwd=tmp_path, env=env)
        code = child.wait()
    assert "Traceback" not in child.stderr
    assert "\x1b" not in child.stdout + child.stderr
    assert set(os.listdir(tmp_path)) <= {"c"}
    if code == 0:
        assert json.loads((tmp_path / "c" / "campaign.json").read_text())["model"].endswith(name)
        assert {check.state for check in verify(tmp_path / "c")} == {"complete"}
    else:
        assert code in (1, 2)
        assert child.stderr.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_case_with_a_hostile_id_is_refused_with_its_file_and_key(tmp_path: Path, kind: str) -> None:
    (tmp_path / "case.yaml").write_text(json.dumps({"id": HOSTILE[kind]}), encoding="utf-8")
    before = files(tmp_path)
    with pytest.raises(CaseError) as refused:
        load_pack(str(tmp_path))
    assert str(refused.value).startswith(f"{tmp_path}/case.yaml: ")
    assert len(str(refused.value)) < 1_000
    assert files(tmp_path) == before


@pytest.mark.parametrize("form", ["atif", "inspect", "otel", "parquet"])
def test_a_campaign_and_a_run_that_are_called_like_a_path_are_exported_within_the_directory(
    tmp_path: Path, form: str
) -> None:
    directory = tmp_path / "a" / "b" / "c"
    (directory / "runs").mkdir(parents=True)
    (directory / "campaign.json").write_text(json.dumps({"campaign_id": "../../escaped"}))
    log = RunLog(directory / "runs" / "hostile.jsonl.zst", durability="run")
    log.append(run_started("../../escaped", "../../escaped", case_id="../../escaped"))
    log.append(TurnStarted(turn=1, user="why?"))
    log.append(TurnFinished(turn=1, outcome="answered", answer="so", iterations=1, tool_calls=0, duration_s=0.5))
    log.finish("completed")
    out = tmp_path / "a" / "b" / "out"
    done = CliRunner().invoke(cli, ["export", str(directory), "--format", form, "--out", str(out)])
    assert done.exit_code in (0, 1), done.exception
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*escaped*")} <= {
        str(path.relative_to(tmp_path)) for path in out.rglob("*")
    }
    if form == "inspect" and done.exit_code == 0:
        (packed,) = out.glob("*.eval")
        with zipfile.ZipFile(packed) as archive:
            assert not [name for name in archive.namelist() if ".." in name.split("/")]
