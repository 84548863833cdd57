"""`docs/performance.md` from the results that lie beside this module. `python -m tests.benchmarks.report`."""

import json
from collections.abc import Iterator
from typing import Any

from tests.benchmarks.measure import RESULTS, ROOT

PAGE = ROOT / "docs" / "performance.md"
_HEAD = """# Performance

What recording, keeping, regrading and asking cost, measured beside what one would use instead: Inspect 0.3.285 with its
defaults, plain JSON with gzip, a tar of JSON under `zstd -19`. `make bench` measures again and writes this page; it is
made from `tests/benchmarks/results/*.json` and not edited by hand.

CPU is user and system time of a process and of those it waited for, each operation in a process of its own, medians of
several runs. A ratio compares figures of one and the same sitting. The machine is shared; the load is given. The same
work took up to 1.7 times as much CPU from one minute to the next, on either side: trust ratios, not milliseconds.

Comparing with Inspect needs the workload's file and an environment that has `inspect_ai`, named by
`KORVID_BENCH_WORKLOAD` and `KORVID_BENCH_INSPECT_PYTHON`; without them those figures stay as they are.
"""


def _load(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    found = json.loads(path.read_text()) if path.is_file() else None
    return found if isinstance(found, dict) else None


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def _measured(found: dict[str, Any]) -> str:
    machine = found["machine"]
    return (
        f"*{machine['date']}: {machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"Python {machine['python']}, load {machine['load_1m']}.*\n"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _recording(found: dict[str, Any]) -> Iterator[str]:
    yield "## Recording\n"
    yield (
        "The same mock conversations of five tool calls and an answer, without HTTP on either side; making the texts "
        f"is left out. {found['events_a_run']} events a run, fsync at the end of each turn. Ratios are medians of "
        f"those of {found['repeats']} rounds.\n"
    )
    rows = [
        ["writing the events alone, an event", f"{found['append_us_an_event'] / 1e3:.3f}", ""],
        ["writing the events alone, a run", _number(found["append_ms_a_run"]), _number(found["inspect_over_append"])],
        ["`json.dumps` of them and gzip, nothing flushed before the end", _number(found["plain_ms_a_run"]), ""],
        [
            "agent loop, tools, redaction and recording, answers whole",
            _number(found["ours_document_ms_a_run"]),
            _number(found["inspect_over_ours_document"]),
        ],
        [
            "the same, answers streamed in pieces of 16 characters",
            _number(found["ours_stream_ms_a_run"]),
            _number(found["inspect_over_ours_stream"]),
        ],
        ["Inspect: agent loop, tools and recording", _number(found["inspect_ms_a_run"]), "1"],
    ]
    yield from _table(["", "ms of CPU", "Inspect is times as dear"], rows)
    yield _measured(found)


def _sizes(found: dict[str, Any]) -> Iterator[str]:
    yield "## Bytes a run\n"
    yield (
        f"{found['runs']} runs. *Cases*: 25 cases three times over, as campaigns are. *Unique*: no text twice. "
        "*Streamed* runs also hold every piece of the stream with its time, which no other column does.\n"
    )
    kinds = ["cases", "cases_streamed", "unique", "unique_streamed"]
    names = {
        "raw": "event lines, raw",
        "live": "live (a log a run)",
        "sealed_with_index": "sealed, with index and sums",
        "sealed_frames": "sealed, `events.jsonl.zst` alone",
        "inspect_eval": "Inspect `.eval`",
        "gzip_of_events": "the events, gzip each",
        "tar_zstd19_of_events": "the events, tar, `zstd -19`",
        "gzip_of_transcripts": "bare transcript as JSON, gzip each",
        "tar_zstd19_of_transcripts": "bare transcripts, tar, `zstd -19`",
    }
    rows = [[title, *(_number(found[kind][name]) for kind in kinds)] for name, title in names.items()]
    ratios = [
        ("sealed_over_inspect", "sealed with index / Inspect"),
        ("sealed_over_tar_zstd19", "sealed with index / tar of events"),
        ("sealed_frames_over_tar_zstd19", "sealed alone / tar of events"),
    ]
    rows += [[title, *(f"{found[kind][name]:.3f}" for kind in kinds)] for name, title in ratios]
    yield from _table(["bytes", *(kind.replace("_", " ") for kind in kinds)], rows)
    yield _measured(found)


def _scale(found: dict[str, Any]) -> Iterator[str]:
    yield "## Regrading by size\n"
    yield (
        "Synthetic runs of about 50 KiB of raw events; start-up counts. *Decode* is to decompress and decode every "
        "event and nothing else. The speed-up of two processes by CPU is what it would be on idle cores, by the wall "
        "clock what it was; *machine* is how much faster two decoding processes that share nothing were than one after "
        "the other, measured by itself: a busy minute can make it less than the speed-up beside it.\n"
    )
    head = ["runs", "ms a run", "over decode", "runs a CPU second", "peak MiB", "two: by CPU", "by the wall", "machine"]
    rows = [
        [
            f"{size['runs']:,}",
            f"{size['regrade_ms_a_run']:.3f}",
            f"{size['regrade_over_decode']:.2f}",
            _number(size["runs_a_cpu_second"]),
            _number(size["peak_mib"]),
            f"{size['speed_up_two_processes_cpu']:.2f}",
            f"{size['speed_up_two_processes_wall']:.2f}",
            f"{size['speed_up_machine']:.2f}",
        ]
        for size in found["sizes"]
    ]
    yield from _table(head, rows)
    yield _measured(found)


def _scoring(found: dict[str, Any]) -> Iterator[str]:
    yield "## Regrading beside Inspect\n"
    yield (
        "The same conversations, which in Inspect are not streamed. Inspect reads, scores anew and writes from Python. "
        f"Start-up is taken off both; the last line has that of both, for {found['ours_runs']:,} runs. Ratios are "
        f"medians of those of {found['repeats']} rounds, in which each process ran once. What slows this machine slows "
        "the two unevenly: in eleven sittings of 2026-11-30 and 2026-12-01, between code that differed by a few "
        "percent, the ratio of whole answers was 44, 48, 49, 50, 53, 55, 57, 59, 59, 59 and 67.\n"
    )
    rows = [
        ["ours", _number(found["ours_runs"]), f"{found['ours_ms_a_run']:.3g}", _number(found["ours_peak_mib"])],
        ["ours, with every piece of a stream", "", f"{found['ours_streamed_ms_a_run']:.3g}", ""],
        [
            "Inspect",
            _number(found["inspect_runs"]),
            _number(found["inspect_ms_a_run"]),
            _number(found["inspect_peak_mib"]),
        ],
        ["Inspect / ours", "", _number(found["inspect_over_ours"]), ""],
        ["Inspect / ours with every piece", "", _number(found["inspect_over_ours_streamed"]), ""],
        ["with start-up", "", _number(found["inspect_over_ours_with_start"]), ""],
    ]
    yield from _table(["", "runs", "ms of CPU a run", "peak MiB"], rows)
    yield _measured(found)


def _queries(found: dict[str, Any]) -> Iterator[str]:
    yield "## Reading, asking, starting\n"
    titles = {
        "decompress": "decompress and cut into lines",
        "decode": "and decode every event, typed",
        "read": "read, every check (order, digest)",
        "fold": "fold for a grader (digest; needed events only)",
        "gzip": "the events as JSON Lines under gzip: `json.loads` of each",
        "tar": "the same in a tar under zstd",
    }
    rows = [
        [title, f"{found['reading_ms_a_run'][name]:.3f}", _number(found["reading_mb_a_cpu_second"][name])]
        for name, title in titles.items()
    ]
    yield from _table(["one log of ~50 KiB raw", "ms of CPU a run", "raw MB a CPU second"], rows)
    yield (
        f"`sql` groups {found['sql_runs']:,} runs by case and status, without an index, in {found['sql_cpu_s']:.2f} s "
        f"of CPU and {_number(found['sql_peak_mib'])} MiB; in the sittings of 2026-11-30 and 2026-12-01 it took 2.3 to "
        "3.6 s.\n"
    )
    starts = [[f"`{name}`", _number(value)] for name, value in found["start_cpu_ms"].items()]
    yield from _table(["starting", "ms of CPU"], starts)
    yield _measured(found)


def page() -> str:
    """The page from the results that are there."""
    parts = {"record": _recording, "sizes": _sizes, "scale": _scale, "scoring": _scoring, "queries": _queries}
    lines = [_HEAD]
    for name, part in parts.items():
        found = _load(name)
        if found is not None:
            lines += part(found)
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
