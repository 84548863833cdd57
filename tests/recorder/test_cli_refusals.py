"""Wrong configuration: exit 2, one clear line, and nothing made."""

import os
import sys
from pathlib import Path

import pytest

import recorder.campaign
from recorder.cli import main
from recorder.scripted import Reply, ScriptedServer
from tests.recorder.commands import Done, assert_one_clear_line, clean_env, command, files_below

URL, MODEL = "KORVID_EVAL_BASE_URL", "KORVID_EVAL_MODEL"
SERVED = {URL: "http://127.0.0.1:9", MODEL: "ollama/tiny:1b"}

WRONG: list[tuple[list[str], dict[str, str], str]] = [
    (["nowhere"], {}, "nowhere"),
    (["half"], {}, "half/case.yaml"),
    (["--agent", "silent", "--model", "ollama/tiny"], {}, "--model: agent silent asks no model"),
    (["--agent", "oracle", "--base-url", "http://127.0.0.1:9"], {}, "--base-url: agent oracle asks no model"),
    (["--agent", "echo", "--warmup"], SERVED, "--warmup: agent echo asks no model"),
    ([], SERVED | {"KORVID_EVAL_TIMEOUT_SECONDS": "1_0"}, "KORVID_EVAL_TIMEOUT_SECONDS"),
    (["--case", "oom-kiled"], {}, "oom-killed"),
    (["--case", "oom-killed", "--case", "oom-killed"], {}, "--case: oom-killed is given twice"),
    (["--case", ""], {}, "--case: blank"),
    (["--reps", "0"], {}, "--reps: 0"),
    (["--reps", "-3"], {}, "--reps: -3"),
    (["--tier", "middle"], {}, "--tier: middle is none of low, high"),
    (["--durability", "never"], {}, "--durability: never is none of event, turn, run"),
    (["--agent", "gpt"], {}, "--agent: gpt is none of model, oracle"),
    (["--agent", "oracle", "--out", "full"], {}, "--resume full"),
    (["--agent", "oracle", "--out", "full/file"], {}, "full/file: already there"),
    (["--agent", "oracle", "--out", "full/file/below"], {}, "full/file/below"),
    (["--agent", "oracle", "--out", "/proc/no/campaign"], {}, "/proc/no/campaign: cannot make the campaign"),
    (["--resume", "nowhere"], {}, "nowhere/campaign.json"),
    (["--resume", "full"], {}, "full/campaign.json"),
    (["--without-tool", "kubectl", "--agent", "oracle"], {}, "--without-tool kubectl: not armed"),
    (["--tier-pack-file", "nowhere.md"], {}, "nowhere.md"),
    (["--prompt-overlay-file", "nowhere.md"], {}, "nowhere.md"),
    (["--prompt-overlay-file", "blank.md", "--agent", "oracle"], {}, "blank.md"),
    (["--model", "tiny"], {URL: "http://127.0.0.1:9"}, "not PROVIDER/TAG"),
    (["--model", "ollama/tiny"], {}, URL),
    (["--model", "embedded/70b"], {}, "0.5b"),
    (["--model", "embedded/0.5b", "--base-url", "http://127.0.0.1:9"], {}, "--base-url"),
    (["--base-url", "http://127.0.0.1:9"], {}, MODEL),
    (["--base-url", "ftp://host"], {MODEL: "ollama/x"}, "not an http or https URL"),
    ([], SERVED | {URL: "http://user:hunter2hunter2@host"}, "carries credentials"),
    ([], SERVED | {"KORVID_EVAL_OPTIONS_JSON": "{"}, "KORVID_EVAL_OPTIONS_JSON"),
    ([], SERVED | {"KORVID_EVAL_OPTIONS_JSON": '{"api_key": "hunter2hunter2"}'}, "KORVID_EVAL_API_KEY_ENV"),
    ([], SERVED | {"KORVID_EVAL_TIMEOUT_SECONDS": "-1"}, "KORVID_EVAL_TIMEOUT_SECONDS"),
    ([], SERVED | {"KORVID_EVAL_CA_BUNDLE": "nowhere.pem"}, "KORVID_EVAL_CA_BUNDLE"),
    ([], SERVED | {"KORVID_EVAL_API_KEY_ENV": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE"),
    ([], SERVED | {"KORVID_EVAL_API_KEY_ENV": "sk-hunter2hunter2"}, "must be the name of a variable"),
    ([], SERVED, "no model server at http://127.0.0.1:9"),
    (["--base-url", "http://a..b"], {MODEL: "ollama/x"}, "no model server at http://a..b"),
    (["--base-url", f"http://{'a' * 64}.org"], {MODEL: "ollama/x"}, f"no model server at http://{'a' * 64}.org"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a full directory, a broken pack and a blank overlay in it."""
    for name, text in {"full/file": "x", "half/case.yaml": "id: half\n", "blank.md": " \n"}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], env: dict[str, str], *arguments: str
) -> Done:
    """The entry point in this process."""
    for name in [name for name in os.environ if name.startswith("KORVID_")]:
        monkeypatch.delenv(name)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["korvid-rec", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return Done(ended.value.code, out, err)


@pytest.mark.parametrize(("flags", "env", "says"), WRONG, ids=[" ".join(flags) or says for flags, _, says in WRONG])
def test_wrong_configuration_exits_2_with_one_line_and_makes_nothing(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    env: dict[str, str],
    says: str,
) -> None:
    before = files_below(here)
    done = called(monkeypatch, capsys, env, "run", *flags)
    assert done.code == 2
    assert_one_clear_line(done)
    assert says in done.err
    assert "hunter2" not in done.err
    assert files_below(here) == before


def test_a_model_that_cannot_call_tools_is_refused_before_anything_is_made(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_below(here)
    page = {"details": {}, "model_info": {}, "capabilities": ["completion"]}
    with ScriptedServer([Reply(text="never asked")], pages={"/api/show": page}) as server:
        done = called(monkeypatch, capsys, {URL: server.url, MODEL: "ollama/scripted:1b"}, "run")
        assert server.chats == []
    assert done.code == 2
    assert_one_clear_line(done)
    assert "cannot call tools" in done.err
    assert files_below(here) == before


def test_a_ctrl_c_before_the_first_run_is_one_word_and_makes_nothing(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = files_below(here)
    monkeypatch.setattr(recorder.campaign, "probe", stop)
    done = called(monkeypatch, capsys, {}, "run", "--agent", "oracle")
    assert done == Done(130, "", "stopped\n")
    assert files_below(here) == before


def test_wrong_usage_in_a_process_of_its_own_shows_no_traceback(here: Path) -> None:
    before = files_below(here)
    done = command("run", "--tier", "middle", cwd=here, env=clean_env())
    assert (done.code, done.err) == (2, "error: --tier: middle is none of low, high\n")
    unknown = command("run", "--temprature", "1", cwd=here, env=clean_env())
    assert unknown.code == 2
    assert "No such option: --temprature" in unknown.err
    assert "Traceback" not in unknown.err
    assert files_below(here) == before
