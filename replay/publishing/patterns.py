"""What must not leave in a publication, told from what may: tokens, passwords, addresses, paths and names of people.

Texts are searched as `flat` leaves them, where every level of JSON escapes is undone, so a value is found however deep
it is nested. What stands in the bundled cases is public already and never a finding.
"""

import getpass
import math
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

MIN_NAME = 3
"""A shorter user or host name is in every text."""

_ESCAPES = tuple(
    (re.compile(rf"\\\\*{letter}"), plain)
    for letter, plain in (('"', '"'), ("n", "\n"), ("/", "/"), ("t", "\t"), ("r", "\r"), ("'", "'"))
)
_REST = re.compile(r"\\+(?:u([0-9a-fA-F]{4}))?")
_WINDOWS_HOME = re.compile(r"(?i)\b([A-Z]:)\\+(Users)\\+")


class Hit(NamedTuple):
    """A private text. `value` is all that has to go; `word` is whether it counts only as a whole word."""

    kind: str
    value: str
    start: int
    word: bool = False


class _Rule(NamedTuple):
    """`hints` are lowercase texts of which one must be there; `accept` decides on what the pattern found."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    accept: Callable[[str], bool] = lambda _: True


class Names(NamedTuple):
    """Names of users and hosts, and further words that shall not be published."""

    users: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


def flat(text: str) -> str:
    """`text` with all levels of JSON escapes undone. Two texts that differ only in escapes become the same.

    The backslashes of a Windows home path become slashes, so that they are no escapes.
    """
    if "\\" not in text:
        return text
    if ":\\" in text:
        text = _WINDOWS_HOME.sub(r"\1/\2/", text)
    for escape, plain in _ESCAPES:
        text = escape.sub(plain, text)
    return _REST.sub(_unescaped, text)


def hits(text: str, names: Names) -> Iterator[Hit]:
    """The private texts in `text`, which must be flat, rule by rule."""
    lowered = text.lower()
    if len(lowered) != len(text):
        # A few letters grow in lowercase; positions have to stay those of `text`.
        lowered = "".join(char.lower() if char.isascii() else char for char in text)
    stretches = list(_LONG.finditer(lowered))
    joined = "\n".join(stretch[0] for stretch in stretches)
    for rule in _TOKENS:
        if any(hint in joined for hint in rule.hints):
            for stretch in stretches:
                yield from _by_rule(rule, rule.pattern.finditer(text, stretch.start(), stretch.end()))
    for rule in _RULES:
        if any(hint in lowered for hint in rule.hints):
            yield from _by_rule(rule, rule.pattern.finditer(text))
    yield from _assigned(text, lowered)
    yield from _named(text, lowered, names)


def user_of(home: str) -> str | None:
    """The user that a home path names, if it is a person's."""
    user = home.rpartition("/")[2].lower()
    return user if is_personal(user) else None


def is_personal(name: str) -> bool:
    """Whether a user or host name tells anything: not a common account, not a word of the bundled cases."""
    lowered = name.lower()
    if len(lowered) < MIN_NAME or lowered in _COMMON or lowered.isdigit():
        return False
    return re.search(_bounded(lowered), public_text(), re.IGNORECASE) is None


def machine_names() -> Names:
    """The names of this user and of this machine."""
    host = socket.gethostname()
    hosts = {host, host.partition(".")[0]}
    try:
        users = {getpass.getuser()}
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        users = set()
    return Names(
        users=frozenset(name.lower() for name in users if is_personal(name)),
        hosts=frozenset(name.lower() for name in hosts if is_personal(name)),
    )


@lru_cache(maxsize=1)
def public_text() -> str:
    """The text of the bundled cases and prompts: published with the software."""
    import packs

    root = Path(packs.__file__).parent
    files = sorted(path for path in root.rglob("*") if path.suffix in (".yaml", ".yml", ".md", ".json", ".txt"))
    return "\n".join(flat(path.read_text(encoding="utf-8", errors="replace")) for path in files)


