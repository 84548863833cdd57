"""The all-clear of what is enough or as wanted: `the memory limit is generous`, `the selector is as it should be`.

That something is enough is an all-clear only of what there can be too little of, and only if it is said without a
condition. `Enough to trigger the kill` says the opposite.
"""

from collections.abc import Sequence

from grading.after import after_tail, following_words, is_adverb
from grading.lexicon import (
    BREAKERS,
    CONDITIONALS,
    DETERMINERS,
    EVENTS,
    FAULTS,
    FUNCTION_WORDS,
    INABILITY,
    LEFT,
    LIMITS,
    MORE_COPULAS,
    NEGATORS,
    QUALIFIERS,
    words,
)
from grading.text import COMMA, Text

_CAPACITIES = LIMITS | words(
    "limits quotas request requests memory cpu cpus ram disk disks space storage capacity resource resources timeout "
    "timeouts deadline period delay threshold replicas bandwidth size pool allocation reservation heap volume inodes "
    "node nodes interval retries grace delays"
)
"""What there can be too little of."""

_USE = words("usage use consumption utilization utilisation load pressure growth leak demand spike")
"""Of these too much is the fault, so that enough clears nothing."""

_ENOUGH = words("sufficient adequate generous ample plentiful abundant roomy comfortable reasonable sensible suitable")
_ALONE = words("enough sufficient adequate plenty")
_WORKING = words("works work functions function behaves behave performs perform operates")
_WIDE = words("high large big long wide roomy generous spacious good")
_DEGREES = words(
    "more than exactly precisely just still all quite perfectly completely totally also both currently already "
    "entirely absolutely otherwise fully very well far over"
)
_HOLDING = words(
    "hold run serve handle fit allow start keep support accommodate take let schedule cover admit create carry absorb "
    "survive host store satisfy meet operate work"
)
_HAVING = words("has have had leaves leave left offers offer provides provide allows gives")
_AMOUNTS = words("plenty ample enough sufficient adequate lots lot abundant generous free spare unused considerable")
_BETWEEN = words("of a some left available it them")
_SET = words("set configured defined written specified wired")
_ROOM = words("room headroom slack leeway margin")
_WANTED = tuple(
    tuple(phrase.split())
    for phrase in (
        "as it should be",
        "as they should be",
        "as it should",
        "as they should",
        "as it ought to be",
        "as expected",
        "as intended",
        "as designed",
        "as desired",
        "as planned",
        "as wanted",
        "as required",
        "what it should be",
        "what they should be",
        "what it ought to be",
        "how it should be",
        "where it should be",
        "in order",
        "in perfect order",
        "in working order",
        "in proper order",
        "beyond reproach",
        "right where it should be",
        "the one that was intended",
        "the one that is intended",
        "the intended one",
        "the expected one",
        "the correct one",
        "the right one",
        "the one it should be",
    )
)
_TAKEN_BACK = (
    QUALIFIERS | words("improvement doubt error errors interpretation theory paper normally usually barely unless")
) - {"enough", "than", "again", "too"}
_MODALS = words("would should must needs need to may might could requires require wants want lacks for")
_WHERE = words("on in for under within at to")
_UNLESS = NEGATORS | INABILITY | words("zero few fewer little")
"""Of these there is not enough."""

_REACH = 8
_LOOK_BACK = 12
_TRIGGERS = _ENOUGH | _ALONE | _AMOUNTS | _ROOM | {"as", "what", "how", "where", "in", "beyond", "enough", "one"}


def is_enough(text: Text, first: int, last: int, following: Sequence[str]) -> bool:
    """Whether what stands after a match says that it is enough, has room, or is as it is wanted."""
    if (
        _TRIGGERS.isdisjoint(following)
        and _AMOUNTS.isdisjoint(text.words[max(0, first - _REACH) : first])
        and text.words[last + 1 + len(following) : last + 2 + len(following)] != ["which"]
    ):
        return False
    own = text.words[first : last + 1]
    if not _UNLESS.isdisjoint(own) or not _UNLESS.isdisjoint(_lead(text, first)):
        return False
    if not _TRIGGERS.isdisjoint(following) and any(
        says_enough(following[place:], [*own, *following[:place]]) for place in after_tail(following)
    ):
        return True
    return _is_had(text, first, last, following) or _relative(text, last, own, following)


def _lead(text: Text, first: int) -> list[str]:
    """The words before a match, back to the last that begins another statement."""
    place = text.place[first]
    lead = [text.words[index] for index in text.clauses[text.clause[first]][max(0, place - _LOOK_BACK) : place]]
    turn = next((at for at in range(len(lead) - 1, -1, -1) if lead[at] in BREAKERS), -1)
    return lead[turn + 1 :]


def _relative(text: Text, last: int, own: Sequence[str], following: Sequence[str]) -> bool:
    """`the memory limit, which is generous`."""
    index = last + 1 + len(following)
    if len(following) > 2 or index >= len(text.words) or text.gaps[index] != COMMA or text.words[index] != "which":
        return False
    return any(word not in FUNCTION_WORDS for word in own) and says_enough(following_words(text, index), own)


