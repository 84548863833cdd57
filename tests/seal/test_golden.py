"""Logs of every schema version read, verify, grade and seal as they did when they were made."""

import json
import shutil
from pathlib import Path

import pytest

from replay.campaigns import logs_in
from replay.publishing.patterns import flat, hits, machine_names
from replay.reader import read_all
from replay.seal.sealing import seal
from replay.seal.unsealing import unseal
from replay.sealed import read_index
from replay.verify import verify
from schemas.events import SCHEMA_VERSION
from schemas.sealed import SEALED_VERSION
from tests.data.golden.make import AGENTS, EXPECTED, HERE, PLAIN, states, verdicts
from tests.seal.campaigns import files, raw

VERSIONS = sorted(path.name for path in HERE.glob("v*"))
CAMPAIGNS = [(version, agent) for version in VERSIONS for agent in AGENTS]
STATES = [(version, agent, state) for version, agent in CAMPAIGNS for state in states(version, agent)]
SEALED = [(version, agent, state) for version, agent, state in STATES if state != PLAIN]
MOST_LOG_BYTES, MOST_SEALED_BYTES = 90 * 1024, 35 * 1024
"""Of the logs and verdicts of a schema version, and of each format of the index, which seals the same logs again."""


def test_there_is_a_golden_campaign_of_every_schema_version() -> None:
    assert [f"v{number}" for number in range(1, SCHEMA_VERSION + 1)] == VERSIONS


def test_there_is_a_golden_campaign_of_every_format_of_the_index() -> None:
    found = {read_index(HERE / version / agent / state).schema_version for version, agent, state in SEALED}
    assert found == set(range(1, SEALED_VERSION + 1))


@pytest.mark.parametrize(("version", "agent", "state"), STATES)
def test_a_golden_campaign_reads_and_verifies(version: str, agent: str, state: str) -> None:
    checks = list(verify(HERE / version / agent / state))
    assert sorted(check.state for check in checks) == ["complete", "complete", "complete", "interrupted"]
    assert all(read_all(log)[0] for log in logs_in(HERE / version / agent / state))


@pytest.mark.parametrize(("version", "agent", "state"), STATES)
def test_a_golden_campaign_grades_as_it_did(version: str, agent: str, state: str) -> None:
    expected = json.loads((HERE / version / EXPECTED).read_text())[agent]
    assert len(expected) == 2
    for grader_version, rows in expected.items():
        assert verdicts(HERE / version / agent / state, int(grader_version)) == rows


@pytest.mark.parametrize(("version", "agent", "state"), SEALED)
def test_a_golden_campaign_comes_back_and_seals_to_the_same_runs(
    tmp_path: Path, version: str, agent: str, state: str
) -> None:
    plain, sealed = HERE / version / agent / PLAIN, tmp_path / "sealed"
    shutil.copytree(HERE / version / agent / state, sealed)
    assert raw(sealed) == raw(plain)
    back = unseal(sealed)
    if not back.recompressed:
        assert files(sealed) == files(plain)
    seal(sealed)
    assert raw(sealed) == raw(plain)


def test_the_golden_logs_stay_small_and_name_no_place() -> None:
    found = [path for version in VERSIONS for path in (HERE / version).rglob("*") if path.is_file()]
    formats = {(version, state) for version, _, state in SEALED}
    most = MOST_LOG_BYTES * len(VERSIONS) + MOST_SEALED_BYTES * len(formats)
    assert sum(path.stat().st_size for path in found) < most
    texts = [path.read_text() for path in found if path.name == "campaign.json"]
    lines = [r.line.decode() for v, a in CAMPAIGNS for log in logs_in(HERE / v / a / PLAIN) for r in read_all(log)[0]]
    names = machine_names()
    places = {"home_path", "user_name", "host_name"}
    assert not [hit for text in (*texts, *lines) for hit in hits(flat(text), names) if hit.kind in places]
