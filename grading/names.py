"""Names that begin or end like another: whether a match is the whole name or a piece of a longer one.

English joins ordinary words by hyphens (`OOM-killed`, `memory-limit`), and a keyword of ordinary words is found inside
such a compound. An object's name is not: `api-1` is none of `api-1-canary`, `my-api-1` and `api-1.prod`. A keyword
ends in a name where its first or last word looks like one (it holds a digit beside letters, or a hyphen or underscore
between words of which not all are ordinary), or where the whole keyword is the name of an object that the case's own
evidence reads. Of a longer name three kinds still mean the object: what a controller appends (`web-7d9fc-x2x4z`), the
number of a replica, and a noun or participle that English appends (`api-1-related`).
"""

import re
from functools import lru_cache

from grading.lexicon import FAULTS, PROBLEM_NOUNS, words
from grading.text import Text
from schemas.cases import RubricTurn

_ORDINARY = (
    FAULTS
    | PROBLEM_NOUNS
    | words(
        "a an the of in on to for by with from no non not pre post re un out back off over under up down run "
        "read write only time too many high low wide zero self multi cross auto scale scaler memory cpu disk "
        "pid node pod container image pull push limit limits request requests quota probe liveness readiness "
        "startup selector label labels taint toleration affinity config map configmap secret key env var "
        "variable environment volume mount claim storage class init crash loop oom kill killer exit code "
        "status state host port network policy dns service account endpoint endpoints slice job backoff "
        "rollout replica replicas set stateful daemon deployment schedule scheduling scheduler scheduled "
        "pressure eviction evicted restart restarts restarting ready existent existing root cause timeout "
        "connection refused rate resource resources bad crashloop crashloopbackoff http nil null pointer file "
        "permission denied access command health check last sub long short"
    )
)
"""Words of which a hyphen makes a compound and no name."""

_TERMS = words(
    "x509 ipv4 ipv6 http2 http3 k8s k3s s3 ec2 sha256 sha1 md5 base64 ext4 oauth2 utf8 l4 l7 pid1 log4j arm64 amd64 x86"
)
_NUMBERED = words("exit code status http error errno signal utf sha port line step")
"""Words that number a fact and no object (`exit-137`)."""

_HEADS = PROBLEM_NOUNS | words(
    "related based specific induced caused triggered driven owned only like type style level side bound "
    "tagged named mismatch missing not state crash crashes crashing outage incident eviction evictions "
    "killed failing failed crashed pod pods container containers deployment job node nodes service tag "
    "image secret configmap class tier step"
)
"""What English appends to a name without making another name of it."""

_IDENTITIES = words("name pod service pvc deployment job node container secret configmap")
_JOINTS = frozenset("-_.")
_NAME = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
_APPENDED = re.compile(r"(?:[-_][A-Za-z0-9]+)+")
_HOST = re.compile(r"(?:\.[a-z0-9-]+)?\.svc\b")
_GENERATED = re.compile(r"(?!v\d+$|rc\d+$)(?=[a-z]*\d[a-z0-9]*$|.{4})(?=.*[a-z])[bcdfghjklmnpqrstvwxz0-9]{2,10}")
"""What a controller appends: no vowel, so that it spells no word, and no version."""
_GENERATED_CHARS = 5


@lru_cache(maxsize=4096)
def _named_ends(keyword: str) -> tuple[bool, bool]:
    """Whether a keyword begins, and whether it ends, with what looks like an object's name."""
    found = _NAME.findall(keyword)
    if not found:
        return False, False
    return (
        keyword.startswith(found[0]) and _looks_named(found[0]),
        keyword.endswith(found[-1]) and _looks_named(found[-1]),
    )


def _looks_named(word: str) -> bool:
    pieces = re.split("[-_]", word.lower())
    if pieces[0][0].isdigit() or word.lower() in _TERMS:
        return False
    plain = [piece for piece in pieces if not piece.isdigit()]
    if any(character.isdigit() for character in word):
        return not all(piece in _NUMBERED for piece in plain)
    return len(pieces) > 1 and not all(piece in _ORDINARY for piece in plain)


def inside_longer_name(text: Text, match: tuple[int, int], keyword: str, turn: RubricTurn | None = None) -> bool:
    """Whether a match of `keyword` is only a piece of another object's name.

    `turn` is the rubric whose evidence says which plain words are names; without it only the keyword's form does.
    """
    source, start, end = text.source, text.starts[match[0]], text.ends[match[1]]
    if source[end : end + 1] not in _JOINTS and source[start - 1 : start] not in _JOINTS:
        return False
    joined_left = start > 1 and source[start - 1] in _JOINTS and source[start - 2].isalnum()
    joined_right = source[end : end + 1] in _JOINTS and source[end + 1 : end + 2].isalnum()
    if not joined_left and not joined_right:
        return False
    left, right = _named_ends(keyword)
    if not (left and right) and turn is not None and _is_read(turn, keyword):
        left = right = True
    return (left and joined_left) or (right and joined_right and _another(source, end, keyword))


def _another(source: str, end: int, keyword: str) -> bool:
    """Whether what is joined to the end of a name makes another object's name of it."""
    if source[end] == ".":
        return not source[end + 1].isupper() and _HOST.match(source, end) is None
    appended = _APPENDED.match(source, end)
    pieces = re.split("[-_]", appended[0].lower())[1:] if appended else []
    if not pieces or pieces[0] in _HEADS:
        return False
    if pieces[-1].isdigit() and not any(character.isdigit() for character in keyword):
        pieces.pop()
    return not all(_GENERATED.fullmatch(piece) for piece in pieces)


def is_generated_behind(source: str, start: int, end: int) -> bool:
    """Whether what a controller appends to the name at a place of a text follows: `-7d9fc-x2x4z` behind `api-1`.

    Its last piece has five characters or more, as those of replica sets, jobs and daemon sets have: `1-2m` is a range.
    """
    appended = _APPENDED.match(source, end)
    if appended is None or not _looks_named(source[start:end]):
        return False
    pieces = re.split("[-_]", appended[0].lower())[1:]
    return len(pieces[-1]) >= _GENERATED_CHARS and all(_GENERATED.fullmatch(piece) for piece in pieces)


def _is_read(turn: RubricTurn, keyword: str) -> bool:
    """Whether the evidence of a turn reads an object of this name."""
    return any(
        location.args.get(key) == keyword
        for group in turn.expected_evidence
        for location in group
        for key in _IDENTITIES & location.args.keys()
    )
