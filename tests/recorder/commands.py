"""The command line as a person uses it: a process of its own, or the same entry point in this one."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from recorder.scripted import ScriptedServer

PROGRAM = Path(sys.executable).with_name("korvid-rec")


class Done(msgspec.Struct, frozen=True):
    """How a command ended."""

    code: int
    out: str
    err: str


def clean_env(**more: str) -> dict[str, str]:
    """The environment without any setting of ours, and with these."""
    return {name: value for name, value in os.environ.items() if not name.startswith("KORVID_")} | more


def server_env(server: ScriptedServer, **more: str) -> dict[str, str]:
    return clean_env(KORVID_EVAL_BASE_URL=server.url, KORVID_EVAL_MODEL="ollama/scripted:1b", **more)


def start(*arguments: str, cwd: Path, env: dict[str, str]) -> "subprocess.Popen[str]":
    """A recorder in a process group of its own."""
    return subprocess.Popen(
        [PROGRAM, *arguments],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: "subprocess.Popen[str]") -> Done:
    out, err = process.communicate(timeout=120)
    return Done(process.returncode, out, err)


def command(*arguments: str, cwd: Path, env: dict[str, str]) -> Done:
    return finish(start(*arguments, cwd=cwd, env=env))


def everything_written(directory: Path) -> bytes:
    """The bytes of all files below a directory, logs decompressed beside their raw form, and the names."""
    found: list[bytes] = []
    for path in sorted(directory.rglob("*")):
        found.append(str(path.relative_to(directory)).encode())
        if path.is_file():
            data = path.read_bytes()
            found.append(data)
            if path.name.endswith(".zst"):
                found.append(unpacked(data))
    return b"\n".join(found)


def unpacked(data: bytes) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as stream:
        return stream.read()


def assert_one_clear_line(done: Done) -> None:
    """An error for a person: one line on stderr, nothing on stdout, no traceback."""
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith("error: ")
    assert done.out == ""


def files_below(directory: Path) -> list[Any]:
    return sorted(path.relative_to(directory) for path in directory.rglob("*"))
