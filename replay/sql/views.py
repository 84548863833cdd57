"""The views that scripts rely on: names, columns, types and meaning. `docs/sql.md` is generated from this table.

A view may gain a column at the end at any time; a column keeps its name, type and meaning within a major version.
`base` stands for the schema in which each table of logs is the union over the campaigns.
"""

import re
from functools import cache

import msgspec

from replay.sql.grades_source import GRADES
from replay.sql.tables import CAMPAIGNS, RUNS, Column


class View(msgspec.Struct, frozen=True, kw_only=True):
    """One view: what a row is, its columns in order, and its definition."""

    name: str
    row: str
    columns: tuple[Column, ...]
    sql: str


_RUN = Column("run_id", "VARCHAR", "the run")
_SEQ = Column("seq", "BIGINT", "0-based number of the event in the run")
_T = Column("t", "DOUBLE", "seconds since the run started")
_TURN = Column("turn", "BIGINT", "1-based user turn")
_REQUEST = Column("request", "BIGINT", "number of the request in the run")
_CALL = Column("call", "BIGINT", "1-based number of the call in the run")
_TOOL = Column("tool", "VARCHAR", "name of the tool")

_CAMPAIGNS = View(
    name="campaigns",
    row="a campaign directory",
    columns=CAMPAIGNS,
    sql="SELECT * FROM store.campaigns",
)

_RUNS = View(
    name="runs",
    row="a recorded run, whole or torn",
    columns=(
        *(column for column in RUNS if column.meaning),
        Column("latest", "BOOLEAN", "the newest attempt of this case and repetition in its campaign and arm"),
        Column("path", "VARCHAR", "its log"),
    ),
    sql="""
        SELECT * EXCLUDE (directory, file),
            run_id IS NOT DISTINCT FROM first_value(run_id) OVER (
                PARTITION BY campaign_id, arm, agent, model, case_id, repetition
                ORDER BY attempt DESC, wall_time DESC, run_id DESC
            ) AS latest,
            directory || '/' || file AS path
        FROM base.runs""",
)

_CASES = View(
    name="cases",
    row="a case as it was recorded: one for each stimulus and rubric it had",
    columns=(
        Column("case_id", "VARCHAR", "the case"),
        Column("case_kind", "VARCHAR", "scenario or journey"),
        Column("root_cause", "VARCHAR", "the label of the rubric; `none` is a negative control"),
        Column("question", "VARCHAR", "what the user says first"),
        Column("stimulus_sha256", "VARCHAR", "digest of the stimulus"),
        Column("rubric_sha256", "VARCHAR", "digest of the rubric"),
        Column("stimulus", "JSON", "everything that the model could perceive"),
        Column("rubric", "JSON", "everything that only a grader reads"),
    ),
    sql="""
        SELECT DISTINCT ON (case_id, stimulus_sha256, rubric_sha256) case_id, case_kind,
            rubric ->> '$.root_cause' AS root_cause, stimulus ->> '$.turns[0].user' AS question, stimulus_sha256,
            rubric_sha256, stimulus, rubric
        FROM base.run_started ORDER BY case_id, stimulus_sha256, rubric_sha256, run_id""",
)

_TURNS = View(
    name="turns",
    row="a user turn that was started; the columns of its end are NULL if it never finished",
    columns=(
        _RUN,
        _TURN,
        Column("started_t", "DOUBLE", "seconds since the run started"),
        Column("finished_t", "DOUBLE", "seconds since the run started"),
        Column("user", "VARCHAR", "what the user said"),
        Column("outcome", "VARCHAR", "answered, empty, iteration_limit, history_budget, no_usable_call, ..."),
        Column("answer", "VARCHAR", "the text after the last tool call: what is graded"),
        Column("iterations", "BIGINT", "provider round trips"),
        Column("tool_calls", "BIGINT", "tool calls"),
        Column("duration_s", "DOUBLE", "seconds"),
        Column("input_tokens", "BIGINT", "tokens in; NULL where unknown"),
        Column("output_tokens", "BIGINT", "tokens out; NULL where unknown"),
        Column("tokens_estimated", "BOOLEAN", "some of the tokens are estimated"),
        Column("error", "VARCHAR", "why the turn did not end in an answer"),
        Column("interaction", "JSON", "the screen as it was shown to the model"),
    ),
    sql="""
        SELECT s.run_id, s.turn, s.t AS started_t, f.t AS finished_t, s."user", f.outcome, f.answer, f.iterations,
            f.tool_calls, f.duration_s, f.usage.input_tokens AS input_tokens, f.usage.output_tokens AS output_tokens,
            CASE WHEN f.run_id IS NOT NULL THEN coalesce(f.usage_estimated, false) END AS tokens_estimated,
            f.error, s.interaction
        FROM base.turn_started s LEFT JOIN base.turn_finished f
            ON f.campaign_id = s.campaign_id AND f.run_id = s.run_id AND f.turn = s.turn""",
)

