"""A denied event and its cause: `the pod did not fail due to memory` denies the cause as well.

An event is the failure itself: what did not happen had no cause. A state that is missing is the symptom, and its cause
is named: `the pod is not ready because of the probe`.
"""

from collections.abc import Sequence

from grading.lexicon import ADDITIVE, ADVERBS, ARTICLES, AUXILIARIES, BREAKERS, FUNCTION_WORDS, OBJECTS, words

_EVENTS = words(
    "fail failed failing fails crash crashed crashing crashes crashloop crashlooping die died dying happen happened "
    "happening occur occurred occurring restart restarted restarting restarts kill killed oomkilled evict evicted "
    "evicting preempt preempted throttled throttling degraded interrupted aborted abort panicked "
    "panic hang hung break broke broken erroring failover stuck pending unhealthy down "
    "rejected refused denied arise arose"
)
"""What happens to a workload when it fails, and the states that are the failure."""

_ENDINGS = words("exit exited exits terminate terminated stop stopped")
"""Events only where they are told of: what `does not exit because of a sidecar` should."""

_TOLD = words("did was were had got")
_OPENING = words("as a on in by the direct consequence")
_AFTER_EVENT = ADVERBS | words("again today now down out over up itself once earlier yesterday last night then")
_GETTING = AUXILIARIES | words("get gets got getting gotten become became go going went")
_WHAT = ARTICLES | OBJECTS | words("it them this that these those container containers process job workload app server")
_NOUNS = 3
_REACH = 6
_BEHIND = words("that because since")


def event_denied(words_: Sequence[str], opening: int) -> bool:
    """Whether what opens a cause at `opening` follows an event of which its clause says that it did not happen."""
    place = opening - 1
    while place >= 0 and words_[place] in _OPENING:
        place -= 1
    event = _event_before(words_, place)
    if event is None:
        return False
    for place in range(event - 1, max(-1, event - 1 - _REACH), -1):
        word = words_[place]
        if word in ADDITIVE:
            return False
        if word in ("not", "never"):
            return _denies_event(words_, place, event)
        if word not in _GETTING and word not in ADVERBS and word != "oom":
            return _no_subject(words_, place)
    return False


def _denies_event(words_: Sequence[str], negator: int, event: int) -> bool:
    """Whether a negator denies the event, and not that it could be brought about (`could not be evicted`)."""
    before = words_[negator - 1] if negator else ""
    if words_[negator + 1] in ADDITIVE or before in ("can", "could", "able"):
        return False
    return words_[event] in _EVENTS or words_[negator] == "never" or before in _TOLD


def _event_before(words_: Sequence[str], place: int) -> int | None:
    """The place of the event that ends at or shortly before `place`, an object or adverb between."""
    for at in range(place, max(-1, place - 4), -1):
        if words_[at] in _EVENTS or words_[at] in _ENDINGS:
            return at
        if words_[at] not in _AFTER_EVENT and words_[at] not in _WHAT:
            return None
    return None


def _no_subject(words_: Sequence[str], place: int) -> bool:
    """`no pod of this node`, `none of them`, `nothing` as the subject that ends at `place`."""
    for at in range(place, max(-1, place - 1 - _NOUNS), -1):
        word = words_[at]
        if word in ("no", "none", "neither", "nothing"):
            return at == 0 or words_[at - 1] in BREAKERS or words_[at - 1] in _BEHIND
        if word in FUNCTION_WORDS and word not in ("of", "the", "them", "these", "those", "its"):
            return False
    return False
