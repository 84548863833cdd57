"""The serving passport from real HTTP servers that know all, little or nothing."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from recorder.catalog import Facts
from recorder.scripted import ModelCard, Reply, ScriptedServer
from recorder.serving import LocalFacts, probe, provider_facts
from recorder.transport import ModelClient, RequestLedger
from recorder.transport.endpoint import Endpoint, make_endpoint
from recorder.transport.secret import Secret
from schemas.provenance import Engine
from tests.serving.test_gguf import header

CARD = ModelCard(name="qwen3:8b", context_length=40_960, runtime_context=4_096)
OLLAMA_PAGES = ("/api/version", "/api/show", "/api/tags", "/api/ps", "/api/generate")


def ollama(server: ScriptedServer, path: str = "", model: str = "qwen3:8b") -> Endpoint:
    return make_endpoint(f"ollama/{model}", server.url + path)


def props(**more: Any) -> dict[str, Any]:
    return {
        "default_generation_settings": {"n_ctx": 16_384, "params": {}},
        "build_info": "b6000-abc",
        "model_ftype": "Q4_K - Medium",
        "chat_template_caps": {"supports_tool_calls": True, "supports_parallel_tool_calls": False},
        **more,
    }


def models(name: str = "toy") -> dict[str, Any]:
    meta = {"n_params": 494_032_768, "n_ctx_train": 32_768}
    return {"object": "list", "data": [{"id": name, "aliases": [name], "meta": meta}]}


@pytest.mark.parametrize("path", ["", "/v1"])
def test_an_ollama_server_is_known_by_its_native_endpoints_at_either_url(path: str) -> None:
    with ScriptedServer(card=CARD) as server:
        passport = probe(ollama(server, path), warm=True)
    assert passport.engine == Engine(name="ollama", version=CARD.version)
    assert passport.model == "qwen3:8b"
    assert (passport.digest, passport.quantization, passport.parameter_size) == ("5c" * 32, "Q4_K_M", "1.0B")
    assert (passport.context_length, passport.max_context_length) == (4_096, 40_960)
    assert (passport.warmup, passport.unavailable, passport.error) == (True, (), None)
    assert passport.sources["context_length"] == "ollama /api/ps"


def test_an_ollama_server_under_another_providers_name_is_recognised() -> None:
    with ScriptedServer(card=CARD) as server:
        passport = probe(make_endpoint("openai/qwen3:8b", server.url + "/v1"))
    assert passport.engine == Engine(name="ollama", version=CARD.version)
    assert passport.warmup is None


def test_what_is_loaded_is_asked_last_and_after_the_warm_up() -> None:
    with ScriptedServer(card=CARD) as server:
        probe(ollama(server), warm=True)
        asked = [request.path for request in server.requests]
    assert asked == ["/api/version", "/api/show", "/api/tags", "/api/generate", "/api/ps"]


@pytest.mark.parametrize(
    ("path", "missing", "named"),
    [
        ("/api/version", ("engine",), "GET /api/version: HTTP 404"),
        ("/api/show", ("quantization",), "POST /api/show: HTTP 404"),
        ("/api/tags", ("digest",), "GET /api/tags: HTTP 404"),
        ("/api/ps", ("context_length",), "GET /api/ps: HTTP 404"),
        ("/api/generate", (), "POST /api/generate: HTTP 404"),
    ],
)
def test_each_call_is_tolerated_alone(path: str, missing: tuple[str, ...], named: str) -> None:
    with ScriptedServer(card=CARD, disabled=[path]) as server:
        passport = probe(ollama(server), warm=True)
    assert passport.unavailable == missing
    assert passport.error == named
    assert passport.warmup is (path != "/api/generate")


@pytest.mark.parametrize("left", ["/api/show", "/api/tags", "/api/ps"])
def test_under_v1_one_native_endpoint_is_enough_to_know_an_ollama_server(left: str) -> None:
    with ScriptedServer(card=CARD, disabled=[page for page in OLLAMA_PAGES if page != left]) as server:
        native, passport = probe(ollama(server)), probe(ollama(server, "/v1"))
    assert passport == native
    assert len(passport.unavailable) == 3


def test_a_llama_cpp_server_with_ollamas_lists_is_not_taken_for_one() -> None:
    empty = {"details": {"quantization_level": "", "parameter_size": ""}, "capabilities": ["completion"]}
    pages = {"/props": props(), "/api/tags": {"models": [], "object": "list", "data": []}, "/api/show": empty}
    with ScriptedServer(card=CARD, pages=pages, disabled=("/api/version", "/api/ps")) as server:
        passport = probe(make_endpoint("openai/qwen3:8b", server.url + "/v1"))
    assert passport.engine == Engine(name="llama.cpp", version="b6000-abc")


def test_the_failures_of_all_calls_are_joined_in_order() -> None:
    with ScriptedServer(card=CARD, disabled=OLLAMA_PAGES) as server:
        passport = probe(ollama(server))
    assert passport.unavailable == ("engine", "digest", "quantization", "context_length")
    assert passport.error == (
        "GET /api/version: HTTP 404; POST /api/show: HTTP 404; GET /api/tags: HTTP 404; GET /api/ps: HTTP 404"
    )


def test_a_tag_that_only_looks_alike_pins_nothing() -> None:
    with ScriptedServer(card=CARD, pages={"/api/show": {}}) as server:
        passport = probe(ollama(server, model="qwen3"))
    assert passport.digest is None
    assert passport.context_length is None
    assert "no model is named qwen3" in str(passport.error)


@pytest.mark.parametrize("context", [0, -1, True, "4096", None, 4096.0])
def test_a_context_that_is_no_positive_whole_number_is_not_known(context: object) -> None:
    page = {"models": [{"name": "qwen3:8b", "context_length": context}]}
    with ScriptedServer(card=CARD, pages={"/api/ps": page}) as server:
        assert probe(ollama(server)).context_length is None


def test_the_maximum_context_is_found_under_any_architecture() -> None:
    with ScriptedServer(card=CARD, pages={"/api/show": {"model_info": {"odd.context_length": 512}}}) as server:
        assert probe(ollama(server)).max_context_length == 512


def test_a_llama_cpp_server_is_known_by_its_properties_and_its_weights_file(tmp_path: Path) -> None:
    weights = tmp_path / "model.gguf"
    weights.write_bytes(header())
    pages = {"/props": props(model_path=str(weights)), "/v1/models": models()}
    with ScriptedServer(disabled=OLLAMA_PAGES, pages=pages) as server:
        passport = probe(make_endpoint("openai/toy", server.url + "/v1"))
    assert passport.engine == Engine(name="llama.cpp", version="b6000-abc")
    assert passport.digest == hashlib.sha256(header()).hexdigest()
    assert (passport.quantization, passport.parameter_size) == ("Q4_K_M", "0.5B")
    assert (passport.context_length, passport.max_context_length) == (16_384, 32_768)
    assert (passport.unavailable, passport.error) == ((), None)
    assert str(tmp_path) not in repr(passport)


def test_without_its_weights_file_a_llama_cpp_server_has_no_digest() -> None:
    pages = {"/props": props(model_path="/nowhere/model.gguf"), "/v1/models": models()}
    with ScriptedServer(disabled=OLLAMA_PAGES, pages=pages) as server:
        passport = probe(make_endpoint("openai/toy", server.url + "/v1"))
    assert passport.unavailable == ("digest",)
    assert (passport.quantization, passport.parameter_size) == ("Q4_K_M", "494M")
    assert passport.sources["quantization"] == "llama.cpp /props"


def test_a_damaged_weights_file_is_a_failure_without_its_path(tmp_path: Path) -> None:
    weights = tmp_path / "model.gguf"
    weights.write_bytes(b"GGUF")
    pages = {"/props": props(model_path=str(weights)), "/v1/models": models()}
    with ScriptedServer(disabled=OLLAMA_PAGES, pages=pages) as server:
        passport = probe(make_endpoint("openai/toy", server.url + "/v1"))
    assert passport.error == "weights file: GgufError"


def test_what_we_know_of_our_own_server_comes_first(tmp_path: Path) -> None:
    weights = tmp_path / "model.gguf"
    weights.write_bytes(header())
    local = LocalFacts(engine_name="llama.cpp (ours)", engine_version="1.2", weights=str(weights), digest="d" * 64)
    with ScriptedServer(disabled=OLLAMA_PAGES, pages={"/props": props(), "/v1/models": models("other")}) as server:
        passport = probe(make_endpoint("openai/toy", server.url + "/v1"), local=local)
    assert passport.engine == Engine(name="llama.cpp (ours)", version="1.2")
    assert passport.digest == "d" * 64
    assert passport.error == "GET /v1/models: the server does not list toy"


def test_an_unknown_server_is_honestly_unavailable_and_still_warmed_up() -> None:
    with ScriptedServer([Reply(text="ok")], disabled=OLLAMA_PAGES) as server:
        passport = probe(make_endpoint("openai/toy", server.url + "/v1"), warm=True)
    assert passport.warmup is True
    assert passport.unavailable == ("engine", "digest", "quantization", "context_length")
    assert passport.error == "GET /api/version: HTTP 404; GET /props: HTTP 404"


def test_a_server_that_is_not_there_fails_no_probe() -> None:
    with ScriptedServer() as server:
        gone = ollama(server)
    passport = probe(gone, warm=True)
    assert passport.warmup is False
    assert passport.unavailable == ("engine", "digest", "quantization", "context_length")
    assert "GET /api/version: ConnectError" in str(passport.error)


@pytest.mark.parametrize("page", [[], "text", 7])
def test_an_answer_that_is_no_object_is_a_failure_of_that_call(page: Any) -> None:
    with ScriptedServer(card=CARD, pages={"/api/version": page}) as server:
        passport = probe(ollama(server))
    assert passport.unavailable == ("engine",)
    assert "the answer is not a JSON object" in str(passport.error)


def test_the_key_goes_into_the_header_and_nowhere_else() -> None:
    with ScriptedServer(card=CARD, disabled=["/api/tags"]) as server:
        endpoint = make_endpoint("ollama/qwen3:8b", server.url, api_key=Secret("s3cret-key"))
        passport = probe(endpoint)
        sent = {request.headers.get("authorization") for request in server.requests}
    assert sent == {"Bearer s3cret-key"}
    assert "s3cret" not in repr(passport)


def test_the_server_says_what_its_model_can_do() -> None:
    shown = {"capabilities": ["completion", "thinking"], "model_info": {"a.context_length": 8_192}}
    with ScriptedServer(card=CARD, pages={"/api/show": shown}) as server:
        assert provider_facts(ollama(server)) == Facts(
            context_window_tokens=8_192, supports_tools=False, supports_reasoning=True
        )
    with ScriptedServer(disabled=OLLAMA_PAGES, pages={"/props": props()}) as server:
        assert provider_facts(make_endpoint("openai/toy", server.url + "/v1")) == Facts(
            supports_tools=True, supports_parallel_tools=False
        )
    with ScriptedServer(disabled=OLLAMA_PAGES) as server:
        assert provider_facts(make_endpoint("openai/toy", server.url + "/v1")) == Facts()


async def test_neither_a_probe_nor_a_request_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ScriptedServer([Reply(text="fine")], card=CARD) as server:
        # An address that is not loopback by its spelling and still reaches this machine.
        served = make_endpoint("ollama/qwen3:8b", server.url.replace("127.0.0.1", "0.0.0.0"))
        passport = probe(served)
        async with ModelClient(served) as client:
            ledger = RequestLedger(lambda event: None)
            answer = await client.complete(
                [{"role": "user", "content": "Why?"}], None, ledger=ledger, turn=1, iteration=1
            )
    assert passport.error is None
    assert passport.engine == Engine(name="ollama", version=CARD.version)
    assert answer.content == "fine"
