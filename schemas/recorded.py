"""A recorded run as a grader sees it: the projection of a log's events that verdicts rest on."""

from typing import Any, Literal

import msgspec

from schemas.cases import Rubric
from schemas.events import CallOrigin, Disposition, RunStatus, ToolErrorClass, TurnOutcome, Usage
from schemas.imported import Published


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One started call with its result. `ok` is the recorded flag, None where no result was recorded.

    `shown` is the text the model saw. `screen_action` marks an action on the screen, which is never a read.
    """

    call: int
    tool: str
    arguments: dict[str, Any] | None
    arguments_raw: str
    disposition: Disposition
    ok: bool | None = None
    error_class: ToolErrorClass | None = None
    shown: str = ""
    problem: str | None = None
    origin: CallOrigin = "native"
    screen_action: bool = False


class RecordedTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn: `answer` is the text after the last tool call finished. `outcome` is None if it never finished.

    `tool_calls` is the number that the log counted, which may have no events of the calls (an imported run).
    """

    turn: int
    user: str
    answer: str
    outcome: TurnOutcome | None
    calls: tuple[RecordedCall, ...] = ()
    iterations: int = 0
    tool_calls: int = 0
    duration_s: float = 0.0
    usage: Usage = Usage()
    usage_estimated: bool = False
    error: str | None = None


class RecordedRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run. `status` is None for a log that was torn before `run_finished`; `log_sha256` is over all its raw bytes.

    `not_recorded` names inputs that an imported run never had (`tool_results`, `tool_arguments`); `published` is the
    verdict that it came with.
    """

    campaign_id: str
    run_id: str
    case_id: str
    case_kind: Literal["scenario", "journey"]
    repetition: int
    arm: str
    agent: str
    model: str
    status: RunStatus | None
    stimulus_sha256: str
    rubric_sha256: str
    log_sha256: str
    rubric: Rubric
    armed_tools: tuple[str, ...]
    turns: tuple[RecordedTurn, ...]
    attempt: int = 1
    status_reason: str | None = None
    not_recorded: tuple[str, ...] = ()
    duration_s: float = 0.0
    published: Published | None = None
