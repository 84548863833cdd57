"""The first changes of the history, A-01 to C-18, in their order.

Data only; `grading.changes` puts them into the history. A change that was released is never edited.
"""

from grading.change import Change, change

FIXED: tuple[Change, ...] = (
    change(
        "A-01",
        "identity_argument",
        "The argument that names an object counts as its name",
        """Only `pod` was known to name an object. A diagnosis of the right Service or claim was no evidence for it, so
        a comparison of tools would have measured the alias table.""",
    ),
    change(
        "A-02",
        "implied_kinds",
        "A tool implies the kinds it tells about",
        """Folding the identity argument onto the name lost the kind: a diagnosis of the claim `web` satisfied evidence
        on the Service `web`, and the log of a pod that on a Deployment. Known kinds must intersect.""",
    ),
    change(
        "A-03",
        "tool_kinds_first",
        "A tool's own kinds beat a kind argument it does not read",
        """A stray `kind` in a call to a tool that has no such argument was believed over what the tool really
        reads.""",
    ),
    change(
        "A-04",
        "identity_by_tool",
        "The tool decides which argument is the identity, and its kinds are a set",
        """The identity was taken from whichever known key appeared, so a call that carried two was filed under the
        wrong one. A Service diagnosis also reads endpoints, and could not satisfy evidence on them.""",
    ),
    change(
        "A-05",
        "identity_settled_last",
        "The order of arguments cannot change a verdict",
        """A stray `name` before or after the identity argument overwrote it or not, as the JSON happened to be ordered.
        The identity is settled after all keys are read.""",
    ),
    change(
        "A-06",
        "dashes_end_clauses",
        "Dashes end clauses",
        """`Not restarted - it was OOMKilled`, with a dash of any kind, read as a denial of the OOM kill, while the same
        with a full stop did not. A hyphen inside a word ends nothing.""",
    ),
    change(
        "A-16",
        "statement_continues",
        "A keyword that denies is not found in a statement that goes on differently",
        """The forbidden `no endpoints` was found in `no endpoints are ready`, `no storage class` in `no storage class
        problem`, `does not exist` in `does not exist yet`; and the required topic `endpoints` was denied by `none of
        its endpoints are ready`, which is about them. A forbidden keyword with its own negator must not be continued
        by a predicate, a problem noun or `yet`; the noun of a partitive is not denied.""",
    ),
    change(
        "A-21",
        "all_clear",
        "An all-clear after a match takes the claim back",
        """`The liveness probe is fine` satisfied a group that required the liveness probe as the cause, and blaming and
        clearing a thing looked alike.""",
    ),
    change(
        "A-24",
        "controls_keep_required",
        "In a control the all-clear is the answer",
        """Where nothing is wrong, `the service endpoints are healthy` is what is required, and was rejected as clearing
        its own subject.""",
    ),
    change(
        "A-25",
        "controls_clear_forbidden",
        "In a control an all-clear still clears what is forbidden",
        """With the all-clear off in controls altogether, `the image pull looks normal` counted as blaming the image
        pull.""",
    ),
    change(
        "A-26",
        "narrow_adjectives",
        "`working` and `good` clear nothing by themselves",
        """`The probe is working too slowly and timing out` lost its diagnosis, because `working` was read as
        praise.""",
    ),
    change(
        "A-34",
        "contractions",
        "A contraction is what it shortens",
        """`DATABASE_DSN isn't set` was not accepted where `not set` was, because the apostrophe cuts the word apart.
        `isn't` now reads as `is not`, `can't` as `can not`, in answers and in keywords alike.""",
    ),
    change(
        "A-36",
        "claims_by_line",
        "Every line is a claim of its own",
        """Two list items without full stops counted as one claim, so one reference covered both.""",
    ),
    change(
        "A-37",
        "references_folded",
        "List numbers are no claims and a trailing reference belongs to the claim before it",
        """`1.` was counted as a claim, and `failed. [E1]` as two of which one had a reference.""",
    ),
    change(
        "A-38",
        "uncited_is_unknown",
        "The precision of an answer that cites nothing is unknown",
        """It read as 1.0, so that silence was the best citation.""",
    ),
    change(
        "A-39",
        "screen_is_no_read",
        "An action on the screen is no read, and a read no action",
        """The message of a screen action names the object it went to, and so satisfied a read that never ran.""",
    ),
    change(
        "C-05",
        "causes_end_scope",
        "What introduces a cause ends the scope of a negator",
        """`Cannot be scheduled due to 3 Insufficient cpu` denied the shortage. Due to, because of, owing to, as a
        result of, when, as, after and their like open a cause that the negator does not reach, unless it stands right
        before them: `not due to X` denies X.""",
    ),
    change(
        "C-06",
        "assertive_all_clear",
        "A check that is asked for is no all-clear",
        """`Check that the selector is correct` was read as clearing the selector. An imperative, a condition or an
        indirect question asserts nothing.""",
    ),
    change(
        "C-08",
        "negation_after",
        "A denial may stand after what it denies",
        """`OOMKilled is not the cause` counted as blaming it, as did `was ruled out` and `can be excluded`. A negated
        blame or a negated fault after the match takes it back; a negated good state (`is not found`) reports a fault
        and does not.""",
    ),
    change(
        "C-13",
        "symptoms_reported",
        "Symptoms are reported and fail nothing",
        """Answers with the exact cause failed because they did not repeat the symptom that the question had named.""",
    ),
    change(
        "C-15",
        "structured_fields",
        "Fields are read at their own path",
        """Evidence such as `selector` in a diagnosis was met by any result, because the advice in it uses the word. A
        field is met only by its value at its path of a structured result.""",
    ),
    change(
        "C-17",
        "recorded_ok",
        "The recorded flag says whether a call succeeded",
        """Success was read off the text: a log that begins with ERROR: was discarded, and a failure with another text
        accepted.""",
    ),
    change(
        "C-18",
        "nulls_dropped",
        "An argument that is null was not given",
        """A null namespace became the text `none` and matched nothing. Nulls are dropped, and an action on the screen
        without a namespace takes it from the screen.""",
    ),
)
