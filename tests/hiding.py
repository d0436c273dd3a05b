"""Ways to write a secret so that no pattern finds it, and so that a face may show it whole all the same."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.api.pages import layout
from phoenixd.documents.plain_text import one_line, plain

KEY = "sk-ant-api03-" + "q7Zk" * 20
VALUE = "plain-words-of-a-secret-0451"
"""Of no shape: known as the value of a variable alone."""
SECRETS = (KEY, VALUE, "ghp_" + "c4N4ry" * 6)

HIDDEN = {
    "zero width space": "\u200b",
    "word joiner": "\u2060",
    "soft hyphen": "\u00ad",
    "tag": "\U000e0041",
    "variation selector": "\ufe0f",
    "grapheme joiner": "\u034f",
    "private use": "\ue000",
    "musical format": "\U0001d173",
    "filler": "\u3164",
    "line separator": "\u2028",
    "accent": "\u0301",
    "bell": "\x07",
    "nul": "\0",
    "colour": "\x1b[0m",
    "title": "\x1b]0;x\x07",
    "one byte sequence": "\x9b0m",
}

FACES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "plain": plain,
    "one line": lambda text: one_line(text, 100_000),
    "page": layout.clean,
    "plain page": lambda text: layout.clean(plain(text)),
    "page made plain": lambda text: plain(layout.clean(text)),
}


def hidings(secret: str) -> dict[str, str]:
    """The secret written in each of these ways."""
    found = {"as it is": secret}
    for name, sign in HIDDEN.items():
        found[f"{name} between all letters"] = sign.join(secret)
        half = len(secret) // 2
        found[f"{name} in the middle"] = f"{secret[:half]}{sign}{secret[half:]}"
    found["escape alone between all letters"] = "\x1b".join(secret)
    return found


def shows(text: str, secret: str) -> list[str]:
    """The faces on which a text shows the secret, or so much of it that the rest can be guessed."""
    pieces = {secret[:-3], secret[3:], secret[len(secret) // 2 - 2 :]} if len(secret) > 20 else {secret}
    return [name for name, face in FACES.items() if any(piece in face(text) for piece in pieces)]
