from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.tools.redact import MASK, normalise, redact_data, redact_text
from tests.tools.fixtures import meta, pod

SECRET = "hunter2Horse"


@pytest.mark.parametrize(
    "text",
    [
        'secret "smtp-credentials" not found',
        'Error: secret "api-token" not found',
        'secret "db-password": not found',
        "unexpected status: 401 Unauthorized",
        "failed to fetch oauth token: unexpected status from POST request: 401 Unauthorized",
        "failed to fetch anonymous token: Get https://auth.example.com/token?service=x: dial tcp: i/o timeout",
        "token expired",
        "token: expired",
        "invalid token: signature is invalid",
        "authorization failed: no basic auth credentials",
        "no basic auth credentials",
        'password authentication failed for user "app"',
        "couldn't find key password in Secret shop/db",
        "credentials: open /var/run/creds: no such file or directory",
        "missing required environment variable DATABASE_PASSWORD",
        "token: x509: certificate signed by unknown authority",
        'www-authenticate: Bearer realm="https://auth.example.com/token"',
        "password=$(DB_PASSWORD)",
        "--token-ttl=5m --max-tokens=100",
        "password=",
        "token=<nil>",
        "dial tcp 10.96.14.3:5432: connect: connection refused",
        "image registry.example.com/token-service:1.4 pulled in 3.2s",
    ],
)
def test_a_diagnosis_is_left_as_it_is(text: str) -> None:
    assert redact_text(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"password={SECRET}", "password"),
        (f"connecting with user=app password={SECRET} to db", "password"),
        (f"password: {SECRET}", "password"),
        (f'  "password": "{SECRET}",', "password"),
        (f'{{\\"password\\":\\"{SECRET}\\"}}', "password"),
        (f"DB_PASSWORD={SECRET}", "password"),
        (f"Authorization: Bearer {SECRET}", "authorization"),
        (f"authorization: Basic {SECRET}==", "authorization"),
        (f"sent header Bearer {SECRET}{SECRET}", "authorization"),
        (f"api_key={SECRET}", "api_key"),
        (f"X-Api-Key: {SECRET}", "api_key"),
        (f"client_secret={SECRET}&grant=x", "client_secret"),
        (f"accessToken: {SECRET}", "access_token"),
        (f"refresh_token='{SECRET}'", "refresh_token"),
        (f"AWS_SECRET_ACCESS_KEY={SECRET}", "secret_access_key"),
        (f"--auth-token={SECRET} --port=80", "auth_token"),
        (f"login ok, token: {SECRET}", "token"),
        (f"credentials = '{SECRET}'", "credentials"),
        (f"postgres://app:{SECRET}@db:5432/shop", "url_password"),
        (f"got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{SECRET}.abc", "token"),
        (f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----", "private_key"),
        (f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}", "private_key"),
    ],
)
def test_a_secret_in_text_is_masked_and_recorded(text: str, reason: str) -> None:
    clean, records = redact_text(text)
    assert SECRET not in clean
    assert MASK in clean
    assert [record.reason for record in records] == [reason]


def test_the_record_names_the_line() -> None:
    _, records = redact_text(f"one\ntwo\ntoken={SECRET}")
    assert records[0].path == "line 3"


def test_what_stands_beside_a_secret_survives() -> None:
    clean, _ = redact_text(f"postgres://app:{SECRET}@db:5432/shop refused, password={SECRET}, retrying")
    assert clean == f"postgres://app:{MASK}@db:5432/shop refused, password={MASK}, retrying"


def test_a_control_character_cannot_hide_a_key() -> None:
    clean, records = redact_text(f"pass\x00wo\x1b[0mrd={SECRET}")
    assert clean == f"password={MASK}"
    assert {record.reason for record in records} == {"control_characters", "password"}


def test_terminal_sequences_and_direction_marks_are_removed_and_lines_kept() -> None:
    assert normalise("\x1b[31mred\x1b[0m\r\nnext\rline\ttab\u202eevil\x07") == "red\nnext\nline\ttabevil"


@given(st.text(max_size=200))
def test_redacting_again_changes_nothing(text: str) -> None:
    once, _ = redact_text(text)
    assert redact_text(once) == (once, ())


@given(st.text(alphabet="abcdefghijkmnpqrstuvwxyz0123456789", min_size=8, max_size=40))
def test_any_assigned_value_is_masked(value: str) -> None:
    assert redact_text(f"retry=3 password=x{value} ok")[0] == f"retry=3 password={MASK} ok"


def test_a_secret_keeps_its_keys_and_loses_its_values() -> None:
    secret = {"kind": "Secret", "metadata": meta("db"), "data": {"a.pem": SECRET}, "stringData": {"pw": SECRET}}
    clean, records = redact_data(secret)
    assert clean["data"] == {"a.pem": MASK}
    assert clean["stringData"] == {"pw": MASK}
    assert [(record.path, record.reason) for record in records] == [
        ('data."a.pem"', "secret_data"),
        ("stringData.pw", "secret_data"),
    ]


def test_bookkeeping_is_removed_from_metadata() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "team": "shop"}
    clean, records = redact_data({"kind": "Pod", "metadata": meta("a", annotations=annotations, managedFields=[{}])})
    assert "managedFields" not in clean["metadata"]
    assert clean["metadata"]["annotations"] == {"team": "shop"}
    assert {record.reason for record in records} == {"managed_fields", "last_applied"}


def env_pod(*env: dict[str, Any], args: list[str] | None = None) -> dict[str, Any]:
    return pod("a", containers=[{"name": "app", "env": list(env), "args": args or []}])


def test_environment_values_of_secret_names_are_masked() -> None:
    manifest = env_pod(
        {"name": "DB_PASSWORD", "value": SECRET},
        {"name": "DB_HOST", "value": "db"},
        {"name": "API_TOKEN", "value": "$(TOKEN)"},
        {"name": "TOKEN_TTL", "value": "5m"},
        {"name": "DSN", "value": f"postgres://app:{SECRET}@db/shop"},
    )
    clean, records = redact_data(manifest)
    values = [entry["value"] for entry in clean["spec"]["containers"][0]["env"]]
    assert values == [MASK, "db", "$(TOKEN)", "5m", f"postgres://app:{MASK}@db/shop"]
    assert records[0].path == "spec.containers.0.env.0.value"


def test_arguments_after_or_within_a_secret_flag_are_masked() -> None:
    clean, _ = redact_data(env_pod(args=["--token", SECRET, f"--password={SECRET}", "--port", "80"]))
    args = clean["spec"]["containers"][0]["args"]
    assert args == ["--token", MASK, f"--password={MASK}", "--port", "80"]


def test_names_of_secrets_and_switches_are_not_secrets() -> None:
    manifest = {
        "kind": "Pod",
        "spec": {
            "automountServiceAccountToken": True,
            "imagePullSecrets": [{"name": "registry-credentials"}],
            "volumes": [{"secret": {"secretName": "db-password"}}, {"serviceAccountToken": {"path": "token"}}],
            "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db-password", "key": "password"}}}],
        },
    }
    assert redact_data(manifest) == (manifest, ())


def test_the_input_is_not_changed() -> None:
    manifest = env_pod({"name": "DB_PASSWORD", "value": SECRET})
    redact_data(manifest)
    assert manifest["spec"]["containers"][0]["env"][0]["value"] == SECRET
