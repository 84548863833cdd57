"""ATIF (Agent Trajectory Interchange Format): one trajectory a run, `<run_id>.json`.

A turn is a user step; each response of the model is an agent step with the calls it asked for and, as its observation,
what came back. Numbers that were not counted are left out, never 0. Source: the ATIF specification (Harbor RFC 0001).
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Any

from replay.export.command import Campaign
from replay.export.projection import CallView, Exchange, RunView, TurnView
from replay.names import file_name
from replay.totals import total
from replay.unicode import encode_json

VERSION = "ATIF-v1.6"
AGENT = "korvid-rec"


def write(campaign: Campaign, out: Path) -> str:
    """A trajectory for each run. Gives the version of the format."""
    for run in campaign.runs():
        document = trajectory(run, campaign)
        (out / f"{file_name(run.started.run_id)}.json").write_bytes(encode_json(document) + b"\n")
    return VERSION


def trajectory(run: RunView, campaign: Campaign) -> dict[str, Any]:
    """The trajectory of one run."""
    started = run.started
    steps = [{"step_id": number, **step} for number, step in enumerate(_steps(run), 1)]
    turns = [turn.finished for turn in run.turns if turn.finished is not None]
    return {
        "schema_version": VERSION,
        "session_id": started.run_id,
        "agent": _without_none(
            {
                "name": AGENT if started.agent == "model" else f"{AGENT} baseline {started.agent}",
                "version": _version(campaign),
                "model_name": started.model,
                "tool_definitions": next(
                    (each.tools for turn in run.turns for each in turn.exchanges if each.tools), None
                ),
                "extra": {"tools": list(started.policy.tools), "tier": started.policy.tier, "arm": started.arm},
            }
        ),
        "steps": steps,
        "notes": "Exported by korvid-rec. export.json beside this file lists what ATIF has no place for.",
        "final_metrics": _without_none(
            {
                "total_prompt_tokens": total(turn.usage.input_tokens for turn in turns),
                "total_completion_tokens": total(turn.usage.output_tokens for turn in turns),
                "total_cached_tokens": total(turn.usage.cached_tokens for turn in turns),
                "total_steps": len(steps),
                "extra": {
                    "duration_s": run.duration_s,
                    "tokens_estimated": any(turn.usage_estimated for turn in turns),
                },
            }
        ),
        "extra": {
            "campaign_id": started.campaign_id,
            "case_id": started.case_id,
            "repetition": started.repetition,
            "attempt": started.attempt,
            "status": run.status,
            "status_reason": run.reason,
            "seed": started.seed,
            "log_sha256": run.sha256,
            "stimulus_sha256": started.stimulus_sha256,
            "rubric_sha256": started.rubric_sha256,
            "not_recorded": list(started.not_recorded),
        },
    }


def moment(run: RunView, t: float) -> datetime:
    """The wall-clock time of `t` seconds into a run."""
    return datetime.fromisoformat(run.started.wall_time) + timedelta(seconds=t)


def _steps(run: RunView) -> Iterator[dict[str, Any]]:
    if run.system is not None:
        yield {"timestamp": moment(run, 0.0).isoformat(), "source": "system", "message": run.system}
    for turn in run.turns:
        stamp = moment(run, turn.t).isoformat()
        yield {
            "timestamp": stamp,
            "source": "user",
            "message": turn.started.user,
            "extra": {"turn": turn.started.turn},
        }
        for exchange in turn.exchanges:
            yield _agent_step(run, turn, exchange)
        if not turn.exchanges and turn.finished is not None:
            yield _answer_step(run, turn)


def _agent_step(run: RunView, turn: TurnView, exchange: Exchange) -> dict[str, Any]:
    response, error = exchange.response, exchange.error
    extra: dict[str, Any] = {"turn": turn.started.turn, "request": exchange.request.request}
    if response is not None:
        extra |= _without_none(
            {
                "finish_reason": response.finish_reason,
                "duration_s": response.duration_s,
                "time_to_first_token_s": response.time_to_first_token_s,
                "server_usage": response.server_usage,
            }
        )
    if error is not None:
        extra["error"] = {"class": error.error_class, "message": error.message, "status": error.status}
    usage = response.usage if response is not None else None
    return _without_none(
        {
            "timestamp": moment(run, exchange.t).isoformat(),
            "source": "agent",
            "model_name": run.started.model,
            "message": response.content if response is not None else error.content if error is not None else "",
            "reasoning_content": response.reasoning if response is not None else None,
            "metrics": _without_none(
                {
                    "prompt_tokens": usage.input_tokens,
                    "completion_tokens": usage.output_tokens,
                    "cached_tokens": usage.cached_tokens,
                }
            )
            if usage is not None
            else None,
            **_calls(exchange.calls),
            "extra": extra,
        }
    )


def _answer_step(run: RunView, turn: TurnView) -> dict[str, Any]:
    """The answer of a turn of which no request was recorded (an imported run, a baseline agent)."""
    assert turn.finished is not None
    return _without_none(
        {
            "timestamp": moment(run, turn.end_t or turn.t).isoformat(),
            "source": "agent",
            "model_name": run.started.model,
            "message": turn.finished.answer,
            **_calls(turn.calls),
            "extra": {"turn": turn.started.turn, "outcome": turn.finished.outcome},
        }
    )


def _calls(views: list[CallView]) -> dict[str, Any]:
    if not views:
        return {}
    ids = call_ids(views)
    return {
        "tool_calls": [
            {"tool_call_id": ids[each.call.call], "function_name": each.call.tool, "arguments": _arguments(each)}
            for each in views
        ],
        "observation": {
            "results": [
                {"source_call_id": ids[each.call.call], "content": shown(each)}
                for each in views
                if each.result is not None
            ]
        },
    }


def call_ids(views: list[CallView]) -> dict[int, str]:
    """An id for each call, unique among them: the model's own where it is."""
    seen: set[str] = set()
    found: dict[int, str] = {}
    for each in views:
        own = each.call.call_id
        found[each.call.call] = own if own and own not in seen else f"{own or 'call'}#{each.call.call}"
        seen.add(found[each.call.call])
    return found


def shown(each: CallView) -> str:
    """The text of a result that the model saw."""
    assert each.result is not None
    return each.result.result if each.result.shown is None else each.result.shown


def _arguments(each: CallView) -> dict[str, Any]:
    """The parsed arguments; a malformed call has none, so its raw text is kept under a key that says so."""
    if each.call.arguments is not None:
        return each.call.arguments
    return {"__malformed__": each.call.arguments_raw} if each.call.arguments_raw else {}


def _version(campaign: Campaign) -> str:
    if campaign.manifest is not None:
        return campaign.manifest.harness.revision
    return distribution_version("korvid-rec")


def _without_none(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}
