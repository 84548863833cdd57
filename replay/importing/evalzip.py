"""The members of an Inspect `.eval` file, read within bounds and checked.

A `.eval` is a zip whose members are deflated or, in newer ones, compressed with zstd, which the standard library of our
Python cannot open. Every member's size and CRC is checked. Only the header and the samples are read.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zstandard

from replay.importing.shapes import read_json
from schemas.errors import UsageError, WorkError

HEADER = "header.json"
MAX_MEMBER_BYTES = 64 << 20
MAX_TOTAL_BYTES = 1 << 30
MAX_MEMBERS = 100_000

_ZSTD = 93
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD)
"""Others can ask for any amount of memory before the first byte is there."""
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_MAX_WINDOW = 1 << 27


def read_header(path: Path) -> dict[str, Any]:
    """The header of a log. Raises `UsageError` if it is no Inspect log, `WorkError` if it is damaged or unfinished."""
    with _open(path) as archive:
        if HEADER not in archive.namelist():
            raise WorkError(
                f"{path}: has no {HEADER}: Inspect did not finish writing it; recover it with Inspect first"
            )
        header = _json(path, archive, archive.getinfo(HEADER))
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
        raise UsageError(f"{path}: {HEADER} is not the header of an Inspect log")
    return header


def read_samples(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every sample as (member name, content), by name. Raises `WorkError` naming a damaged or too large member."""
    total = 0
    with _open(path) as archive:
        names = sorted(name for name in archive.namelist() if name.startswith("samples/") and name.endswith(".json"))
        if len(names) > MAX_MEMBERS or len(set(names)) != len(names):
            raise WorkError(f"{path}: more than {MAX_MEMBERS} samples, or one of them twice: refused")
        for name in names:
            info = archive.getinfo(name)
            total += info.file_size
            if total > MAX_TOTAL_BYTES:
                raise WorkError(f"{path}: samples of more than {MAX_TOTAL_BYTES} bytes: refused; import a part of it")
            sample = _json(path, archive, info)
            if not isinstance(sample, dict):
                raise WorkError(f"{path}: {name} is not a sample")
            yield name, sample


def _open(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; give a log that Inspect wrote") from None
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise UsageError(f"{path}: not an Inspect .eval log: {error}") from None


def _json(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    if info.file_size > MAX_MEMBER_BYTES:
        raise WorkError(f"{path}: {info.filename} has {info.file_size} bytes, more than {MAX_MEMBER_BYTES}: refused")
    if info.compress_type not in _METHODS:
        raise WorkError(f"{path}: {info.filename} is compressed in a way that Inspect does not write: refused")
    try:
        data = _zstd(path, info) if info.compress_type == _ZSTD else _plain(archive, info)
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise WorkError(f"{path}: {info.filename} cannot be read: {error}; the file is damaged") from None
    if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        raise WorkError(f"{path}: {info.filename} is not what was stored (size or CRC): the file is damaged")
    try:
        return read_json(data)
    except ValueError as error:
        raise WorkError(f"{path}: {info.filename} is not JSON that can be imported: {error}") from None


def _plain(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as member:
        return member.read(info.file_size + 1)


def _zstd(path: Path, info: zipfile.ZipInfo) -> bytes:
    with path.open("rb") as file:
        file.seek(info.header_offset)
        head = file.read(_LOCAL.size)
        if len(head) != _LOCAL.size or head[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile("its local header is damaged")
        *_, name_length, extra_length = _LOCAL.unpack(head)
        file.seek(name_length + extra_length, 1)
        packed = file.read(min(info.compress_size, MAX_MEMBER_BYTES))
    try:
        stream = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(packed, read_across_frames=True)
        return stream.read(info.file_size + 1)
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(str(error)) from None
