"""The passport of an Ollama server, from its native endpoints. Source: evaluation semantics 10.2."""

from typing import Any

import httpx

from recorder.catalog import Facts
from recorder.serving.findings import Findings
from recorder.serving.target import WARM_UP_TIMEOUT_S, Trouble, ask, at, count_of, rows_of, template_digest, text_of
from schemas.provenance import Engine


def version(client: httpx.Client, root: str) -> str:
    """The server's version. Raises `Trouble` if it is no Ollama."""
    answer = text_of(ask(client, "GET", root, "/api/version"), "version")
    if answer is None:
        raise Trouble("GET /api/version: no version in the answer")
    return answer


def answers(client: httpx.Client, root: str, model: str) -> bool:
    """Whether a server that hides its version answers another native endpoint as only Ollama does.

    llama.cpp has `/api/tags` and `/api/show` too: there the list has more members, and the details are empty.
    """
    try:
        return "models" in ask(client, "GET", root, "/api/ps")
    except Trouble:
        pass
    try:
        if ask(client, "GET", root, "/api/tags").keys() == {"models"}:
            return True
    except Trouble:
        pass
    try:
        shown = ask(client, "POST", root, "/api/show", {"model": model})
    except Trouble:
        return False
    return text_of(shown, "details", "quantization_level") is not None


def examine(client: httpx.Client, root: str, model: str, findings: Findings, warm: bool) -> None:
    """Fill in what the endpoints say. What is loaded is asked last, after the warm-up."""
    with findings.tolerating():
        engine = Engine(name="ollama", version=version(client, root))
        findings.note("engine", engine, "ollama /api/version")
    with findings.tolerating():
        _note_shown(ask(client, "POST", root, "/api/show", {"model": model}), findings)
    with findings.tolerating():
        rows = [row for row in rows_of(ask(client, "GET", root, "/api/tags"), "models") if row.get("name") == model]
        if not rows:
            raise Trouble(f"GET /api/tags: no model is named {model}")
        findings.note("digest", text_of(rows[0], "digest"), "ollama /api/tags")
    if warm:
        findings.warmup = False
        with findings.tolerating():
            warm_up(client, root, model)
            findings.warmup = True
    with findings.tolerating():
        rows = rows_of(ask(client, "GET", root, "/api/ps"), "models")
        loaded = [row for row in rows if model in (row.get("name"), row.get("model"))]
        if not loaded:
            raise Trouble(f"GET /api/ps: {model} is not loaded")
        findings.note("context_length", count_of(loaded[0], "context_length"), "ollama /api/ps")


def warm_up(client: httpx.Client, root: str, model: str) -> None:
    """Load the model. Raises `Trouble`."""
    answer = ask(client, "POST", root, "/api/generate", {"model": model, "stream": False}, WARM_UP_TIMEOUT_S)
    if text_of(answer, "error"):
        raise Trouble("POST /api/generate: the answer is an error")


def facts(client: httpx.Client, root: str, model: str) -> Facts:
    """What the server says the model can do. Raises `Trouble`."""
    shown = ask(client, "POST", root, "/api/show", {"model": model})
    known = shown.get("capabilities")
    can = known if isinstance(known, list) else None
    return Facts(
        context_window_tokens=_max_context(shown),
        supports_tools=None if can is None else "tools" in can,
        supports_reasoning=None if can is None else "thinking" in can,
    )


def _note_shown(shown: dict[str, Any], findings: Findings) -> None:
    source = "ollama /api/show"
    findings.note("quantization", text_of(shown, "details", "quantization_level"), source)
    findings.note("parameter_size", text_of(shown, "details", "parameter_size"), source)
    findings.note("max_context_length", _max_context(shown), source)
    findings.note("template_sha256", template_digest(text_of(shown, "template")), source)


def _max_context(shown: dict[str, Any]) -> int | None:
    info = at(shown, "model_info")
    if not isinstance(info, dict):
        return None
    named = count_of(info, f"{info.get('general.architecture')}.context_length")
    others = (count_of(info, key) for key in sorted(info) if str(key).endswith(".context_length"))
    return named or next((count for count in others if count), None)
