"""What stands beside a label: `Quota: no sign of it`, `DNS - nothing of the sort`, `OOM? Not a trace.`

Of a thing that should be there, a label that says there is none reports the fault (`Endpoints: none`).
"""

from collections.abc import Sequence

from grading.after import after_tail, following_words, is_adverb
from grading.enough import says_enough
from grading.frame import value_beside, verdict_of
from grading.lexicon import EVENTS, FAULTS, OBJECTS, PROBLEM_NOUNS, words
from grading.rules import Rules
from grading.text import Text

_SIGNS = words(
    "sign signs trace traces hint hints indication indications evidence proof mention symptom symptoms suggestion clue "
    "clues whiff shred"
)
_PRONOUNS = words("it that this them those these either which")
_LEADING = words("there s ve is are was were i we see saw found find so far still could can do did have has been")
_SLIGHTEST = words("a an any the slightest least single even real clear other see find found seen have been")
_ENDING = words(
    "to be seen found here there at all visible observed see report speak so far whatsoever reported like it that "
    "this sight"
)
_PLACES = words("anywhere here whatsoever at found seen so there visible in")
_REFUSALS = frozenset(
    tuple(phrase.split())
    for phrase in (
        "not",
        "hardly",
        "no way",
        "not that",
        "not it",
        "not this",
        "not this time",
        "not so",
        "not a chance",
        "neither",
        "nothing",
    )
)
_NO_OBJECT = words("pressure pull pulls eviction evictions kills restarts starvation taint taints limit quota")
_THINGS = OBJECTS | words("deployment deployments statefulset daemonset ingress cronjob replicaset")
_OF_OTHERS = FAULTS | EVENTS | words("other others further more affected additional")
_LEAD = 4
_SIGN_WITHIN = 6
_SHORT = 4


def label_verdict(text: Text, first: int, last: int, rules: Rules) -> str | None:
    """What stands beside a match that is a label: a reason to reject the match, or None."""
    value = value_beside(text, last)
    if value is None:
        return None
    known = verdict_of(value, rules)
    if rules.denied_labels:
        absent = value[:1] == ["none"] or is_denied_label(value)
        if absent and _should_be_there(text, first, last):
            return None
        if absent:
            return known or "negated_after"
    if known is None and rules.sufficient and len(value) <= _SHORT:
        after = following_words(text, last)
        return "all_clear" if says_enough(["is", *value], [*text.words[first : last + 1], *after]) else None
    return known


def is_denied_label(value: Sequence[str]) -> bool:
    """Whether the words beside a label say that there is nothing of it."""
    if tuple(word for word in value if not is_adverb(word)) in _REFUSALS:
        return True
    place = 0
    while place < len(value) and (value[place] in _LEADING or is_adverb(value[place])):
        place += 1
    rest = value[place:]
    if rest[:3] in (["not", "that", "i"], ["not", "that", "we"], ["not", "as", "far"]):
        return True
    if rest[:1] in (["none"], ["nothing"]):
        return _nothing_of(rest[1:])
    if rest[:1] in (["no"], ["not"], ["zero"], ["without"], ["hardly"], ["never"]):
        return _no_sign(rest[1:])
    return False


def _nothing_of(after: Sequence[str]) -> bool:
    if after[:1] == ["of"]:
        pronoun = len(after) > 1 and after[1] in _PRONOUNS
        return (pronoun and (len(after) == 2 or after[2] in _PLACES)) or (
            list(after[1:2]) in (["the"], ["that"], ["this"]) and list(after[2:3]) in (["sort"], ["kind"], ["like"])
        )
    return bool(after) and all(word in _ENDING for word in after)


def _no_sign(after: Sequence[str]) -> bool:
    for place, word in enumerate(after[:_SIGN_WITHIN]):
        if word in _SIGNS:
            beyond = after[place + 1 :]
            if beyond[:1] in (["of"], ["for"], ["to"]):
                return len(beyond) > 1 and beyond[1] in _PRONOUNS
            return not beyond or beyond[0] in _PLACES
        if word not in _SLIGHTEST:
            return False
    return False


def _should_be_there(text: Text, first: int, last: int) -> bool:
    """Whether the label names an object whose absence is the fault."""
    place = text.place[first]
    lead = [text.words[index] for index in text.clauses[text.clause[first]][max(0, place - _LEAD) : place]]
    after = following_words(text, last)
    tail = after[: max((place for place in after_tail(after)), default=0)]
    label = [*text.words[first : last + 1], *tail]
    if any(word in EVENTS or word in FAULTS or word in PROBLEM_NOUNS or word in _NO_OBJECT for word in label):
        return False
    if any(word in _OF_OTHERS for word in lead):
        return False
    return text.words[last] in _THINGS or (bool(lead) and lead[-1] in _THINGS)