_MESSAGES = View(
    name="messages",
    row="a distinct message of a run's conversation, stored once however often it was sent",
    columns=(
        _RUN,
        _SEQ,
        _T,
        Column("id", "BIGINT", "0-based number of the message in the run"),
        Column("role", "VARCHAR", "system, user, assistant or tool"),
        Column("content", "VARCHAR", "its text; JSON text where the content is not a plain string"),
        Column("tool_calls", "JSON", "the calls an assistant message carries"),
        Column("message", "JSON", "the message as it left the process"),
    ),
    sql="""
        SELECT run_id, seq, t, id, message ->> '$.role' AS role, message ->> '$.content' AS content,
            message -> '$.tool_calls' AS tool_calls, message
        FROM base.message""",
)

_MODEL_REQUESTS = View(
    name="model_requests",
    row="an HTTP request that left the process; a retry is a request of its own",
    columns=(
        _RUN,
        _SEQ,
        _T,
        _REQUEST,
        _TURN,
        Column("iteration", "BIGINT", "1-based round trip of the turn"),
        Column("attempt", "BIGINT", "1-based try of this round trip"),
        Column("dialect", "VARCHAR", "ollama or openai"),
        Column("method", "VARCHAR", "HTTP method"),
        Column("url", "VARCHAR", "where it went"),
        Column("stream", "BOOLEAN", "a streamed response was asked for"),
        Column("body_sha256", "VARCHAR", "digest of the body that left"),
        Column("body_bytes", "BIGINT", "its size"),
        Column("message_ids", "BIGINT[][]", "inclusive ranges of message ids, in order"),
        Column("messages", "BIGINT", "number of messages in it; NULL where the body was kept whole"),
        Column("toolset", "BIGINT", "id of the tool schemas sent"),
        Column("options", "JSON", "the body without messages and tools"),
        Column("redacted", "BOOLEAN", "a secret was replaced in the stored body"),
    ),
    sql="""
        SELECT run_id, seq, t, request, turn, iteration, attempt, dialect, method, url, stream, body_sha256, body_bytes,
            messages AS message_ids, list_sum(list_transform(messages, lambda span: span[2] - span[1] + 1))::BIGINT
            AS messages, toolset, rest AS options, coalesce(redacted, false) AS redacted
        FROM base.model_request""",
)

_MODEL_RESPONSES = View(
    name="model_responses",
    row="what a request came to",
    columns=(
        _RUN,
        _SEQ,
        _T,
        _REQUEST,
        Column("status", "BIGINT", "HTTP status"),
        Column("finish_reason", "VARCHAR", "as the server gave it"),
        Column("content", "VARCHAR", "the visible text"),
        Column("reasoning", "VARCHAR", "the thinking text, kept apart"),
        Column("tool_calls", "JSON", "the calls as emitted"),
        Column("duration_s", "DOUBLE", "seconds since the request was sent"),
        Column("time_to_first_token_s", "DOUBLE", "seconds to the first piece"),
        Column("input_tokens", "BIGINT", "tokens in; NULL where unknown"),
        Column("output_tokens", "BIGINT", "tokens out; NULL where unknown"),
        Column("cached_tokens", "BIGINT", "tokens in that were cached; NULL where unknown"),
        Column("server_usage", "JSON", "the server's own counters and timings"),
    ),
    sql="""
        SELECT run_id, seq, t, request, status, finish_reason, content, reasoning, tool_calls, duration_s,
            time_to_first_token_s, usage.input_tokens AS input_tokens, usage.output_tokens AS output_tokens,
            usage.cached_tokens AS cached_tokens, server_usage
        FROM base.model_response""",
)

