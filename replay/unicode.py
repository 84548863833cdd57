"""Text that a model emitted, as JSON, DuckDB and terminals take it: a lone surrogate, which JSON cannot carry, becomes
U+FFFD. Logs keep it (`schemas.codec`); what is derived from them does not."""

from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()


def encode_json(value: Any) -> bytes:
    """`value`, a struct or plain data, as JSON."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(well_formed(msgspec.to_builtins(value)))


def well_formed(value: Any) -> Any:
    """Plain data without lone surrogates; two that belong together become the character they are."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {well_formed(key): well_formed(item) for key, item in value.items()}
    return [well_formed(item) for item in value] if isinstance(value, list | tuple) else value
