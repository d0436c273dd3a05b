"""Secrets do not reach a file of ours, and no text of an agent's choice can make the search slow."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents import redact as redacting
from phoenixd.documents.redact import REDACTED, SHORT, redact, secret_values
from tests.hiding import SECRETS, VALUE, hidings, shows

LETTERS = {
    "a": ascii_lowercase + digits, "A": ascii_uppercase + digits, "V": f"{ascii_uppercase}234567",
    "B": ascii_letters + digits, "w": f"{ascii_letters}{digits}_-", "l": f"{ascii_lowercase}{digits}_-",
    "h": f"{digits}abcdef", "H": f"{digits}ABCDEF", "d": digits, "b": f"{ascii_letters}{digits}+/", "L": ascii_letters,
}  # fmt: skip
TABLE = [
    line.partition(" ")[::2]
    for line in Path(__file__).with_name("secrets.txt").read_text().splitlines()
    if not line.startswith("#")
]


def drawn(sample: str, seed: int = 7) -> tuple[str, list[str]]:
    """The sample with its blanks filled at run time, so that no scanner takes a file for a leak, and the fillings."""
    dice, secrets = random.Random(f"{seed} {sample}"), []

    def fill(blank: re.Match[str]) -> str:
        lengths = [int(blank[2])] if blank[2] else [8, 4, 4, 4, 12]
        letters = LETTERS[blank[1] or "h"]
        parts = ["".join(dice.choices(letters, k=length)) for length in lengths]
        if letters != ascii_letters:
            parts[0] = f"7{parts[0][1:]}"
        secrets.append("-".join(parts))
        return secrets[-1]

    return re.sub(r"<(?:([A-Za-z])(\d+)|uuid)>", fill, sample.replace("\\n", "\n")), secrets


@pytest.mark.parametrize(("rule", "sample"), TABLE)
def test_p79_the_secrets_that_scanners_know_are_redacted(rule: str, sample: str) -> None:
    for seed in range(3):
        text, secrets = drawn(sample, seed)
        cleaned = redact(f"It said:\n{text}\nand went on.")
        assert REDACTED in cleaned
        assert not [secret for secret in secrets if len(secret) > 5 and secret in cleaned], cleaned
        assert cleaned.startswith("It said:\n")
        assert redact(cleaned) == cleaned


def test_p79_the_table_holds_every_rule() -> None:
    rules = {rule for rule, _ in TABLE if not rule.startswith("others-")}
    assert len(rules) == 221


SHAPES = {
    "anthropic": "sk-ant-api03-<w93>AA",
    "github": "ghp_<B36>",
    "gitlab": "glpat-<w20>",
    "slack": "xoxb-<d12>-<d12>-<B24>",
    "aws": "AKIA<V16>",
    "npm": "npm_<a36>",
    "json web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.<w43>",
    "age": "AGE-SECRET-KEY-1<A58>",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("around", ["{}", "export X={}\n", '"{}",', "see {} there", "https://h/?k={}&x=1"])
def test_p79_a_secret_shape_is_redacted_wherever_it_stands(shape: str, around: str) -> None:
    """F-ST-12."""
    secret, _ = drawn(SHAPES[shape])

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
        ('{\\"db_password\\": \\"correct horse\\"}', f'{{\\"db_password\\": \\"{REDACTED}\\"}}'),
        ("curl -su me:hunter2 https://h/ && ls -u a:b", f"curl -su me:{REDACTED} https://h/ && ls -u a:b"),
        ("before -----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn", f"before {REDACTED}"),
    ],
)
def test_p79_a_secret_is_known_by_its_name(text: str, cleaned: str) -> None:
    assert redact(text) == cleaned


@pytest.mark.parametrize("indent", ["", "    "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
def test_p79_of_a_key_whose_beginning_was_cut_off_no_line_stays(kind: str, end: str, indent: str) -> None:
    draw = random.Random(7)
    lines = ["".join(draw.choices(f"{ascii_letters}{digits}+/", k=64)) for _ in range(4)]
    shown = end.join(f"{indent}{line}" for line in [lines[0][40:], *lines[1:], "ab==", f"-----END {kind}-----"])

    assert redact(f"what was before:{end}{shown}{end}and after") == f"what was before:{end}{REDACTED}{end}and after"
    assert redact(shown) == REDACTED
    assert redact(f"{shown}{end}{shown}") == f"{REDACTED}{end}{REDACTED}"


def a_key(kind: str = "RSA PRIVATE KEY") -> list[str]:
    """The lines of a key whose beginning was cut off."""
    draw = random.Random(7)
    return ["".join(draw.choices(f"{ascii_letters}{digits}+/", k=size)) for size in (24, 64, 64, 30)] + [
        "ab==", f"-----END {kind}-----",
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["\\n", "\\r\\n", "\\\\n", "\\u000a", "\\\\r\\\\n", "\n", "\\n    "])
@pytest.mark.parametrize("before", ["", '{"key": "', "what was before:\n", "cut\u2026", "'"])
def test_p79_of_a_key_in_json_whose_beginning_was_cut_off_no_line_stays(before: str, end: str) -> None:
    for lines in (a_key(), a_key("PRIVATE KEY"), [line.replace("/", "\\/") for line in a_key()]):
        assert redact(f'{before}{end.join(lines)}{end}"and": 1') == f'{before}{REDACTED}{end}"and": 1'


@pytest.mark.parametrize("kept", range(len("-----E"), len("-----END RSA PRIVATE KEY-----")))
@pytest.mark.parametrize("end", ["\n", "\\n"])
def test_p79_of_a_key_that_was_cut_off_at_both_ends_no_line_stays(end: str, kept: int) -> None:
    *lines, mark = a_key()
    assert redact(f"said:\n{end.join([*lines, mark[:kept]])}") == f"said:\n{REDACTED}"


@pytest.mark.parametrize("secret", SECRETS)
def test_p79_a_secret_in_escapes_of_json_is_whole_nowhere(secret: str) -> None:
    each = "".join(f"\\u{ord(character):04x}" for character in secret)
    for written in (each, f"{secret[:5]}\\u200b{secret[5:]}", f"{secret[:5]}\\u{ord(secret[5]):04X}{secret[6:]}"):
        told = redact(f'{{"said": "{written}", "and": "\\u0022 \\u005c"}}', (VALUE,))
        assert secret not in json.loads(told)["said"].replace("\u200b", ""), written
        assert redact(told, (VALUE,)) == told


@pytest.mark.parametrize("value", ['quoted "word" 0451', "back\\slash-0451", "pä$swörd-0451", "two\nlines of a key"])
def test_p79_the_value_of_a_variable_is_known_as_json_writes_it(value: str) -> None:
    values = secret_values({"MY_TOKEN": value})
    for ascii_only in (True, False):
        written = json.dumps({"said": f"it is {value} now"}, ensure_ascii=ascii_only)
        assert json.loads(redact(written, values))["said"] == f"it is {REDACTED} now"


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox.",
        "one\ntwo words here\n-----END CERTIFICATE-----",
        "QUJDREVGRw==\n-----END CERTIFICATE",
        "QUJDREVGRw==\\n-----END PUBLIC KEY-----",
        "C:\\\\new\\\\users \\u00e4 \\u0041 and \\ud83d\\ude00",
        "two words\n-----END CERTIFICATE-----",
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
        "PWD=/srv/shop",
        "linear: 0.0001, sentry: https://sentry.example/organizations/a1",
        "key: src/auth/login_view.py",
        "jira: SHOP-1234 is open; discord: someone#1234",
        "the secret to good tests: patience",
        "Sentry: 2026-11-21T10:00:00Z was quiet",
        "docker run -u 1000:1000 x; curl https://h/",
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


def test_p79_an_operators_own_marks_are_patterns_too() -> None:
    text = "acme_live.a1b2c3d4/e5 and acme_short, my.acme_a1b2c3d4"

    assert redact(text, marks=["acme_"]) == f"{REDACTED} and acme_short, my.{REDACTED}"
    assert redact(text) == text


@pytest.mark.parametrize(
    "piece",
    ["token", "a.-", "eyJ", "sk-", "-----BEGIN RSA PRIVATE KEY-----", "://a:", "password=", "bearer ", "SG.", "auth_", "://",
     " ", "AKIA", "ghp_", "token: ", "a", "=", "\x1b[", "key:", "key=key:", "curl -u a:b", "curl \\", "kind: secret\n",
     " a: aaaaaaaaaaaa\n", 'Password" value="a', "s.a1", "t1.a", "sk-a", "password='", 'token=\\"', "İkey:",
     "-----END PRIVATE KEY-----", "aaaa\\n", "aaaa\\n-----END PRIVATE KEY-----", "aaaa-----END", "\\u0061", "n\\",
     "login a password ", "--a-password ", "mysql -u ", "<password>", "auth=('a', ", "recovery codes\n", "a1b2c3d\n",
     "abc ", "$6$a$", "cookie: a=", "the password is ", "password：", "/hooks/", "a_password: b c\n", 'password="\\"'],
)  # fmt: skip
@pytest.mark.slow
@pytest.mark.timeout(60)
def test_text_of_an_agents_choice_is_no_attack(piece: str) -> None:
    """What backtracks needs minutes or hours for this; the suite's timeout is the judge. `./dev bench` has figures."""
    text = piece * (300_000 // len(piece))

    redact(text)
    redact(f"-----BEGIN PRIVATE KEY-----{text}")
    redact(f"eyJ{text}")


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)

    assert redact(once) == once