@lru_cache(maxsize=4096)
def is_public(value: str) -> bool:
    """Whether a text stands in the bundled cases."""
    return value in public_text()


def masked(value: str) -> str:
    """A private text as a message may show it."""
    line = value.splitlines()[0] if value.splitlines() else ""
    return f"{line[: min(4, len(line) // 3)]}... ({len(value)} characters)"


def _by_rule(rule: _Rule, found: Iterable[re.Match[str]]) -> Iterator[Hit]:
    group = "value" if "value" in rule.pattern.groupindex else 0
    for match in found:
        value = match.group(group)
        if not _is_placeholder(value) and rule.accept(value) and not is_public(value):
            yield Hit(rule.kind, value, match.start(group))


def _unescaped(found: re.Match[str]) -> str:
    return "\\" if found[1] is None else chr(int(found[1], 16))


def _bounded(word: str) -> str:
    return rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])"


def _assigned(text: str, lowered: str) -> Iterator[Hit]:
    """Random values behind a secret-looking key."""
    for keyword in _KEYWORDS:
        at = lowered.find(keyword)
        while at >= 0:
            found = _ASSIGNED.match(text, at)
            if found is not None and (keyword != "key" or _is_key_of_a_lock(lowered, at, found)):
                value = found["value"]
                if not _is_placeholder(value) and _is_random(value) and not is_public(value):
                    yield Hit("secret", value, found.start("value"))
            at = lowered.find(keyword, at + len(keyword))


def _is_key_of_a_lock(lowered: str, at: int, found: re.Match[str]) -> bool:
    return _KEYS.search(lowered, max(0, at - 12), at) is not None or found[0].lower().startswith(
        ("key-data", "key_data")
    )


def _named(text: str, lowered: str, names: Names) -> Iterator[Hit]:
    for kind, group in (("user_name", names.users), ("host_name", names.hosts), ("private_word", names.words)):
        for name in sorted(group):
            if name.lower() in lowered:
                for found in re.finditer(_bounded(name), text, re.IGNORECASE):
                    yield Hit(kind, found.group(), found.start(), word=True)


def _is_placeholder(value: str) -> bool:
    lowered = value.lower()
    return "redacted" in lowered or "xxxxx" in lowered or lowered.strip("*.<>") == ""


def _has_token_body(value: str) -> bool:
    """Whether the part after a short prefix is random rather than words with hyphens."""
    body = value[3:]
    if re.search(r"[A-Za-z0-9]{12}", body) is None:
        return any(char.isdigit() for char in body) and any(char.isupper() for char in body)
    return True


def _is_random(value: str) -> bool:
    """Whether a value behind a secret-looking key is a secret rather than a name, a number or prose."""
    bare = value.strip("\"'`.,;:)")
    if len(bare) < 8 or _REFERENCE.match(bare) or bare.startswith(("http://", "https://")):
        return False
    if _UUID.fullmatch(bare):
        return True
    chunk = max(re.split(r"[^A-Za-z0-9]", bare), key=len)
    if len(chunk) >= 12 and _mixed(chunk) and entropy(bare) >= 3.0:
        return True
    symbols = set(bare) - _NAME_CHARS
    kinds = [any(map(test, bare)) for test in (str.islower, str.isupper, str.isdigit)]
    return sum(kinds) + bool(symbols) >= 3


def _mixed(chunk: str) -> bool:
    if chunk.isalpha():
        return len(chunk) >= 20 and not (chunk.islower() or chunk.isupper()) and len(set(chunk)) > 10
    return any(char.isalpha() for char in chunk)


