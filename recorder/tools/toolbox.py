"""The executor: runs an armed tool and gives back what is recorded and what the model sees.

Nothing here raises for what a model can do. An error is a class in the outcome; its text begins with `ERROR: ` for the
model's sake only. A name that is not armed is refused here as well as in the schema, so a remembered call to a tool
that was left out never reads anything. Source: evaluation semantics 6.3; A-18, A-19, C-17.
"""

from collections.abc import Callable, Iterable

import msgspec

from recorder.cluster.api import ApiError, ClusterReader
from recorder.tools import external, reads
from recorder.tools.args import Arguments
from recorder.tools.caps import PRODUCTION_CHARS, cap_data, cap_text, cut_text, with_note
from recorder.tools.catalog import SCREEN, ToolSpec
from recorder.tools.check import Checked, check_call
from recorder.tools.podreport import diagnose_pod
from recorder.tools.pvcreport import diagnose_pvc
from recorder.tools.redact import redact_data, redact_text
from recorder.tools.results import Produced, ToolFailure, failure_of
from recorder.tools.screen import action_of
from recorder.tools.servicereport import diagnose_service
from recorder.tools.workloadreport import diagnose_workload
from recorder.tools.yamltext import dump
from recorder.workspace import ScreenRecord, Workspace
from schemas.events import Redaction, ToolErrorClass
from schemas.policy import Limits

_READS: dict[str, Callable[[ClusterReader, Arguments], Produced]] = {
    "list_resources": reads.list_resources,
    "get_resource": reads.get_resource,
    "get_logs": reads.get_logs,
    "get_events": reads.get_events,
    "list_operators": reads.list_operators,
    "helm_list_releases": reads.helm_list_releases,
    "diagnose_pod": diagnose_pod,
    "diagnose_workload": diagnose_workload,
    "diagnose_service": diagnose_service,
    "diagnose_pvc": diagnose_pvc,
    "query_metrics": external.query_metrics,
    "search_logs": external.search_logs,
}

ERROR_CHARS = 1_000
"""No error needs more, and it is within the cap of every tier even where a model's own long argument is quoted."""

_CRASHES = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""What a defect in a tool, or data that no API server would give, can raise."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an executed or refused call.

    `text` is whole, after redaction; `shown` is what the model sees of it after both cuts. `action` is set for screen
    tools. `object_uid` is that of the one object a read is about.
    """

    ok: bool
    text: str
    shown: str
    error_class: ToolErrorClass | None = None
    redactions: tuple[Redaction, ...] = ()
    object_uid: str | None = None
    action: ScreenRecord | None = None


class Toolbox:
    """The armed tools of one run over one cluster and one screen."""

    def __init__(self, cluster: ClusterReader, workspace: Workspace, specs: Iterable[ToolSpec], limits: Limits) -> None:
        self.specs = tuple(specs)
        self.workspace = workspace
        self._cluster = cluster
        self._limits = limits

    def check(self, name: str, arguments_raw: str) -> Checked:
        """What becomes of a call, settled before anything runs."""
        return check_call(self.specs, name, arguments_raw)

    def refuse(self, checked: Checked) -> Outcome:
        """The outcome of a call that is not executed. Never ok."""
        return refusal(checked)

    def with_note(self, name: str, shown: str, note: str) -> str:
        """A result of tool `name` with a line of the harness after it, still within the tier's cap."""
        yaml = any(spec.name == name and spec.result == "yaml" for spec in self.specs)
        is_yaml = yaml and not shown.startswith("ERROR: ")
        return with_note(shown, note, self._limits.max_result_chars, "yaml" if is_yaml else "text")

    def execute(self, name: str, arguments: Arguments) -> Outcome:
        """Run an armed tool. Nulls in `arguments` count as left out."""
        spec = next((item for item in self.specs if item.name == name), None)
        if spec is None:
            return refusal(check_call(self.specs, name, "{}"))
        given = {key: value for key, value in arguments.items() if value is not None}
        try:
            if name in SCREEN:
                return self._act(name, given)
            return self._finish(_READS[name](self._cluster, given))
        except ToolFailure as failure:
            return failed(failure)
        except ApiError as error:
            return failed(failure_of(error))
        except _CRASHES as error:
            return failed(ToolFailure("internal", f"the tool failed: {type(error).__name__}"))

    def _act(self, name: str, arguments: Arguments) -> Outcome:
        try:
            action = action_of(name, arguments)
        except ToolFailure as failure:
            refused = failed(failure)
            record = ScreenRecord(tool=name, arguments=arguments, ok=False, message=refused.shown)
            return msgspec.structs.replace(refused, action=record)
        record = self.workspace.perform(action, name, arguments)
        error_class: ToolErrorClass | None = None if record.ok else "screen"
        return Outcome(ok=record.ok, text=record.message, shown=record.message, error_class=error_class, action=record)

    def _finish(self, produced: Produced) -> Outcome:
        if produced.text is None:
            return self._finish_data(produced)
        whole, redactions = redact_text(produced.text)
        shown = self._cap(cut_text(whole, PRODUCTION_CHARS, produced.keep))
        if shown != whole:
            redactions += (Redaction(path="$", reason=f"size: {len(shown)} of {len(whole)} characters shown"),)
        return Outcome(ok=True, text=whole, shown=shown, redactions=redactions, object_uid=produced.uid)

    def _finish_data(self, produced: Produced) -> Outcome:
        data, redactions = redact_data(produced.data)
        tier = self._limits.max_result_chars
        limit = PRODUCTION_CHARS if tier is None else min(tier, PRODUCTION_CHARS)
        shown, elided = cap_data(data, limit)
        whole = shown if elided is None else dump(data)
        if elided is not None:
            redactions += (elided,)
        return Outcome(ok=True, text=whole, shown=shown, redactions=redactions, object_uid=produced.uid)

    def _cap(self, text: str) -> str:
        limit = self._limits.max_result_chars
        return text if limit is None else cap_text(text, limit)


def refusal(checked: Checked) -> Outcome:
    """The outcome of a call that is not executed: malformed, not armed, or an attempt to write. Never ok."""
    assert checked.problem is not None
    assert checked.error_class is not None
    return failed(ToolFailure(checked.error_class, checked.problem))


def failed(failure: ToolFailure) -> Outcome:
    """A failure as the model reads it."""
    text, redactions = redact_text(f"ERROR: {failure.message}")
    shown = cut_text(text, ERROR_CHARS)
    return Outcome(ok=False, error_class=failure.error_class, text=text, shown=shown, redactions=redactions)


def tool_names() -> frozenset[str]:
    """Every tool that the executor can run."""
    return frozenset(_READS) | SCREEN
