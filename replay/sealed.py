"""The logs of a sealed campaign, found through its index.

The index is the mark of a sealed campaign: without it `events.jsonl.zst` is what an interrupted seal left, and the
logs are in `runs/`. With it, the sealed run counts; a file of the same run in `runs/` is left from an interrupted seal
or unseal.
"""

from functools import lru_cache
from pathlib import Path

import msgspec

from replay.logref import LogRef, sealed_refs, unreadable
from schemas.errors import LogError
from schemas.sealed import EVENTS, INDEX, SealedIndex, decode_index

MANIFEST = "campaign.json"


class _Campaign(msgspec.Struct):
    campaign_id: str | None = None


def is_sealed(directory: Path) -> bool:
    """Whether the campaign in `directory` is sealed."""
    return (directory / INDEX).is_file()


def read_index(directory: Path) -> SealedIndex:
    """The index of a sealed campaign, checked against itself and the manifest.

    Raises `LogError` if it cannot be trusted or is not that of this campaign, `WorkError` if it cannot be read.
    """
    path = directory / INDEX
    try:
        status = path.stat()
        index = _read(path, (status.st_ino, status.st_size, status.st_mtime_ns))
    except OSError as error:
        raise unreadable(f"{path}: cannot read the index", error) from None
    campaign_id = manifest_campaign_id(directory)
    if campaign_id is not None and campaign_id != index.campaign_id:
        raise LogError(
            f"{path}: this is the index of campaign {index.campaign_id}, {MANIFEST} beside it is of {campaign_id}; "
            "restore the right one from a copy"
        )
    return index


def sealed_logs(directory: Path) -> list[LogRef]:
    """The runs of a sealed campaign in order of the file. Raises as `read_index` does."""
    events = directory / EVENTS
    return [log for frame in read_index(directory).frames for log in sealed_refs(events, frame, frame.runs)]


def manifest_campaign_id(directory: Path) -> str | None:
    """The campaign id in campaign.json, or None where there is no such file.

    Raises `LogError` if it is no manifest, `WorkError` if it cannot be read.
    """
    path = directory / MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Campaign).campaign_id
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(f"{path}: cannot read the manifest", error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogError(f"{path}: not a campaign manifest ({error}); restore it from a copy") from None


@lru_cache(maxsize=8)
def _read(path: Path, mark: tuple[int, int, int]) -> SealedIndex:
    return decode_index(path.read_bytes(), str(path))
