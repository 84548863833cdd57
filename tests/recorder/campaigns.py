"""Whole campaigns recorded in this process, and what lies on disk afterwards."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from recorder.campaign import Summary, read_manifest, record_campaign
from recorder.resume import completed
from recorder.scripted import ScriptedServer
from recorder.settings import Flags, resolve
from replay.reader import read_all
from schemas.events import RunFinished
from schemas.provenance import Manifest

CASES = ("healthy-deployment", "oom-killed")


def asked(server: ScriptedServer, **more: str) -> dict[str, str]:
    """An environment that names the scripted server's native API."""
    return {"KORVID_EVAL_BASE_URL": server.url, "KORVID_EVAL_MODEL": "ollama/scripted:1b"} | more


def campaign(out: Path, env: dict[str, str] | None = None, **flags: Any) -> tuple[Summary, Manifest]:
    """A fresh campaign of two cases, once each unless flags say otherwise."""
    given: dict[str, Any] = {"cases": CASES, "repetitions": 1, "out": out, "durability": "run"} | flags
    summary = record_campaign(resolve(Flags(**given), env or {}))
    return summary, read_manifest(out)


def resumed(directory: Path, env: dict[str, str] | None = None, **flags: Any) -> tuple[Summary, Manifest]:
    """A campaign that goes on."""
    summary = record_campaign(resolve(completed(Flags(**flags), directory), env or {}), resume=directory)
    return summary, read_manifest(directory)


def statuses(directory: Path) -> dict[str, str | None]:
    """The reason or status that each log of a campaign ends with, by run id without the campaign's suffix."""
    found: dict[str, str | None] = {}
    for path in sorted((directory / "runs").iterdir()):
        ends = [record.event for record in read_all(path)[0] if isinstance(record.event, RunFinished)]
        found[path.name.rsplit("-", 1)[0]] = (ends[0].reason or ends[0].status) if ends else None
    return found


def tear(directory: Path, name: str) -> Path:
    """Cut the log of a run in the middle, as a lost machine does."""
    (path,) = (directory / "runs").glob(f"{name}-*.jsonl.zst")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


def damage(directory: Path, name: str, at: Callable[[int], int]) -> Path:
    """Flip a bit of a log."""
    (path,) = (directory / "runs").glob(f"{name}-*.jsonl.zst")
    data = bytearray(path.read_bytes())
    data[at(len(data))] ^= 1
    path.write_bytes(bytes(data))
    return path
