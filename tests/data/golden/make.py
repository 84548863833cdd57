"""`python -m tests.data.golden.make`: record the golden campaigns of the present schema version.

Each directory `v<N>` holds small campaigns as the release of that schema version recorded and sealed them, and
`expected.json`: what two versions of the grader said. They are never changed: a new schema version gets a directory of
its own, a new format of the index a directory `sealed-<M>` beside the older ones. The recorder is the real one, with
baseline agents; one attempt is cut off as by a kill and recorded again.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from replay.campaigns import logs_in
from replay.fold import fold
from replay.graders import load
from replay.grades import basis, row
from replay.seal.sealing import seal
from replay.work import graded
from schemas.events import SCHEMA_VERSION
from schemas.provenance import Harness, Machine, decode_manifest, encode_manifest, judged
from schemas.sealed import SEALED_VERSION

HERE = Path(__file__).parent
EXPECTED = "expected.json"
PLAIN, SEALED = "plain", f"sealed-{SEALED_VERSION}"
AGENTS = ("oracle", "constant-oom")
CASES = ("oom-killed", "image-pull-typo", "healthy-deployment")
NOT_FROZEN = ("grader_sha256", "explanation")
"""What may differ between releases without a verdict having moved."""

_CUT = 0.6
_MACHINE = Machine(cpu="golden", cores=2, memory_bytes=None, os="Linux", python="3.11")
_HARNESS = Harness(version="0.1.0", revision="golden")


def main() -> None:
    """Make `v<N>` of the present schema version, or its `sealed-<M>`. Exits with a message if both are there."""
    target = HERE / f"v{SCHEMA_VERSION}"
    recorded = target.exists()
    if recorded and all((target / agent / SEALED).exists() for agent in AGENTS):
        sys.exit(f"{target}: already there; golden logs are not changed, raise SCHEMA_VERSION to make the next")
    for agent in AGENTS:
        if not recorded:
            _record(agent, target / agent / PLAIN)
        shutil.copytree(target / agent / PLAIN, target / agent / SEALED)
        seal(target / agent / SEALED)
    if recorded:
        return
    versions = (1, load("claims").latest)
    expected = {agent: {str(v): verdicts(target / agent / PLAIN, v) for v in versions} for agent in AGENTS}
    (target / EXPECTED).write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


def states(version: str, agent: str) -> list[str]:
    """The directories of one golden campaign: plain, and sealed in each format of the index there was."""
    return sorted(path.name for path in (HERE / version / agent).iterdir())


def verdicts(directory: Path, version: int) -> list[dict[str, Any]]:
    """What a version of the claims grader says of each run of a campaign, by run id."""
    grader = load(f"claims@{version}")
    found = []
    for log in logs_in(directory):
        run = fold(log)
        verdict, failure = graded(run, grader, None)
        assert failure is None, failure
        fields = msgspec.to_builtins(row(run, basis(run, None), grader, verdict))
        found.append({name: value for name, value in fields.items() if name not in NOT_FROZEN})
    return sorted(found, key=lambda fields: str(fields["run_id"]))


def _record(agent: str, directory: Path) -> None:
    command = [str(Path(sys.executable).with_name("korvid-rec")), "run"]
    chosen = [word for case in CASES for word in ("--case", case)]
    subprocess.run([*command, "--agent", agent, "--reps", "1", *chosen, "--out", str(directory)], check=True)
    torn = sorted((directory / "runs").iterdir())[0]
    torn.write_bytes(torn.read_bytes()[: int(torn.stat().st_size * _CUT)])
    subprocess.run([*command, "--resume", str(directory)], check=True)
    manifest = directory / "campaign.json"
    known = decode_manifest(manifest.read_bytes())
    manifest.write_bytes(
        encode_manifest(judged(msgspec.structs.replace(known, machine=_MACHINE, harness=_HARNESS, also_recorded_by=())))
    )


if __name__ == "__main__":
    main()
