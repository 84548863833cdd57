"""Packs are found by name or directory, cut down to chosen cases, and known by what is in them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from packs.loader import bundled, load_pack, select
from schemas.cases import rubric_from_wire, stimulus_digest, stimulus_from_wire, to_wire
from schemas.errors import CaseError, UsageError
from tests.packs.conftest import GOOD, JOURNEY, Author

SCENARIOS = [
    "bad-command-crash",
    "crashloop-app-panic",
    "crashloop-dependency-unreachable",
    "crashloop-missing-env",
    "healthy-deployment",
    "healthy-restart-history",
    "healthy-service-endpoints",
    "image-pull-auth",
    "image-pull-typo",
    "init-container-failing",
    "job-backoff-limit-exceeded",
    "liveness-probe-failing",
    "missing-configmap-mount",
    "missing-secret-env",
    "node-pressure-eviction",
    "oom-killed",
    "pending-insufficient-cpu",
    "pending-node-selector",
    "pvc-pending-no-storageclass",
    "pvc-wait-for-first-consumer",
    "quota-blocked-scheduling",
    "readiness-probe-failing",
    "service-endpoints-not-ready",
    "service-selector-mismatch",
    "stuck-rollout",
]


def test_the_bundled_pack_holds_the_25_scenarios_in_order() -> None:
    assert "scenarios" in bundled()
    pack = load_pack("scenarios")
    assert [case.id for case in pack.cases] == SCENARIOS
    assert {case.kind for case in pack.cases} == {"scenario"}
    assert sum(case.rubric.root_cause == "none" for case in pack.cases) == 4


def test_a_directory_loads_like_a_bundled_pack(author: Author) -> None:
    author.write(JOURNEY | {"id": "b-journey"}, "1.yaml")
    author.write(GOOD, "2.yaml")
    pack = load_pack(author.folder)
    assert pack == load_pack(str(author.folder))
    assert [(case.id, case.kind) for case in pack.cases] == [("b-journey", "journey"), ("stopped-queue", "scenario")]
    assert pack.name == author.folder.name
    assert [turn.user for turn in pack.cases[0].stimulus.turns] == ["Why is it stopped?", "And now?"]
    assert pack.cases[0].rubric.turns[0].max_tool_calls == 2


def test_what_a_log_carries_of_a_case_reads_back_as_the_same_case() -> None:
    for case in load_pack("scenarios").cases:
        assert stimulus_from_wire(to_wire(case.stimulus)) == case.stimulus
        assert rubric_from_wire(to_wire(case.rubric)) == case.rubric


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ("scenario", "did you mean scenarios?"),
        ("", "blank name"),
        ("/nowhere/at/all", "no pack and no directory '/nowhere/at/all'"),
        (Path(__file__), "is a file; give the directory"),
    ],
)
def test_a_pack_that_is_not_there_is_wrong_usage(ref: str | Path, says: str) -> None:
    with pytest.raises(UsageError) as refusal:
        load_pack(ref)
    assert says in str(refusal.value)


def test_an_empty_directory_is_no_pack(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="holds no case"):
        load_pack(tmp_path)


def test_a_file_that_would_be_left_out_is_refused(author: Author) -> None:
    author.write(GOOD)
    author.write(JOURNEY, "other.yml")
    with pytest.raises(CaseError, match=r"other\.yml: would be left out - rename it to other\.yaml"):
        load_pack(author.folder)


def test_two_cases_of_one_id_are_refused_by_file(author: Author) -> None:
    author.write(GOOD, "a.yaml")
    author.write(GOOD, "b.yaml")
    with pytest.raises(CaseError, match=r"b\.yaml: id: a\.yaml has the same id \('stopped-queue'\)"):
        load_pack(author.folder)


def test_a_file_that_is_no_text_is_refused(author: Author) -> None:
    (author.folder / "a.yaml").write_bytes(b"id: \xff")
    with pytest.raises(CaseError, match=r"a\.yaml: not UTF-8 at byte 4"):
        load_pack(author.folder)


def test_a_file_that_cannot_be_read_is_refused(author: Author) -> None:
    (author.folder / "a.yaml").mkdir()
    with pytest.raises(CaseError, match=r"a\.yaml: cannot be read"):
        load_pack(author.folder)


def test_selected_cases_are_sorted_and_have_a_digest_of_their_own() -> None:
    pack = load_pack("scenarios")
    chosen = select(pack, ["oom-killed", "image-pull-typo"])
    assert [case.id for case in chosen.cases] == ["image-pull-typo", "oom-killed"]
    assert chosen.sha256 != pack.sha256
    assert chosen == select(pack, ["image-pull-typo", "oom-killed"])
    assert select(pack, SCENARIOS) == pack


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ([], "no case id was given"),
        (["oom-killed", " "], "blank case id"),
        (["oom-killed", "oom-killed"], "oom-killed is given twice"),
        (["oom-kiled"], "no case 'oom-kiled'; did you mean oom-killed"),
        (["zzz"], "known are bad-command-crash"),
    ],
)
def test_a_selection_that_names_no_case_is_wrong_usage(ids: list[str], says: str) -> None:
    with pytest.raises(UsageError) as refusal:
        select(load_pack("scenarios"), ids)
    assert says in str(refusal.value)


def test_a_digest_depends_on_neither_process_nor_path_nor_file_name_nor_mtime(tmp_path: Path) -> None:
    pack = load_pack("scenarios")
    copy = tmp_path / "moved"
    copy.mkdir()
    for index, case in enumerate(reversed(pack.cases)):
        target = copy / f"{index:02}.yaml"
        shutil.copy(Path(pack.path) / f"{case.id}.yaml", target)
        os.utime(target, (1, 1))
    program = f"from packs.loader import load_pack; print(load_pack({str(copy)!r}).sha256)"
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        found = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == pack.sha256


def test_a_digest_depends_on_content_and_tells_a_timestamp_from_its_text(author: Author) -> None:
    text = author.write(GOOD).read_text()
    quoted = stimulus_digest(load_pack(author.folder).cases[0].stimulus)
    author.text(text.replace("'2026-07-27T07:00:00Z'", "2026-07-27T07:00:00Z"))
    assert stimulus_digest(load_pack(author.folder).cases[0].stimulus) != quoted
    author.text(text.replace("Why is", "Why was"))
    assert stimulus_digest(load_pack(author.folder).cases[0].stimulus) != quoted
