"""Reading manifests: values that may be absent, and the few ways in which results word them.

A manifest is data from outside: whatever is missing or of another type reads as absent, never as an error.
"""

from datetime import datetime
from typing import Any

ABSENT = "?"


def at(item: Any, *path: str) -> Any:
    """The value at a path of keys, or None."""
    for key in path:
        item = item.get(key) if isinstance(item, dict) else None
    return item


def maps(item: Any, *path: str) -> list[dict[str, Any]]:
    """The mappings of the list at a path; empty if there is none."""
    found = at(item, *path)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, (list, tuple)) else []


def text(item: Any, *path: str) -> str:
    """The scalar at a path as one line of text, or the empty string."""
    found = at(item, *path)
    if found is None or isinstance(found, (dict, list, tuple)):
        return ""
    return one_line(str(found).lower() if isinstance(found, bool) else str(found))


def count(item: Any, *path: str) -> int:
    """The whole number at a path, or 0, which is what the API means by leaving a counter out."""
    found = at(item, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def one_line(value: str) -> str:
    """Line breaks and the space around them as one space."""
    return " ".join(part.strip() for part in value.splitlines() if part.strip())


def name(item: Any) -> str:
    """`metadata.name`."""
    return text(item, "metadata", "name")


def namespace(item: Any) -> str:
    """`metadata.namespace`, empty for a cluster-scoped object."""
    return text(item, "metadata", "namespace")


def uid(item: Any) -> str | None:
    """`metadata.uid`, or None."""
    return text(item, "metadata", "uid") or None


def labels(item: Any, *path: str) -> dict[str, str]:
    """A mapping of strings; by default `metadata.labels`."""
    found = at(item, *(path or ("metadata", "labels")))
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def moment(value: Any) -> datetime | None:
    """An RFC 3339 time, or None."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def age(value: Any, now: datetime) -> str:
    """How long before `now` a time lies, in its one fitting unit: `45s`, `12m`, `3h`, `6d`; `?` if there is no time."""
    found = moment(value)
    if found is None:
        return ABSENT
    seconds = int((now - found).total_seconds())
    for unit, size, below in (("s", 1, 120), ("m", 60, 120), ("h", 3600, 48)):
        if seconds // size < below:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86400}d"


def pairs(values: dict[str, Any]) -> str:
    """`key=value` columns, two spaces apart; what is None or empty is left out."""
    return "  ".join(f"{key}={value}" for key, value in values.items() if value not in (None, ""))


def owner(item: Any) -> str:
    """`ReplicaSet/web-7b9d` of the controlling owner, or the empty string."""
    for reference in maps(item, "metadata", "ownerReferences"):
        if reference.get("controller", True):
            return f"{text(reference, 'kind')}/{text(reference, 'name')}"
    return ""


def owned_by(item: Any, owner_uid: str | None) -> bool:
    """Whether an owner reference carries this uid. A name alone proves nothing: names are used again."""
    return owner_uid is not None and any(
        reference.get("uid") == owner_uid for reference in maps(item, "metadata", "ownerReferences")
    )


def condition(item: Any, wanted: str) -> dict[str, Any]:
    """The status condition of a type, or an empty mapping."""
    return next((entry for entry in maps(item, "status", "conditions") if entry.get("type") == wanted), {})
