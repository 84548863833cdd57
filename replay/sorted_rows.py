"""The rows that workers spooled, sorted into one file, and what a receipt says of all of them.

A merge sort outside memory: stretches are sorted by themselves and merged, so that what is held does not grow with
the number of runs. Everything that is counted, or digested, over all rows is taken as they pass.
"""

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import count, groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import IO

import msgspec

from schemas.grades import ORDER, RunState
from schemas.verdicts import VerdictValue

GROUP_ROWS = 4_096
"""How many rows stand together in a grade file. Fixed, so that the same rows are the same bytes."""
_STRETCH = 1 << 20
"""Bytes of rows that are held and sorted at once."""


class SortedRows(msgspec.Struct, frozen=True, kw_only=True):
    """Rows in `file`, JSON Lines in the order of a grade file; `longest` is the bytes of the longest row and `widest`
    those of the widest group of `GROUP_ROWS`.

    `inputs` is a file with the run id and the log digest of each row, as members of a JSON object without its braces;
    `inputs_sha256` is over all inputs and the identity of the grader. `rubrics` are the digests of the rubrics used, by
    case. `superseded` are runs of which a newer attempt is there, by run id; `statuses` and `verdicts` count the rest.
    """

    file: Path
    longest: int
    widest: int
    inputs: Path
    inputs_sha256: str
    campaign_id: str
    rubrics: dict[str, tuple[str, ...]]
    superseded: tuple[str, ...]
    statuses: dict[RunState, int]
    verdicts: dict[VerdictValue, int]


class _Row(msgspec.Struct, frozen=True):
    case_id: str
    repetition: int
    attempt: int
    run_id: str
    campaign_id: str
    arm: str
    agent: str
    model: str
    status: RunState
    verdict: VerdictValue
    log_sha256: str
    rubric_sha256: str | None
    stimulus_sha256: str

    @property
    def planned(self) -> tuple[str, str, str, str]:
        """What tells the runs of one case and repetition apart that are not attempts at the same."""
        return self.campaign_id, self.arm, self.agent, self.model


_Line = tuple[_Row, bytes]
_place = attrgetter(*ORDER)


def sort_rows(spooled: Sequence[Path], directory: Path, identity: bytes) -> SortedRows | None:
    """Sort the rows in the files `spooled` into files in `directory`; None if there are none.

    `identity` stands for the grader: the digest over the inputs begins with it.
    """
    digest = hashlib.sha256(identity)
    longest, campaign = 0, ""
    numbers, groups = count(), Counter[int]()
    rubrics: dict[str, set[str]] = {}
    superseded: list[str] = []
    statuses: Counter[RunState] = Counter()
    verdicts: Counter[VerdictValue] = Counter()
    file, inputs = directory / "sorted.ndjson", directory / "inputs.json"
    with ExitStack() as stack:
        out, named = (stack.enter_context(path.open("wb")) for path in (file, inputs))
        lines = _merged(spooled, stack.enter_context((directory / "stretches.ndjson").open("w+b")))
        between = b""
        for (case_id, _), attempts in groupby(lines, key=lambda line: (line[0].case_id, line[0].repetition)):
            newest: dict[tuple[str, str, str, str], _Row] = {}
            used = rubrics.setdefault(case_id, set())
            for row, line in attempts:
                out.write(line)
                named.write(between + _member(row))
                between = b",\n"
                digest.update(_input(row))
                longest = max(longest, len(line))
                groups[next(numbers) // GROUP_ROWS] += len(line)
                campaign = row.campaign_id
                if row.rubric_sha256 is not None:
                    used.add(row.rubric_sha256)
                if row.planned in newest:
                    superseded.append(newest[row.planned].run_id)
                newest[row.planned] = row
            statuses.update(row.status for row in newest.values())
            verdicts.update(row.verdict for row in newest.values())
    if not longest:
        return None
    return SortedRows(
        file=file,
        longest=longest,
        widest=max(groups.values()),
        inputs=inputs,
        inputs_sha256=digest.hexdigest(),
        campaign_id=campaign,
        rubrics={case_id: tuple(sorted(used)) for case_id, used in rubrics.items()},
        superseded=tuple(sorted(superseded)),
        statuses=dict(statuses),
        verdicts=dict(verdicts),
    )


def _member(row: _Row) -> bytes:
    """A member of the receipt's `inputs`, indented as it stands there."""
    return b"  " + msgspec.json.encode(row.run_id) + b": " + msgspec.json.encode(row.log_sha256)


def _input(row: _Row) -> bytes:
    """What the digest over the inputs takes of a row."""
    return msgspec.json.encode(
        (row.campaign_id, row.run_id, row.case_id, row.log_sha256, row.rubric_sha256, row.stimulus_sha256)
    )


def _merged(spooled: Sequence[Path], stretches: IO[bytes]) -> Iterator[_Line]:
    """All rows in order, by way of sorted stretches that are written one behind the other."""
    ends = [0]
    for stretch in _stretches(spooled):
        stretches.writelines(line for _, line in stretch)
        ends.append(stretches.tell())
    return heapq.merge(*(_between(stretches, at, end) for at, end in pairwise(ends)), key=lambda line: _place(line[0]))


def _between(file: IO[bytes], at: int, end: int) -> Iterator[_Line]:
    """The rows between two places of a file in which others read as well."""
    while at < end:
        file.seek(at)
        line = file.readline()
        at += len(line)
        yield _decode(line), line


def _stretches(spooled: Sequence[Path]) -> Iterator[list[_Line]]:
    """The rows in sorted stretches of about `_STRETCH` bytes."""
    stretch: list[_Line] = []
    held = 0
    for path in spooled:
        with path.open("rb") as file:
            for line in file:
                stretch.append((_decode(line), line))
                held += len(line)
                if held >= _STRETCH:
                    yield _sorted(stretch)
                    stretch, held = [], 0
    if stretch:
        yield _sorted(stretch)


def _sorted(lines: list[_Line]) -> list[_Line]:
    return sorted(lines, key=lambda line: _place(line[0]))


_decode = msgspec.json.Decoder(_Row).decode
