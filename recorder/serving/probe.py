"""Ask a model server what it is. Nothing here fails: what cannot be read is named in the passport."""

from collections.abc import Callable

import httpx

from recorder.catalog import Facts
from recorder.embedded.facts import LocalFacts
from recorder.serving import llamacpp, ollama
from recorder.serving.findings import Findings
from recorder.serving.target import (
    WARM_UP_TIMEOUT_S,
    Served,
    Trouble,
    ask,
    client_for,
    is_loopback,
    root_of,
)
from schemas.provenance import ServingPassport


def probe(
    served: Served,
    *,
    warm: bool = False,
    local: LocalFacts | None = None,
    progress: Callable[[str], None] | None = None,
) -> ServingPassport:
    """The passport of the server behind `served`; `warm` loads the model first (up to 900 s).

    `local` is given for a server of our own. `progress` is told each step, as a few words.
    """
    report = progress or (lambda step: None)
    findings = Findings(served.model)
    root = root_of(served)
    with client_for(served) as client:
        report("asking the model server what it is")
        if _is_ollama(client, served, findings):
            report("warming the model up" if warm else "asking what is loaded")
            ollama.examine(client, root, served.model, findings, warm)
            return findings.passport()
        if warm:
            report("warming the model up")
            findings.warmup = False
            with findings.tolerating():
                _complete_once(client, served)
                findings.warmup = True
        with findings.tolerating():
            props = llamacpp.properties(client, root)
            findings.recognised()
            report("reading the weights file")
            llamacpp.examine(client, root, served.model, props, findings, local, is_loopback(served))
    return findings.passport()


def provider_facts(served: Served) -> Facts:
    """What the server itself says the model can do, for `recorder.catalog.route`; empty where it does not say."""
    root = root_of(served)
    with client_for(served) as client:
        findings = Findings(served.model)
        try:
            if _is_ollama(client, served, findings):
                return ollama.facts(client, root, served.model)
            return llamacpp.facts(llamacpp.properties(client, root), None)
        except Trouble:
            return Facts()


def _is_ollama(client: httpx.Client, served: Served, findings: Findings) -> bool:
    if served.dialect == "ollama":
        return True
    try:
        ollama.version(client, root_of(served))
    except Trouble as trouble:
        if ollama.answers(client, root_of(served), served.model):
            return True
        findings.guessed(str(trouble))
        return False
    return True


def _complete_once(client: httpx.Client, served: Served) -> None:
    body = {"model": served.model, "messages": [{"role": "user", "content": "Say ok."}], "max_tokens": 1}
    answer = ask(client, "POST", served.base_url.rstrip("/"), "/chat/completions", body, WARM_UP_TIMEOUT_S)
    if not answer.get("choices"):
        raise Trouble("POST /chat/completions: no choices in the answer")
