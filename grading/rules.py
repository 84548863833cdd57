"""What a set of changes switches on, as one immutable value that the pure functions are given.

Every field is one change of `grading.changes`. All off is version 1 of the claims grader. There are no globals: two
versions can grade side by side in one process.
"""

import msgspec


class Rules(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """One switch for each change; see the change of the same switch for its story."""

    identity_argument: bool = False
    implied_kinds: bool = False
    tool_kinds_first: bool = False
    identity_by_tool: bool = False
    identity_settled_last: bool = False
    dashes_end_clauses: bool = False
    statement_continues: bool = False
    all_clear: bool = False
    controls_keep_required: bool = False
    controls_clear_forbidden: bool = False
    narrow_adjectives: bool = False
    contractions: bool = False
    claims_by_line: bool = False
    references_folded: bool = False
    uncited_is_unknown: bool = False
    screen_is_no_read: bool = False
    causes_end_scope: bool = False
    assertive_all_clear: bool = False
    negation_after: bool = False
    symptoms_reported: bool = False
    structured_fields: bool = False
    recorded_ok: bool = False
    nulls_dropped: bool = False
    whole_numbers: bool = False
    one_sentence: bool = False
    whole_names: bool = False
    broken_function: bool = False
    qualified_negation: bool = False
    denial_phrases: bool = False
    negated_lists: bool = False
    labels: bool = False
    wider_all_clear: bool = False
    questions: bool = False
    visible_answer: bool = False
    absent_objects: bool = False
    bound_claims: bool = False
    mirrored_claims: bool = False
    refusals_as_evidence: bool = False
    distinct_names: bool = False
    none_as_quantity: bool = False
    judged_wrong: bool = False
    distances: bool = False
    exceptions: bool = False
    absent_names: bool = False
    working_order: bool = False
    sufficient: bool = False
    denied_labels: bool = False
    given_up: bool = False
    denied_events: bool = False
    left_out: bool = False
    only_one_left: bool = False
    zero_of_many: bool = False
    generated_names: bool = False
