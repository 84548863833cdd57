"""An index in each format, and what somebody writes who changes one and knows how the chain is made."""

import hashlib
from pathlib import Path

import msgspec

from replay.sealed import read_index
from schemas.sealed import INDEX, SealedIndex, encode_index


def rechained(data: bytes) -> bytes:
    """The index `data` with the chain that its head and rows give as they lie there, canonical or not."""
    head = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    rows = msgspec.json.decode(head.pop("frames"), type=list[msgspec.Raw])
    old = bytes(head.pop("chain"))
    begin = b"korvid sealed campaign\n[" + b",".join(bytes(value) for value in head.values()) + b"]"
    chain = hashlib.sha256(begin).hexdigest()
    for row in rows:
        chain = hashlib.sha256(chain.encode() + bytes(row)).hexdigest()
    return data.replace(old, f'"{chain}"'.encode())


def in_format(index: SealedIndex, version: int) -> bytes:
    """The index as that format writes it."""
    return rechained(encode_index(msgspec.structs.replace(index, schema_version=version)))


def rewrite(directory: Path, version: int) -> None:
    """Give a sealed campaign an index of that format."""
    (directory / INDEX).write_bytes(in_format(read_index(directory), version))


def forge_lengths(directory: Path) -> None:
    """Let the index of a sealed campaign give ten bytes of the first frame's first run to its second."""
    path = directory / INDEX
    written = msgspec.json.decode(path.read_bytes())
    lengths = written["frames"][0][4]
    lengths[0], lengths[1] = lengths[0] - 10, lengths[1] + 10
    path.write_bytes(rechained(msgspec.json.encode(written) + b"\n"))
