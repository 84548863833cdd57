"""Logs read at once by several threads: zstd's state belongs to one reader, whoever else is reading."""

import subprocess
import sys
from pathlib import Path

from tests.replay_sql.logs import whole_run

READ = """
import sys, threading
from pathlib import Path
from replay.sound import read_sound

WANTED = frozenset({b"run_started", b"run_finished"})
logs = sorted(Path(sys.argv[1]).iterdir())
alone = [read_sound(log, WANTED).sha256 for log in logs]
wrong = []

def read():
    for _ in range(200):
        for log, sha256 in zip(logs, alone):
            found = read_sound(log, WANTED)
            if found is None or found.sha256 != sha256:
                wrong.append(log)

threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(len(wrong))
"""


def test_threads_that_read_logs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    for number in range(4):
        whole_run(tmp_path, f"case{number}-r1-c", result="x" * 200_000)
    assert subprocess.run([sys.executable, "-c", READ, str(tmp_path / "runs")], check=False).returncode == 0
