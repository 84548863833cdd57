"""Events as lines: order, duplicates, counts and times."""

from datetime import UTC, datetime
from typing import Any

from recorder.cluster.api import ApiError, ClusterReader
from recorder.tools.fields import age, at, count, moment, name, namespace, text, uid
from schemas.kinds import Kind

Object = dict[str, Any]

_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)

CLUSTER_EVENTS_NAMESPACE = "default"
"""Where the API server keeps events about cluster-scoped objects."""


def of_object(reader: ClusterReader, item: Object, kind: Kind) -> list[Object]:
    """The events of an object that was read, newest first. Raises `ApiError`."""
    return of_name(reader, kind, name(item), namespace(item) or None, uid(item))


def of_name(
    reader: ClusterReader, kind: Kind, object_name: str, scope: str | None, object_uid: str | None
) -> list[Object]:
    """The events of an object by name, and by uid where it is known, newest first. Raises `ApiError`."""
    where = scope if kind.namespaced else CLUSTER_EVENTS_NAMESPACE
    found = reader.events(object_name, where, kind=kind.kind, uid=object_uid)
    return sorted(found, key=lambda event: moment(last_seen(event)) or _LONG_AGO, reverse=True)


def known_uid(reader: ClusterReader, kind: Kind, object_name: str, scope: str | None) -> str | None:
    """The uid of an object, or None where it is gone or may not be read: its events can outlive it."""
    try:
        return uid(reader.get(kind, object_name, scope))
    except ApiError as error:
        if error.status in (403, 404):
            return None
        raise


def last_seen(event: Object) -> str:
    """When an event happened last, as authored."""
    for path in (("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",), ("firstTimestamp",)):
        if at(event, *path):
            return text(event, *path)
    return text(event, "metadata", "creationTimestamp")


def occurrences(event: Object) -> int:
    """How often an event happened: at least once."""
    return count(event, "series", "count") or count(event, "count") or 1


def line(event: Object, now: datetime) -> str:
    """`Warning Unhealthy (27x): message [last <time>, 2m ago]`; the count is left out where it is 1."""
    times = f" ({occurrences(event)}x)" if occurrences(event) > 1 else ""
    head = f"{text(event, 'type') or 'Normal'} {text(event, 'reason')}{times}: {text(event, 'message')}"
    return f"{head} [last {last_seen(event)}, {age(last_seen(event), now)} ago]" if last_seen(event) else head


def warnings(events: list[Object], now: datetime, most: int) -> list[str]:
    """The warnings among `events`, each (reason, message) once with its newest time and summed count."""
    merged: dict[tuple[str, str], tuple[int, str]] = {}
    for event in events:
        if event.get("type") != "Warning":
            continue
        key = (text(event, "reason"), text(event, "message"))
        times, last = merged.get(key, (0, last_seen(event)))
        merged[key] = (times + occurrences(event), last)
    lines = [
        f"{reason} ({times}x, last {last}, {age(last, now)} ago): {message}"
        for (reason, message), (times, last) in merged.items()
    ]
    left = len(lines) - most
    return [*lines[:most], f"({left} more warnings not shown)"] if left > 0 else lines
