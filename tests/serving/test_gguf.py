"""The header of a weights file, read strictly."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.serving.gguf import GgufError, GgufFacts, file_sha256, read_gguf, readable_count


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def tensor(name: str, *shape: int) -> bytes:
    return text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in shape) + bytes(12)


PAIRS = (
    pair("general.architecture", 8, text("toy")),
    pair("tokenizer.tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("bc")),
    pair("tokenizer.scores", 9, struct.pack("<IQ", 6, 3) + bytes(12)),
    pair("toy.context_length", 4, struct.pack("<I", 32_768)),
    pair("general.file_type", 4, struct.pack("<I", 15)),
    pair("general.size_label", 8, text("0.5B")),
    pair("general.name", 8, text("Toy")),
    pair("toy.flag", 7, b"\x01"),
)


def header(pairs: tuple[bytes, ...] = PAIRS, tensors: tuple[bytes, ...] = (), version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs)) + b"".join(pairs) + b"".join(tensors)


def write(folder: Path, data: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return path


def test_the_header_says_what_the_model_is(tmp_path: Path) -> None:
    path = write(tmp_path, header(tensors=(tensor("w", 10, 20), tensor("b", 20))) + bytes(64))
    assert read_gguf(path) == GgufFacts(
        architecture="toy",
        name="Toy",
        quantization="Q4_K_M",
        size_label="0.5B",
        context_length=32_768,
        parameters=220,
    )


def test_what_the_header_does_not_say_is_not_known(tmp_path: Path) -> None:
    facts = read_gguf(write(tmp_path, header(())))
    assert (facts.architecture, facts.quantization, facts.context_length, facts.size_label) == (None, None, None, None)


@given(st.integers(0, len(header()) - 1))
def test_a_header_cut_anywhere_is_refused(tmp_path_factory: pytest.TempPathFactory, size: int) -> None:
    path = write(tmp_path_factory.mktemp("cut"), header()[:size])
    with pytest.raises(GgufError, match=r"model\.gguf"):
        read_gguf(path)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GGML" + bytes(40), "does not begin with GGUF"),
        (header(version=7), "version 7"),
        (header((pair("a", 99, b""),)), "unknown value type 99"),
        (header((pair("a", 9, struct.pack("<IQ", 9, 1)),)), "an array of type 9"),
        (header((pair("a", 7, b"\x01"), pair("a", 7, b"\x01"))), "comes twice"),
        (header((pair("a", 8, struct.pack("<Q", 2**63)),)), "ends here"),
        (header(tensors=(text("w") + struct.pack("<I", 4_000_000),)), "4000000 dimensions"),
    ],
)
def test_a_damaged_header_is_refused_with_its_place(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(GgufError, match=rf"at byte \d+.*{reason}"):
        read_gguf(write(tmp_path, data))


def test_a_file_that_is_not_there_is_an_error_with_its_name(tmp_path: Path) -> None:
    for read in (read_gguf, file_sha256):
        with pytest.raises(GgufError, match=r"none\.gguf: cannot be read"):
            read(tmp_path / "none.gguf")


def test_parameters_are_counted_as_model_cards_do() -> None:
    assert [readable_count(n) for n in (494_032_768, 7_615_616_512)] == ["494M", "7.6B"]
