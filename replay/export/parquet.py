"""The tables behind `sql`, each as a Parquet file: every view that people can ask, under its own name."""

from pathlib import Path

from replay.export.command import Campaign
from replay.sql.output import staging
from replay.sql.output import write as write_rows
from replay.sql.session import Session
from replay.sql.views import VIEWS

VERSION = "korvid views"


def write(campaign: Campaign, out: Path) -> str:
    """One file a view; the logs are read once more for their digests. Gives the version of the format."""
    for _ in campaign.runs():
        pass
    files = [out / f"{view.name}.parquet" for view in VIEWS]
    writable = [staging(file) for file in files]
    with Session([campaign.directory], writable=writable, note=campaign.note) as session:
        for view, file in zip(VIEWS, files, strict=True):
            write_rows(session, f"SELECT * FROM {view.name}", "parquet", file)
    return VERSION
