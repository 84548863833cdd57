"""What is probed, and one HTTP question at a time.

An answer is the JSON object of a 200 response. Anything else is a `Trouble` that says which call failed and how,
without host, credentials or response text: it is published.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx
import msgspec

from recorder.transport.secret import Secret
from schemas.digest import sha256_hex
from schemas.errors import KorvidError
from schemas.events import Dialect

PROBE_TIMEOUT_S = 20.0
WARM_UP_TIMEOUT_S = 900.0


class Served(Protocol):
    """What a probe needs to know of an endpoint; `recorder.transport.endpoint.Endpoint` is one.

    `model` is the tag that the server knows, without the routing prefix.
    """

    @property
    def base_url(self) -> str: ...
    @property
    def dialect(self) -> Dialect: ...
    @property
    def model(self) -> str: ...
    @property
    def api_key(self) -> Secret | None: ...
    @property
    def ca_bundle(self) -> str | None: ...


class Trouble(KorvidError):
    """One call that gave nothing."""


def root_of(served: Served) -> str:
    """The server's root: its base URL without `/v1`."""
    return served.base_url.rstrip("/").removesuffix("/v1")


def is_loopback(served: Served) -> bool:
    """Whether the server is on this machine, so that its files are ours to read."""
    host = urlsplit(served.base_url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def client_for(served: Served) -> Iterator[httpx.Client]:
    """An HTTP client with the endpoint's key and certificates. As for requests to the model, no proxy is asked."""
    # llama.cpp's server drops a connection that was kept alive now and then: every call gets a new one.
    headers = {"Connection": "close"}
    if served.api_key is not None:
        headers["Authorization"] = f"Bearer {served.api_key.reveal()}"
    verify = ssl.create_default_context(cafile=served.ca_bundle) if served.ca_bundle else True
    with httpx.Client(headers=headers, verify=verify, timeout=PROBE_TIMEOUT_S, trust_env=False) as client:
        yield client


def ask(
    client: httpx.Client,
    method: str,
    root: str,
    path: str,
    body: dict[str, Any] | None = None,
    timeout_s: float = PROBE_TIMEOUT_S,
) -> dict[str, Any]:
    """The JSON object that the server answers. Raises `Trouble`."""
    call = f"{method} {path}"
    try:
        response = client.request(method, f"{root}{path}", json=body, timeout=timeout_s)
    except httpx.TimeoutException:
        raise Trouble(f"{call}: no answer in {timeout_s:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Trouble(f"{call}: {type(error).__name__}") from None
    if response.status_code != 200:
        raise Trouble(f"{call}: HTTP {response.status_code}")
    try:
        answer = msgspec.json.decode(response.content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Trouble(f"{call}: the answer is not JSON") from None
    if not isinstance(answer, dict):
        raise Trouble(f"{call}: the answer is not a JSON object")
    return answer


def text_of(answer: dict[str, Any], *path: str) -> str | None:
    """The non-empty text at a path, else None."""
    value = at(answer, *path)
    return value if isinstance(value, str) and value else None


def count_of(answer: dict[str, Any], *path: str) -> int | None:
    """The positive integer at a path, else None."""
    value = at(answer, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def at(answer: Any, *path: str) -> Any:
    """The value at a path of keys, None where there is none."""
    for key in path:
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


def template_digest(template: str | None) -> str | None:
    """The SHA-256 of a chat template, None if there is none to see."""
    return None if template is None else sha256_hex(template.encode("utf-8", "surrogatepass"))


def rows_of(answer: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in the list at `key`."""
    rows = answer.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
