"""Type-tagged content digests.

A digest must not depend on key order, path or mtime, and an unquoted YAML timestamp must never hash like the string
that looks the same. So each scalar is hashed together with the name of its type, and JSON, which has no timestamps,
carries them as `{"$datetime": text}` (`to_json`, `from_json`). Source: evaluation semantics 1.2.
"""

import hashlib
import json
from datetime import UTC, date, datetime
from typing import Any

from schemas.errors import CaseError

_DATETIME = "$datetime"
_DATE = "$date"


def sha256_hex(data: bytes) -> str:
    """The SHA-256 of `data` as 64 lowercase hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def content_digest(value: Any) -> str:
    """The SHA-256 of plain data (null, bool, int, float, str, datetime, date, dict with string keys, list).

    Raises `CaseError` for any other type.
    """
    return sha256_hex(_tagged(value).encode("utf-8", "surrogatepass"))


def to_json(value: Any) -> Any:
    """`value` with each timestamp replaced by a tagged object, so that JSON can carry it there and back."""
    if isinstance(value, datetime):
        return {_DATETIME: _utc(value)}
    if isinstance(value, date):
        return {_DATE: value.isoformat()}
    if isinstance(value, dict):
        for key in (_DATETIME, _DATE):
            if key in value:
                raise CaseError(f"the key {key!r} is reserved for timestamps; rename it")
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def from_json(value: Any) -> Any:
    """The inverse of `to_json`."""
    if isinstance(value, dict):
        if len(value) == 1:
            if _DATETIME in value:
                return datetime.fromisoformat(value[_DATETIME])
            if _DATE in value:
                return date.fromisoformat(value[_DATE])
        return {key: from_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_json(item) for item in value]
    return value


def _utc(moment: datetime) -> str:
    """ISO text in UTC; a naive moment is read as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat()


_quoted = json.JSONEncoder(ensure_ascii=False).encode
_number = json.JSONEncoder(allow_nan=False).encode


def _tagged(value: Any) -> str:
    """`value` as compact JSON in which every scalar, object and array stands in a pair behind the name of its type."""
    if isinstance(value, str):
        return f'["str",{_quoted(value)}]'
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise CaseError(f"cannot digest the key {key!r}: keys are text")
        pairs = ",".join([f"[{_quoted(key)},{_tagged(value[key])}]" for key in sorted(value)])
        return f'["dict",[{pairs}]]'
    if isinstance(value, (list, tuple)):
        return f'["list",[{",".join(map(_tagged, value))}]]'
    if value is None:
        return '["null",null]'
    # bool before int and datetime before date: each is a subclass of the other.
    if isinstance(value, bool):
        return f'["bool",{_number(value)}]'
    if isinstance(value, int):
        return f'["int",{_number(value)}]'
    if isinstance(value, float):
        return f'["float",{_number(value)}]'
    if isinstance(value, datetime):
        return f'["datetime",{_quoted(_utc(value))}]'
    if isinstance(value, date):
        return f'["date",{_quoted(value.isoformat())}]'
    raise CaseError(f"cannot digest a value of type {type(value).__name__}")
