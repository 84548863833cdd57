import json
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import certifi
import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from recorder.log import RunLog
from recorder.transport import Scrubber, Secret, describe, endpoint_from_env, make_endpoint, split_model_ref
from recorder.transport.secret import is_secret
from schemas.errors import UsageError
from schemas.events import HistoryTrimmed

GOOD = {"KORVID_EVAL_MODEL": "ollama/qwen3:8b", "KORVID_EVAL_BASE_URL": "http://127.0.0.1:11434"}


def test_a_reference_is_split_at_its_first_slash_only():
    assert split_model_ref("ollama/hf.co/org/model:Q4") == ("ollama", "hf.co/org/model:Q4")


@pytest.mark.parametrize("ref", ["qwen3:8b", "/qwen3:8b", "ollama/", ""])
def test_a_reference_without_both_halves_is_refused(ref):
    with pytest.raises(UsageError, match=r"PROVIDER/TAG"):
        split_model_ref(ref)


@pytest.mark.parametrize(
    ("ref", "url", "dialect", "base"),
    [
        ("ollama/q", "http://h:11434/", "ollama", "http://h:11434"),
        ("ollama/q", "http://h:11434/api", "ollama", "http://h:11434"),
        ("ollama/q", "http://h:11434/api/chat", "ollama", "http://h:11434"),
        ("ollama/q", "http://h:11434/v1", "openai", "http://h:11434/v1"),
        ("ollama/q", "http://h:11434/v1/", "openai", "http://h:11434/v1"),
        ("openai/q", "https://h/v1", "openai", "https://h/v1"),
        ("llamacpp/q", "http://[::1]:8080", "openai", "http://[::1]:8080"),
    ],
)
def test_provider_and_url_say_which_dialect_is_spoken(ref, url, dialect, base):
    endpoint = make_endpoint(ref, url)
    assert (endpoint.dialect, endpoint.base_url) == (dialect, base)


def test_flags_win_over_the_environment():
    endpoint = endpoint_from_env(GOOD, model="openai/other", base_url="http://other/v1")
    assert (endpoint.model_ref, endpoint.base_url) == ("openai/other", "http://other/v1")


