"""Where a model is served, read from the environment and checked before anything is made or called.

Every refusal is a `UsageError` that names the variable or option and the way out, and never shows a credential.
Source: evaluation semantics 10.3 and 11.
"""

import json
import math
import os
import re
import ssl
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from recorder.transport.secret import MIN_SECRET_CHARS, Scrubber, Secret, is_placeholder
from schemas.errors import UsageError
from schemas.events import Dialect

BASE_URL = "KORVID_EVAL_BASE_URL"
MODEL = "KORVID_EVAL_MODEL"
API_KEY_ENV = "KORVID_EVAL_API_KEY_ENV"
OPTIONS = "KORVID_EVAL_OPTIONS_JSON"
CA_BUNDLE = "KORVID_EVAL_CA_BUNDLE"
TIMEOUT = "KORVID_EVAL_TIMEOUT_SECONDS"
LEGACY_PROVIDER = "KORVID_EVAL_PROVIDER"
LEGACY_API_KEY = "KORVID_EVAL_API_KEY"

DEFAULT_TIMEOUT_S = 60.0

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[0-9]{1,300}(\.[0-9]+)?")
_NATIVE_PATHS = ("/api/chat", "/api")
_RESERVED_OPTIONS = {
    "model": MODEL,
    "base_url": BASE_URL,
    "api_base": BASE_URL,
    "api_key": API_KEY_ENV,
    "ca_bundle": CA_BUNDLE,
    "ssl_verify": CA_BUNDLE,
    "headers": API_KEY_ENV,
    "extra_headers": API_KEY_ENV,
}
_RECORDER_OPTIONS = ("messages", "tools", "stream", "stream_options", "n", "num_retries", "max_retries", "client")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One served model. `model` is the tag the server knows, `base_url` has no trailing slash.

    `timeout_s` is the longest silence in seconds: until a connection stands, or between two pieces of a response.
    `options` are passed with every request. `notices` are sentences for the operator (deprecated variables).
    The key cannot be printed or encoded; `describe` gives what a manifest may hold.
    """

    provider: str
    model: str
    base_url: str
    dialect: Dialect
    api_key_env: str | None = None
    api_key: Secret | None = None
    options: dict[str, Any] = {}
    timeout_s: float = DEFAULT_TIMEOUT_S
    ca_bundle: str | None = None
    notices: tuple[str, ...] = ()

    @property
    def model_ref(self) -> str:
        """`provider/tag`."""
        return f"{self.provider}/{self.model}"

    @property
    def scrubber(self) -> Scrubber:
        """What takes the key out of anything that is recorded or shown."""
        return Scrubber(self.api_key)


def describe(endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint as plain data without its key: for manifests and `--json`."""
    return {
        "provider": endpoint.provider,
        "model": endpoint.model,
        "base_url": endpoint.base_url,
        "dialect": endpoint.dialect,
        "api_key_env": endpoint.api_key_env,
        "options": endpoint.options,
        "timeout_s": endpoint.timeout_s,
        "ca_bundle": endpoint.ca_bundle,
    }


def split_model_ref(ref: str) -> tuple[str, str]:
    """`provider/tag` at the first slash. Raises `UsageError` if a half is missing."""
    provider, slash, tag = ref.strip().partition("/")
    if not slash or not provider or not tag:
        raise UsageError(f"{MODEL}: {ref!r} is not PROVIDER/TAG; write for example ollama/qwen3:8b")
    return provider, tag


def make_endpoint(
    ref: str,
    base_url: str,
    *,
    api_key_env: str | None = None,
    api_key: Secret | None = None,
    options: dict[str, Any] | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    ca_bundle: str | None = None,
    notices: tuple[str, ...] = (),
) -> Endpoint:
    """An endpoint from checked values. Raises `UsageError` if the reference or the URL is wrong.

    A URL of provider `ollama` that ends in `/v1` means the OpenAI dialect there, any other the native one.
    Every other provider speaks the OpenAI dialect at its base URL.
    """
    provider, tag = split_model_ref(ref)
    url = _checked_url(base_url)
    dialect: Dialect = "ollama" if provider == "ollama" and not url.endswith("/v1") else "openai"
    if dialect == "ollama":
        for path in _NATIVE_PATHS:
            url = url.removesuffix(path)
    return Endpoint(
        provider=provider,
        model=tag,
        base_url=url,
        dialect=dialect,
        api_key_env=api_key_env,
        api_key=api_key,
        options=options or {},
        timeout_s=timeout_s,
        ca_bundle=ca_bundle,
        notices=notices,
    )


