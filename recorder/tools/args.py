"""Arguments as tools read them: trimmed, null and blank as absent, and refused with a sentence the model can act on."""

from typing import Any

from recorder.tools.results import ToolFailure
from schemas.kinds import KINDS, Kind, find_kind

Arguments = dict[str, Any]

ALL = "*"
"""What a model may write for every namespace where a tool reads lists."""


def required(arguments: Arguments, key: str) -> str:
    """A text argument that must be there."""
    value = optional(arguments, key)
    if value is None:
        raise ToolFailure("missing_argument", f"{key!r} is required and was not given")
    return value


def optional(arguments: Arguments, key: str) -> str | None:
    """A text argument, or None where it is absent, null or blank."""
    value = arguments.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise ToolFailure("bad_request", f"{key!r} must be a string")
    return value.strip() or None


def whole_number(arguments: Arguments, key: str, default: int, most: int) -> int:
    """A positive whole number, `default` where it is absent; more than `most` is read as `most`."""
    value = arguments.get(key)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ToolFailure("bad_request", f"{key!r} must be a whole number of 1 or more")
    return min(value, most)


def flag(arguments: Arguments, key: str) -> bool:
    """A boolean, False where it is absent."""
    value = arguments.get(key)
    if value is not None and not isinstance(value, bool):
        raise ToolFailure("bad_request", f"{key!r} must be true or false")
    return bool(value)


def object_name(arguments: Arguments, key: str) -> str:
    """The name of an object: one without a slash, since namespace and name are separate arguments."""
    value = required(arguments, key)
    if "/" in value:
        raise ToolFailure(
            "bad_request",
            f"{key!r} is {value!r}: namespace and name are separate arguments; "
            f"put {value.split('/', 1)[0]!r} in 'namespace' and {value.rsplit('/', 1)[-1]!r} in {key!r}",
        )
    return value


def kind_of(arguments: Arguments) -> Kind:
    """The kind that the argument `kind` names."""
    word = required(arguments, "kind")
    kind = find_kind(word)
    if kind is None:
        raise ToolFailure("unknown_kind", f"unknown kind {word!r}; known: {', '.join(item.plural for item in KINDS)}")
    return kind


def list_scope(arguments: Arguments, kind: Kind | None = None) -> str | None:
    """The namespace of a list; None for all of them, and for a cluster-scoped kind."""
    namespace = optional(arguments, "namespace")
    return None if namespace == ALL or (kind is not None and not kind.namespaced) else namespace


def object_scope(arguments: Arguments, kind: Kind) -> str | None:
    """The namespace of one object: required for a namespaced kind, None for a cluster-scoped one."""
    if not kind.namespaced:
        return None
    namespace = optional(arguments, "namespace")
    if namespace is None or namespace == ALL:
        raise ToolFailure("missing_argument", f"{kind.plural} are namespaced: give the 'namespace' argument")
    return namespace
