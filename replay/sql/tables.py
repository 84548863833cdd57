"""The tables that hold what is read from the logs: one a kind of event, and `runs`, with declared column types.

Nothing is inferred from the data. A field that an event leaves out is NULL here; the views give it its default. `type`
is written as DuckDB spells it. Columns of events are members of the event's JSON of the same name.
"""

import msgspec


class Column(msgspec.Struct, frozen=True):
    """One column: its name, its DuckDB type and what it means."""

    name: str
    type: str
    meaning: str = ""


class EventTable(msgspec.Struct, frozen=True):
    """The table of one event type; `run_id`, `campaign_id`, `seq` and `t` are the first of `columns`."""

    event: str
    columns: tuple[Column, ...]


def _event(event: str, **columns: str) -> EventTable:
    return EventTable(event, (*_ENVELOPE, *(Column(name, kind) for name, kind in columns.items())))


_ENVELOPE = (
    Column("run_id", "VARCHAR"),
    Column("campaign_id", "VARCHAR"),
    Column("seq", "BIGINT"),
    Column("t", "DOUBLE"),
)
_USAGE = "STRUCT(input_tokens BIGINT, output_tokens BIGINT, cached_tokens BIGINT)"

EVENTS: tuple[EventTable, ...] = (
    _event(
        "run_started",
        case_id="VARCHAR",
        case_kind="VARCHAR",
        stimulus_sha256="VARCHAR",
        rubric_sha256="VARCHAR",
        stimulus="JSON",
        rubric="JSON",
    ),
    _event("turn_started", turn="BIGINT", user="VARCHAR", interaction="JSON"),
    _event(
        "turn_finished",
        turn="BIGINT",
        outcome="VARCHAR",
        answer="VARCHAR",
        iterations="BIGINT",
        tool_calls="BIGINT",
        duration_s="DOUBLE",
        usage=_USAGE,
        usage_estimated="BOOLEAN",
        error="VARCHAR",
    ),
    _event("message", id="BIGINT", message="JSON"),
    _event(
        "model_request",
        request="BIGINT",
        turn="BIGINT",
        iteration="BIGINT",
        attempt="BIGINT",
        dialect="VARCHAR",
        method="VARCHAR",
        url="VARCHAR",
        stream="BOOLEAN",
        body_sha256="VARCHAR",
        body_bytes="BIGINT",
        messages="BIGINT[][]",
        toolset="BIGINT",
        rest="JSON",
        redacted="BOOLEAN",
    ),
    _event(
        "model_response",
        request="BIGINT",
        status="BIGINT",
        finish_reason="VARCHAR",
        content="VARCHAR",
        duration_s="DOUBLE",
        time_to_first_token_s="DOUBLE",
        reasoning="VARCHAR",
        tool_calls="JSON",
        usage=_USAGE,
        server_usage="JSON",
    ),
    _event(
        "model_error",
        request="BIGINT",
        turn="BIGINT",
        error_class="VARCHAR",
        message="VARCHAR",
        status="BIGINT",
        content="VARCHAR",
        retry_after_s="DOUBLE",
        will_retry="BOOLEAN",
        duration_s="DOUBLE",
    ),
    _event(
        "tool_call",
        call="BIGINT",
        turn="BIGINT",
        iteration="BIGINT",
        request="BIGINT",
        call_id="VARCHAR",
        tool="VARCHAR",
        arguments_raw="VARCHAR",
        arguments="JSON",
        disposition="VARCHAR",
        problem="VARCHAR",
        origin="VARCHAR",
    ),
    _event(
        "tool_result",
        call="BIGINT",
        tool="VARCHAR",
        ok="BOOLEAN",
        result="VARCHAR",
        error_class="VARCHAR",
        shown="VARCHAR",
        redactions="JSON",
        object_uid="VARCHAR",
        duration_s="DOUBLE",
    ),
    _event(
        "screen_action",
        call="BIGINT",
        turn="BIGINT",
        tool="VARCHAR",
        arguments="JSON",
        ok="BOOLEAN",
        message="VARCHAR",
    ),
    _event("journal", turn="BIGINT", entry="VARCHAR", data="JSON"),
)