def endpoint_from_env(
    env: Mapping[str, str],
    *,
    model: str | None = None,
    base_url: str | None = None,
    default_timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Endpoint:
    """The endpoint that the environment describes; `model` and `base_url` (flags) win over their variables.

    Raises `UsageError` for the first bad value.
    """
    notices: list[str] = []
    ref = model or _model_ref(env, notices)
    url = base_url or env.get(BASE_URL, "")
    if not url:
        raise UsageError(
            f"{BASE_URL} or --base-url is not set; give the server's URL, for example http://127.0.0.1:11434"
        )
    options = _options(env.get(OPTIONS))
    timeout_s = _timeout(env.get(TIMEOUT), options, default_timeout_s)
    name, key = _api_key(env, notices)
    return make_endpoint(
        ref,
        url,
        api_key_env=name,
        api_key=key,
        options={name: value for name, value in options.items() if name != "timeout"},
        timeout_s=timeout_s,
        ca_bundle=_ca_bundle(env.get(CA_BUNDLE)),
        notices=tuple(notices),
    )


def _model_ref(env: Mapping[str, str], notices: list[str]) -> str:
    ref = env.get(MODEL, "").strip()
    if not ref:
        raise UsageError(f"{MODEL} or --model is not set; give PROVIDER/TAG, for example ollama/qwen3:8b")
    provider = env.get(LEGACY_PROVIDER, "").strip()
    if not provider:
        return ref
    whole = ref if ref.startswith(f"{provider}/") else f"{provider}/{ref}"
    notices.append(f"{LEGACY_PROVIDER} is deprecated; set {MODEL}={whole} and drop it")
    return whole


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        bad_port = parts.port == 0
    except ValueError:
        raise UsageError(f"{BASE_URL}: not a URL with a valid host and port; write http://HOST:PORT") from None
    _refuse_url(parts, bad_port)
    return url.strip().rstrip("/")


def _refuse_url(parts: SplitResult, bad_port: bool) -> None:
    # Credentials first, so that no later message can show them.
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{BASE_URL} carries credentials; name a variable that holds the key in {API_KEY_ENV} instead")
    if parts.query or parts.fragment:
        raise UsageError(f"{BASE_URL} carries a query or a fragment; give only scheme, host, port and path")
    if parts.scheme not in ("http", "https") or not parts.hostname or bad_port:
        raise UsageError(f"{BASE_URL}: {parts.geturl()!r} is not an http or https URL; write http://HOST:PORT")


def _options(text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        options = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as error:
        raise UsageError(f'{OPTIONS} is not JSON ({error}); write an object such as {{"temperature": 0}}') from None
    if not isinstance(options, dict):
        raise UsageError(f'{OPTIONS} must be a JSON object such as {{"temperature": 0}}')
    for key in options:
        if key in _RESERVED_OPTIONS:
            raise UsageError(f"{OPTIONS}: {key!r} is not an option; set {_RESERVED_OPTIONS[key]} instead")
        if key in _RECORDER_OPTIONS:
            raise UsageError(f"{OPTIONS}: {key!r} is set by the recorder itself; remove it")
    return options


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large for a number")
    return number


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, count in Counter(key for key, _ in pairs).items():
        if count > 1:
            raise ValueError(f"{key!r} stands there {count} times")
    return dict(pairs)


def _timeout(text: str | None, options: dict[str, Any], default: float) -> float:
    inside = options.get("timeout", default)
    if isinstance(inside, bool) or not isinstance(inside, (int, float)) or not _positive(inside):
        raise UsageError(f"{OPTIONS}: timeout must be a positive finite number of seconds, not {inside!r}")
    if text is None or not text.strip():
        return float(inside)
    # `float` would take 1_0, 1e1, digits of other scripts and `inf` as well.
    seconds = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    if not _positive(seconds):
        raise UsageError(f"{TIMEOUT} must be a positive number of seconds such as 90 or 0.5, not {text!r}")
    return seconds


def _positive(seconds: float) -> bool:
    try:
        return math.isfinite(float(seconds)) and seconds > 0
    except OverflowError:
        return False


def _api_key(env: Mapping[str, str], notices: list[str]) -> tuple[str | None, Secret | None]:
    name = env.get(API_KEY_ENV, "").strip()
    inline = env.get(LEGACY_API_KEY, "").strip()
    if inline:
        notices.append(f"{LEGACY_API_KEY} is deprecated; set {API_KEY_ENV} to the name of the variable with the key")
    if not name:
        return (LEGACY_API_KEY, _checked_key(inline, LEGACY_API_KEY)) if inline else (None, None)
    if not _VARIABLE.fullmatch(name):
        # Most likely the key itself: not repeated.
        raise UsageError(f"{API_KEY_ENV} must be the name of a variable, not the key; export the key under a name")
    value = env.get(name, "").strip()
    if not value:
        raise UsageError(f"{API_KEY_ENV} names {name}, which is not set; export {name} or unset {API_KEY_ENV}")
    return name, _checked_key(value, name)


def _checked_key(value: str, name: str) -> Secret:
    if len(value) < MIN_SECRET_CHARS and not is_placeholder(value):
        raise UsageError(
            f"{name} has fewer than {MIN_SECRET_CHARS} characters: it could not be kept out of a log without changing "
            "what else is in it; for a server without keys use 'none', else give the server a longer key"
        )
    if not value.isascii() or not value.isprintable() or " " in value:
        raise UsageError(f"{name} holds characters that an HTTP header cannot carry; export the bare key")
    return Secret(value)


def _ca_bundle(path: str | None) -> str | None:
    if path is None or not path.strip():
        return None
    whole = os.path.expanduser(path.strip())
    try:
        ssl.create_default_context(cafile=whole)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or "no certificate in it"
        raise UsageError(f"{CA_BUNDLE}: cannot read {path} ({reason}); give a PEM file of CA certificates") from None
    return whole
