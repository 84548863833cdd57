"""The passport of a llama.cpp server: `/props`, `/v1/models`, and its weights file where that is on this machine."""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx

from recorder.catalog import Facts
from recorder.embedded.facts import LocalFacts
from recorder.serving.findings import Findings
from recorder.serving.gguf import GgufError, file_sha256, read_gguf, readable_count
from recorder.serving.target import Trouble, ask, at, count_of, rows_of, template_digest, text_of
from schemas.provenance import Engine

_PROPS, _MODELS, _FILE = "llama.cpp /props", "llama.cpp /v1/models", "weights file"
_LONG_FORM = re.compile(r"^(\S+) - (Small|Medium|Large)$")
_CLIP = {"Small": "S", "Medium": "M", "Large": "L"}


def properties(client: httpx.Client, root: str) -> dict[str, Any]:
    """The server's `/props`. Raises `Trouble` if it is no llama.cpp."""
    answer = ask(client, "GET", root, "/props")
    if not isinstance(answer.get("default_generation_settings"), dict):
        raise Trouble("GET /props: not the answer of a llama.cpp server")
    return answer


def examine(
    client: httpx.Client,
    root: str,
    model: str,
    props: dict[str, Any],
    findings: Findings,
    local: LocalFacts | None,
    on_this_machine: bool,
) -> None:
    """Fill in what is known: our own facts first, then the weights file, then what the server says."""
    if local is not None:
        findings.note("engine", Engine(name=local.engine_name, version=local.engine_version), "embedded package")
        findings.note("digest", local.digest, "embedded weights, verified at start")
    build = text_of(props, "build_info")
    findings.note("engine", Engine(name="llama.cpp", version=build) if build else None, _PROPS)
    findings.note("context_length", count_of(props, "default_generation_settings", "n_ctx"), _PROPS)
    findings.note("template_sha256", template_digest(text_of(props, "chat_template")), _PROPS)
    weights = local.weights if local is not None else text_of(props, "model_path")
    if weights and on_this_machine:
        with findings.tolerating():
            _note_file(Path(weights), findings)
    findings.note("quantization", _short(text_of(props, "model_ftype")), _PROPS)
    with findings.tolerating():
        _note_listed(ask(client, "GET", root, "/v1/models"), model, findings)


def facts(props: dict[str, Any], max_context: int | None) -> Facts:
    """What the server says the model can do: its chat template's abilities."""
    tools = at(props, "chat_template_caps", "supports_tool_calls")
    parallel = at(props, "chat_template_caps", "supports_parallel_tool_calls")
    return Facts(
        context_window_tokens=max_context,
        # The template of a model without tools still lets the server add a generic format: only yes is an answer.
        supports_tools=True if tools is True else None,
        supports_parallel_tools=parallel if isinstance(parallel, bool) else None,
    )


def _note_file(path: Path, findings: Findings) -> None:
    # The path itself stays here: it would publish a home directory.
    if not path.is_file():
        return
    try:
        facts = read_gguf(path)
        stat = path.stat()
        digest = _digest(path, stat.st_size, stat.st_mtime_ns, stat.st_ino) if not findings.has("digest") else None
    except (GgufError, OSError) as error:
        raise Trouble(f"weights file: {type(error).__name__}") from None
    findings.note("digest", digest, _FILE)
    findings.note("quantization", facts.quantization, _FILE)
    findings.note("parameter_size", facts.size_label or readable_count(facts.parameters), _FILE)
    findings.note("max_context_length", facts.context_length, _FILE)


@lru_cache(maxsize=8)
def _digest(path: Path, size: int, mtime_ns: int, inode: int) -> str:
    """The digest of a file, computed once while it stays the same: hashing 40 GB takes minutes."""
    return file_sha256(path)


def _note_listed(answer: dict[str, Any], model: str, findings: Findings) -> None:
    rows = rows_of(answer, "data")
    named = [row for row in rows if model == row.get("id") or model in (row.get("aliases") or ())]
    if not named:
        raise Trouble(f"GET /v1/models: the server does not list {model}")
    parameters = count_of(named[0], "meta", "n_params")
    findings.note("parameter_size", readable_count(parameters) if parameters else None, _MODELS)
    findings.note("max_context_length", count_of(named[0], "meta", "n_ctx_train"), _MODELS)
    findings.note("quantization", _short(text_of(named[0], "meta", "ftype")), _MODELS)


def _short(quantization: str | None) -> str | None:
    """`Q4_K - Medium` as everybody else writes it: `Q4_K_M`."""
    match = _LONG_FORM.match(quantization or "")
    return f"{match[1]}_{_CLIP[match[2]]}" if match else quantization