_MODEL_ERRORS = View(
    name="model_errors",
    row="a request that came to nothing",
    columns=(
        _RUN,
        _SEQ,
        _T,
        _REQUEST,
        _TURN,
        Column("error_class", "VARCHAR", "unreachable, timeout, http_status, context_overflow, ..."),
        Column("message", "VARCHAR", "what was said"),
        Column("status", "BIGINT", "HTTP status, if there was one"),
        Column("content", "VARCHAR", "what had been streamed before it failed"),
        Column("will_retry", "BOOLEAN", "another try followed"),
        Column("duration_s", "DOUBLE", "seconds since the request was sent"),
    ),
    sql="""
        SELECT run_id, seq, t, request, turn, error_class, message, status, coalesce(content, '') AS content,
            coalesce(will_retry, false) AS will_retry, duration_s
        FROM base.model_error""",
)

_TOOL_CALLS = View(
    name="tool_calls",
    row="a tool call and what became of it",
    columns=(
        _RUN,
        _SEQ,
        _T,
        _CALL,
        _TURN,
        Column("iteration", "BIGINT", "1-based round trip of the turn"),
        _REQUEST,
        Column("call_id", "VARCHAR", "the id in the conversation"),
        _TOOL,
        Column("arguments_raw", "VARCHAR", "the arguments as emitted"),
        Column("arguments", "JSON", "the arguments parsed; NULL where they are no object"),
        Column("disposition", "VARCHAR", "executed, malformed, not_armed, discarded or write_attempt"),
        Column("problem", "VARCHAR", "why it did not run"),
        Column("origin", "VARCHAR", "native, or content where the call was found in the text"),
    ),
    sql="""
        SELECT run_id, seq, t, call, turn, iteration, request, call_id, tool, arguments_raw, arguments, disposition,
            problem, coalesce(origin, 'native') AS origin
        FROM base.tool_call""",
)

_TOOL_RESULTS = View(
    name="tool_results",
    row="the result of a call",
    columns=(
        _RUN,
        _SEQ,
        _T,
        _CALL,
        _TOOL,
        Column("ok", "BOOLEAN", "the call succeeded"),
        Column("error_class", "VARCHAR", "not_found, forbidden, ...; NULL where it succeeded"),
        Column("result", "VARCHAR", "the whole result"),
        Column("shown", "VARCHAR", "the text that the model saw"),
        Column("redactions", "JSON", "what was masked, and why"),
        Column("object_uid", "VARCHAR", "uid of the object that was read"),
        Column("duration_s", "DOUBLE", "seconds"),
    ),
    sql="""
        SELECT run_id, seq, t, call, tool, ok, error_class, result, coalesce(shown, result) AS shown, redactions,
            object_uid, coalesce(duration_s, 0) AS duration_s
        FROM base.tool_result""",
)

_SCREEN_ACTIONS = View(
    name="screen_actions",
    row="an action on the screen asked for by the model",
    columns=(
        _RUN,
        _SEQ,
        _T,
        _CALL,
        _TURN,
        _TOOL,
        Column("arguments", "JSON", "its arguments"),
        Column("ok", "BOOLEAN", "the screen did it"),
        Column("message", "VARCHAR", "what the model was told"),
    ),
    sql="SELECT run_id, seq, t, call, turn, tool, arguments, ok, message FROM base.screen_action",
)

_JOURNAL = View(
    name="journal",
    row="an entry of the action journal of an operation (reserved: nothing writes it yet)",
    columns=(
        _RUN,
        _SEQ,
        _T,
        _TURN,
        Column("entry", "VARCHAR", "the kind of entry"),
        Column("data", "JSON", "its content"),
    ),
    sql="SELECT run_id, seq, t, turn, entry, data FROM base.journal",
)

_GRADES = View(
    name="grades",
    row="a verdict of one grader version on one run, every one ever given",
    columns=(
        *GRADES,
        Column("graded_at", "VARCHAR", "when: RFC 3339, UTC, from the receipt"),
        Column("file", "VARCHAR", "the Parquet file it stands in"),
    ),
    sql="""
        SELECT g.* EXCLUDE (file), r.graded_at, g.file
        FROM base.grades g LEFT JOIN store.receipts r ON r.file = g.file""",
)

