"""The history of the claims grader: an ordered list of named changes.

Version 1 applies none of them: it is the grammar before the first recorded fix. Version N applies the first N - 1, so
the newest version is one more than there are changes. A new change is appended, never inserted; a change that was
released is never edited, because a verdict under an old version must stay what it was. Each change has pinned cases in
`grading.pins` that are wrong without it and right with it.
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from grading.rules import Rules
from schemas.errors import UsageError


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of the history: `story` says what went wrong without it, `switch` is its field in `Rules`."""

    id: str
    title: str
    switch: str
    story: str


def _change(id: str, switch: str, title: str, story: str) -> Change:
    return Change(id=id, title=title, switch=switch, story=" ".join(story.split()))


CHANGES: tuple[Change, ...] = (
    _change(
        "A-01",
        "identity_argument",
        "The argument that names an object counts as its name",
        """Only `pod` was known to name an object. A diagnosis of the right Service or claim was no evidence for it, so
        a comparison of tools would have measured the alias table.""",
    ),
    _change(
        "A-02",
        "implied_kinds",
        "A tool implies the kinds it tells about",
        """Folding the identity argument onto the name lost the kind: a diagnosis of the claim `web` satisfied evidence
        on the Service `web`, and the log of a pod that on a Deployment. Known kinds must intersect.""",
    ),
    _change(
        "A-03",
        "tool_kinds_first",
        "A tool's own kinds beat a kind argument it does not read",
        """A stray `kind` in a call to a tool that has no such argument was believed over what the tool really
        reads.""",
    ),
    _change(
        "A-04",
        "identity_by_tool",
        "The tool decides which argument is the identity, and its kinds are a set",
        """The identity was taken from whichever known key appeared, so a call that carried two was filed under the
        wrong one. A Service diagnosis also reads endpoints, and could not satisfy evidence on them.""",
    ),
    _change(
        "A-05",
        "identity_settled_last",
        "The order of arguments cannot change a verdict",
        """A stray `name` before or after the identity argument overwrote it or not, as the JSON happened to be ordered.
        The identity is settled after all keys are read.""",
    ),
    _change(
        "A-06",
        "dashes_end_clauses",
        "Dashes end clauses",
        """`Not restarted - it was OOMKilled`, with a dash of any kind, read as a denial of the OOM kill, while the same
        with a full stop did not. A hyphen inside a word ends nothing.""",
    ),
    _change(
        "A-16",
        "statement_continues",
        "A keyword that denies is not found in a statement that goes on differently",
        """The forbidden `no endpoints` was found in `no endpoints are ready`, `no storage class` in `no storage class
        problem`, `does not exist` in `does not exist yet`; and the required topic `endpoints` was denied by `none of
        its endpoints are ready`, which is about them. A forbidden keyword with its own negator must not be continued
        by a predicate, a problem noun or `yet`; the noun of a partitive is not denied.""",
    ),
    _change(
        "A-21",
        "all_clear",
        "An all-clear after a match takes the claim back",
        """`The liveness probe is fine` satisfied a group that required the liveness probe as the cause, and blaming and
        clearing a thing looked alike.""",
    ),
    _change(
        "A-24",
        "controls_keep_required",
        "In a control the all-clear is the answer",
        """Where nothing is wrong, `the service endpoints are healthy` is what is required, and was rejected as clearing
        its own subject.""",
    ),
    _change(
        "A-25",
        "controls_clear_forbidden",
        "In a control an all-clear still clears what is forbidden",
        """With the all-clear off in controls altogether, `the image pull looks normal` counted as blaming the image
        pull.""",
    ),
    _change(
        "A-26",
        "narrow_adjectives",
        "`working` and `good` clear nothing by themselves",
        """`The probe is working too slowly and timing out` lost its diagnosis, because `working` was read as
        praise.""",
    ),
    _change(
        "A-34",
        "contractions",
        "A contraction is what it shortens",
        """`DATABASE_DSN isn't set` was not accepted where `not set` was, because the apostrophe cuts the word apart.
        `isn't` now reads as `is not`, `can't` as `can not`, in answers and in keywords alike.""",
    ),
    _change(
        "A-36",
        "claims_by_line",
        "Every line is a claim of its own",
        """Two list items without full stops counted as one claim, so one reference covered both.""",
    ),
    _change(
        "A-37",
        "references_folded",
        "List numbers are no claims and a trailing reference belongs to the claim before it",
        """`1.` was counted as a claim, and `failed. [E1]` as two of which one had a reference.""",
    ),
    _change(
        "A-38",
        "uncited_is_unknown",
        "The precision of an answer that cites nothing is unknown",
        """It read as 1.0, so that silence was the best citation.""",
    ),
    _change(
        "A-39",
        "screen_is_no_read",
        "An action on the screen is no read, and a read no action",
        """The message of a screen action names the object it went to, and so satisfied a read that never ran.""",
    ),
    _change(
        "C-05",
        "causes_end_scope",
        "What introduces a cause ends the scope of a negator",
        """`Cannot be scheduled due to 3 Insufficient cpu` denied the shortage. Due to, because of, owing to, as a
        result of, when, as, after and their like open a cause that the negator does not reach, unless it stands right
        before them: `not due to X` denies X.""",
    ),
    _change(
        "C-06",
        "assertive_all_clear",
        "A check that is asked for is no all-clear",
        """`Check that the selector is correct` was read as clearing the selector. An imperative, a condition or an
        indirect question asserts nothing.""",
    ),
    _change(
        "C-08",
        "negation_after",
        "A denial may stand after what it denies",
        """`OOMKilled is not the cause` counted as blaming it, as did `was ruled out` and `can be excluded`. A negated
        blame or a negated fault after the match takes it back; a negated good state (`is not found`) reports a fault
        and does not.""",
    ),
    _change(
        "C-13",
        "symptoms_reported",
        "Symptoms are reported and fail nothing",
        """Answers with the exact cause failed because they did not repeat the symptom that the question had named.""",
    ),
    _change(
        "C-15",
        "structured_fields",
        "Fields are read at their own path",
        """Evidence such as `selector` in a diagnosis was met by any result, because the advice in it uses the word. A
        field is met only by its value at its path of a structured result.""",
    ),
    _change(
        "C-17",
        "recorded_ok",
        "The recorded flag says whether a call succeeded",
        """Success was read off the text: a log that begins with ERROR: was discarded, and a failure with another text
        accepted.""",
    ),
    _change(
        "C-18",
        "nulls_dropped",
        "An argument that is null was not given",
        """A null namespace became the text `none` and matched nothing. Nulls are dropped, and an action on the screen
        without a namespace takes it from the screen.""",
    ),
    _change(
        "R-01",
        "whole_numbers",
        "A number is met as a whole",
        """`1.37 cores` satisfied `137`, `3.1` was found in `3.1.4` and `137` in `137Mi`. Digits never run together over
        a boundary, and a match never ends inside a longer number.""",
    ),
    _change(
        "R-02",
        "one_sentence",
        "A phrase does not reach over a sentence, and a dot inside a name ends none",
        """`Check the image. Pull it again` satisfied `image pull`, and `the pod in a.b is not` lost its negator at the
        dot. Parentheses are stepped over, so that what follows them goes on with the clause. A break that stands in the
        keyword itself (`low on resource: memory`) may be crossed where it stands.""",
    ),
    _change(
        "R-03",
        "whole_names",
        "A name is met as a whole in a result",
        """`api-1` was met by `api-10`, `app: web` by `app: web-v2`, and `ready` by `not-ready`.""",
    ),
    _change(
        "R-04",
        "broken_function",
        "Saying that something does not work is no denial of it",
        """`Cannot connect to the database` and `no node matches the node selector` were read as denying the database
        and the selector, though they blame them. A negated normal function reports a fault of what follows. What a
        speaker cannot *find* is denied all the same.""",
    ),
    _change(
        "R-05",
        "qualified_negation",
        "Some negators do not deny",
        """`Not only X`, `no doubt X`, `not enough X`, `nothing other than X` and `cannot start without X` all say
        X.""",
    ),
    _change(
        "R-06",
        "denial_phrases",
        "Some phrases deny without a negator",
        """`Rather than X`, `instead of X`, `rules out X`, `unlike X`, `unlikely X` named a distractor to set it aside,
        and were read as blaming it. `Cannot rule out X` is not one of them.""",
    ),
    _change(
        "R-07",
        "negated_lists",
        "A denial reaches the items of its list",
        """In `no OOM kill, image pull error, or crash loop` only the first was denied.""",
    ),
    _change(
        "R-08",
        "labels",
        "Labels, table cells and values beside a name are read with it",
        """`Ruled out: OOMKilled`, `| OOMKilled | no |` and `OOMKilled (ruled out)` were read as blaming it, and a
        negator in one cell reached into the next. A heading is one only if it is not a sentence of its own: `not a
        fault of billing: it opens a pool, the connection is refused` sets nothing aside.""",
    ),
    _change(
        "R-09",
        "wider_all_clear",
        "More ways to say that all is well, and their limits",
        """`The probe has no problems` and `the liveness probe configuration is fine` cleared nothing, while `was
        healthy until the last deploy` cleared it.""",
    ),
    _change(
        "R-10",
        "questions",
        "A question and a supposition claim nothing",
        """`Is it OOMKilled?` and `if it were OOMKilled, the code would be 137` were read as claims.""",
    ),
    _change(
        "R-11",
        "visible_answer",
        "Leaked thinking is not the answer",
        """A model's thinking that leaked into its answer between tags named every cause it weighed. A closing tag
        alone hides what stands before it only if an answer follows; an opening one alone hides the rest.""",
    ),
    _change(
        "R-12",
        "absent_objects",
        "A thing that is not there is named as the fault",
        """`There is no Secret named smtp` and `no StorageClass exists` were read as denying the Secret and the class.
        That holds for faults (`no OOM kill`), not for objects that should be there.""",
    ),
    _change(
        "A-23",
        "bound_claims",
        "A claim is said of something",
        """`The new pod still serves, the old one was scaled away` held all that was asked for, said of the wrong
        objects, and lists of phrases that put name and claim side by side failed `checkout-1 is what I would inspect
        first`. A claim that is bound to a subject counts where it is said of that subject, in whatever order.""",
    ),
    _change(
        "A-22",
        "mirrored_claims",
        "What is said of the wrong object fails the answer",
        """An answer that named the right order and then ranked the other object first passed, because the right words
        stood in it somewhere.""",
    ),
    _change(
        "J-01",
        "refusals_as_evidence",
        "A refused read is evidence of the refusal",
        """Where the gap itself is the finding, only a report that happened to embed the refusal counted, and a call
        that met it directly did not. Evidence may now ask for a class of refusal: forbidden is not not-found, and
        neither is an empty result.""",
    ),
    _change(
        "R-13",
        "distinct_names",
        "A name in an answer is met as a whole",
        """`api-1-canary crashed` and `my-api-1 crashed` were taken as saying that `api-1` did. An object's name (one
        that holds a digit, or a hyphen between words that are not all ordinary, or that the case's evidence reads) is
        not found inside a longer name, while the ordinary words of a keyword are still found in a compound
        (`OOM-killed`, `memory-limit`). What a controller appends to a name still means the object.""",
    ),
    _change(
        "R-14",
        "none_as_quantity",
        "A zero denies what it counts",
        """`There were zero OOMKilled events`, `OOMKilled count: 0` and `little evidence of an OOM kill` were read as
        blaming memory. The zero of what should be there (`0 endpoints`) is a fault, and one that is a value
        (`exit code 0`, `0/3 nodes`) counts nothing.""",
    ),
    _change(
        "R-15",
        "judged_wrong",
        "What is judged wrong to believe or to say is denied",
        """`The suspicion that it was OOMKilled is unfounded`, `the OOM theory falls apart` and `it would be a mistake
        to call this OOMKilled` named a cause to set it aside and were read as naming it. Not so where the judgement is
        what is believed: `the assumption that the selector is wrong is confirmed`.""",
    ),
    _change(
        "R-16",
        "distances",
        "A distance denies",
        """`Anything but OOMKilled`, `nowhere near its quota` and `far from out of memory` deny without a negator, and
        were read as claims.""",
    ),
    _change(
        "R-17",
        "exceptions",
        "An exception from a denial is said",
        """`There is no other cause than OOMKilled`, `no cause except the quota` and `nothing fits better than an OOM
        kill` say that it is this, and were read as denying it. So were `apart from the quota there is no problem` and
        its like. Without a negator `another cause than X` sets X aside.""",
    ),
    _change(
        "R-18",
        "absent_names",
        "The name of a thing that is not there is named",
        """In `there is no Secret named smtp` the Secret was taken as named, and its name as denied.""",
    ),
    _change(
        "R-19",
        "working_order",
        "What does as it should is fine",
        """`The image pull went through without problems`, `the probe works as it should` and `the quota leaves plenty
        of room` cleared nothing.""",
    ),
)

