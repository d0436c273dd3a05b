"""Secrets taken out of text before it is written anywhere. Every step is linear in the length of the text.

An agent chooses what it prints, so a pattern that backtracks would let it stop the daemon: quantifiers are possessive
or bounded, nothing is required after an unbounded run, and a key block is found by plain search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

REDACTED = "[redacted]"
SHORTEST_VALUE = 8
"""Characters of a variable's value that is looked for as it stands; shorter ones would blot out ordinary words."""

_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?=[A-Za-z_-]{0,80}[0-9])[A-Za-z0-9_-]{20,}+"
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/]{20,}+"
    r"|gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_[A-Za-z0-9_]{20,}+|gl(?:pat|ptt|rt|soat)-[A-Za-z0-9_-]{16,}+"
    r"|xox[abceoprs]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{10,}+"
    r"|(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[A-Za-z0-9_-]{30,}+|ya29\.[A-Za-z0-9_-]{20,}+"
    r"|npm_[A-Za-z0-9]{30,}+|pypi-[A-Za-z0-9_-]{30,}+|hf_[A-Za-z0-9]{20,}+|gsk_[A-Za-z0-9]{20,}+|r8_[A-Za-z0-9]{20,}+"
    r"|do[opr]_v1_[a-f0-9]{40,}+|SG\.[A-Za-z0-9_.-]{30,}+|sq0[a-z]{3}-[A-Za-z0-9_-]{20,}+|dckr_pat_[A-Za-z0-9_-]{20,}+"
    r"|eyJ[A-Za-z0-9_-]{16,}+(?:\.[A-Za-z0-9_-]*+)*+"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{30,}+"
    r")"
)
_ASSIGNMENT = re.compile(
    r"(?P<name>(?:pass(?:word|wd|phrase)|pwd|secret|credential|token|(?:api|access|private)[_-]?key"
    r"|auth(?!or(?!iz)))[A-Za-z0-9_-]{0,40}+)"
    r"(?P<between>[\"'\])]{0,2}+[ \t]{0,4}+(?:=>|:=|=|:)[ \t]{0,4}+(?:(?:bearer|basic|token)[ \t]{1,4}+)?)"
    r"(?P<value>\"[^\"\n]{4,200}+\"|'[^'\n]{4,200}+'|[\"']?+[^\s\"'`<>(){}\[\],;]{4,}+)",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(bearer|basic)([ \t]{1,4}+)([A-Za-z0-9_\-.~+/=]{12,}+)", re.IGNORECASE)
_USERINFO = re.compile(r"(://[^\s/:@]{0,100}+:)([^\s/@]{1,200}+)@")
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_ALWAYS_SECRET = re.compile(r"pass|pwd|secret|credential", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)|pwd|secret|credential|token|(api|access|private)_?key|_key$|auth(?!or(?!iz))",
    re.IGNORECASE,
)


def redact(text: str, values: Iterable[str] = ()) -> str:
    """Replace what looks like a secret, and every one of `values` (see `secret_values`), by a mark."""
    for value in values:
        text = _without_cut_off(text.replace(value, REDACTED), value)
    if "PRIVATE KEY" in text:
        text = _without_key_blocks(text)
    text = _SHAPES.sub(REDACTED, text)
    if "://" in text:
        text = _USERINFO.sub(rf"\g<1>{REDACTED}@", text)
    text = _BEARER.sub(_replace_bearer, text)
    return _ASSIGNMENT.sub(_replace_value, text)


def secret_values(environment: Mapping[str, str], certain: Iterable[str] = ()) -> tuple[str, ...]:
    """The values to look for: those of variables with a secret's name, and of the names in `certain`; longest first."""
    names = set(certain)
    found = {value for name, value in environment.items() if name in names or _SECRET_NAME.search(name)}
    # Of a value of several lines each may turn up alone: a key in a file, say, told as JSON.
    lines = {line.strip() for value in found if "\n" in value for line in value.split("\n")}
    # A path or a socket is where a secret lies, not the secret.
    kept = {value for value in found | lines if len(value) >= SHORTEST_VALUE and not value.startswith("/")}
    return tuple(sorted(kept, key=lambda value: (-len(value), value)))


def _without_cut_off(text: str, value: str) -> str:
    """The text without the beginning of `value` at its end: whoever cut the text may have cut within the secret."""
    ending = text[-SHORTEST_VALUE:]
    at = value.find(ending) if len(ending) == SHORTEST_VALUE else -1
    while at >= 0:
        length = at + SHORTEST_VALUE
        if text.endswith(value[:length]):
            return f"{text[:-length]}{REDACTED}"
        at = value.find(ending, at + 1)
    return text


def _without_key_blocks(text: str) -> str:
    kept: list[str] = []
    position = 0
    while begin := _KEY_BLOCK.search(text, position):
        kept += [text[position : begin.start()], REDACTED]
        end = text.find("-----END", begin.end())
        if end < 0:
            # Without an end the rest of the text may all be key.
            return "".join(kept)
        closing = text.find("-----", end + len("-----END"))
        position = closing + 5 if 0 <= closing <= end + 80 else end
    return "".join([*kept, text[position:]])


def _replace_value(match: re.Match[str]) -> str:
    value = match["value"]
    if not _looks_secret(match["name"], value.strip("\"'")):
        return match[0]
    opening, closing = (value[: value[0] in "\"'"], value[len(value) - (value[-1] in "\"'") :])
    return f"{match['name']}{match['between']}{opening}{REDACTED}{closing}"


def _looks_secret(name: str, value: str) -> bool:
    if value.startswith((REDACTED, "$", "%")):
        return False
    if _ALWAYS_SECRET.search(name):
        return True
    # `tokens: 120000` and `token: expired` are talk about secrets, not secrets.
    has_digit = any(character.isdigit() for character in value)
    has_letter = any(character.isalpha() for character in value)
    return (has_digit and has_letter and len(value) >= 8) or len(value) >= 32


def _replace_bearer(match: re.Match[str]) -> str:
    word, blank, value = match.groups()
    secret = any(character.isdigit() for character in value) or len(value) >= 32
    return f"{word}{blank}{REDACTED}" if secret else match[0]