_LATEST_GRADES = View(
    name="latest_grades",
    row="the verdict that counts of each grader on each run: the newest version, a recorded rubric before a current "
    "one, the newest receipt",
    columns=_GRADES.columns,
    sql="""
        SELECT * FROM grades
        QUALIFY row_number() OVER (
            PARTITION BY campaign_id, run_id, grader
            ORDER BY version DESC, rubric = 'recorded' DESC, graded_at DESC, file DESC
        ) = 1""",
)

_FLIPS = View(
    name="flips",
    row="a verdict that differs from the one the next older version of the same grader gave, under the same choice of "
    "rubric",
    columns=(
        *GRADES[:10],
        Column("rubric", "VARCHAR", "`recorded` or `current`"),
        Column("from_version", "INTEGER", "the older version"),
        Column("to_version", "INTEGER", "the newer version"),
        Column("from_verdict", "VARCHAR", "its verdict"),
        Column("to_verdict", "VARCHAR", "its verdict"),
        Column("from_reason", "VARCHAR", "its reason"),
        Column("to_reason", "VARCHAR", "its reason"),
    ),
    sql=f"""
        WITH one_each AS (
            SELECT * FROM grades
            QUALIFY row_number() OVER (
                PARTITION BY campaign_id, run_id, grader, rubric, version ORDER BY graded_at DESC, file DESC
            ) = 1
        ), paired AS (
            SELECT *, lag(version) OVER older AS from_version, lag(verdict) OVER older AS from_verdict,
                lag(reason) OVER older AS from_reason
            FROM one_each WINDOW older AS (PARTITION BY campaign_id, run_id, grader, rubric ORDER BY version)
        )
        SELECT {", ".join(column.name for column in GRADES[:10])}, rubric, from_version, version AS to_version,
            from_verdict, verdict AS to_verdict, from_reason, reason AS to_reason
        FROM paired WHERE from_verdict <> verdict""",
)

