"""LiteLLM, made quiet: nothing is fetched, reported or retried behind the recorder's back.

Importing LiteLLM takes seconds, so it happens in `load` and nowhere else. What is switched off here would otherwise
fetch a price map at import, read a `.env` file of the working directory, count tokens with a tokenizer of its own, or
give up on a model that repeats itself.
"""

import logging
import os
import ssl
import warnings
from functools import cache
from typing import Any

import httpx

from recorder.transport.endpoint import Endpoint
from recorder.transport.tap import TapTransport

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
    "LITELLM_MODE": "PRODUCTION",
}
_NO_LIMIT = 1_000_000_000


@cache
def load() -> Any:
    """The `litellm` module, imported and configured once."""
    os.environ.update(_ENVIRONMENT)
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.disable_streaming_logging = True
    litellm.turn_off_message_logging = True
    litellm.disable_token_counter = True
    litellm.disable_hf_tokenizer_download = True
    litellm.disable_aiohttp_transport = True
    litellm.use_aiohttp_transport = False
    litellm.drop_params = False
    litellm.modify_params = False
    litellm.num_retries = 0
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = _NO_LIMIT
    for hooks in ("callbacks", "success_callback", "failure_callback", "input_callback", "service_callback"):
        setattr(litellm, hooks, [])
    _disconnect(litellm)
    # A call that is cancelled while LiteLLM prepares it in a thread leaves its coroutine behind: no news for a user.
    warnings.filterwarnings("ignore", r"coroutine '\w*(LLM|OpenAI)\w*\.", RuntimeWarning)
    # A server that sends arguments as an object: LiteLLM's types say text, what is recorded is what came.
    warnings.filterwarnings("ignore", r"Pydantic serializer warnings", UserWarning)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


class _Refusing(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport that sends nothing."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Refuse."""
        raise httpx.NetworkError("a request outside of a recorded call was refused", request=request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Refuse."""
        raise httpx.NetworkError("a request outside of a recorded call was refused", request=request)

    def close(self) -> None:
        """Nothing is open."""

    async def aclose(self) -> None:
        """Nothing is open."""


def _disconnect(litellm: Any) -> None:
    """Cut LiteLLM's own clients: to look prices up it asks `/api/show` of whatever listens on Ollama's usual port."""
    litellm.module_level_client.client = httpx.Client(transport=_Refusing(), trust_env=False)
    litellm.module_level_aclient.client = httpx.AsyncClient(transport=_Refusing(), trust_env=False)


@cache
def expected_errors() -> tuple[type[Exception], ...]:
    """What LiteLLM raises: subclasses of the OpenAI client's errors, httpx's, and what escapes its parsers."""
    import openai

    return (
        openai.OpenAIError,
        httpx.HTTPError,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        AssertionError,
        RuntimeError,
    )


def open_http(endpoint: Endpoint) -> httpx.AsyncClient:
    """An HTTP client whose every request goes through the tap. Proxies and `.netrc` are not consulted."""
    context = ssl.create_default_context(cafile=endpoint.ca_bundle) if endpoint.ca_bundle else True
    # llama.cpp's server drops a kept-alive connection after a stream with tools: each request gets one of its own.
    limits = httpx.Limits(max_keepalive_connections=0)
    inner = httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits)
    tap = TapTransport(inner, host=httpx.URL(endpoint.base_url).host, key=endpoint.api_key)
    timeout = httpx.Timeout(endpoint.timeout_s)
    return httpx.AsyncClient(transport=tap, timeout=timeout, trust_env=False, follow_redirects=False)


def client_over(endpoint: Endpoint, http: httpx.AsyncClient) -> Any:
    """The client object that LiteLLM takes for this dialect, over `http`."""
    if endpoint.dialect == "ollama":
        return _ollama_handler(http)
    import openai

    # The tap sets the credential; the client only insists on having one.
    return openai.AsyncOpenAI(api_key="none", base_url=endpoint.base_url, http_client=http, max_retries=0)


def _ollama_handler(http: httpx.AsyncClient) -> Any:
    load()
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    class TappedHandler(AsyncHTTPHandler):  # type: ignore[misc]
        """LiteLLM's handler, which makes itself a second client after some errors: here it gets the same one."""

        def create_client(self, *_: Any, **__: Any) -> httpx.AsyncClient:
            return http

    return TappedHandler()


def call_arguments(
    endpoint: Endpoint, client: Any, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, stream: bool
) -> dict[str, Any]:
    """The keyword arguments of `litellm.acompletion` for one request."""
    arguments: dict[str, Any] = {
        "messages": messages,
        "stream": stream,
        "api_base": endpoint.base_url,
        "api_key": "none",
        "client": client,
        "timeout": httpx.Timeout(endpoint.timeout_s),
        "max_retries": 0,
        "num_retries": 0,
        **endpoint.options,
    }
    if tools:
        arguments["tools"] = tools
    if endpoint.dialect == "ollama":
        # Without it Ollama cuts an over-long prompt in half and says nothing.
        arguments["extra_body"] = {"truncate": False, **endpoint.options.get("extra_body", {})}
        return {"model": f"ollama_chat/{endpoint.model}", **arguments}
    if stream:
        arguments["stream_options"] = {"include_usage": True}
    return {"model": f"openai/{endpoint.model}", **arguments}
