"""A credential that cannot be printed, encoded or recorded.

`Scrubber` replaces the value, in the spellings in which it can stand inside a request body or an error text, by a
placeholder. `is_secret` says which keys are secrets, for all that records: not the words that servers without
authentication are conventionally given (`ollama`, `none`), and none of fewer than `MIN_SECRET_CHARS` characters.
Replacing those wherever they stand would blank out model names, numbers and common words, and falsify the record.
"""

import json

PLACEHOLDER = "[redacted]"
MIN_SECRET_CHARS = 8
PLACEHOLDER_KEYS = frozenset(
    {"ollama", "none", "null", "empty", "dummy", "no-key", "sk-no-key-required", "not-needed", "lm-studio", "fake-key"}
)


def is_secret(key: str) -> bool:
    """Whether a key has to be kept out of everything that is written or shown."""
    return len(key) >= MIN_SECRET_CHARS and not is_placeholder(key)


def is_placeholder(key: str) -> bool:
    """Whether a key is what one gives to a server that asks for none, in any case of letters."""
    return key.lower() in PLACEHOLDER_KEYS


class Secret:
    """A value that only `reveal` gives. Its text forms are a placeholder; msgspec, json and pickle refuse it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the header that carries it and for nothing else."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({PLACEHOLDER})"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a secret cannot be pickled")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


class Scrubber:
    """Takes one secret out of texts and bytes; without a secret it changes nothing."""

    def __init__(self, secret: Secret | None) -> None:
        value = "" if secret is None else secret.reveal()
        self._spellings = _spellings(value) if is_secret(value) else ()
        self._raw = tuple(spelling.encode("utf-8") for spelling in self._spellings)

    def text(self, text: str) -> str:
        """`text` with the secret replaced."""
        for spelling in self._spellings:
            text = text.replace(spelling, PLACEHOLDER)
        return text

    def data(self, data: bytes) -> bytes:
        """`data` with the secret replaced."""
        for spelling in self._raw:
            data = data.replace(spelling, PLACEHOLDER.encode())
        return data

    def holds(self, data: bytes) -> bool:
        """Whether the secret stands in `data`."""
        return any(spelling in data for spelling in self._raw)

    def may_continue(self, data: bytes) -> bool:
        """Whether `data` ends in what could be the beginning of the secret."""
        return any(data.endswith(spelling[:size]) for spelling in self._raw for size in range(1, len(spelling)))


def _spellings(value: str) -> tuple[str, ...]:
    """The value as it is, and as JSON writes it with and without `\\/`; longest first, so that none hides another."""
    written = json.dumps(value)[1:-1]
    unique = {value, written, written.replace("/", "\\/")}
    return tuple(sorted(unique, key=lambda spelling: (-len(spelling), spelling)))
