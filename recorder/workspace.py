"""The screen of an evaluation: pure state, five closed actions, and the list of what was done.

`apply` gives the screen after an action or raises `ScreenError`, and never changes anything. `Workspace` holds the
present screen of a session and the actions since the last reset. What an action needs to know of the cluster it reads
through the same reader as every tool, so a denied read is denied here too. Source: evaluation semantics 9.
"""

from typing import Any

import msgspec

from recorder.cluster.api import ApiError, ClusterReader
from schemas.cases import Interaction, Pane, Selection
from schemas.kinds import Kind, find_kind, served

ALL = "*"

_PODS, _NAMESPACES = served("pods"), served("namespaces")


class ScreenError(Exception):
    """An action that the screen refuses; the screen is as it was."""


class Navigate(msgspec.Struct, frozen=True):
    """Show the list of a kind; without `namespace` the scope stays."""

    view: str
    namespace: str | None = None


class SetFilter(msgspec.Struct, frozen=True):
    """Filter the focused list; an empty pattern clears the filter."""

    pattern: str


class OpenLogs(msgspec.Struct, frozen=True):
    """Open the log of a pod."""

    pod: str
    namespace: str
    container: str | None = None


class OpenDescribe(msgspec.Struct, frozen=True):
    """Open the details of an object."""

    kind: str
    name: str
    namespace: str | None = None


class DrillDown(msgspec.Struct, frozen=True):
    """Enter one row of the focused list."""

    name: str


Action = Navigate | SetFilter | OpenLogs | OpenDescribe | DrillDown


class ScreenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One action as it went: the tool that asked for it, its arguments without nulls, and the screen's answer."""

    tool: str
    arguments: dict[str, Any]
    ok: bool
    message: str


class Workspace:
    """The screen of one session. `reader` may be None: then names are taken as they come."""

    def __init__(self, interaction: Interaction, reader: ClusterReader | None = None) -> None:
        self.interaction = interaction
        self.records: list[ScreenRecord] = []
        self._reader = reader

    def reset(self, interaction: Interaction) -> None:
        """Restore an authored screen and forget the actions."""
        self.interaction = interaction
        self.records.clear()

    def perform(self, action: Action, tool: str, arguments: dict[str, Any]) -> ScreenRecord:
        """Apply an action and record it; a refused one leaves the screen as it was. Never raises `ScreenError`."""
        try:
            self.interaction = apply(self.interaction, action, self._reader)
            ok, message = True, describe(action)
        except ScreenError as error:
            ok, message = False, f"ERROR: {error}"
        record = ScreenRecord(tool=tool, arguments=arguments, ok=ok, message=message)
        self.records.append(record)
        return record


def describe(action: Action) -> str:
    """What the screen answers to an action that went through."""
    match action:
        case Navigate(view=view):
            return f"navigated to {_kind(view).plural}"
        case SetFilter(pattern=pattern):
            return f"filter set to {pattern}" if pattern else "filter cleared"
        case OpenLogs(pod=pod):
            return f"opened logs for {pod}"
        case OpenDescribe(name=name):
            return f"opened describe for {name}"
        case DrillDown(name=name):
            return f"drilled into {name}"


def apply(screen: Interaction, action: Action, reader: ClusterReader | None = None) -> Interaction:
    """The screen after an action. Raises `ScreenError` for an unknown kind, and with a reader for an unknown object."""
    pane = screen.focused_pane
    match action:
        case Navigate():
            after = _navigate(pane, action)
        case SetFilter(pattern=pattern):
            after = msgspec.structs.replace(pane, filter=pattern or None)
        case OpenLogs():
            after = _open_logs(action, reader)
        case OpenDescribe():
            after = _open_describe(action, reader)
        case DrillDown():
            after = _drill_down(pane, action, reader)
    return msgspec.structs.replace(screen, focused_pane=after)