@pytest.mark.parametrize("secret", SECRETS)
def test_p79_a_secret_broken_by_what_shows_nothing_is_whole_on_no_face(secret: str) -> None:
    for how, written in hidings(secret).items():
        told = redact(f"it said {written} and went on", (VALUE,))
        assert shows(told, secret) == [], how
        assert "it said" in told
        assert redact(told, (VALUE,)) == told, how


@pytest.mark.parametrize(
    "text", ["\x1b[31mred\x1b[0m", "👩\u200d👩\u200d👧", "e\u0301te\u0301", "می\u200cخواهم", "a\0b\0", "line\r\n"]
)
def test_a_text_without_a_secret_keeps_what_shows_nothing(text: str) -> None:
    assert redact(text, (VALUE,)) == text


def test_p79_a_value_is_known_as_json_within_json_and_with_its_slashes_escaped() -> None:
    value = 'hunter/2/abc"d\\efgh12'
    values = secret_values({"MY_TOKEN": value})
    for shown in (json.dumps(json.dumps(value)), value.replace("/", "\\/"), json.dumps(value)):
        assert "hunter" not in redact(f"it says {shown} here", values)


def test_what_agents_say_again_and_again_is_searched_once_for_the_same_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    search = redacting._redacted_anew

    def noted(text: str, values: tuple[str, ...], marks: tuple[str, ...]) -> str:
        searched.append(text)
        return search(text, values, marks)

    monkeypatch.setattr(redacting, "_redacted_anew", noted)
    for _ in range(3):
        assert redact("said once more: hunter-two") == "said once more: hunter-two"
    assert len(searched) == 1
    # What became a secret since, or begins as an operator's own do, is known at once, also under a list.
    assert redact("said once more: hunter-two", ["hunter-two"]) == f"said once more: {REDACTED}"
    assert redact("said once more: hunter-two", (), ["hu"]) == f"said once more: {REDACTED}"
    assert redact("said once more: hunter-two") == "said once more: hunter-two"
    assert len(searched) == 3
    for _ in range(2):
        redact("x" * (SHORT + 1))
    assert len(searched) == 5, "long texts are not kept"


