"""A 50 MB tool result, a 200 MB log, one event of 70 KiB among small ones: recorded, read, asked, graded, sealed."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recorder.log import RunLog
from replay.cli import cli
from replay.fold import fold
from replay.graders import load
from replay.reader import RunReader, read_all
from replay.regrade import Options, regrade
from replay.seal.sealing import seal
from replay.seal.unsealing import unseal
from replay.sql.session import Session
from replay.verify import RunCheck, verify
from schemas.events import ToolCall, ToolResult, TurnFinished, TurnStarted
from tests.builders import run_started
from tests.seal.campaigns import noise, raw

MB = 1_000_000
PEAK = """
import sys
from pathlib import Path
from replay.verify import verify
states = [check.state for check in verify(Path(sys.argv[1]))]
(peak,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(states, peak)
"""


def recorded(directory: Path, results: list[str], *, finish: bool = True) -> Path:
    """A campaign of one run in which tools gave these results."""
    (directory / "runs").mkdir(parents=True)
    (directory / "campaign.json").write_text('{"campaign_id": "c-abc"}')
    log = RunLog(directory / "runs" / "case-r1-abc.jsonl.zst", durability="run")
    log.append(run_started())
    log.append(TurnStarted(turn=1, user="why?"))
    for number, text in enumerate(results, 1):
        log.append(
            ToolCall(
                call=number, turn=1, iteration=number, request=number, call_id=f"c{number}", tool="get_logs",
                arguments_raw="{}", arguments={}, disposition="executed",
            )
        )  # fmt: skip
        log.append(ToolResult(call=number, tool="get_logs", ok=True, result=text))
    if finish:
        count = len(results)
        log.append(
            TurnFinished(turn=1, outcome="answered", answer="so", iterations=1, tool_calls=count, duration_s=0.5)
        )
        log.finish("completed")
    log.close()
    return log.path


def lengths(directory: Path) -> list[int]:
    """The lengths of the results as SQL sees them, in order."""
    with Session([directory]) as session:
        return [row[0] for row in session.query("SELECT length(result) FROM tool_results ORDER BY call").rows()]


@pytest.mark.parametrize(
    "sizes",
    [(10, 70 * 1024, 10), (10, 64 * 1024, 65_537, 10), (100, 50 * MB, 100)],
    ids=["70 KiB among small ones", "around 64 KiB", "50 MB"],
)
def test_a_large_result_is_recorded_read_asked_graded_and_sealed_whole(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    texts = [(noise(number, min(size, MB)) * (size // MB + 1))[:size] for number, size in enumerate(sizes)]
    path = recorded(tmp_path, texts)
    read = [record.event.result for record in read_all(path)[0] if isinstance(record.event, ToolResult)]
    assert read == texts
    (check,) = verify(tmp_path)
    assert check.state == "complete"
    assert lengths(tmp_path) == list(sizes)
    assert [len(call.shown or "") for call in fold(path).turns[0].calls] == list(sizes)
    assert regrade(tmp_path, load("claims"), Options()).receipt.coverage.graded == 1
    before = raw(tmp_path)
    shown = CliRunner().invoke(cli, ["show", "case", "--in", str(tmp_path)])
    assert shown.exit_code == 0
    assert len(shown.stdout) < 100_000
    seal(tmp_path, level=1)
    assert raw(tmp_path) == before
    assert lengths(tmp_path) == list(sizes)
    unseal(tmp_path)
    assert raw(tmp_path) == before


def peak_of_verifying(directory: Path) -> int:
    """The peak memory in bytes of a process that verifies a campaign of one complete run."""
    done = subprocess.run([sys.executable, "-c", PEAK, str(directory)], capture_output=True, text=True, check=True)
    states, _, peak_kib = done.stdout.rpartition(" ")
    assert states == "['complete']"
    return int(peak_kib) << 10


def test_a_log_of_200_mb_is_read_in_little_memory_and_torn_wherever_it_ends(tmp_path: Path) -> None:
    chance = random.Random(200)
    results = [chance.randbytes(250_000).hex() for _ in range(400)]
    large, small = tmp_path / "large", tmp_path / "small"
    path = recorded(large, results)
    recorded(small, results[:4])
    assert peak_of_verifying(large) - peak_of_verifying(small) < 50 * MB
    (check,) = verify(large)
    assert isinstance(check, RunCheck)
    assert check.raw_bytes > 200 * MB
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    reader = RunReader(path, wanted=frozenset())
    assert len(list(reader)) == 1, "the first event is always wanted"
    assert reader.end is not None
    assert reader.end.state == "interrupted"
    assert 100 * MB < reader.end.raw_bytes < 160 * MB
    path.write_bytes(data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :])
    (damaged,) = verify(large)
    assert damaged.state == "corrupt"
    assert "at byte" in damaged.detail
