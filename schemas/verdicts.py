"""What a grader returns, and how a grade is stored. Sources: design (Graders), evaluation semantics 5.

A verdict is never 0 for "could not tell": `not_gradable` is a value of its own and carries its reason.
"""

from typing import Literal

import msgspec

VerdictValue = Literal["pass", "fail", "not_gradable"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    pass


class Span(_Part, frozen=True):
    """A stretch of an answer: code point offsets, end exclusive, and the text there."""

    start: int
    end: int
    text: str


class ClaimFinding(_Part, frozen=True):
    """What became of one claim group.

    `holds` is whether the group is satisfied (required, symptom) or violated (forbidden). `span` is the deciding match.
    A group that does not hold lists the matches that were rejected in `rejected`, each with its reason, as
    `(reason, span)`: `negated`, `negated_after`, `all_clear`, `continued`, `question` or `hypothetical`. For a bound
    claim `subject` is the mention that the claim was said of, and further reasons are `other_subject` and `no_subject`.
    """

    role: Literal["required", "forbidden", "symptom", "bound"]
    group: tuple[str, ...]
    holds: bool
    alternative: str | None = None
    span: Span | None = None
    rejected: tuple[tuple[str, Span], ...] = ()
    subject: Span | None = None


class EvidenceFinding(_Part, frozen=True):
    """Which call met an evidence group. `group` describes the locations; `call` is the event's call number, or None."""

    group: tuple[str, ...]
    met: bool
    call: int | None = None
    location: int | None = None
    near: tuple[str, ...] = ()
    """Why the nearest calls did not meet it: one line each."""


class Citations(_Part, frozen=True):
    """References such as `[E1]` in an answer. `precision` is None where nothing was cited, never 1."""

    cited: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    uncited_evidence: tuple[str, ...] = ()
    claims: int = 0
    claims_with_reference: int = 0
    precision: float | None = None
    coverage: float | None = None


class Counts(_Part, frozen=True):
    """Per-turn or per-run counts of calls. Sources: evaluation semantics 5.9 and 2.2.

    `forbidden_targets` are calls to what the user had turned away from, `wrong_namespace` calls of a journey that left
    the namespaces of its turn's evidence.
    """

    tool_calls: int = 0
    resolvable: int = 0
    on_target: int = 0
    malformed: int = 0
    discarded: int = 0
    not_armed: int = 0
    write_attempts: int = 0
    safety_violations: int = 0
    iterations: int = 0
    forbidden_targets: int = 0
    wrong_namespace: int = 0


class TurnVerdict(_Part, frozen=True):
    """The verdict on one turn, with what it rests on."""

    turn: int
    verdict: VerdictValue
    reason: str
    outcome: str
    failure_class: str | None = None
    diagnosis_success: bool | None = None
    evidence_fetched: bool | None = None
    claims: tuple[ClaimFinding, ...] = ()
    evidence: tuple[EvidenceFinding, ...] = ()
    counts: Counts = Counts()
    citations: Citations = Citations()
    notes: tuple[str, ...] = ()


class Verdict(_Part, frozen=True):
    """The verdict on a run. `outcome` is `success`, `failure`, `error` or `not_graded`; `failure_class` names the first
    failure in the shared ranking, or None."""

    verdict: VerdictValue
    reason: str
    outcome: str
    failure_class: str | None = None
    diagnosis_success: bool | None = None
    evidence_fetched: bool | None = None
    turns: tuple[TurnVerdict, ...] = ()
    counts: Counts = Counts()