RUNS: tuple[Column, ...] = (
    Column("run_id", "VARCHAR", "the run; unique over campaigns"),
    Column("campaign_id", "VARCHAR", "the campaign it belongs to"),
    Column("case_id", "VARCHAR", "the case that was asked"),
    Column("case_kind", "VARCHAR", "scenario or journey"),
    Column("root_cause", "VARCHAR", "the label of the recorded rubric; `none` is a negative control"),
    Column("repetition", "BIGINT", "1-based repetition of the case"),
    Column("attempt", "BIGINT", "1-based recording of the same case and repetition"),
    Column("arm", "VARCHAR", "the experimental arm"),
    Column("agent", "VARCHAR", "`model`, or the name of a baseline agent"),
    Column("model", "VARCHAR", "the model reference"),
    Column("provider", "VARCHAR", "the provider of the policy"),
    Column("tier", "VARCHAR", "low or high"),
    Column("seed", "BIGINT", "the sampling seed, if one was set"),
    Column("wall_time", "VARCHAR", "when the run started: RFC 3339, UTC"),
    Column("stimulus_sha256", "VARCHAR", "digest of what the model could perceive"),
    Column("rubric_sha256", "VARCHAR", "digest of what only a grader reads"),
    Column("status", "VARCHAR", "completed, interrupted, provider_error, harness_invalid, or corrupt"),
    Column("status_reason", "VARCHAR", "why, where the status has a reason"),
    Column("outcome", "VARCHAR", "how the last turn ended"),
    Column("turns", "BIGINT", "finished turns"),
    Column("iterations", "BIGINT", "provider round trips of the finished turns"),
    Column("requests", "BIGINT", "HTTP requests to the model, retries included"),
    Column("tool_calls", "BIGINT", "tool calls, whatever became of them"),
    Column("model_errors", "BIGINT", "requests that came to nothing"),
    Column("input_tokens", "BIGINT", "sum over turns; NULL where no turn knows"),
    Column("output_tokens", "BIGINT", "sum over turns; NULL where no turn knows"),
    Column("tokens_estimated", "BOOLEAN", "some of the tokens are estimated"),
    Column("duration_s", "DOUBLE", "seconds from the first event to the last"),
    Column("events", "BIGINT", "events that can be trusted"),
    Column("raw_bytes", "BIGINT", "bytes of those events, uncompressed"),
    Column("file_bytes", "BIGINT", "size of the log on disk"),
    Column("directory", "VARCHAR"),
    Column("file", "VARCHAR"),
)

CAMPAIGNS: tuple[Column, ...] = (
    Column("campaign_id", "VARCHAR", "the campaign"),
    Column("created", "VARCHAR", "when it began: RFC 3339, UTC"),
    Column("arm", "VARCHAR", "the experimental arm"),
    Column("agent", "VARCHAR", "`model`, or the name of a baseline agent"),
    Column("model", "VARCHAR", "the model reference"),
    Column("pack", "VARCHAR", "the case pack"),
    Column("cases", "BIGINT", "cases that were planned"),
    Column("repetitions", "BIGINT", "repetitions of each case"),
    Column("planned", "BIGINT", "planned runs: cases times repetitions"),
    Column("publishable", "BOOLEAN", "whether its provenance is complete"),
    Column("not_publishable_because", "VARCHAR[]", "what is missing, if it is not"),
    Column("manifest", "JSON", "the whole manifest, campaign.json"),
    Column("path", "VARCHAR", "its directory"),
)

RECEIPTS: tuple[Column, ...] = (Column("file", "VARCHAR"), Column("graded_at", "VARCHAR"))


def columns_of(table: str) -> tuple[Column, ...]:
    """The columns of a table by its name: `runs`, `campaigns`, `receipts` or an event type."""
    named = {"runs": RUNS, "campaigns": CAMPAIGNS, "receipts": RECEIPTS}
    return named[table] if table in named else next(kind.columns for kind in EVENTS if kind.event == table)


def log_tables() -> tuple[str, ...]:
    """The tables that are filled from logs."""
    return ("runs", *(table.event for table in EVENTS))


def declaration(columns: tuple[Column, ...]) -> str:
    """The columns as `CREATE TABLE` takes them."""
    return ", ".join(f'"{column.name}" {column.type}' for column in columns)
