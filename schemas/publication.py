"""What a published campaign says of itself: `publication.json`. Source: design (event log, validity).

A branch of results holds `RESULTS.md` and one directory below `campaigns/` for each publication, which never changes
again. Nothing here says when or by whom it was published, so the same campaign gives the same bytes.
"""

import msgspec

from schemas.errors import LogError

PUBLICATION_VERSION = 1
"""The format of `publication.json` and of the line in `RESULTS.md`."""

PUBLICATION = "publication.json"
RESULTS = "RESULTS.md"
CAMPAIGNS = "campaigns"
SCOREBOARD_MD = "scoreboard.md"
SCOREBOARD_HTML = "scoreboard.html"

DIGEST_NOTE = (
    "Private texts were replaced before publication. Digests of logs, cases, requests and grades are those of the "
    "redacted bytes; what was recorded has others."
)


class _Data(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Redaction(_Data, frozen=True):
    """What was taken out before publication; also the member `redaction` of the published `campaign.json`.

    `replaced` counts places by kind. `requests` counts the model requests whose body holds a replacement, `withdrawn`
    the responses whose raw pieces were removed because a private text was spread over them, `tails` the torn ends that
    were dropped. `dropped_grades` are grade files that could not be computed again from the redacted logs;
    `moved_verdicts` counts verdicts that are not what they were before.
    """

    note: str
    replaced: dict[str, int]
    runs: int
    requests: int
    withdrawn: int
    tails: int
    dropped_grades: tuple[str, ...]
    moved_verdicts: int


class Graded(_Data, frozen=True):
    """The verdicts that the scoreboard shows, over all rows. `grader` has its version where there is one only."""

    grader: str
    graded: int
    passed: int


class Publication(_Data, frozen=True):
    """One publication. `planned` is None where the manifest does not say; `supersedes` is a directory of the branch.

    `chain` is the last value of the chain of `events.index.json` and stands for all recorded runs.
    """

    campaign_id: str
    created: str | None
    agent: str
    model: str
    arm: str
    planned: int | None
    runs: int
    interrupted: int
    grades: Graded
    publishable: bool | None
    not_publishable_because: tuple[str, ...]
    chain: str
    supersedes: str | None = None
    redaction: Redaction | None = None
    schema_version: int = PUBLICATION_VERSION


class _Version(msgspec.Struct):
    schema_version: int


def encode_publication(publication: Publication) -> bytes:
    """`publication.json`: indented JSON, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(publication), indent=1) + b"\n"


def decode_publication(data: bytes) -> Publication:
    """The publication in `data`. Raises `LogError` if it is none, or of a newer format."""
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > PUBLICATION_VERSION:
            raise LogError(
                f"{PUBLICATION} has schema_version {version} and this build reads up to {PUBLICATION_VERSION}: "
                f"install a korvid-rec that reads version {version}"
            )
        return msgspec.json.decode(data, type=Publication)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LogError(f"{PUBLICATION} does not describe a publication: {error}; restore it from a copy") from None
