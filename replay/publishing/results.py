"""`RESULTS.md`: the index of a branch of results, one line a publication, which only grows.

A line is a function of one published directory, so two indexes are merged by the union of their lines. The last line of
the file holds the SHA-256 of everything above it. Text that was there before us stays at the top.
"""

import hashlib
import re
from collections.abc import Iterator

import msgspec

from replay.markdown import escaped
from schemas.errors import LogError
from schemas.publication import CAMPAIGNS, RESULTS, SCOREBOARD_MD, Publication
from schemas.words import counted

_HEAD = """# Results

One directory below `campaigns/` for each published campaign; none is ever changed. A correction is a directory of its
own that says what it supersedes. `korvid-replay fetch` copies them, `korvid-replay verify` checks every byte, and the
last column is the SHA-256 of each directory's `SHA256SUMS`.
"""
_TABLE = "| campaign | agent | runs | passed | validity | SHA256SUMS |\n|---|---|---|---|---|---|\n"
_ROW = re.compile(
    rf"\| \[(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\]\({CAMPAIGNS}/(?P=name)/[^)]*\) \|.*\| `[0-9a-f]{{64}}` \|"
)
_END = re.compile(r"<!-- (?P<count>[0-9]+) publications, SHA-256 of the lines above: (?P<sha256>[0-9a-f]{64}) -->")


class Index(msgspec.Struct, frozen=True):
    """The text above the table, and the lines of the table by directory name."""

    preamble: str = _HEAD
    rows: dict[str, str] = {}


def parse(data: bytes) -> Index:
    """The index in `data`. Raises `LogError` if it is one of ours and was changed by hand.

    A file that is not ours is all preamble.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise LogError(f"{RESULTS}: is not UTF-8: {error}; restore it from an earlier commit") from None
    if _TABLE not in text:
        if "<!-- " in text and "SHA-256 of the lines above" in text:
            raise LogError(f"{RESULTS}: its table was changed; restore it from an earlier commit")
        return Index(f"{text.rstrip()}\n" if text.strip() else _HEAD, {})
    preamble, _, rest = text.partition(f"\n{_TABLE}")
    *lines, blank, end, last = rest.split("\n")
    found = _END.fullmatch(end)
    above = text[: text.rindex("<!-- ")] if found else ""
    if found is None or blank or last or hashlib.sha256(above.encode()).hexdigest() != found["sha256"]:
        raise LogError(f"{RESULTS}: was changed since it was written; restore it from an earlier commit")
    rows = {}
    for line in lines:
        row = _ROW.fullmatch(line)
        if row is None:
            raise LogError(
                f"{RESULTS}: holds a line that is not ours: {line[:60]!r}; restore it from an earlier commit"
            )
        rows[row["name"]] = line
    return Index(preamble, rows)


def render(index: Index) -> bytes:
    """`RESULTS.md` of an index, lines by directory name."""
    lines = "".join(f"{index.rows[name]}\n" for name in sorted(index.rows))
    above = f"{index.preamble}\n{_TABLE}{lines}\n"
    digest = hashlib.sha256(above.encode()).hexdigest()
    return f"{above}<!-- {len(index.rows)} publications, SHA-256 of the lines above: {digest} -->\n".encode()


def union(first: Index, second: Index) -> Index:
    """Both indexes in one. A text of strangers above the table wins over ours; of two such both stay."""
    texts = [index.preamble for index in (first, second) if index.preamble != _HEAD]
    if len(texts) == 2:
        first_text, second_text = texts
        texts = [first_text if second_text in first_text else f"{first_text}\n{second_text}"]
    return Index(texts[0] if texts else _HEAD, {**second.rows, **first.rows})


def row(name: str, publication: Publication, sums_sha256: str) -> str:
    """The line of a published directory."""
    who = publication.model if publication.agent in ("model", "") else publication.agent
    planned = "?" if publication.planned is None else publication.planned
    grades = publication.grades
    cells = (
        f"[{name}]({CAMPAIGNS}/{name}/{SCOREBOARD_MD})",
        escaped(who) + (f" ({escaped(publication.arm)})" if publication.arm else ""),
        f"{publication.runs} of {planned}",
        f"{grades.passed} of {grades.graded} ({escaped(grades.grader)})",
        escaped("; ".join(_validity(publication))),
        f"`{sums_sha256}`",
    )
    return f"| {' | '.join(cells)} |"


def _validity(publication: Publication) -> Iterator[str]:
    if publication.publishable:
        yield "valid"
    else:
        yield f"not valid for comparison: {', '.join(publication.not_publishable_because)}"
    if publication.interrupted:
        yield f"{counted(publication.interrupted, 'run')} interrupted"
    if publication.planned is not None and publication.runs < publication.planned:
        yield f"{publication.planned - publication.runs} planned runs missing"
    redaction = publication.redaction
    if redaction is not None:
        yield f"redacted in {sum(redaction.replaced.values())} places, digests are of the redacted bytes"
        if redaction.moved_verdicts:
            yield f"{counted(redaction.moved_verdicts, 'verdict')} moved by the redaction"
    if publication.supersedes is not None:
        yield f"supersedes {CAMPAIGNS}/{publication.supersedes}"