def _navigate(pane: Pane, action: Navigate) -> Pane:
    kind = _kind(action.view)
    scope = (action.namespace or pane.scope) if kind.namespaced else ALL
    return Pane(kind=kind.plural, scope=scope, filter=pane.filter)


def _open_logs(action: OpenLogs, reader: ClusterReader | None) -> Pane:
    pod = _read(reader, _PODS, action.pod, action.namespace)
    if reader is not None and pod is not None:
        _check_container(pod, action)
        _check_log_access(reader, action)
    return _selected(_PODS, action.pod, action.namespace, pod)


def _open_describe(action: OpenDescribe, reader: ClusterReader | None) -> Pane:
    kind = _kind(action.kind)
    if kind.namespaced and not action.namespace:
        raise ScreenError(f"{kind.plural} are namespaced: give the 'namespace' argument")
    namespace = action.namespace if kind.namespaced else None
    return _selected(kind, action.name, namespace, _read(reader, kind, action.name, namespace))


def _drill_down(pane: Pane, action: DrillDown, reader: ClusterReader | None) -> Pane:
    kind = _kind(pane.kind)
    namespace, name = _row(pane, kind, action.name, reader)
    found = _read(reader, kind, name, namespace) if namespace is not None or not kind.namespaced else None
    if kind.plural == _NAMESPACES.plural:
        return Pane(kind=_PODS.plural, scope=name)
    selection = _selection(kind, name, namespace, found)
    return msgspec.structs.replace(pane, selected=selection)


def _row(pane: Pane, kind: Kind, row: str, reader: ClusterReader | None) -> tuple[str | None, str]:
    """Namespace and name of a row; over all namespaces a bare name must be the only one of its kind."""
    namespace, slash, name = row.rpartition("/")
    if slash:
        return namespace, name
    if not kind.namespaced:
        return None, row
    if pane.scope != ALL:
        return pane.scope, row
    if reader is None:
        return None, row
    try:
        homes = [item["metadata"]["namespace"] for item in reader.list(kind) if item["metadata"]["name"] == row]
    except ApiError as error:
        raise ScreenError(str(error)) from None
    if len(homes) > 1:
        raise ScreenError(f"{row!r} is in several namespaces ({', '.join(homes)}); write namespace/name")
    return (homes[0], row) if homes else (ALL, row)


def _kind(word: str) -> Kind:
    kind = find_kind(word)
    if kind is None:
        raise ScreenError(f"unknown kind {word!r}")
    return kind


def _read(reader: ClusterReader | None, kind: Kind, name: str, namespace: str | None) -> dict[str, Any] | None:
    if reader is None:
        return None
    try:
        return reader.get(kind, name, namespace)
    except ApiError as error:
        raise ScreenError(str(error)) from None


def _check_container(pod: dict[str, Any], action: OpenLogs) -> None:
    spec = pod.get("spec") or {}
    known = [entry.get("name") for key in ("containers", "initContainers") for entry in spec.get(key) or ()]
    if action.container is not None and action.container not in known:
        raise ScreenError(f"container {action.container} is not valid for pod {action.pod}")


def _check_log_access(reader: ClusterReader, action: OpenLogs) -> None:
    """A pod whose log is still empty can be opened; one whose log may not be read cannot."""
    try:
        reader.logs(action.namespace, action.pod, action.container, tail_lines=1)
    except ApiError as error:
        if error.status == 403:
            raise ScreenError(str(error)) from None


def _selected(kind: Kind, name: str, namespace: str | None, found: dict[str, Any] | None) -> Pane:
    return Pane(kind=kind.plural, scope=namespace or ALL, selected=_selection(kind, name, namespace, found))


def _selection(kind: Kind, name: str, namespace: str | None, found: dict[str, Any] | None) -> Selection:
    uid = found["metadata"].get("uid") if found is not None else None
    return Selection(kind=kind.plural, name=name, namespace=namespace, uid=uid)
