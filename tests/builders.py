"""Small parts that several test files build logs from."""

from pathlib import Path

from recorder.log import Durability, RunLog
from schemas.cases import (
    Cluster,
    Evidence,
    Interaction,
    Pane,
    Rubric,
    RubricTurn,
    Stimulus,
    StimulusTurn,
    rubric_digest,
    stimulus_digest,
    to_wire,
)
from schemas.events import SCHEMA_VERSION, RunStarted, ToolResult, TurnFinished, TurnStarted
from schemas.policy import LIMITS, Policy, PromptInfo

POLICY = Policy(
    provider="ollama",
    model="tiny",
    dialect="ollama",
    tier="low",
    route_source="user",
    limits=LIMITS["low"],
    tools=("get_logs",),
    prompt=PromptInfo(pack="low"),
)
STIMULUS = Stimulus(
    interaction=Interaction(focused_pane=Pane(kind="pods", scope="shop")),
    turns=(StimulusTurn(user="why does it restart?"),),
    cluster=Cluster(),
)
RUBRIC = Rubric(
    root_cause="bad_command",
    turns=(
        RubricTurn(
            must_mention=(("command not found",),),
            expected_evidence=((Evidence(tool="get_logs", args={"pod": "a", "namespace": "shop"}, contains="x"),),),
        ),
    ),
)


def run_started(run_id: str = "case-r1-abc", campaign_id: str = "c-abc", **changes: object) -> RunStarted:
    """A first event whose digests hold."""
    fields: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "wall_time": "2026-08-01T00:00:00Z",
        "campaign_id": campaign_id,
        "run_id": run_id,
        "case_id": "case",
        "case_kind": "scenario",
        "repetition": 1,
        "attempt": 1,
        "arm": "",
        "agent": "model",
        "model": "ollama/tiny",
        "seed": None,
        "stimulus_sha256": stimulus_digest(STIMULUS),
        "rubric_sha256": rubric_digest(RUBRIC),
        "stimulus": to_wire(STIMULUS),
        "rubric": to_wire(RUBRIC),
        "policy": POLICY,
    }
    return RunStarted(**(fields | changes))  # type: ignore[arg-type]


def open_log(directory: Path, run_id: str = "case-r1-abc", *, durability: Durability = "run") -> RunLog:
    """A log with its first event."""
    directory.mkdir(parents=True, exist_ok=True)
    log = RunLog(directory / f"{run_id}.jsonl.zst", durability=durability)
    log.append(run_started(run_id))
    return log


def finished_log(
    directory: Path, run_id: str = "case-r1-abc", *, results: int = 20, answer: str = "it is fine"
) -> Path:
    """A complete log with some tool results of text that hardly repeats."""
    log = open_log(directory, run_id)
    log.append(TurnStarted(turn=1, user="why does it restart?"))
    for number in range(1, results + 1):
        text = " ".join(f"{word:x}" for word in range(number * 7919, number * 7919 + 40))
        log.append(ToolResult(call=number, tool="get_logs", ok=True, result=text))
    log.append(
        TurnFinished(turn=1, outcome="answered", answer=answer, iterations=1, tool_calls=results, duration_s=0.5)
    )
    log.finish("completed")
    return log.path
