"""The changes that follow, R-01 and on, in their order.

Data only; `grading.changes` puts them behind `grading.changes_fixed`. A change that was released is never edited.
"""

from grading.change import Change, change

FOUND: tuple[Change, ...] = (
    change(
        "R-01",
        "whole_numbers",
        "A number is met as a whole",
        """`1.37 cores` satisfied `137`, `3.1` was found in `3.1.4` and `137` in `137Mi`. Digits never run together over
        a boundary, and a match never ends inside a longer number.""",
    ),
    change(
        "R-02",
        "one_sentence",
        "A phrase does not reach over a sentence, and a dot inside a name ends none",
        """`Check the image. Pull it again` satisfied `image pull`, and `the pod in a.b is not` lost its negator at the
        dot. Parentheses are stepped over, so that what follows them goes on with the clause. A break that stands in the
        keyword itself (`low on resource: memory`) may be crossed where it stands.""",
    ),
    change(
        "R-03",
        "whole_names",
        "A name is met as a whole in a result",
        """`api-1` was met by `api-10`, `app: web` by `app: web-v2`, and `ready` by `not-ready`.""",
    ),
    change(
        "R-04",
        "broken_function",
        "Saying that something does not work is no denial of it",
        """`Cannot connect to the database` and `no node matches the node selector` were read as denying the database
        and the selector, though they blame them. A negated normal function reports a fault of what follows. What a
        speaker cannot *find* is denied all the same.""",
    ),
    change(
        "R-05",
        "qualified_negation",
        "Some negators do not deny",
        """`Not only X`, `no doubt X`, `not enough X`, `nothing other than X` and `cannot start without X` all say
        X.""",
    ),
    change(
        "R-06",
        "denial_phrases",
        "Some phrases deny without a negator",
        """`Rather than X`, `instead of X`, `rules out X`, `unlike X`, `unlikely X` named a distractor to set it aside,
        and were read as blaming it. `Cannot rule out X` is not one of them.""",
    ),
    change(
        "R-07",
        "negated_lists",
        "A denial reaches the items of its list",
        """In `no OOM kill, image pull error, or crash loop` only the first was denied.""",
    ),
    change(
        "R-08",
        "labels",
        "Labels, table cells and values beside a name are read with it",
        """`Ruled out: OOMKilled`, `| OOMKilled | no |` and `OOMKilled (ruled out)` were read as blaming it, and a
        negator in one cell reached into the next. A heading is one only if it is not a sentence of its own: `not a
        fault of billing: it opens a pool, the connection is refused` sets nothing aside.""",
    ),
    change(
        "R-09",
        "wider_all_clear",
        "More ways to say that all is well, and their limits",
        """`The probe has no problems` and `the liveness probe configuration is fine` cleared nothing, while `was
        healthy until the last deploy` cleared it.""",
    ),
    change(
        "R-10",
        "questions",
        "A question and a supposition claim nothing",
        """`Is it OOMKilled?` and `if it were OOMKilled, the code would be 137` were read as claims.""",
    ),
    change(
        "R-11",
        "visible_answer",
        "Leaked thinking is not the answer",
        """A model's thinking that leaked into its answer between tags named every cause it weighed. A closing tag
        alone hides what stands before it only if an answer follows; an opening one alone hides the rest.""",
    ),
    change(
        "R-12",
        "absent_objects",
        "A thing that is not there is named as the fault",
        """`There is no Secret named smtp` and `no StorageClass exists` were read as denying the Secret and the class.
        That holds for faults (`no OOM kill`), not for objects that should be there.""",
    ),
    change(
        "A-23",
        "bound_claims",
        "A claim is said of something",
        """`The new pod still serves, the old one was scaled away` held all that was asked for, said of the wrong
        objects, and lists of phrases that put name and claim side by side failed `checkout-1 is what I would inspect
        first`. A claim that is bound to a subject counts where it is said of that subject, in whatever order.""",
    ),
    change(
        "A-22",
        "mirrored_claims",
        "What is said of the wrong object fails the answer",
        """An answer that named the right order and then ranked the other object first passed, because the right words
        stood in it somewhere.""",
    ),
    change(
        "J-01",
        "refusals_as_evidence",
        "A refused read is evidence of the refusal",
        """Where the gap itself is the finding, only a report that happened to embed the refusal counted, and a call
        that met it directly did not. Evidence may now ask for a class of refusal: forbidden is not not-found, and
        neither is an empty result.""",
    ),
    change(
        "R-13",
        "distinct_names",
        "A name in an answer is met as a whole",
        """`api-1-canary crashed` and `my-api-1 crashed` were taken as saying that `api-1` did. An object's name (one
        that holds a digit, or a hyphen between words that are not all ordinary, or that the case's evidence reads) is
        not found inside a longer name, while the ordinary words of a keyword are still found in a compound
        (`OOM-killed`, `memory-limit`). What a controller appends to a name still means the object.""",
    ),
    change(
        "R-14",
        "none_as_quantity",
        "A zero denies what it counts",
        """`There were zero OOMKilled events`, `OOMKilled count: 0` and `little evidence of an OOM kill` were read as
        blaming memory. The zero of what should be there (`0 endpoints`) is a fault, and one that is a value
        (`exit code 0`, `0/3 nodes`) counts nothing.""",
    ),
    change(
        "R-15",
        "judged_wrong",
        "What is judged wrong to believe or to say is denied",
        """`The suspicion that it was OOMKilled is unfounded`, `the OOM theory falls apart` and `it would be a mistake
        to call this OOMKilled` named a cause to set it aside and were read as naming it. Not so where the judgement is
        what is believed: `the assumption that the selector is wrong is confirmed`.""",
    ),
    change(
        "R-16",
        "distances",
        "A distance denies",
        """`Anything but OOMKilled`, `nowhere near its quota` and `far from out of memory` deny without a negator, and
        were read as claims.""",
    ),
    change(
        "R-17",
        "exceptions",
        "An exception from a denial is said",
        """`There is no other cause than OOMKilled`, `no cause except the quota` and `nothing fits better than an OOM
        kill` say that it is this, and were read as denying it. So were `apart from the quota there is no problem` and
        its like. Without a negator `another cause than X` sets X aside.""",
    ),
    change(
        "R-18",
        "absent_names",
        "The name of a thing that is not there is named",
        """In `there is no Secret named smtp` the Secret was taken as named, and its name as denied.""",
    ),
    change(
        "R-19",
        "working_order",
        "What does as it should is fine",
        """`The image pull went through without problems`, `the probe works as it should` and `the quota leaves plenty
        of room` cleared nothing.""",
    ),
    change(
        "R-20",
        "sufficient",
        "What is enough, or as it is wanted, is fine",
        """`The memory limit is generous`, `the node has plenty of headroom` and `the selector is exactly as it should
        be` cleared nothing. Enough clears what there can be too little of; `sufficient to explain it` and `high enough
        for one pod only` clear nothing.""",
    ),
    change(
        "R-21",
        "denied_labels",
        "A label may be denied by a pronoun, and none of an object is a fault",
        """`Node pressure: no sign of it` and `DNS - nothing of the sort` were read as blaming what the label names,
        and `Endpoints: none`, which is the fault itself, as denying it.""",
    ),
    change(
        "R-22",
        "given_up",
        "A first suspicion that is given up is none",
        """`The disk was suspected at first, but that turned out to be wrong` and `while the probe was my first
        suspicion, the real cause is a missing ConfigMap` were read as blaming what had been suspected. What was fine
        at first is not cleared, in turn.""",
    ),
    change(
        "R-23",
        "denied_events",
        "What did not happen had no cause",
        """`The pod did not fail due to a lack of memory` was read as naming memory, because a cause ends the scope of
        a negator. That holds for a state that is missing (`is not ready because of the probe`), and not for an event
        that is the failure itself.""",
    ),
    change(
        "R-24",
        "left_out",
        "A cause is set aside by words on both sides of it, or by its distance from the blame",
        """`That rules the quota out`, `nothing is wrong, the selector least of all` and `DNS is nowhere near the
        cause` were read as claims, and `cannot rule the quota out` as a denial.""",
    ),
    change(
        "R-25",
        "only_one_left",
        "When all others are excluded, one is left",
        """`Every other cause than the quota can be excluded` and `everything except the quota is fine` say that it is
        the quota, and were read as setting it aside.""",
    ),
    change(
        "R-26",
        "zero_of_many",
        "A zero may count a part",
        """`Of 3 containers 0 were OOMKilled` was read as blaming memory, because a zero after a noun was taken as part
        of a name.""",
    ),
    change(
        "R-27",
        "generated_names",
        "What a controller appends is no number",
        """`api-1-7d9fc-x2x4z crashed` was not met by `api-1`, because `1-7` was read as one number.""",
    ),
)
