"""What an imported run says of itself: where its bytes came from, and what was published of it.

An imported run is an ordinary log. `Imported` stands in its `run_started`, so that nobody takes it for a recording of
ours, and holds the published verdict, which the graders of `replay.importing.published` give back. A value that the
source did not have is None or absent, never 0.
"""

from typing import Any

import msgspec


class _Data(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    pass


class PublishedTurn(_Data, frozen=True):
    """What was published of one turn. `missing` are the required claims that were not found, `forbidden` the forbidden
    ones that were; groups of alternatives. `success` is the turn's own verdict where the source kept one.

    `counts` holds the published numbers under their own names; `tool_names` the tools called, in order, where known.
    """

    diagnosis_success: bool | None = None
    evidence_fetched: bool | None = None
    success: bool | None = None
    missing: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[tuple[str, ...], ...] = ()
    error: str | None = None
    counts: dict[str, int] = {}
    tool_names: tuple[str, ...] | None = None


class Published(_Data, frozen=True):
    """The verdict as it was published. `grader` names its source; `passed` is what that source counted as success."""

    grader: str
    passed: bool
    turns: tuple[PublishedTurn, ...] = ()
    counts: dict[str, int] = {}


class Imported(_Data, frozen=True):
    """Where an imported run comes from.

    `format` is the kind of source (`korvid`, `inspect`), `campaign` its name there. `file` is the path within the
    source, `sha256` that of its bytes; `place` is where the run lies in it. `archive` (its file name) and
    `archive_sha256` are of the archive that held the file, if one did. `profile` is a label from before there were
    tiers, as it was written.
    `rubric` says whose rubric stands in the log. `unmapped` keeps, under their own names, values for which no event
    has a place.
    """

    format: str
    campaign: str
    file: str
    sha256: str
    place: str
    archive: str | None = None
    archive_sha256: str | None = None
    profile: str | None = None
    rubric: str | None = None
    published: Published | None = None
    unmapped: dict[str, Any] = {}