def entropy(value: str) -> float:
    """Bits a character, from the frequencies of characters in the value itself."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values()) if value else 0.0


def _is_mail(value: str) -> bool:
    local, _, domain = value.lower().rpartition("@")
    if local in ("git", "") or _CLUSTER_DOMAIN.search(domain):
        return False
    return domain.rpartition(".")[2] not in _NO_DOMAIN


def _is_foreign_host(value: str) -> bool:
    host = value.lower()
    if host in ("localhost", "host.docker.internal") or _RESERVED_DOMAIN.search(host):
        return False
    return "." not in host or _LOCAL_DOMAIN.search(host) is not None


_NAME_CHARS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/:")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_REFERENCE = re.compile(r"^[$%<{\[(]")
_COMMON = frozenset(
    re.findall(
        r"\S+",
        "root user users admin administrator ubuntu debian fedora centos runner app apps node nobody nonroot default "
        "guest test tester git www-data ec2-user vagrant localhost main system operator model host server docker dev "
        "home opc public shared service jenkins circleci postgres mysql redis nginx",
    )
)
_NO_DOMAIN = frozenset(
    re.findall(
        r"\S+",
        "service socket timer mount target slice scope device path swap json jsonl parquet zst html yaml yml txt log "
        "toml tar gz zip lock sock conf cfg ini tmpl",
    )
)
"""Ends of unit names (`getty@tty1.service`) and of file names (`claims@1-recorded.json`)."""
_CLUSTER_DOMAIN = re.compile(r"(?:^|\.)(?:svc|cluster\.local)$")
_RESERVED_DOMAIN = re.compile(
    r"(?:^|\.)(?:example\.(?:com|org|net)|example|invalid|test|localhost|svc|cluster\.local)$"
)
_LOCAL_DOMAIN = re.compile(r"\.(?:local|lan|home|internal|intranet|corp|localdomain|private|home\.arpa)$")

_KEYWORDS = ("authorization", "passw", "passphrase", "_pwd", "key", "secret", "credential", "token", "&sig", "?sig")
_KEYS = re.compile(r"(?:api|access|secret|private|account|signing|encryption|encrypt|master|storage)[-_. ]?$")
"""What stands before `key` where it is the key of a lock and not of a mapping."""
_ASSIGNED = re.compile(
    r"(?:authorization|passw(?:or)?d|passphrase|_pwd|key(?:[-_. ]?(?:id|data))?|secret|credentials?|token|[?&]sig)"
    r"[\"'`]?[ \t]{0,3}(?::=|=>|[:=])[ \t]{0,3}"
    r"(?:(?:bearer|basic|token)[ \t]+)?[\"'`]?(?P<value>[^\s\"'`,;&<>{}()\[\]|\\]{8,4096})",
    re.IGNORECASE,
)
_FLAG = re.compile(
    r"(?<![A-Za-z0-9-])--?(?:[a-z-]*-)?(?:password|passwd|token|api-key|secret|key-data)[ \t\"',]{1,4}"
    r"(?P<value>(?!-)[^\s\"',;&<>{}()|\\]{8,4096})",
    re.IGNORECASE,
)

_FORMATS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{16,}"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{30,}"),
    (("github_pat_",), r"github_pat_[A-Za-z0-9_]{30,}"),
    (("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glagent-"), r"gl[a-z]{2,6}-[A-Za-z0-9_-]{20,}"),
    (("akia", "asia", "abia", "acca"), r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (("aiza",), r"AIza[A-Za-z0-9_-]{35}"),
    (("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,}"),
    (("gocspx-",), r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    (("xox", "xapp-"), r"(?:xox[abceoprs](?:-[A-Za-z0-9]+){2,}|xapp-[0-9]-[A-Za-z0-9-]{20,})"),
    (("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9_/-]{20,}"),
    (("discord",), r"discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{30,}"),
    (("hf_",), r"hf_[A-Za-z0-9]{30,}"),
    (("npm_",), r"npm_[A-Za-z0-9]{36}"),
    (("pypi-age",), r"pypi-AgE[A-Za-z0-9_-]{40,}"),
    (("dckr_",), r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    (("dop_v1_", "doo_v1_", "dor_v1_"), r"do[por]_v1_[a-f0-9]{64}"),
    (("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"), r"(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}"),
    (("sg.",), r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ((":aa",), r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    (("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    (("xai-",), r"xai-[A-Za-z0-9]{40,}"),
    (("r8_",), r"r8_[A-Za-z0-9]{36,}"),
    (("pplx-",), r"pplx-[A-Za-z0-9]{40,}"),
    (("nvapi-",), r"nvapi-[A-Za-z0-9_-]{40,}"),
    (("dapi",), r"dapi[a-f0-9]{32}"),
    (("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    ((".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    (("glsa_", "glc_"), r"(?:glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/=]{32,})"),
    (("sntrys_", "sntryu_"), r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    (("nrak-",), r"NRAK-[A-Z0-9]{27}"),
    (("lin_api_", "ntn_", "shpat_", "shpss_", "phx_"), r"(?:lin_api_|ntn_|shp(?:at|ss)_|phx_)[A-Za-z0-9]{30,}"),
    (("dp.pt.", "dp.st."), r"dp\.[ps]t\.[A-Za-z0-9._-]{40,}"),
    (("pul-",), r"pul-[a-f0-9]{40}"),
    (("age-secret-key-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    (("tskey-",), r"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{20,}"),
    (("eyj",), r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
)
"""Tokens that are told by their own form: what must be there, in lowercase, and the form."""

_BEFORE = r"(?<![A-Za-z0-9])"
_LONG = re.compile(r"[a-z0-9_+/=.:-]{18,}")
"""What every token is, in lowercase: a long stretch of these. Looking for those first is ten times as fast."""
_TOKENS: tuple[_Rule, ...] = (
    *(_Rule("token", hints_, re.compile(_BEFORE + form)) for hints_, form in _FORMATS),
    _Rule("token", ("sk-",), re.compile(_BEFORE + r"sk-[A-Za-z0-9_-]{15,}"), _has_token_body),
)
_RULES: tuple[_Rule, ...] = (
    _Rule(
        "private_key",
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\s*(?:[A-Za-z-]+: [^\n]*\s+)*"
            r"(?P<value>(?:[A-Za-z0-9+/=]{16,}\s*)+(?:[A-Za-z0-9+/=]{1,64})?)"
        ),
    ),
    _Rule(
        "token",
        ("bearer", "basic"),
        re.compile(r"\b(?:bearer|basic)\s+(?P<value>[A-Za-z0-9._~+/-]{16,}=*)", re.IGNORECASE),
        _is_random,
    ),
    _Rule(
        "password",
        ("://",),
        re.compile(r"://[^\s/:@\"']{0,100}:(?P<value>[^\s/@\"'$<{]{3,200})@(?=[A-Za-z0-9])"),
    ),
    _Rule("secret", ("-password", "-passwd", "-token", "-api-key", "-secret", "-key-data"), _FLAG, _is_random),
    _Rule(
        "email",
        ("@",),
        re.compile(
            r"[A-Za-z0-9_%+-](?:[A-Za-z0-9._%+-]{0,63})@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.)+[A-Za-z]{2,24}(?![A-Za-z0-9])"
        ),
        _is_mail,
    ),
    _Rule(
        "home_path",
        ("/home/", "/users/", "/root/"),
        re.compile(
            r"(?<![A-Za-z0-9.])(?:/var|/mnt|/export|/data|/[A-Za-z])?/(?:home|Users)/(?![\[<${%*])[A-Za-z0-9_.@+-]+"
            r"|(?<![A-Za-z])[A-Za-z]:/Users/(?![\[<${%*])[A-Za-z0-9_.@+-]+"
            r"|(?<![A-Za-z0-9._/-])/root/(?=[A-Za-z0-9.])"
        ),
    ),
    _Rule(
        "host_name",
        ('"model_request"',),
        re.compile(r'"url":"https?://(?:[^/@"]*@)?(?P<value>[A-Za-z0-9_.-]*[A-Za-z][A-Za-z0-9_.-]*)'),
        _is_foreign_host,
    ),
)
