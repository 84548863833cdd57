"""An Inspect log, `<campaign_id>.eval`: a zip of a header and one JSON file a sample, written without Inspect.

A sample is a case, its epoch the repetition; only the newest attempt of each has a place. Scores are our stored grades,
one scorer for each grader and version: `C`, `I`, and none where a run was not gradable, because Inspect would count any
value in its averages. What a scorer of ours said stands in the score's metadata.
"""

import zipfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from replay.export.atif import call_ids, moment, shown
from replay.export.command import Campaign
from replay.export.projection import CallView, Exchange, RunView, TurnView
from replay.names import file_name
from replay.unicode import encode_json
from schemas.events import ToolResult, Usage

VERSION = "2"
"""The version of Inspect's log format that is written."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
_LEVEL = 6
_STOPS = {"stop": "stop", "length": "max_tokens", "tool_calls": "tool_calls", "content_filter": "content_filter"}
_ERRORS = {"forbidden": "permission", "malformed": "parsing", "missing_argument": "parsing", "bad_request": "parsing"}
Scores = dict[str, dict[str, Any]]


def write(campaign: Campaign, out: Path) -> str:
    """One log for the campaign. Gives the version of the format."""
    scores = _scores(campaign)
    newest = _newest_attempts(campaign)
    header: dict[str, Any] | None = None
    summaries: list[dict[str, Any]] = []
    with zipfile.ZipFile(out / f"{file_name(campaign.campaign_id)}.eval", "w") as archive:
        for run in campaign.runs():
            started = run.started
            if newest[started.case_id, started.repetition] != started.run_id:
                campaign.left_out[started.run_id] = "a newer attempt of the same case and repetition is there"
                campaign.logs.pop(started.run_id)
                continue
            header = header or _header(campaign, run)
            document = sample(run, scores.get(started.run_id, {}))
            summaries.append(_summary(document))
            _put(archive, f"samples/{file_name(document['id'])}_epoch_{document['epoch']}.json", document)
        header = _closed(header or {}, summaries)
        _put(archive, "summaries.json", summaries)
        _put(archive, "header.json", header)
    return VERSION


def sample(run: RunView, scores: Scores) -> dict[str, Any]:
    """The sample of one run."""
    started = run.started
    messages = list(_messages(run))
    users = [{"role": "user", "content": turn.started.user} for turn in run.turns]
    finished = [turn.finished for turn in run.turns if turn.finished is not None]
    usage = _usage([turn.usage for turn in finished])
    answer = finished[-1].answer if finished else ""
    document: dict[str, Any] = {
        "id": started.case_id,
        "epoch": started.repetition,
        "input": users[0]["content"] if len(users) == 1 else users,
        "target": str(started.rubric.get("root_cause", "")),
        "messages": messages,
        "output": {
            "model": started.model,
            "choices": [
                {
                    "message": {"role": "assistant", "content": answer, "model": started.model},
                    "stop_reason": _stop(run),
                }
            ],
            "completion": answer,
        }
        | ({"usage": usage} if usage else {}),
        "scores": scores,
        "metadata": {"korvid": _identity(run)},
        "events": [],
        "model_usage": {started.model: usage} if usage else {},
        "started_at": _stamp(moment(run, 0.0)),
        "completed_at": _stamp(moment(run, run.duration_s)),
        "total_time": run.duration_s,
    }
    if run.status != "completed":
        message = f"{run.status}: {run.reason or 'no reason was recorded'}"
        document["error"] = {"message": message, "traceback": "", "traceback_ansi": ""}
    return document


def _identity(run: RunView) -> dict[str, Any]:
    """What a sample has no field for, so that an import loses nothing of it."""
    started = run.started
    return {
        "campaign_id": started.campaign_id,
        "run_id": started.run_id,
        "case_kind": started.case_kind,
        "attempt": started.attempt,
        "arm": started.arm,
        "agent": started.agent,
        "status": run.status,
        "log_sha256": run.sha256,
        "stimulus_sha256": started.stimulus_sha256,
        "rubric_sha256": started.rubric_sha256,
        "not_recorded": list(started.not_recorded),
        "turns": [
            {
                "turn": turn.turn,
                "outcome": turn.outcome,
                "answer": turn.answer,
                "iterations": turn.iterations,
                "tool_calls": turn.tool_calls,
                "duration_s": turn.duration_s,
                "input_tokens": turn.usage.input_tokens,
                "output_tokens": turn.usage.output_tokens,
                "usage_estimated": turn.usage_estimated,
                "error": turn.error,
            }
            for turn in (each.finished for each in run.turns)
            if turn is not None
        ],
    }


def _messages(run: RunView) -> Iterator[dict[str, Any]]:
    """The conversation: each message once, in the order in which it came to be."""
    if run.system is not None:
        yield {"role": "system", "content": run.system}
    for turn in run.turns:
        yield {"role": "user", "content": turn.started.user}
        for exchange in turn.exchanges:
            yield from _exchange(run, exchange)
        if not turn.exchanges:
            yield from _bare_turn(run, turn)


def _exchange(run: RunView, exchange: Exchange) -> Iterator[dict[str, Any]]:
    response = exchange.response
    if response is None:
        return
    content: Any = response.content
    if response.reasoning:
        content = [{"type": "reasoning", "reasoning": response.reasoning}, {"type": "text", "text": response.content}]
    yield {"role": "assistant", "content": content, "model": run.started.model} | _calls(exchange.calls)
    yield from _results(exchange.calls)


def _bare_turn(run: RunView, turn: TurnView) -> Iterator[dict[str, Any]]:
    """A turn of which no request was recorded: its calls, then its answer."""
    if turn.calls:
        yield {"role": "assistant", "content": "", "model": run.started.model} | _calls(turn.calls)
        yield from _results(turn.calls)
    if turn.finished is not None:
        yield {"role": "assistant", "content": turn.finished.answer, "model": run.started.model}


def _calls(views: list[CallView]) -> dict[str, Any]:
    ids = call_ids(views)
    calls = []
    for view in views:
        call = view.call
        found: dict[str, Any] = {
            "id": ids[call.call],
            "function": call.tool,
            "arguments": call.arguments if call.arguments is not None else {},
            "type": "function",
        }
        if call.arguments is None:
            found["parse_error"] = f"{call.problem or 'not an object'}: {call.arguments_raw}"
        calls.append(found)
    return {"tool_calls": calls} if calls else {}


def _results(views: list[CallView]) -> Iterator[dict[str, Any]]:
    ids = call_ids(views)
    for view in views:
        if view.result is None:
            continue
        message: dict[str, Any] = {
            "role": "tool",
            "content": shown(view),
            "tool_call_id": ids[view.call.call],
            "function": view.call.tool,
            "metadata": {
                "korvid": {
                    "ok": view.result.ok,
                    "error_class": view.result.error_class,
                    "disposition": view.call.disposition,
                    "arguments_raw": view.call.arguments_raw,
                }
            },
        }
        if not view.result.ok:
            message["error"] = {"type": _error_type(view.result), "message": view.result.result[:500]}
        yield message


def _error_type(result: ToolResult) -> str:
    return _ERRORS.get(result.error_class or "", "unknown")


def _stop(run: RunView) -> str:
    responses = [each.response for turn in run.turns for each in turn.exchanges if each.response is not None]
    return _STOPS.get(responses[-1].finish_reason or "", "unknown") if responses else "unknown"


def _usage(parts: list[Usage]) -> dict[str, int]:
    """Totals where both were counted in every turn; Inspect has no place for an unknown count."""
    read = [part.input_tokens for part in parts]
    written = [part.output_tokens for part in parts]
    if not parts or None in read or None in written:
        return {}
    total_in, total_out = sum(n for n in read if n is not None), sum(n for n in written if n is not None)
    return {"input_tokens": total_in, "output_tokens": total_out, "total_tokens": total_in + total_out}


def _header(campaign: Campaign, run: RunView) -> dict[str, Any]:
    started = run.started
    manifest = campaign.manifest
    return {
        "version": int(VERSION),
        "status": "success",
        "eval": {
            "eval_id": campaign.campaign_id,
            "run_id": campaign.campaign_id,
            "task_id": campaign.campaign_id,
            "created": _stamp(moment(run, 0.0)),
            "task": f"korvid/{manifest.pack.name if manifest else started.case_kind}",
            "task_version": 0,
            "dataset": {"name": manifest.pack.name if manifest else started.case_kind},
            "model": started.model,
            "config": {"epochs": manifest.repetitions} if manifest else {},
            "metadata": {
                "korvid": {
                    "campaign_id": campaign.campaign_id,
                    "arm": started.arm,
                    "tier": started.policy.tier,
                    "tools": list(started.policy.tools),
                    "publishable": manifest.publishable if manifest else None,
                }
            },
        },
        "plan": {},
        "stats": {"started_at": _stamp(moment(run, 0.0)), "completed_at": ""},
    }


def _closed(header: dict[str, Any], summaries: list[dict[str, Any]]) -> dict[str, Any]:
    """The header with what is known only after the last sample."""
    if not header:
        return header
    broken = sum("error" in summary for summary in summaries)
    ids = sorted({summary["id"] for summary in summaries})
    header["eval"]["dataset"] |= {"samples": len(ids), "sample_ids": ids}
    header["results"] = {
        "total_samples": len(summaries),
        "completed_samples": len(summaries) - broken,
        "scores": [],
    }
    return header


def _summary(document: dict[str, Any]) -> dict[str, Any]:
    kept = ("id", "epoch", "input", "target", "scores", "model_usage", "started_at", "completed_at", "total_time")
    summary = {key: document[key] for key in kept}
    if "error" in document:
        summary["error"] = document["error"]["message"]
    return summary | {"completed": True, "message_count": len(document["messages"])}


def _scores(campaign: Campaign) -> dict[str, Scores]:
    """The newest stored grade of each grader, version and choice of rubric: scores by their names, by run id."""
    if not any(campaign.directory.glob("grades/*.parquet")):
        return {}
    from replay.sql.session import Session

    found: defaultdict[str, Scores] = defaultdict(dict)
    with Session([campaign.directory], note=campaign.note) as session:
        query = (
            "SELECT run_id, grader, version, rubric, verdict, reason, failure_class, diagnosis_success, "
            "evidence_fetched, rubric_sha256, log_sha256 FROM grades QUALIFY row_number() OVER ("
            "PARTITION BY run_id, grader, version, rubric ORDER BY graded_at DESC, file DESC) = 1 ORDER BY ALL"
        )
        for row in session.query(query).records():
            name = f"{row['grader']}@{row['version']}" + ("" if row["rubric"] == "recorded" else f" ({row['rubric']})")
            if row["verdict"] in ("pass", "fail"):
                value = "C" if row["verdict"] == "pass" else "I"
                metadata = {key: row[key] for key in row if key not in ("run_id", "reason")}
                score = {"value": value, "explanation": row["reason"], "metadata": metadata}
                found[str(row["run_id"])][name] = score
    return found


def _newest_attempts(campaign: Campaign) -> dict[tuple[str, int], str]:
    """The run id of the newest attempt at each case and repetition."""
    from replay.campaigns import logs_in
    from replay.listing import row

    newest: dict[tuple[str, int], tuple[int, str]] = {}
    for log in logs_in(campaign.directory):
        found = row(log)
        if found.case_id is None or found.repetition is None or found.status == "corrupt":
            continue
        key = (found.case_id, found.repetition)
        newest[key] = max(newest.get(key, (0, "")), (found.attempt or 1, found.run_id))
    return {key: run_id for key, (_, run_id) in newest.items()}


def _stamp(when: datetime) -> str:
    return when.astimezone(UTC).isoformat()


def _put(archive: zipfile.ZipFile, name: str, document: Any) -> None:
    """A member whose bytes depend on the document alone."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, encode_json(document), compresslevel=_LEVEL)