@pytest.mark.parametrize(
    "text",
    [
        "the token limit is 200000, and the password is required",
        "password changed at 2025-06-11T10:00:00Z",
        "password = getpass('Password: ')",
        "self.password = password",
        "def login(user: str, password: str) -> None:",
        "api_key = os.environ['API_KEY']",
        "if token == expected: return",
        "docker build --secret id=npm,src=.npmrc .",
        "psql --password --host db",
        "--token-file /run/secrets/token",
        "PASSWORD_RESET_URL=https://app.example.com/reset",
        "secrets: inherit",
        "curl -u $USER:$PASS https://repo.example.com/x",
        "ssh login -p 2222",
        "the --password flag is deprecated",
        "run `mysql -p`, then type it",
        "    client_secret: str = None,",
        "token is 2026-01-01T00:00:00Z, and the token limit is claude-3-5-sonnet",
        "a password 'must' be long",
        "the password policy is PCI-DSS-compliant",
    ],
)
def test_p79_what_only_names_a_secret_stands_as_it_was(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "mysqldump -u root -pX7hunter shop",
        "docker login -u ci -p X7hunter registry.example.com",
        "tool --db-password X7hunter --host db",
        "CREATE USER shop IDENTIFIED BY 'X7hunter'",
        "machine git.example.org login ci password X7hunter",
        "requests.get(url, auth=('ci', 'X7hunter'))",
        "Cookie: theme=dark; session=X7hunterX7hunterX7hunter",
        "<password>X7hunter and more</password>",
        "https://b.example.com/a?sp=r&sig=X7hunterX7hunterX7hunter&x=1",
        "das Passwort für den Benutzer lautet X7hunter, der Port ist 8443",
        "Recovery codes:\n  X7hunter-1\n  X7hunter-2\nThat is all.",
        "deploy:$6$saltsalt$X7hunterX7hunterX7hunterX7hunter:19872:0",
        "postgres://app:${DB_PASS:-X7hunter!}@db/x",
        "db_password: \"{{ vault_pw | default('X7hunter') }}\"",
        "::set-output name=token::f9a8b7c6X7hunterf9a8",
        'password="C:\\X7hunter\\"',
        "spring.datasource.password=X7hunter(2024)",
        "token_url: https://hooks.acme.io/ab12X7hunter78ij90",
        f"DB_PASSWORD: {'a1' * 200}X7hunter",
    ],
)
def test_p79_a_secret_is_known_by_its_place(text: str) -> None:
    cleaned = redact(text)
    assert "X7hunter" not in cleaned
    assert redact(cleaned) == cleaned
