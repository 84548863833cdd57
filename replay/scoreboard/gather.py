"""From the SQL views to a board: select the verdicts that count, and let the statistics of grading speak.

The newest attempt of each case and repetition counts. Unless told otherwise the verdict of a run is that of the newest
version, by the recorded rubric where there is one. Rows are compared and ranked only with rows graded alike.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from grading.statistics import Comparison, compare_all, supported_order
from replay.importing.published import CLAIMS_ONLY
from replay.scoreboard.copies import copies
from replay.scoreboard.model import Board, FlipCount, Row
from replay.scoreboard.rows import MODEL_AGENT, Key, Record, key_of, row_of
from replay.sql.load import Progress
from replay.sql.quoting import quoted
from replay.sql.session import Note, Session
from schemas.errors import UsageError
from schemas.grades import NOT_RECORDED
from schemas.words import counted

DEFAULT_GRADER = "claims"
_UNRANKED = 10**6


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Which verdicts count: the name of a grader (None: the only one, or `claims`), a version, a choice of rubric."""

    grader: str | None = None
    version: int | None = None
    rubric: str | None = None


def gather(
    paths: Sequence[Path], choice: Choice, *, note: Note = lambda _: None, progress: Progress | None = None
) -> Board:
    """The board of the campaigns at `paths`.

    Raises `UsageError` where nothing was graded yet, or not by that grader.
    """
    with Session(paths, note=note, progress=progress) as session:
        for line in copies(session.campaigns):
            note(line)
        grader = _grader(session, choice, paths)
        campaigns = {str(row["campaign_id"]): row for row in session.query("SELECT * FROM campaigns").records()}
        covered = session.query(_COVERED).records()
        verdicts = session.query(_verdicts(grader, choice)).records()
        flips = session.query(_flips(grader, choice)).records()
    by_key: defaultdict[Key, list[Record]] = defaultdict(list)
    for verdict in verdicts:
        by_key[key_of(verdict)].append(verdict)
    names = _names([key_of(row) for row in covered])
    rows = [
        row_of(names[key_of(row)], row, by_key[key_of(row)], campaigns.get(str(row["campaign_id"]), {}))
        for row in covered
    ]
    return _board(grader, rows, [msgspec.convert(flip, FlipCount) for flip in flips])


_RUNS = """(
        FROM runs QUALIFY row_number() OVER (
            PARTITION BY campaign_id, run_id ORDER BY status = 'corrupt', status = 'interrupted', path
        ) = 1)"""
"""Each run once, also where copies of it lie in several directories; of one that differs the best."""

_COVERED = f"""
    SELECT campaign_id, arm, agent, model, any_value(tier) AS tier, count(*) FILTER (latest) AS recorded,
        count(*) FILTER (NOT latest) AS superseded,
        count(*) FILTER (latest AND status = 'interrupted') AS interrupted,
        count(*) FILTER (latest AND status = 'provider_error') AS provider_error,
        count(*) FILTER (latest AND status = 'harness_invalid') AS harness_invalid,
        count(*) FILTER (latest AND status = 'corrupt') AS corrupt, count(*) FILTER (case_kind = 'journey') AS journeys
    FROM {_RUNS} WHERE campaign_id IS NOT NULL GROUP BY campaign_id, arm, agent, model
    ORDER BY campaign_id, arm, agent, model"""


def _verdicts(grader: str, choice: Choice) -> str:
    return f"""
        SELECT r.campaign_id, r.arm, r.agent, r.model, r.case_id, r.case_kind, r.repetition, g.* EXCLUDE (
            campaign_id, run_id, arm, agent, model, case_id, repetition, explanation)
        FROM {_RUNS} r JOIN grades g USING (campaign_id, run_id)
        WHERE r.latest AND {_condition(grader, choice)}
        QUALIFY row_number() OVER (
            PARTITION BY r.campaign_id, r.run_id
            ORDER BY g.version DESC, g.rubric = 'recorded' DESC, g.graded_at DESC, g.file DESC
        ) = 1
        ORDER BY r.campaign_id, r.case_id, r.repetition, r.run_id"""


def _flips(grader: str, choice: Choice) -> str:
    return f"""
        SELECT case_id, from_version, to_version, from_verdict, to_verdict, count(*) AS runs
        FROM flips WHERE {_condition(grader, Choice(rubric=choice.rubric or "recorded"), alias="")}
        GROUP BY ALL ORDER BY ALL"""


def _condition(grader: str, choice: Choice, alias: str = "g.") -> str:
    parts = [f"{alias}grader = {quoted(grader)}"]
    if choice.version is not None:
        parts.append(f"{alias}version = {choice.version}")
    if choice.rubric is not None:
        parts.append(f"{alias}rubric = {quoted(choice.rubric)}")
    return " AND ".join(parts)


