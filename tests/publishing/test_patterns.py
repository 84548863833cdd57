"""What is private is found however it is spelled; what our cases are made of is not."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import packs
from replay.publishing import patterns
from replay.publishing.patterns import Names, flat, hits, is_personal

RANDOM = "Zq81mNcV0bX72kLs93RtYw55aB6cD7eF8gH9iJ0k"

PRIVATE = [
    ("token", f"sk-{RANDOM}"),
    ("token", f"sk-proj-{RANDOM[:20]}_{RANDOM[20:]}"),
    ("token", "sk-abc123secretkey456"),
    ("email", "alice@example.com"),
    ("token", f"sk-ant-api03-{RANDOM}"),
    ("token", f"ghp_{RANDOM[:36]}"),
    ("token", f"github_pat_{RANDOM}"),
    ("token", f"glpat-{RANDOM[:20]}"),
    ("token", "AKIA" + "QWERTYUIOP123456"),
    ("token", "AIza" + RANDOM[:35]),
    ("token", f"xoxb-12345678901-12345678901-{RANDOM[:24]}"),
    ("token", f"hf_{RANDOM[:34]}"),
    ("token", f"npm_{RANDOM[:36]}"),
    ("token", f"gsk_{RANDOM}{RANDOM}"),
    ("token", f"hvs.{RANDOM}"),
    ("token", f"sk_live_{RANDOM[:24]}"),
    ("token", f"dckr_pat_{RANDOM[:27]}"),
    ("token", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{RANDOM}"),
    ("token", f"Authorization: Bearer {RANDOM}"),
    (
        "private_key",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----",
    ),
    ("password", "postgres://shop:correct-horse@db.shop.svc:5432/shop"),
    ("secret", "OPENAI_API_KEY=abcd1234efgh5678ijkl"),
    ("secret", '"client-key-data": "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVk"'),
    ("secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY3XAMPLE"),
    ("secret", "DB_PASSWORD: Tr0ub4dor&3"),
    ("secret", "password='s3cr3t-Pa55word!'"),
    ("secret", "kubeadm join --token abcdef.0123456789abcdef"),
    ("secret", "session_token: 0f8fad5b-d9cb-469f-a165-70867728950e"),
    ("email", "write to jane.doe+k8s@acme-clusters.io today"),
    ("home_path", "open /home/jane/.kube/config: no such file"),
    ("home_path", "/Users/jane/work/run.py"),
    ("home_path", r"C:\Users\jane\work"),
    ("home_path", "/root/jobs/run.py"),
    ("host_name", '{"type":"model_request","seq":5,"url":"http://gpu-box.lan:11434/v1/chat"}'),
    ("host_name", '{"type":"model_request","seq":5,"url":"http://workstation7:11434/api/chat"}'),
]

HARMLESS = [
    "create secret docker-registry your-username:your-password --docker-server=https://index.docker.io/v2",
    "--password --output=json3File9",
    "token: unexpected status: 401 Unauthorized",
    'secret "db-credentials-9x8f7" not found',
    "automountServiceAccountToken: false",
    '"prompt_tokens":12345678,"completion_tokens":87654321',
    "secretKeyRef: {name: smtp-login, key: password}",
    "password=$(DB_PASSWORD)",
    "DB_PASSWORD: <redacted>",
    "token=[redacted:secret]",
    "image: registry.example.com/shop/api@sha256:0f8fad5bd9cb469fa16570867728950e0f8fad5bd9cb469fa16570867728950e",
    "system:serviceaccount:kube-system:deployment-controller",
    "10.244.1.17 dialed 10.96.0.10:53",
    "app@db.shop.svc.cluster.local and ops@shop.svc",
    "disk-pressure-eviction-threshold and sk-some-words-with-hyphens-only",
    "getty@tty1.service claims@1-recorded-7240d73476b292dd.json",
    "git@github.com:acme/shop.git",
    "uid=c78ae0a6-7c47-469f-a04a-ad8072ebb56e",
    "the handler of /api/home/overview",
    '{"type":"model_request","seq":5,"url":"http://127.0.0.1:11434/v1"}',
    '{"type":"model_request","seq":5,"url":"http://localhost:11434/v1"}',
    '{"type":"model_request","seq":5,"url":"http://10.0.0.7:11434/v1"}',
    '{"type":"model_request","seq":5,"url":"https://api.openai.com/v1"}',
    "/rootfs/etc and /usr/home",
]


def kinds(text: str, names: Names = Names()) -> set[str]:  # noqa: B008
    return {hit.kind for hit in hits(flat(text), names)}


@pytest.mark.parametrize(("kind", "text"), PRIVATE)
def test_a_private_text_is_found(kind: str, text: str) -> None:
    assert kind in kinds(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_harmless_text_is_not_found(text: str) -> None:
    assert kinds(text) == set()


@given(st.sampled_from(PRIVATE), st.integers(1, 4), st.booleans())
def test_a_private_text_is_found_however_deep_it_is_nested_in_json(
    private: tuple[str, str], depth: int, slashes: bool
) -> None:
    kind, text = private
    if kind == "host_name":
        return
    nested = text
    for _ in range(depth):
        nested = json.dumps({"note": nested})
        if slashes:
            nested = nested.replace("/", "\\/")
    assert kind in kinds(nested)


def test_escaped_ascii_is_found() -> None:
    assert "email" in kinds(r"jane\u0040acme-clusters.io")


def test_the_bundled_cases_hold_nothing_private_even_if_they_were_not_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "is_public", lambda _: False)
    files = [path for path in Path(packs.__file__).parent.rglob("*") if path.suffix in (".yaml", ".md")]
    assert len(files) > 20
    assert [(path.name, hit) for path in files for hit in hits(flat(path.read_text()), Names())] == []


def test_names_are_found_as_whole_words_in_any_case() -> None:
    names = Names(users=frozenset({"marguerite"}), hosts=frozenset({"gpu-box"}))
    assert kinds("hello Marguerite", names) == {"user_name"}
    assert kinds("on GPU-BOX now", names) == {"host_name"}
    assert kinds("marguerites gpu-boxes", names) == set()


@pytest.mark.parametrize("name", ["root", "runner", "vm", "ubuntu", "checkout", "12345"])
def test_common_short_and_public_names_tell_nothing(name: str) -> None:
    assert not is_personal(name)


def test_a_name_of_a_person_tells_something() -> None:
    assert is_personal("marguerite")