@pytest.mark.parametrize(
    ("env", "seconds"),
    [
        ({}, 60.0),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"timeout": 7}'}, 7.0),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"timeout": 7}', "KORVID_EVAL_TIMEOUT_SECONDS": "2.5"}, 2.5),
    ],
)
def test_the_timeout_comes_from_the_variable_then_the_options_then_the_default(env, seconds):
    endpoint = endpoint_from_env({**GOOD, **env})
    assert endpoint.timeout_s == seconds
    assert "timeout" not in endpoint.options


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"KORVID_EVAL_BASE_URL": ""}, "KORVID_EVAL_BASE_URL or --base-url"),
        ({"KORVID_EVAL_BASE_URL": "127.0.0.1:11434"}, "KORVID_EVAL_BASE_URL"),
        ({"KORVID_EVAL_BASE_URL": "ftp://h"}, "KORVID_EVAL_BASE_URL"),
        ({"KORVID_EVAL_BASE_URL": "http://"}, "KORVID_EVAL_BASE_URL"),
        ({"KORVID_EVAL_BASE_URL": "http://h:99999"}, "KORVID_EVAL_BASE_URL"),
        ({"KORVID_EVAL_BASE_URL": "http://h?token=sesame"}, "KORVID_EVAL_BASE_URL"),
        ({"KORVID_EVAL_BASE_URL": "http://me:sesame@h"}, "KORVID_EVAL_API_KEY_ENV"),
        ({"KORVID_EVAL_BASE_URL": "ftp://me:sesame@h"}, "KORVID_EVAL_API_KEY_ENV"),
        ({"KORVID_EVAL_MODEL": ""}, "KORVID_EVAL_MODEL or --model"),
        ({"KORVID_EVAL_MODEL": "qwen3"}, "KORVID_EVAL_MODEL"),
        ({"KORVID_EVAL_TIMEOUT_SECONDS": "0"}, "KORVID_EVAL_TIMEOUT_SECONDS"),
        ({"KORVID_EVAL_TIMEOUT_SECONDS": "-3"}, "KORVID_EVAL_TIMEOUT_SECONDS"),
        ({"KORVID_EVAL_TIMEOUT_SECONDS": "nan"}, "KORVID_EVAL_TIMEOUT_SECONDS"),
        ({"KORVID_EVAL_TIMEOUT_SECONDS": "inf"}, "KORVID_EVAL_TIMEOUT_SECONDS"),
        ({"KORVID_EVAL_TIMEOUT_SECONDS": "a minute"}, "KORVID_EVAL_TIMEOUT_SECONDS"),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"timeout": true}'}, "timeout"),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"timeout": "60"}'}, "timeout"),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"timeout": 0}'}, "timeout"),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"timeout": 1e999}'}, "KORVID_EVAL_OPTIONS_JSON"),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"timeout": 1' + "0" * 400 + "}"}, "timeout"),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"temperature": NaN}'}, "KORVID_EVAL_OPTIONS_JSON"),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"temperature": 1e999}'}, "KORVID_EVAL_OPTIONS_JSON"),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"top_p": 1, "top_p": 0}'}, "top_p"),
        ({"KORVID_EVAL_OPTIONS_JSON": "[1]"}, "KORVID_EVAL_OPTIONS_JSON"),
        ({"KORVID_EVAL_OPTIONS_JSON": "{"}, "KORVID_EVAL_OPTIONS_JSON"),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"api_key": "sesame"}'}, "KORVID_EVAL_API_KEY_ENV"),
        ({"KORVID_EVAL_OPTIONS_JSON": '{"messages": []}'}, "messages"),
        ({"KORVID_EVAL_API_KEY_ENV": "sk-sesame"}, "KORVID_EVAL_API_KEY_ENV"),
        ({"KORVID_EVAL_API_KEY_ENV": "MY_KEY"}, "MY_KEY"),
        ({"KORVID_EVAL_API_KEY_ENV": "MY_KEY", "MY_KEY": "abc"}, "MY_KEY"),
        ({"KORVID_EVAL_API_KEY_ENV": "MY_KEY", "MY_KEY": "sesame\nsesame"}, "MY_KEY"),
        ({"KORVID_EVAL_CA_BUNDLE": "/nowhere/ca.pem"}, "KORVID_EVAL_CA_BUNDLE"),
        ({"KORVID_EVAL_CA_BUNDLE": __file__}, "KORVID_EVAL_CA_BUNDLE"),
    ],
)
def test_a_bad_value_is_refused_by_name_without_showing_a_credential(env, named):
    with pytest.raises(UsageError, match=named) as refused:
        endpoint_from_env({**GOOD, **env})
    assert "sesame" not in str(refused.value)


def test_a_good_ca_bundle_is_taken():
    assert endpoint_from_env({**GOOD, "KORVID_EVAL_CA_BUNDLE": certifi.where()}).ca_bundle == certifi.where()


def test_the_legacy_variables_still_work_and_say_what_to_set_instead():
    endpoint = endpoint_from_env(
        {**GOOD, "KORVID_EVAL_MODEL": "qwen3:8b", "KORVID_EVAL_PROVIDER": "ollama", "KORVID_EVAL_API_KEY": "sk-sesame"}
    )
    assert endpoint.model_ref == "ollama/qwen3:8b"
    assert endpoint.api_key == Secret("sk-sesame")
    assert "KORVID_EVAL_MODEL=ollama/qwen3:8b" in endpoint.notices[0]
    assert "KORVID_EVAL_API_KEY_ENV" in endpoint.notices[1]
    assert "sesame" not in " ".join(endpoint.notices)
    assert endpoint_from_env({**GOOD, "KORVID_EVAL_PROVIDER": "ollama"}).model_ref == "ollama/qwen3:8b"


