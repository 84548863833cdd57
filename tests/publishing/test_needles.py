"""Replacing a text touches its own bytes, in every spelling, and no others."""

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from replay.publishing.needles import Needle, Needles, mark, needles_of
from replay.publishing.patterns import Hit

VALUES = ["sk-proj-Zq81mNcV0bX72kLs93RtYw55", "/home/jane", "jane@acme.io", 'pa"ss\\wo/rd1', "josé-müller", "😀secret1"]
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\ufdd0"), max_size=40)


@given(st.sampled_from(VALUES), texts, texts, st.integers(0, 3), st.booleans(), st.booleans())
def test_a_value_is_replaced_in_every_spelling_and_the_rest_stays(
    value: str, before: str, after: str, depth: int, ascii_only: bool, slashes: bool
) -> None:
    if value in before + after or value in f"{before}{value}{after}".replace(value, "", 1):
        return

    def nested(text: str) -> str:
        for _ in range(depth):
            text = json.dumps(text, ensure_ascii=ascii_only)
            text = text.replace("/", "\\/") if slashes else text
        return text

    kind = "token"
    # A space on both sides: a backslash before the value would be part of its spelling.
    counts: Counter[str] = Counter()
    found = Needles({Needle(kind, value)}).replace(nested(f"{before} {value} {after}").encode(), counts)
    assert found.decode() == nested(f"{before} {mark(kind)} {after}")
    assert counts == {kind: 1}


@given(texts)
def test_a_line_without_the_value_stays_as_it_is(text: str) -> None:
    line = json.dumps(text).encode()
    assert Needles({Needle("token", "Zq81mNcV0bX72kLs93RtYw55")}).replace(line, Counter()) == line


def test_a_word_is_replaced_behind_the_letter_of_an_escape_but_not_inside_a_word() -> None:
    needles = Needles({Needle("user_name", "jane", word=True)})
    line = json.dumps("hi\njane Jane janet\tjane").encode()
    assert json.loads(needles.replace(line, Counter())) == (
        "hi\n[redacted:user_name] [redacted:user_name] janet\t[redacted:user_name]"
    )


def test_the_longest_text_goes_first() -> None:
    needles = Needles({Needle("user_name", "jane", word=True), Needle("email", "jane@acme.io")})
    assert needles.replace(b"jane@acme.io jane", Counter()) == b"[redacted:email] [redacted:user_name]"


def test_a_private_key_is_replaced_line_by_line() -> None:
    key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQ\n"
    needles = Needles(needles_of([Hit("private_key", key, 0)]))
    text = json.dumps({"pem": f"-----BEGIN PRIVATE KEY-----\n{key}-----END PRIVATE KEY-----"})
    clean = json.loads(needles.replace(text.encode(), Counter()))
    assert clean["pem"].splitlines()[1:3] == ["[redacted:private_key]"] * 2
