"""What the tests of publishing do again and again."""

import json
import subprocess
from pathlib import Path

import msgspec

from recorder.log import RunLog
from replay.graders import load
from replay.publishing.landing import Target
from replay.publishing.publish import Options, Published, publish
from replay.regrade import Options as RegradeOptions
from replay.regrade import regrade
from schemas import requests
from schemas.digest import sha256_hex
from schemas.events import (
    EmittedCall,
    Message,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolResult,
    Toolset,
    TurnFinished,
    TurnStarted,
    WireChunk,
    WirePiece,
)
from tests.builders import run_started

KEY = "sk-proj-Zq81mNcV0bX72kLs93RtYw55"
HOME = "/home/marguerite"
MAIL = "marguerite.duval@acme-clusters.io"
PLANTED = (KEY, HOME, MAIL, "marguerite")


def graded(campaign: Path, *graders: str) -> Path:
    """The campaign, graded by these graders (default: claims@1 and the newest)."""
    for grader in graders or ("claims@1", "claims"):
        regrade(campaign, load(grader), RegradeOptions())
    return campaign


def git(path: Path, *arguments: str, data: bytes | None = None) -> str:
    """What git prints."""
    command = ["git", "-C", str(path), "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
    done = subprocess.run(command, input=data, capture_output=True, check=True)
    return done.stdout.decode().rstrip("\n")


def options(repository: Path, remote: str | None = None, **changes: object) -> Options:
    """How the tests publish."""
    return Options(target=Target(repository=repository, remote=remote), **changes)  # type: ignore[arg-type]


def publish_one(campaign: Path, repository: Path, **changes: object) -> Published:
    """Publish one campaign."""
    return publish([campaign], options(repository, **changes))


def make_publishable(campaign: Path, **changes: object) -> None:
    """Say in the manifest that the campaign may be published."""
    path = campaign / "campaign.json"
    manifest = json.loads(path.read_text()) | {"publishable": True, "agent": "model", **changes}
    path.write_text(json.dumps(manifest, indent=2) + "\n")


def write_private_run(campaign: Path, run_id: str = "case-private") -> Path:
    """Add a run that holds a key, a home path and an address wherever a run can hold a text.

    The address comes over the wire in pieces of which none holds it.
    """
    campaign_id = json.loads((campaign / "campaign.json").read_text())["campaign_id"]
    log = RunLog(campaign / "runs" / f"{run_id}.jsonl.zst", durability="run")
    answer = f"command not found; ask {MAIL}, see {HOME}/notes, the key is {KEY}"
    message = json.dumps({"role": "user", "content": f'why? "{KEY}" at {HOME}/work'}, separators=(",", ":")).encode()
    tools = b'[{"type":"function","function":{"name":"get_logs"}}]'
    rest = b'{"model":"tiny","messages":null,"tools":null}'
    body = requests.rebuild(rest, (message,), tools, b",")
    arguments = json.dumps({"pod": "a", "note": json.dumps({"path": f"{HOME}/x", "mail": MAIL})})
    log.append(run_started(run_id, campaign_id, model="openai/synthetic-4b", arm="base"))
    log.append(TurnStarted(turn=1, user=f"why? {HOME}/work"))
    log.append(Message(id=0, message=msgspec.Raw(message)))
    log.append(Toolset(id=0, tools=msgspec.Raw(tools)))
    log.append(
        ModelRequest(
            request=1, turn=1, iteration=1, attempt=1, dialect="openai", method="POST",
            url="http://127.0.0.1:11434/v1/chat/completions", stream=True, body_sha256=sha256_hex(body),
            body_bytes=len(body), messages=((0, 0),), toolset=0, rest=msgspec.Raw(rest),
        )
    )  # fmt: skip
    log.append(WireChunk(request=1, status=200, pieces=tuple(_pieces(answer))))
    call = EmittedCall(id="c1", name="get_logs", arguments=arguments)
    log.append(
        ModelResponse(
            request=1, status=200, finish_reason="stop", content=answer, duration_s=0.5, tool_calls=(call,),
            reasoning=f"the owner is {MAIL}",
        )
    )  # fmt: skip
    log.append(
        ToolCall(
            call=1, turn=1, iteration=1, request=1, call_id="c1", tool="get_logs", arguments_raw=arguments,
            arguments=json.loads(arguments), disposition="executed",
        )
    )  # fmt: skip
    log.append(ToolResult(call=1, tool="get_logs", ok=True, result=f"x\nOPENAI_API_KEY={KEY}\n\thello marguerite\n"))
    log.append(TurnFinished(turn=1, outcome="answered", answer=answer, iterations=1, tool_calls=1, duration_s=0.5))
    log.finish("completed")
    return log.path


def _pieces(answer: str) -> list[WirePiece]:
    """Server-sent events of four characters each, cut so that no piece holds a planted text."""
    events = [
        f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': answer[at : at + 4]}}]})}\n\n"
        for at in range(0, len(answer), 4)
    ]
    return [WirePiece(at=number * 0.01, text=event) for number, event in enumerate(events)]
