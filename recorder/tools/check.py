"""What becomes of a call before anything runs: its arguments are read and its disposition is settled.

The checks are those that grading counts: undecodable JSON, not an object, a required argument missing, a wrong JSON
type, a value outside an enum. A null stands for an argument left out. Arguments that the schema does not name are no
fault. A write that is not armed is an attempt to write, whatever its arguments. Source: evaluation semantics 5.9, 6.3.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from recorder.tools.catalog import NAMES, WRITES, ToolSpec
from schemas.codec import parse_json
from schemas.events import Disposition, ToolErrorClass

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


MAX_DEPTH = 64
"""No tool takes nested arguments. Far below what a recursion bears, so that the verdict is the same everywhere."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A call with its disposition. `arguments` is the parsed object, or None where there is none to parse.

    `problem` is for the model, without the leading `ERROR: `; it and `error_class` are None for an executed call.
    """

    name: str
    arguments: dict[str, Any] | None
    disposition: Disposition
    problem: str | None = None
    error_class: ToolErrorClass | None = None


def check_call(specs: Iterable[ToolSpec], name: str, arguments_raw: str) -> Checked:
    """Settle what becomes of a call to `name` with the argument string as the model emitted it."""
    arguments, broken = _parse(arguments_raw)
    spec = next((item for item in specs if item.name == name), None)
    if spec is None:
        return _unarmed(name, arguments)
    problem = broken if arguments is None else _fault(spec, arguments)
    if problem is not None:
        return Checked(
            name=name,
            arguments=arguments,
            disposition="malformed",
            problem=f"malformed call of {name}: {problem}",
            error_class="malformed",
        )
    return Checked(name=name, arguments=arguments, disposition="executed")


def _unarmed(name: str, arguments: dict[str, Any] | None) -> Checked:
    if name in WRITES:
        return Checked(
            name=name,
            arguments=arguments,
            disposition="write_attempt",
            problem=f"tool {name!r} changes the cluster and this session is read-only; nothing was changed",
            error_class="write_refused",
        )
    known = name in NAMES
    return Checked(
        name=name,
        arguments=arguments,
        disposition="not_armed",
        problem=f"tool {name!r} is not armed for this policy" if known else f"unknown tool: {name!r}",
        error_class="not_armed" if known else "unknown_tool",
    )


def _parse(raw: str) -> tuple[dict[str, Any] | None, str | None]:
    if not raw.strip():
        return {}, None
    try:
        value = parse_json(raw)
    except (ValueError, RecursionError):
        return None, "the arguments are not valid JSON; send one JSON object"
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return None, f"the arguments are a JSON {_json_type(value)}; send one JSON object"
    if _is_deeper(value, MAX_DEPTH):
        return None, f"the arguments are nested deeper than {MAX_DEPTH} levels; send one flat JSON object"
    return value, None


def _is_deeper(value: Any, limit: int) -> bool:
    """Whether a value has more levels of objects and arrays than `limit`. Level by level: recursion could end early."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def _fault(spec: ToolSpec, arguments: dict[str, Any]) -> str | None:
    properties: dict[str, Any] = spec.parameters["properties"]
    for key in spec.parameters["required"]:
        if arguments.get(key) is None:
            return f"required argument {key!r} is missing"
    for key, schema in properties.items():
        value = arguments.get(key)
        if value is None:
            continue
        if not _is_of(value, schema["type"]):
            return f"argument {key!r} must be of type {schema['type']}, not {_json_type(value)}"
        if "enum" in schema and value not in schema["enum"]:
            return f"argument {key!r} must be one of {', '.join(schema['enum'])}"
    return None


def _is_of(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    return isinstance(value, _TYPES[wanted])


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "number"
    return next((name for name, types in _TYPES.items() if isinstance(value, types)), "null")