def test_the_named_key_wins_over_the_inline_one():
    env = {"KORVID_EVAL_API_KEY_ENV": "MY_KEY", "MY_KEY": "sk-named", "KORVID_EVAL_API_KEY": "sk-inline"}
    assert endpoint_from_env({**GOOD, **env}).api_key == Secret("sk-named")


def test_a_key_is_neither_printed_nor_encoded():
    endpoint = endpoint_from_env({**GOOD, "KORVID_EVAL_API_KEY_ENV": "MY_KEY", "MY_KEY": "sk-sesame"})
    assert "sesame" not in repr(endpoint)
    assert "sesame" not in f"{endpoint.api_key}"
    assert "sesame" not in json.dumps(describe(endpoint))
    assert describe(endpoint)["api_key_env"] == "MY_KEY"
    with pytest.raises(TypeError):
        msgspec.json.encode(endpoint)
    with pytest.raises(TypeError):
        pickle.dumps(endpoint)


def test_a_placeholder_key_does_not_blank_out_model_names():
    scrubber = make_endpoint("ollama/q", "http://h", api_key=Secret("ollama")).scrubber
    assert scrubber.text("ollama/qwen3:8b") == "ollama/qwen3:8b"


@pytest.mark.parametrize("key", ["ollama", "none", "not-needed", "Not-Needed", "lm-studio"])
def test_a_placeholder_key_is_taken_and_is_no_secret_to_anything_that_records(key: str, tmp_path: Path) -> None:
    endpoint = endpoint_from_env({**GOOD, "KORVID_EVAL_API_KEY_ENV": "MY_KEY", "MY_KEY": key})
    assert endpoint.scrubber.data(f"key {key}".encode()) == f"key {key}".encode()
    assert key.encode() in logged(tmp_path / "a.jsonl.zst", key)


@pytest.mark.parametrize("key", ["test", "abc123", "sk-1234"])
def test_a_key_too_short_to_be_kept_out_of_a_log_is_refused_with_the_way_out(key: str) -> None:
    with pytest.raises(UsageError, match=r"fewer than 8 characters.*'none'") as refused:
        endpoint_from_env({**GOOD, "KORVID_EVAL_API_KEY_ENV": "MY_KEY", "MY_KEY": key})
    assert key not in str(refused.value)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12))
def test_log_and_transport_agree_on_what_a_secret_is(key: str) -> None:
    with TemporaryDirectory() as directory:
        written = logged(Path(directory) / "a.jsonl.zst", key)
    kept = msgspec.json.encode(key)[1:-1] in written.split(b'"reason":')[1]
    scrubbed = Scrubber(Secret(key)).text(key) != key
    assert scrubbed is is_secret(key)
    assert kept is not scrubbed


@pytest.mark.parametrize("text", ["1_0", "1e1", "٣", "inf", "nan", "+5", ".5", "5.", "0x10", "0", "0.0", "-1"])
def test_a_number_of_seconds_is_plain_digits(text: str) -> None:
    with pytest.raises(UsageError, match="KORVID_EVAL_TIMEOUT_SECONDS must be a positive number") as refused:
        endpoint_from_env({**GOOD, "KORVID_EVAL_TIMEOUT_SECONDS": text})
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90.0), (" 0.5 ", 0.5), ("007", 7.0)])
def test_seconds_may_have_a_fraction(text: str, seconds: float) -> None:
    assert endpoint_from_env({**GOOD, "KORVID_EVAL_TIMEOUT_SECONDS": text}).timeout_s == seconds


def logged(path: Path, key: str) -> bytes:
    """The raw bytes of a log that knows `key` as its key and is given it to write."""
    log = RunLog(path, durability="run", secrets=(key,), clock=lambda: 0.0)
    log.append(HistoryTrimmed(turn=1, dropped_turns=1, chars_before=2, chars_after=1, reason=key))
    log.close()
    return zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
