"""Campaigns of ours in formats of others: ATIF, Inspect, OpenTelemetry, Parquet.

`export` writes the files and `export.json`, which says what was exported, from which logs (SHA-256), and names every
kind of event and field for which the format has no place. Nothing is left out without being named there.
"""

from replay.export.command import Exported, Unmapped, export

__all__ = ["Exported", "Unmapped", "export"]
