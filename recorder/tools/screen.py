"""The screen tools: arguments into actions on the workspace. They read nothing for the model."""

from recorder.tools.args import Arguments, object_name, optional, required
from recorder.workspace import Action, DrillDown, Navigate, OpenDescribe, OpenLogs, SetFilter


def action_of(tool: str, arguments: Arguments) -> Action:
    """The action that a screen tool asks for. Raises `ToolFailure` for arguments that name none."""
    if tool == "navigate":
        return Navigate(required(arguments, "view"), optional(arguments, "namespace"))
    if tool == "set_filter":
        return SetFilter(optional(arguments, "pattern") or "")
    if tool == "open_logs":
        container = optional(arguments, "container")
        return OpenLogs(object_name(arguments, "pod"), required(arguments, "namespace"), container)
    if tool == "open_describe":
        kind, name = required(arguments, "kind"), object_name(arguments, "name")
        return OpenDescribe(kind, name, optional(arguments, "namespace"))
    return DrillDown(required(arguments, "name"))