def _grader(session: Session, choice: Choice, paths: Sequence[Path]) -> str:
    """The grader whose verdicts count."""
    found = session.query("SELECT DISTINCT grader, version, rubric FROM grades ORDER BY ALL").records()
    shown = " ".join(map(str, paths)) or "campaigns"
    if not found:
        raise UsageError(f"{shown}: nothing is graded yet; run: korvid-replay regrade {shown}")
    graders = {row["grader"] for row in found}
    grader = choice.grader or (DEFAULT_GRADER if DEFAULT_GRADER in graders else min(graders))
    if choice.grader is None and len(graders) > 1 and DEFAULT_GRADER not in graders:
        raise UsageError(
            f"{shown}: several graders have verdicts there, name one: --grader {'|'.join(sorted(graders))}"
        )
    fits = any(
        row["grader"] == grader and choice.version in (None, row["version"]) and choice.rubric in (None, row["rubric"])
        for row in found
    )
    if not fits:
        have = ", ".join(f"{row['grader']}@{row['version']} ({row['rubric']} rubric)" for row in found)
        raise UsageError(
            f"{shown}: no verdicts of that grader, version and rubric; there are: {have}; "
            f"run: korvid-replay regrade {shown} {_flags(grader, choice)}"
        )
    return grader


def _flags(grader: str, choice: Choice) -> str:
    """The flags of the regrade that makes the verdicts of a choice."""
    version = "" if choice.version is None else f"@{choice.version}"
    return f"--grader {grader}{version}" + ("" if choice.rubric is None else f" --rubric {choice.rubric}")


def _names(keys: Sequence[Key]) -> dict[Key, str]:
    """A name that tells each row apart: agent or model, the arm where arms differ, the campaign where it must."""
    arms = {key[1] for key in keys}
    short = {key: _who(key) + (f" [{key[1]}]" if key[1] and len(arms) > 1 else "") for key in keys}
    uses = Counter(short.values())
    return {key: name if uses[name] == 1 else f"{name} ({key[0]})" for key, name in short.items()}


def _who(key: Key) -> str:
    return (key[3] or key[2]) if key[2] == MODEL_AGENT else key[2]


def _board(grader: str, rows: list[Row], flips: list[FlipCount]) -> Board:
    models = [row for row in rows if not row.baseline and row.passed.trials]
    alike: defaultdict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in models:
        alike[(row.versions, row.rubrics)].append(row)
    ranks: dict[str, int] = {}
    comparisons: list[Comparison] = []
    for group in alike.values():
        passes = {row.name: _passes(row) for row in group}
        comparisons += compare_all(passes)
        if len(alike) == 1:
            ranks = {ranked.name: ranked.rank for ranked in supported_order(passes)}
    ranked = [msgspec.structs.replace(row, rank=ranks.get(row.name)) for row in rows]
    return Board(
        grader=grader,
        rows=tuple(sorted(ranked, key=_place)),
        comparisons=tuple(comparisons),
        flips=tuple(flips),
        notes=tuple(_notes(grader, rows, len(alike))),
    )


def _passes(row: Row) -> dict[str, list[bool]]:
    return {case.case_id: [True] * case.passed + [False] * (case.graded - case.passed) for case in row.cases}


def _place(row: Row) -> tuple[bool, int, float, str]:
    """Models from best to worst, then those without a verdict, then the baselines by name."""
    rate = row.passed.over_cases.estimate if row.passed.over_cases else -1.0
    return (row.baseline, row.rank or _UNRANKED, 0.0 if row.baseline else -rate, row.name)


def _notes(grader: str, rows: Sequence[Row], groups: int) -> Iterable[str]:
    if groups > 1:
        yield (
            f"The rows were graded by different versions of {grader} or by different rubrics: they are not ranked. "
            "Run korvid-replay regrade over all of them."
        )
    for row in rows:
        if not row.passed.trials and not row.coverage.not_gradable:
            yield f"{row.name}: no run has a verdict of {grader} yet; run korvid-replay regrade over {row.campaign_id}."
        elif not row.passed.trials:
            yield _none_gradable(grader, row)
        elif row.coverage.not_graded:
            ungraded = counted(row.coverage.not_graded, "recorded run")
            yield f"{row.name}: {ungraded} without a verdict; run korvid-replay regrade."
        if row.coverage.corrupt:
            corrupt = counted(row.coverage.corrupt, "corrupt log")
            yield f"{row.name}: {corrupt}; korvid-replay verify says which and why."
        if row.coverage.planned is not None and row.coverage.recorded < row.coverage.planned:
            yield f"{row.name}: {row.coverage.recorded} of {counted(row.coverage.planned, 'planned run')} recorded."
    packs = {row.provenance.pack for row in rows if row.provenance.pack}
    if len(packs) > 1:
        yield f"The rows were asked different cases ({', '.join(sorted(packs))}): compare them case by case."
    if not any(row.baseline for row in rows):
        yield "No baseline agent is among the rows; korvid-rec run --agent oracle (and others) calibrates the cases."


def _none_gradable(grader: str, row: Row) -> str:
    """All verdicts of a row say that the run could not be judged: why, and who can judge what was recorded."""
    why = ", ".join(f"{reason}: {runs}" for reason, runs in row.not_gradable.items())
    said = f"{row.name}: {counted(row.coverage.not_gradable, 'run')} graded by {grader}, none gradable ({why})"
    if grader == DEFAULT_GRADER and NOT_RECORDED in row.not_gradable:
        return (
            f"{said}; korvid-replay regrade over {row.campaign_id} with --grader {CLAIMS_ONLY} grades their claims, "
            f"and scoreboard --grader {CLAIMS_ONLY} shows it."
        )
    return f"{said}."