_SCOREBOARD = View(
    name="scoreboard",
    row="a campaign, arm, agent and model under one grader, over the newest attempt of each case and repetition",
    columns=(
        Column("campaign_id", "VARCHAR", "the campaign"),
        Column("arm", "VARCHAR", "the experimental arm"),
        Column("agent", "VARCHAR", "`model`, or the name of a baseline agent"),
        Column("model", "VARCHAR", "the model reference"),
        Column("grader", "VARCHAR", "the grader; NULL where nothing was graded"),
        Column("version", "INTEGER", "the newest version among its verdicts"),
        Column("planned", "BIGINT", "planned runs, from the manifest; NULL without one"),
        Column("recorded", "BIGINT", "runs with a log"),
        Column("interrupted", "BIGINT", "of these, torn or stopped"),
        Column("invalid", "BIGINT", "of these, spoiled by provider or harness, or corrupt"),
        Column("graded", "BIGINT", "of these, with a verdict pass or fail"),
        Column("passed", "BIGINT", "verdict pass"),
        Column("pass_rate", "DOUBLE", "passed / graded; NULL where nothing was graded"),
        Column("diagnosed", "BIGINT", "graded runs whose claims hold"),
        Column("evidenced", "BIGINT", "graded runs that fetched the evidence"),
        Column("malformed", "BIGINT", "malformed calls of graded runs"),
        Column("write_attempts", "BIGINT", "write calls of graded runs"),
        Column("safety_violations", "BIGINT", "write calls that went through, in graded runs"),
        Column("iterations_mean", "DOUBLE", "mean iterations of graded runs"),
        Column("iterations_sd", "DOUBLE", "their sample standard deviation"),
        Column("input_tokens", "BIGINT", "tokens in of graded runs"),
        Column("output_tokens", "BIGINT", "tokens out of graded runs"),
        Column("duration_mean_s", "DOUBLE", "mean seconds of graded runs"),
    ),
    sql="""
        WITH newest AS (SELECT * FROM runs WHERE latest),
        covered AS (
            SELECT campaign_id, arm, agent, model, count(*) AS recorded,
                count(*) FILTER (status = 'interrupted') AS interrupted,
                count(*) FILTER (status IN ('provider_error', 'harness_invalid', 'corrupt')) AS invalid
            FROM newest GROUP BY ALL
        ), judged AS (
            SELECT n.campaign_id, n.arm, n.agent, n.model, g.grader, g.version, g.verdict, g.diagnosis_success,
                g.evidence_fetched, g.malformed, g.write_attempts, g.safety_violations, g.iterations, g.input_tokens,
                g.output_tokens, g.duration_s
            FROM newest n JOIN latest_grades g USING (campaign_id, run_id)
        ), scored AS (
            SELECT campaign_id, arm, agent, model, grader, max(version) AS version,
                count(*) FILTER (verdict IN ('pass', 'fail')) AS graded,
                count(*) FILTER (verdict = 'pass') AS passed,
                count(*) FILTER (verdict IN ('pass', 'fail') AND diagnosis_success) AS diagnosed,
                count(*) FILTER (verdict IN ('pass', 'fail') AND evidence_fetched) AS evidenced,
                (sum(malformed) FILTER (verdict IN ('pass', 'fail')))::BIGINT AS malformed,
                (sum(write_attempts) FILTER (verdict IN ('pass', 'fail')))::BIGINT AS write_attempts,
                (sum(safety_violations) FILTER (verdict IN ('pass', 'fail')))::BIGINT AS safety_violations,
                avg(iterations) FILTER (verdict IN ('pass', 'fail')) AS iterations_mean,
                -- Sums of whole numbers: those of floating ones depend on the order in which threads meet the rows.
                (sum(iterations) FILTER (verdict IN ('pass', 'fail')))::HUGEINT AS its,
                (sum(iterations * iterations) FILTER (verdict IN ('pass', 'fail')))::HUGEINT AS squares,
                (sum(input_tokens) FILTER (verdict IN ('pass', 'fail')))::BIGINT AS input_tokens,
                (sum(output_tokens) FILTER (verdict IN ('pass', 'fail')))::BIGINT AS output_tokens,
                (sum(round(duration_s * 1e6)::HUGEINT) FILTER (verdict IN ('pass', 'fail'))) / graded / 1e6
                    AS duration_mean_s
            FROM judged GROUP BY ALL
        )
        SELECT c.campaign_id, c.arm, c.agent, c.model, s.grader, s.version, p.planned, c.recorded, c.interrupted,
            c.invalid, coalesce(s.graded, 0) AS graded, coalesce(s.passed, 0) AS passed,
            CASE WHEN s.graded > 0 THEN s.passed / s.graded END AS pass_rate,
            coalesce(s.diagnosed, 0) AS diagnosed, coalesce(s.evidenced, 0) AS evidenced, s.malformed,
            s.write_attempts, s.safety_violations, s.iterations_mean,
            CASE WHEN s.graded > 1 THEN sqrt((s.graded * s.squares - s.its * s.its) / (s.graded * (s.graded - 1))) END
                AS iterations_sd,
            s.input_tokens, s.output_tokens, s.duration_mean_s
        FROM covered c
        LEFT JOIN scored s ON s.campaign_id IS NOT DISTINCT FROM c.campaign_id AND s.arm IS NOT DISTINCT FROM c.arm
            AND s.agent IS NOT DISTINCT FROM c.agent AND s.model IS NOT DISTINCT FROM c.model
        LEFT JOIN (SELECT campaign_id, max(planned) AS planned FROM campaigns GROUP BY ALL) p
            ON p.campaign_id = c.campaign_id""",
)

VIEWS: tuple[View, ...] = (
    _CAMPAIGNS,
    _RUNS,
    _CASES,
    _TURNS,
    _MESSAGES,
    _MODEL_REQUESTS,
    _MODEL_RESPONSES,
    _MODEL_ERRORS,
    _TOOL_CALLS,
    _TOOL_RESULTS,
    _SCREEN_ACTIONS,
    _JOURNAL,
    _GRADES,
    _LATEST_GRADES,
    _FLIPS,
    _SCOREBOARD,
)
"""In order of dependence: a view uses only those before it."""


_USES = re.compile(r"\b(?:FROM|JOIN)\s+(?:(base)\.)?([a-z_]+)")


@cache
def tables_of(name: str) -> frozenset[str]:
    """The tables of logs, and `grades`, that a view rests on, also through others; none for a name that is no view."""
    found: set[str] = set()
    for base, used in _USES.findall(next((view.sql for view in VIEWS if view.name == name), "")):
        if not base:
            found |= tables_of(used) if used != name else set()
        else:
            found.add(used)
    return frozenset(found)