LATEST = len(CHANGES) + 1
"""The newest version."""

_BY_ID = {change.id: change for change in CHANGES}


def changes_of(version: int) -> tuple[str, ...]:
    """The ids of the changes that a version applies, in order. Raises `UsageError` if there is no such version."""
    if not 1 <= version <= LATEST:
        raise UsageError(f"claims@{version}: there is no such version; give one from 1 to {LATEST}")
    return tuple(change.id for change in CHANGES[: version - 1])


def rules_of(version: int | None = None, changes: frozenset[str] | None = None) -> Rules:
    """The rules of a version (the newest by default) or of exactly the named changes. Raises `UsageError`."""
    if version is not None and changes is not None:
        raise UsageError("give a version of the claims grader or a set of changes, not both")
    return _rules(changes) if changes is not None else _rules_at(LATEST if version is None else version)


def in_order(changes: frozenset[str]) -> tuple[Change, ...]:
    """The named changes in the order of the history. Raises `UsageError` for an unknown one."""
    _refuse_unknown(changes)
    return tuple(change for change in CHANGES if change.id in changes)


def _refuse_unknown(changes: frozenset[str]) -> None:
    unknown: Sequence[str] = sorted(changes - _BY_ID.keys())
    if unknown:
        raise UsageError(f"no such change of the claims grader: {', '.join(unknown)}; known are {', '.join(_BY_ID)}")


@lru_cache(maxsize=256)
def _rules_at(version: int) -> Rules:
    return _rules(frozenset(changes_of(version)))


@lru_cache(maxsize=256)
def _rules(changes: frozenset[str]) -> Rules:
    _refuse_unknown(changes)
    return Rules(**{_BY_ID[name].switch: True for name in changes})
