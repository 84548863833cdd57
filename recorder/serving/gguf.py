"""The header of a GGUF weights file: what the model says of itself. Strict: a damaged header is refused.

Format: magic, version (2 or 3, little-endian), counts of tensors and of metadata, the metadata as typed key-value
pairs, then name, dimensions, type and offset of each tensor. The tensor data is not read.
"""

import hashlib
import mmap
import struct
from math import prod
from pathlib import Path
from typing import Any

import msgspec

from schemas.errors import WorkError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MAX_DIMENSIONS = 8
_HASH_BLOCK = 4 * 1024 * 1024

# The values of general.file_type that llama.cpp writes today.
_FILE_TYPES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
}


class GgufError(WorkError):
    """Not a GGUF file, or a damaged one; the message names the file and the byte offset."""


class GgufFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the header says; None where it does not. `parameters` counts the elements of all tensors."""

    architecture: str | None
    name: str | None
    quantization: str | None
    size_label: str | None
    context_length: int | None
    parameters: int


def read_gguf(path: Path) -> GgufFacts:
    """The facts in the header of `path`. Raises `GgufError`."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _facts(_Reader(data, path))
    except ValueError:
        raise GgufError(f"{path}: empty, not a GGUF file") from None
    except OSError as error:
        raise GgufError(f"{path}: cannot be read ({error.strerror})") from None


def file_sha256(path: Path) -> str:
    """The SHA-256 of a weights file. Raises `GgufError` if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_HASH_BLOCK):
                digest.update(block)
    except OSError as error:
        raise GgufError(f"{path}: cannot be read ({error.strerror})") from None
    return digest.hexdigest()


def readable_count(parameters: int) -> str:
    """A number of parameters as model cards write it: `494M`, `7.6B`."""
    return f"{parameters / 1e9:.1f}B" if parameters >= 1e9 else f"{parameters / 1e6:.0f}M"


class _Reader:
    """A position in the file; every step is checked against its end."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self._data = data
        self._path = path
        self._at = 0

    def fail(self, why: str) -> GgufError:
        return GgufError(f"{self._path}: not a sound GGUF header at byte {self._at}: {why}")

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise self.fail("the file ends here")
        piece = self._data[self._at : self._at + size]
        self._at += size
        return piece

    def scalar(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self) -> str:
        raw = self.take(self.scalar("<Q"))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self.fail("text that is not UTF-8") from None

    def value(self, kind: int) -> Any:
        """A value of that type; of an array only None, for nobody asks for one."""
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._skip_array(self.scalar("<I"), self.scalar("<Q"))
        raise self.fail(f"unknown value type {kind}")

    def _skip_array(self, kind: int, count: int) -> None:
        if kind in _SCALARS:
            self.take(count * struct.calcsize(_SCALARS[kind]))
        elif kind == _STRING:
            for _ in range(count):
                self.take(self.scalar("<Q"))
        else:
            raise self.fail(f"an array of type {kind}")


def _facts(reader: _Reader) -> GgufFacts:
    if reader.take(4) != _MAGIC:
        raise reader.fail("the file does not begin with GGUF")
    version = reader.scalar("<I")
    if version not in _VERSIONS:
        raise reader.fail(f"version {version}, readable are 2 and 3")
    tensors, pairs = reader.scalar("<Q"), reader.scalar("<Q")
    metadata = _metadata(reader, pairs)
    parameters = sum(_elements(reader) for _ in range(tensors))
    architecture = _text(metadata, "general.architecture")
    context = metadata.get(f"{architecture}.context_length")
    file_type = metadata.get("general.file_type")
    return GgufFacts(
        architecture=architecture,
        name=_text(metadata, "general.name"),
        quantization=_FILE_TYPES.get(file_type) if isinstance(file_type, int) else None,
        size_label=_text(metadata, "general.size_label"),
        context_length=context if isinstance(context, int) and context > 0 else None,
        parameters=parameters,
    )


def _metadata(reader: _Reader, pairs: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        key = reader.text()
        if key in metadata:
            raise reader.fail(f"the key {key!r} comes twice")
        metadata[key] = reader.value(reader.scalar("<I"))
    return metadata


def _text(metadata: dict[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) and value else None


def _elements(reader: _Reader) -> int:
    """The elements of the next tensor: name, dimensions, type and offset are read past."""
    reader.text()
    dimensions = reader.scalar("<I")
    if dimensions > _MAX_DIMENSIONS:
        raise reader.fail(f"a tensor of {dimensions} dimensions")
    shape = [reader.scalar("<Q") for _ in range(dimensions)]
    reader.scalar("<I")
    reader.scalar("<Q")
    return prod(shape)
