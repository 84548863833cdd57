"""What leaves a result before anybody sees it: secrets, bookkeeping and control characters.

Structured results are masked by key, text by pattern. Each masked place leaves a `Redaction` with its path and reason.
A pattern must not eat a diagnosis: `token: unexpected status: 401`, `secret "db-credentials" not found` and `token
expired` stay as they are, because prose after a colon is not a value. Source: evaluation semantics 6.3.
"""

import re
from collections.abc import Callable
from typing import Any

from schemas.events import Redaction

MASK = "<redacted>"

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_NAMES = (
    r"authorization|passw(?:or)?d|passphrase|api[-_. ]?key|client[-_. ]?secret|secret[-_. ]?access[-_. ]?key"
    r"|(?:access|refresh|id|auth|bearer|session)[-_. ]?token|private[-_. ]?key|credentials?|token"
)
_SECRET_NAME = re.compile(rf"(?:^|[^a-z0-9])(?:{_NAMES})$", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_ASSIGNED = re.compile(
    rf"(?P<key>(?:{_NAMES}))(?:\\?[\"'])?(?P<sep>[ \t]*=(?![=>~])[ \t]*|[ \t]*:[ \t]*)"
    r"(?P<value>\\\"(?:[^\"\\\n]|\\[^\"\n])*\\\"|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'"
    r"|(?:(?:Bearer|Basic|Digest|Token)[ \t]+)?[^\s,;&\"'(){}\[\]<\\]+)",
    re.IGNORECASE,
)
_STEMS = ("authorization", "passw", "passphrase", "key", "secret", "token", "credential")
"""One of these begins the end of every name above. `str` finds them a hundred times as fast as the pattern does."""

_NAME_END = re.compile(rf"(?:{'|'.join(_STEMS)})(?:or)?d?s?\\?[\"']?[ \t]*[=:]")
"""How every name ends, in lower case, with what stands before a value: no name without it is assigned one."""

_ENTRY = re.compile(r"(?:^|[{,;\[(])[\s\-\"'\\]*[\w.-]*$")
"""What stands before the key of an entry of a configuration, as opposed to a word of a sentence."""

_SCHEME = re.compile(r"\b(?P<scheme>Bearer|Basic)\s+(?P<value>[A-Za-z0-9._~+/-]{16,}=*)")
_JWT = re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")
_PEM = re.compile(r"-----BEGIN (?P<kind>[A-Z ]*PRIVATE KEY)-----.*?(?:-----END (?P=kind)-----|\Z)", re.DOTALL)
_URL_PASSWORD = re.compile(r"(?P<head>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,100}:)(?P<value>[^\s/@\"']{1,200})(?=@)")
_FLAG = re.compile(rf"^--?(?:[\w.-]*[-_.])?(?:{_NAMES})$", re.IGNORECASE)
_QUOTES = re.compile(r"\\?[\"']")
_REFERENCE = re.compile(r"^\$(?:\(\w+\)|\{\w+\}|\w+)$")

_WORDS = frozenset(
    re.findall(
        r"\S+",
        "a an as at be by can cannot could couldn't denied does empty eof error expired failed false for forbidden "
        "from has in insufficient invalid is isn't it malformed missing must nil no none not null of open optional or "
        "provided read rejected required revoked set so timeout to true unable unauthorized unavailable undefined "
        "unexpected unknown unset was while yes",
    )
)
"""Words that stand where a value could and are none."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_ASCII_CONTROL = bytes(code for code in range(128) if _CONTROL.match(chr(code)))


def normalise(value: str) -> str:
    """`value` without terminal sequences, control and direction characters; line breaks as `\\n`.

    It runs before any pattern, so that a control character inside a key cannot hide the key.
    """
    if "\r" in value:
        value = value.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in value:
        value = _ANSI.sub("", value)
    if value.isascii():
        # Bytes are taken out ten times as fast as a pattern looks through them.
        return value.encode("ascii").translate(None, _ASCII_CONTROL).decode("ascii")
    return _CONTROL.sub("", value.replace("\u2028", "\n").replace("\u2029", "\n"))


def redact_text(value: str) -> tuple[str, tuple[Redaction, ...]]:
    """Free text with its secrets masked. The path of a record is the line number."""
    clean = normalise(value)
    records = [] if clean == value else [Redaction(path="text", reason="control_characters")]

    def record(found: re.Match[str], reason: str) -> None:
        line = found.string.count("\n", 0, found.start()) + 1
        records.append(Redaction(path=f"line {line}", reason=reason))

    def whole(reason: str) -> Any:
        def mask(found: re.Match[str]) -> str:
            record(found, reason)
            return MASK

        return mask

    def tail(reason: str) -> Any:
        def mask(found: re.Match[str]) -> str:
            if found["value"] == MASK:
                return found.group()
            record(found, reason)
            return found.group()[: found.start("value") - found.start()] + MASK

        return mask

    def assigned(found: re.Match[str]) -> str:
        if not _is_value(found):
            return found.group()
        record(found, _reason(found["key"]))
        quoted = _QUOTES.match(found["value"])
        quote = quoted.group() if quoted else ""
        return found.group()[: found.start("value") - found.start()] + quote + MASK + quote

    # Most results hold nothing to mask, so each pattern runs only where a text that it cannot do without stands.
    if "-----BEGIN" in clean:
        clean = _PEM.sub(whole("private_key"), clean)
    if "@" in clean:
        clean = _URL_PASSWORD.sub(tail("url_password"), clean)
    clean = _mask_assigned(clean, assigned)
    if "Bearer" in clean or "Basic" in clean:
        clean = _SCHEME.sub(tail("authorization"), clean)
    if "eyJ" in clean:
        clean = _JWT.sub(whole("token"), clean)
    return clean, tuple(records)


def _mask_assigned(text: str, mask: Callable[[re.Match[str]], str]) -> str:
    """`_ASSIGNED.sub(mask, text)` by line: a match never leaves its line, and few lines give a value to such a name."""
    if not text.isascii():
        # Ignoring case makes letters of other scripts match as well.
        return _ASSIGNED.sub(mask, text)
    pieces: list[str] = []
    done = 0
    for start, end in _lines_with_stems(text):
        for found in _ASSIGNED.finditer(text, start, end):
            pieces += [text[done : found.start()], mask(found)]
            done = found.end()
    return "".join(pieces) + text[done:]


def _lines_with_stems(text: str) -> list[tuple[int, int]]:
    """Where the lines begin and end that hold the end of a name with what must follow it, in order."""
    lower = text.lower()
    found = set()
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            end = at + 1
            if _NAME_END.match(lower, at):
                end = lower.find("\n", at)
                end = len(text) if end < 0 else end
                found.add((lower.rfind("\n", 0, at) + 1, end))
            at = lower.find(stem, end)
    return sorted(found)


def redact_data(value: Any) -> tuple[Any, tuple[Redaction, ...]]:
    """A structured result with its secrets masked; nothing is shared with `value`.

    A Secret keeps the keys of its data and loses every value; `managedFields` and the last-applied annotation go; a
    value under a secret-looking key, an environment variable of such a name and the argument after such a flag are
    masked; every other string is treated as text.
    """
    records: list[Redaction] = []
    return _walk(value, (), records), tuple(records)


def _walk(value: Any, path: tuple[str, ...], records: list[Redaction]) -> Any:
    if isinstance(value, dict):
        return _walk_map(value, path, records)
    if isinstance(value, (list, tuple)):
        return _walk_list(list(value), path, records)
    if isinstance(value, str):
        clean, found = redact_text(value)
        records.extend(Redaction(path=_dotted(path), reason=record.reason) for record in found)
        return clean
    return value


def _walk_map(value: dict[str, Any], path: tuple[str, ...], records: list[Redaction]) -> dict[str, Any]:
    secret = value.get("kind") == "Secret"
    env = value.get("name") if isinstance(value.get("name"), str) and isinstance(value.get("value"), str) else None
    result: dict[str, Any] = {}
    for raw, item in value.items():
        key = normalise(str(raw))
        here = (*path, key)
        if key == "managedFields" and path[-1:] == ("metadata",):
            records.append(Redaction(path=_dotted(here), reason="managed_fields"))
        elif key == _LAST_APPLIED:
            records.append(Redaction(path=_dotted(here), reason="last_applied"))
        elif secret and key in ("data", "stringData") and isinstance(item, dict):
            result[key] = _masked_data(item, here, records)
        elif isinstance(item, str) and _is_secret_name(str(env) if env and key == "value" else key):
            result[key] = _masked(item, here, records, _reason(str(env) if env and key == "value" else key))
        else:
            result[key] = _walk(item, here, records)
    return result


def _masked_data(data: dict[str, Any], path: tuple[str, ...], records: list[Redaction]) -> dict[str, str]:
    records.extend(Redaction(path=_dotted((*path, str(key))), reason="secret_data") for key in data)
    return {normalise(str(key)): MASK for key in data}


def _walk_list(items: list[Any], path: tuple[str, ...], records: list[Redaction]) -> list[Any]:
    result: list[Any] = []
    for index, item in enumerate(items):
        here = (*path, str(index))
        flag = items[index - 1] if index else None
        if isinstance(flag, str) and isinstance(item, str) and _FLAG.match(flag) and not item.startswith("-"):
            result.append(_masked(item, here, records, _reason(flag)))
        else:
            result.append(_walk(item, here, records))
    return result


def _masked(value: str, path: tuple[str, ...], records: list[Redaction], reason: str) -> str:
    if not value or value == MASK or _REFERENCE.match(value):
        return value
    records.append(Redaction(path=_dotted(path), reason=reason))
    return MASK


def _is_secret_name(key: str) -> bool:
    return _SECRET_NAME.search(_CAMEL.sub("_", key)) is not None


def _is_value(found: re.Match[str]) -> bool:
    """Whether what follows a secret-looking key is a value rather than the next words of a sentence."""
    value, source = found["value"], found.string
    bare = value.strip("\"'\\").rstrip(".")
    if not bare or bare == MASK or bare == "$" or bare.lower() in _WORDS or _REFERENCE.match(bare):
        return False
    if "=" in found["sep"] or re.match(r"(?:bearer|basic|digest|token)\s", value, re.IGNORECASE):
        return True
    if bare.startswith(("http://", "https://")) or value.endswith(":"):
        return False
    if _looks_random(bare):
        return True
    before = source[source.rfind("\n", 0, found.start()) + 1 : found.start()]
    after = source[found.end() :].partition("\n")[0].strip()
    return _ENTRY.search(before[-200:]) is not None and (not after or after[0] in ",;}])")


def _looks_random(value: str) -> bool:
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return len(value) >= 6 and mixed and re.search(r"[=:]", value) is None


def _reason(key: str) -> str:
    words = _CAMEL.sub("_", key.lstrip("-")).lower()
    known = re.search(rf"(?:{_NAMES})$", words, re.IGNORECASE)
    return re.sub(r"[-. ]", "_", known.group()) if known else "secret"


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(f'"{part}"' if "." in part else part for part in path)
