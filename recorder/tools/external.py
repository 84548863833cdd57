"""The reads that need a backend of their own: metrics, and log search.

Windows end at the cluster's clock. Points and lines without a readable time are left out of a window.
"""

from datetime import timedelta

from recorder.cluster.api import ClusterReader
from recorder.tools.args import Arguments, optional, required
from recorder.tools.args import whole_number as number
from recorder.tools.catalog import SIGNALS
from recorder.tools.fields import moment, pairs
from recorder.tools.results import Produced, ToolFailure
from schemas.cases import MetricSeries

_DEFAULT_WINDOW = 60
_LONGEST_WINDOW = 14 * 24 * 60
_DEFAULT_LIMIT = 50
_MOST_LINES = 500
_MOST_POINTS = 12

NO_DATA = "(no data)"
NO_MATCHES = "(no matches)"


def query_metrics(reader: ClusterReader, arguments: Arguments) -> Produced:
    """One line a series with its summary, then its newest points."""
    signal = required(arguments, "signal")
    if signal not in SIGNALS:
        raise ToolFailure("bad_request", f"unknown signal {signal!r}; known: {', '.join(SIGNALS)}")
    series = reader.metrics(
        signal,
        required(arguments, "namespace"),
        workload=optional(arguments, "workload"),
        pod=optional(arguments, "pod"),
    )
    minutes = number(arguments, "window_minutes", _DEFAULT_WINDOW, _LONGEST_WINDOW)
    lines = [line for item in series for line in _series_lines(item, reader, minutes)]
    return Produced(text="\n".join(lines) or NO_DATA)


def search_logs(reader: ClusterReader, arguments: Arguments) -> Produced:
    """The newest matching lines, oldest of them first."""
    records = reader.search_logs(
        required(arguments, "namespace"), workload=optional(arguments, "workload"), pod=optional(arguments, "pod")
    )
    needle = (optional(arguments, "contains") or "").lower()
    minutes = number(arguments, "window_minutes", _DEFAULT_WINDOW, _LONGEST_WINDOW)
    limit = number(arguments, "limit", _DEFAULT_LIMIT, _MOST_LINES)
    found = [record for record in records if needle in record.text.lower() and _within(record.time, reader, minutes)]
    lines = [f"{record.time} {record.namespace}/{record.pod}: {record.text}" for record in found[-limit:]]
    return Produced(text="\n".join(lines) or NO_MATCHES, keep="tail")


def _series_lines(series: MetricSeries, reader: ClusterReader, minutes: int) -> list[str]:
    points = [(time, value) for time, value in series.points if _within(time, reader, minutes)]
    if not points:
        return []
    values = [value for _, value in points]
    about = pairs(
        {
            "workload": series.workload,
            "pod": series.pod,
            "unit": series.unit,
            "points": len(points),
            "first": _number(values[0]),
            "last": _number(values[-1]),
            "min": _number(min(values)),
            "max": _number(max(values)),
            "mean": _number(sum(values) / len(values)),
        }
    )
    newest = [f"  {time} {_number(value)}" for time, value in points[-_MOST_POINTS:]]
    return [f"{series.signal} {series.namespace}  {about}", *newest]


def _within(time: str, reader: ClusterReader, minutes: int) -> bool:
    found = moment(time)
    return found is not None and reader.now - timedelta(minutes=minutes) <= found <= reader.now


def _number(value: float) -> str:
    return f"{value:.6g}"
