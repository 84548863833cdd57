"""How grades are stored: one row a run in Parquet, one receipt beside it. Source: design (Graders, Validity).

Column names and types are a public contract: scripts and the SQL views read them. A column may be added at the end.
A row is a function of the log, the rubric and the grader alone; nothing in it says when or where it was computed.
"""

from typing import Literal

import msgspec

from schemas.verdicts import VerdictValue

RubricChoice = Literal["recorded", "current"]
RunState = Literal["completed", "interrupted", "provider_error", "harness_invalid"]

NOT_RECORDED = "not_recorded"
RUBRIC_NOT_RECORDED = "rubric_not_recorded"
STIMULUS_CHANGED = "stimulus_changed"
CASE_MISSING = "case_missing"
GRADER_ERROR = "grader_error"


class GradeRow(msgspec.Struct, frozen=True, kw_only=True):
    """The grade of one run. None is unknown or does not apply, never 0.

    `status` is `interrupted` for a torn log too. `grader_sha256` is over the grading source, `rubric_sha256` over the
    rubric that was used, `log_sha256` over all raw bytes of the log. Token counts are totals over turns, seconds are
    wall time. `explanation` is the whole `schemas.verdicts.Verdict` as JSON.
    """

    run_id: str
    campaign_id: str
    case_id: str
    repetition: int
    attempt: int
    arm: str
    agent: str
    model: str
    status: RunState
    grader: str
    version: int
    grader_sha256: str
    rubric: RubricChoice
    rubric_sha256: str | None
    stimulus_sha256: str
    log_sha256: str
    verdict: VerdictValue
    reason: str
    outcome: str
    failure_class: str | None
    diagnosis_success: bool | None
    evidence_fetched: bool | None
    tool_calls: int
    resolvable: int | None
    on_target: int | None
    malformed: int | None
    discarded: int | None
    not_armed: int | None
    write_attempts: int | None
    safety_violations: int | None
    iterations: int
    input_tokens: int | None
    output_tokens: int | None
    tokens_estimated: bool
    duration_s: float
    citation_precision: float | None
    citation_coverage: float | None
    explanation: str


COLUMNS: dict[str, str] = {
    "run_id": "VARCHAR",
    "campaign_id": "VARCHAR",
    "case_id": "VARCHAR",
    "repetition": "INTEGER",
    "attempt": "INTEGER",
    "arm": "VARCHAR",
    "agent": "VARCHAR",
    "model": "VARCHAR",
    "status": "VARCHAR",
    "grader": "VARCHAR",
    "version": "INTEGER",
    "grader_sha256": "VARCHAR",
    "rubric": "VARCHAR",
    "rubric_sha256": "VARCHAR",
    "stimulus_sha256": "VARCHAR",
    "log_sha256": "VARCHAR",
    "verdict": "VARCHAR",
    "reason": "VARCHAR",
    "outcome": "VARCHAR",
    "failure_class": "VARCHAR",
    "diagnosis_success": "BOOLEAN",
    "evidence_fetched": "BOOLEAN",
    "tool_calls": "INTEGER",
    "resolvable": "INTEGER",
    "on_target": "INTEGER",
    "malformed": "INTEGER",
    "discarded": "INTEGER",
    "not_armed": "INTEGER",
    "write_attempts": "INTEGER",
    "safety_violations": "INTEGER",
    "iterations": "INTEGER",
    "input_tokens": "BIGINT",
    "output_tokens": "BIGINT",
    "tokens_estimated": "BOOLEAN",
    "duration_s": "DOUBLE",
    "citation_precision": "DOUBLE",
    "citation_coverage": "DOUBLE",
    "explanation": "VARCHAR",
}
"""The columns of a grade file and their DuckDB types, in order."""

ORDER = ("case_id", "repetition", "attempt", "run_id")
"""How the rows of a grade file are sorted."""


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Coverage(_Part, frozen=True):
    """How much of a campaign was graded.

    `planned` is the manifest's number of runs (None if it names none). `recorded` counts logs, `superseded` those of
    them whose case and repetition has a newer attempt; the rest counts newest attempts only. `corrupt` logs have no
    row. `graded` is pass + fail; `fraction` is graded of planned, or of what counts where the plan is unknown.
    """

    planned: int | None
    recorded: int
    superseded: int
    corrupt: int
    interrupted: int
    provider_error: int
    harness_invalid: int
    graded: int
    passed: int
    failed: int
    not_gradable: int
    not_selected: int
    fraction: float | None


class Cause(_Part, frozen=True):
    """What moved one verdict. `changes` is the single change or the smallest set that alone moves it.

    Besides change ids it may hold `rubric` (another rubric was used) and `grader` (a grader without a history).
    `alternatives` are further single changes, each enough by itself. `turns` are the turns whose own verdict moved, in
    a run of several turns (empty for a run of one, and where there is nothing finer than the whole).
    """

    changes: tuple[str, ...]
    alternatives: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()


class Flip(_Part, frozen=True):
    """One run whose verdict differs from an earlier grade of the same log. Versions as `name@N`."""

    run_id: str
    case_id: str
    before: VerdictValue
    after: VerdictValue
    from_grader: str
    to_grader: str
    cause: Cause


class Corrupt(_Part, frozen=True):
    """A log that was refused, and why."""

    file: str
    reason: str


class Receipt(_Part, frozen=True):
    """What one regrade did. `created` is RFC 3339 in UTC: the only thing here that two equal regrades differ in.

    `inputs_sha256` is over the grader, the rubric choice and every (run, log, rubric) digest; the grade file is named
    after its start. `rubrics` maps case ids to the digests of the rubrics used. `edited_from` are source digests under
    which the same version gave the same results before.
    """

    schema_version: int
    created: str
    campaign_id: str
    grade_file: str
    grade_file_sha256: str
    inputs_sha256: str
    grader: str
    version: int
    grader_sha256: str
    changes: tuple[str, ...]
    rubric: RubricChoice
    pack: str | None
    where: str | None
    tool_version: str
    coverage: Coverage
    flips: tuple[Flip, ...]
    superseded: tuple[str, ...]
    grader_errors: tuple[str, ...]
    corrupt: tuple[Corrupt, ...]
    edited_from: tuple[str, ...]
    rubrics: dict[str, tuple[str, ...]]
    model_calls: int = 0


class StoredReceipt(Receipt, frozen=True, kw_only=True):
    """A receipt as its file holds it. `inputs` maps the run id of each row of the grade file to its log's digest."""

    inputs: dict[str, str]