def says_enough(predicate: Sequence[str], subject: Sequence[str]) -> bool:
    """Whether these words, as the predicate of a subject, say that it is enough or as it is wanted."""
    if any(word in EVENTS or word in FAULTS for word in subject):
        return False
    place = _skip_degrees(predicate, 0)
    if place < len(predicate) and predicate[place] in _HAVING and _has_room(predicate[place + 1 :]):
        return True
    if predicate[place : place + 1] and predicate[place] in _WORKING:
        return _is_wanted(predicate[place + 1 :])
    able = any(word in _CAPACITIES for word in subject) and _USE.isdisjoint(subject)
    if tuple(predicate[place : place + 2]) == ("should", "be"):
        rest = predicate[_skip_degrees(predicate, place + 2) :]
        return able and bool(rest) and rest[0] in _ALONE and rest[1:2] != ["to"] and not _taken_back(rest[1:])
    linked = place
    while linked < len(predicate) and predicate[linked] in MORE_COPULAS:
        linked += 1
    if linked == place:
        return False
    rest = predicate[_skip_degrees(predicate, linked) :]
    if rest[:1] and rest[0] in _SET:
        rest = rest[_skip_degrees(rest, 1) :]
    return _is_wanted(rest) or (able and _adequate(rest))


def _is_wanted(rest: Sequence[str]) -> bool:
    """`as it should be`, `exactly as intended`."""
    rest = rest[_skip_degrees(rest, 0) :]
    return any(tuple(rest[: len(phrase)]) == phrase and not _taken_back(rest[len(phrase) :]) for phrase in _WANTED)


def _skip_degrees(predicate: Sequence[str], place: int) -> int:
    while place < len(predicate) and (
        predicate[place] in _DEGREES or (is_adverb(predicate[place]) and predicate[place] != "at")
    ):
        place += 1
    return place


def _adequate(rest: Sequence[str]) -> bool:
    """`sufficient`, `generous for this load`, `high enough to hold it`."""
    if rest[:1] and rest[0] in _ENOUGH:
        length = 2 if rest[1:2] == ["enough"] else 1
    elif rest[:1] == ["enough"]:
        length = 1
    elif rest[1:2] == ["enough"] and rest[0] in _WIDE:
        length = 2
    else:
        return False
    after = rest[length:]
    if after[:1] in (["that"], ["so"]) or after[:2] == ["as", "to"]:
        return False
    if after[:1] == ["to"] and not (len(after) > 1 and after[1] in _HOLDING):
        return False
    return not _taken_back(after)


def _has_room(rest: Sequence[str]) -> bool:
    """`plenty of headroom`, `room for ten more pods`, `ample free space`."""
    amount = False
    for place, word in enumerate(rest[:_REACH]):
        if word in _ROOM or (amount and (word in _CAPACITIES or word == "time")):
            after = rest[place + 1 :]
            ends = not after or after[0] in FUNCTION_WORDS or after[0] in LEFT or after[0] in _AMOUNTS | _ROOM
            return (ends or after[0] in _CAPACITIES) and not _taken_back(after)
        if word not in _AMOUNTS and word not in _BETWEEN and word not in _DEGREES:
            return False
        amount = amount or word in _AMOUNTS
    return False


def _is_had(text: Text, first: int, last: int, following: Sequence[str]) -> bool:
    """`the node has enough memory`, `there is plenty of room on the disk`: there is enough of a match, or in it."""
    lead = _lead(text, first)
    while lead and (lead[-1] == "of" or lead[-1] in DETERMINERS or lead[-1] in ("free", "spare")):
        lead.pop()
    if lead and lead[-1] in _WHERE:
        lead.pop()
        while lead and (lead[-1] in LEFT or lead[-1] in _ROOM or lead[-1] in _CAPACITIES or lead[-1] == "of"):
            lead.pop()
    elif text.words[last] not in _CAPACITIES | _ROOM:
        return False
    if not lead or lead[-1] not in _AMOUNTS:
        return False
    while lead and (lead[-1] in _AMOUNTS or lead[-1] in _DEGREES or lead[-1] == "a"):
        lead.pop()
    if not lead or (lead[-1] not in _HAVING and lead[-1] not in MORE_COPULAS):
        return False
    if any(word in CONDITIONALS or word in _MODALS for word in lead):
        return False
    goes_on = bool(following) and following[0] not in FUNCTION_WORDS and following[0] not in LEFT
    return not goes_on and not _taken_back(following)


def _taken_back(after: Sequence[str]) -> bool:
    """Whether what follows makes it enough only for some case or time."""
    for place, word in enumerate(after[:_REACH]):
        if word in _TAKEN_BACK:
            return True
        if word in BREAKERS:
            return any(said in ("too", "not", "insufficient") for said in after[place + 1 : place + 4])
    return False
