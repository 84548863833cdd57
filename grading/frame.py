"""How a match is framed by what surrounds its clause: questions, suppositions, labels, table cells, continuations."""

from grading.after import (
    after_tail,
    denies_its_subject,
    following_words,
    is_denial,
    is_denial_label,
    is_main_clause,
    names_something,
)
from grading.clear import is_all_clear
from grading.lexicon import (
    COPULAS,
    EXISTENTIAL,
    LABEL_TRIGGERS,
    NEGATORS,
    PROBLEM_NOUNS,
    QUESTION_STARTS,
    VERDICT_NO,
    WOULD_SEE,
    WOULD_SHOW,
)
from grading.rules import Rules
from grading.text import CELL, COLON, COMMA, DASH, LINE, OPEN, QUESTION, STOP, Text

_JOINTS = COLON | DASH | CELL | OPEN | QUESTION
_BULLETS = ("-", "*", "+", "•")
_LABEL_TOKENS = 10
_CLAUSE_TOKENS = 20


def statement_continues(text: Text, first: int, last: int) -> bool:
    """Whether a keyword with its own negator is only the beginning of another statement.

    `no endpoints are ready` does not say that there are no endpoints, `no storage class problem` says the opposite of a
    missing class, and `does not exist yet` names a state that is expected to pass.
    """
    own = text.words[first : last + 1]
    if not any(word in NEGATORS for word in own):
        return False
    after = following_words(text, last)
    if not after:
        return False
    if after[0] == "yet":
        return True
    if own[0] != "no":
        return False
    if after[0] in PROBLEM_NOUNS:
        return True
    return after[0] in COPULAS and len(after) > 1 and after[1] not in EXISTENTIAL


def is_question(text: Text, first: int) -> bool:
    """Whether the clause of a match is a yes-or-no question."""
    indexes = text.clauses[text.clause[first]]
    bits = text.gaps[indexes[-1] + 1]
    return bool(bits & QUESTION) and text.words[indexes[0]] in QUESTION_STARTS


def is_hypothesis(text: Text, first: int, last: int) -> bool:
    """Whether a match is only supposed: `if it were X`, `X would show 137`."""
    indexes = text.clauses[text.clause[first]]
    place = text.place[first]
    if indexes[0] and text.gaps[indexes[0]] == COLON and "would" in _last_words(text, text.clause[indexes[0] - 1]):
        return True
    lead = [text.words[index] for index in indexes[max(0, place - 8) : place]]
    if (lead[:1] == ["had"] and "been" in lead) or lead[:1] == ["were"] or _would_see(lead):
        return True
    if "if" in lead:
        supposed = lead[lead.index("if") + 1 :]
        return "were" in supposed or ("had" in supposed and "been" in supposed)
    after = following_words(text, last)
    for start in after_tail(after):
        rest = [word for word in after[start : start + 4] if word not in ("normally", "usually", "also", "typically")]
        if rest[:1] == ["would"] and len(rest) > 1 and (rest[1] in WOULD_SHOW or rest[1:3] == ["have", "shown"]):
            return True
    return False


def _would_see(lead: list[str]) -> bool:
    """`we would see X`, `one would expect an X`."""
    near = lead[-5:]
    return "would" in near and any(word in WOULD_SEE for word in near[near.index("would") + 1 :][:2])


def _last_words(text: Text, clause: int) -> list[str]:
    return [text.words[index] for index in text.clauses[clause][-8:]]


def verdict_of(value: list[str], rules: Rules) -> str | None:
    """What the next cell, parenthesis or label value says of a match: a reason to reject the match, or None.

    `OOMKilled: no`, `| Image pull | ruled out |`, `liveness probe: healthy`.
    """
    if tuple(value) in VERDICT_NO or is_denial(value):
        return "negated_after"
    return "all_clear" if len(value) <= 4 and is_all_clear(value, rules) and value[-1] != "as" else None


def value_beside(text: Text, last: int) -> list[str] | None:
    """The first words of the next cell, parenthesis or label value after a match that ends its clause, or None."""
    after = following_words(text, last)
    index = last + 1 + len(after)
    if not text.gaps[last + 1] & OPEN and not (index < len(text.words) and text.gaps[index] & _JOINTS):
        return None
    ends = [place for place in after_tail(after) if place == len(after)]
    if not ends:
        if after and not (last + 1 < len(text.words) and text.gaps[last + 1] & OPEN):
            return None
        index = last + 1
    if index >= len(text.words) or not text.gaps[index] & _JOINTS or text.gaps[index] & STOP:
        return None
    if text.gaps[index] & LINE or text.place[index] != 0:
        return None
    return [text.words[at] for at in text.clauses[text.clause[index]][:12]]


def set_aside(text: Text) -> frozenset[int]:
    """The clauses that stand under a label such as `Ruled out:`, on its line or as the bullets below it.

    A sentence that ends in a colon is not a label for the sentence that it introduces: `not a fault of billing: it
    opens a pool, the connection is refused` sets nothing aside.
    """
    if LABEL_TRIGGERS.isdisjoint(text.words):
        return frozenset()
    aside: set[int] = set()
    labelled = listing = introducing = False
    for clause, indexes in enumerate(text.clauses):
        first, last = indexes[0], indexes[-1]
        opening, closing = text.gaps[first], text.gaps[last + 1]
        if opening & LINE:
            listing = listing and _is_bullet(text, first)
            labelled, introducing = listing, False
        elif opening & (STOP | QUESTION) and not listing:
            labelled = False
        if introducing and labelled and is_main_clause([text.words[index] for index in indexes[:_CLAUSE_TOKENS]]):
            labelled = False
        if labelled:
            aside.add(clause)
        if not closing & (COLON | LINE) or (closing & COMMA):
            continue
        words = [text.words[index] for index in indexes] if len(indexes) <= _LABEL_TOKENS else []
        label = is_denial_label(words) and not denies_its_subject(words)
        if closing & COLON:
            if not (listing and labelled):
                labelled = label
                introducing = label and not closing & LINE and names_something(words)
                aside.discard(clause)
            listing = listing or (label and bool(closing & LINE))
        elif label and not labelled and _whole_line(text, first):
            listing = True
    return frozenset(aside)


def _is_bullet(text: Text, first: int) -> bool:
    start = text.ends[first - 1] if first else 0
    lead = text.source[start : text.starts[first]].rpartition("\n")[2].strip()
    if lead.startswith(_BULLETS):
        return True
    return text.words[first].isdigit() and text.source[text.ends[first] : text.ends[first] + 1] in (".", ")")


def _whole_line(text: Text, first: int) -> bool:
    """Whether a clause is a heading of its own: the line starts with it and is marked as one."""
    start = text.ends[first - 1] if first else 0
    lead = text.source[start : text.starts[first]].rpartition("\n")[2].strip()
    return (first == 0 or bool(text.gaps[first] & LINE)) and lead.startswith(("#", "**", "__"))
