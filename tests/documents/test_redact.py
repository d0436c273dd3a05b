"""Secrets do not reach a file of ours, and no text of an agent's choice can make the search slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.redact import REDACTED, redact, secret_values

# Put together at run time, so that no scanner takes this file for a leak.
SHAPES = {
    "anthropic": "sk-" + "ant-api03-" + "a1B2" * 12,
    "openai": "sk-" + "proj-" + "Ab1_" * 10,
    "github": "ghp_" + "a1" * 18,
    "github fine-grained": "github_pat_" + "11AB_cd" * 6,
    "gitlab": "glpat-" + "a1b2" * 5,
    "slack": "xoxb-" + "1234567890-abcdef",
    "aws": "AKIA" + "ABCDEFGH12345678",
    "google": "AIza" + "a1B_" * 9,
    "google oauth": "ya29." + "a0Af" * 10,
    "npm": "npm_" + "a1" * 18,
    "pypi": "pypi-" + "AgEI" * 12,
    "hugging face": "hf_" + "aBc1" * 8,
    "stripe": "sk_live_" + "a1" * 10,
    "sendgrid": "SG." + "a1b2" * 5 + "." + "c3d4" * 10,
    "json web token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0" + ".c2ln",
    "age": "AGE-SECRET-KEY-1" + "QPZRY9X8" * 7,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("around", ["{}", "export X={}\n", '"{}",', "see {} there", "https://h/?k={}&x=1"])
def test_p79_a_secret_shape_is_redacted_wherever_it_stands(shape: str, around: str) -> None:
    secret = SHAPES[shape]

    cleaned = redact(around.format(secret))

    assert secret not in cleaned
    assert REDACTED in cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("password=hunter2", f"password={REDACTED}"),
        ('"password": "correct horse"', f'"password": "{REDACTED}"'),
        ("DB_PASSWORD='abcd'", f"DB_PASSWORD='{REDACTED}'"),
        ("AWS_SECRET_ACCESS_KEY: wJalrXUtnFEMI/K7MDENG", f"AWS_SECRET_ACCESS_KEY: {REDACTED}"),
        ("api_key => a1b2c3d4e5", f"api_key => {REDACTED}"),
        ("Authorization: Bearer a1b2c3d4e5f6", f"Authorization: Bearer {REDACTED}"),
        ("curl -H 'authorization: token a1b2c3d4e5'", f"curl -H 'authorization: token {REDACTED}'"),
        ("postgres://user:pa55@host/db", f"postgres://user:{REDACTED}@host/db"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nafter", f"{REDACTED}\nafter"),
        ("before -----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn", f"before {REDACTED}"),
    ],
)
def test_p79_a_secret_is_known_by_its_name(text: str, cleaned: str) -> None:
    assert redact(text) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox.",
        "tokens: 120000 of 200000",
        "the token: expired yesterday",
        "task-something-with-a-rather-long-name-1",
        "author: Jane Doe 1999x1999",
        "see https://example.org/a/b?c=d",
        "git@github.com:o/r.git",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "password=$DB_PASSWORD",
        "auth-flow: OAuth redirect not tested",
        "passed: 47/52",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_the_values_of_secret_variables_are_redacted_as_they_stand() -> None:
    environment = {
        "MY_TOKEN": "plain-looking words",
        "X": "not secret at all",
        "SHORT_KEY": "abc",
        "SSH_AUTH_SOCK": "/tmp/ssh/agent.1",
        "GIT_AUTHOR_NAME": "Jane Doe the author",
        "FROM_FILE": "content of a file",
    }

    values = secret_values(environment, certain=["FROM_FILE"])

    assert values == ("plain-looking words", "content of a file")
    assert redact("it said plain-looking words", values) == f"it said {REDACTED}"


@pytest.mark.parametrize(
    "piece",
    ["token", "a.-", "eyJ", "sk-", "-----BEGIN RSA PRIVATE KEY-----", "://a:", "password=", "bearer ", "SG.", "auth_", "://",
     " ", "AKIA", "ghp_", "token: ", "a", "=", "\x1b["],
)  # fmt: skip
@pytest.mark.timeout(20)
def test_a_megabyte_of_an_agents_choice_is_no_attack(piece: str) -> None:
    """What backtracks needs minutes or hours for this; the suite's timeout is the judge."""
    text = piece * (1_000_000 // len(piece))

    redact(text)
    redact(f"-----BEGIN PRIVATE KEY-----{text}")
    redact(f"eyJ{text}")


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)

    assert redact(once) == once
