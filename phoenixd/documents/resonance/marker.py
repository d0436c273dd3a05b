"""A marker: a phrase that an agent does not write by chance, and a code of six hex digits that is compared exactly.

    the weight of the morning — 7f3a9c

A marker that our own parser refused would make each check of it pass or fail for a wrong reason. So `mint` hands out
none that `parse` does not read back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

DIGITS = 6
DASH = "—"
LONGEST_PHRASE = 120
LONGEST_MARKER = LONGEST_PHRASE + len(f" {DASH} ") + DIGITS + 2
MOST_DRAWS = 1000

CODE = re.compile(rf"[0-9a-f]{{{DIGITS}}}")
CODES = re.compile(rf"(?<![^\W_])[0-9a-fA-F]{{{DIGITS}}}(?![^\W_])")
"""Six hex digits that are no part of a longer word: `7f3a9c1` holds no code."""

TEMPLATES = (
    "a lantern carried past the last house",
    "the ferry rope wet from both shores",
    "eleven swallows under one bridge",
    "the kettle's song in an empty mill",
    "bread left warm for a late guest",
    "the map folded along its river",
    "frost on the inside of a bell",
    "two oars asleep in the long grass",
    "the orchard gate that opens uphill",
    "a letter kept for its handwriting",
    "rain counting the boats at anchor",
    "the staircase that remembers shoes",
)
"""Phrases of our own; none holds a run of six hex digits."""

_QUOTES = "\"'“”„‟«»‘’‚‛`"
_PHRASE = re.compile(r"[^\W\d_](?:[^\W_]|[ ,;'’])*[^\W_]")
_MARKER = re.compile(rf"(?P<phrase>.+?) {DASH} (?P<code>[0-9a-f]{{{DIGITS}}})")
_HEX_RUN = re.compile(rf"[0-9a-fA-F]{{{DIGITS}}}")


class PhraseRefused(ValueError):
    """A phrase that cannot be part of a marker; its text says why, and what is accepted."""


@dataclass(frozen=True, slots=True)
class Marker:
    """A phrase and its code."""

    phrase: str
    code: str

    def __str__(self) -> str:
        return f"{self.phrase} {DASH} {self.code}"


def parse(text: str) -> Marker | None:
    """The marker that a text is, in quotes or without; None where it is none."""
    if len(text) > LONGEST_MARKER + 16:
        return None
    found = _MARKER.fullmatch(text.strip().strip('"“”„').strip())
    if found is None or _wrong_with(found["phrase"]):
        return None
    return Marker(found["phrase"], found["code"])


def checked_phrase(phrase: str) -> str:
    """A phrase that a marker can bear. Raises PhraseRefused."""
    wrong = _wrong_with(phrase)
    if wrong:
        raise PhraseRefused(f"the phrase {wrong}; give a few words of letters, such as: {TEMPLATES[0]}")
    return phrase


def mint(draw: Callable[[int], str], used: Collection[str], phrase: str | None = None) -> Marker:
    """A new marker, whose code the ledger has never seen. draw: so many random bytes, in hex (secrets.token_hex).

    Raises PhraseRefused for a phrase that cannot be read back, ValueError where `draw` gives no new code.
    """
    wording = TEMPLATES[int(draw(2), 16) % len(TEMPLATES)] if phrase is None else phrase
    marker = Marker(checked_phrase(wording), mint_codes(draw, used, 1)[0])
    if parse(str(marker)) != marker:
        raise PhraseRefused(f"the marker {str(marker)!r} is not read back as it was written; give other words")
    return marker


def mint_codes(draw: Callable[[int], str], used: Collection[str], count: int) -> tuple[str, ...]:
    """Codes that differ from each other and from all that were ever used.

    Each has a letter and a digit: numbers and words of six characters are in many texts.
    """
    found: dict[str, None] = {}
    for _ in range(MOST_DRAWS * count):
        if len(found) == count:
            break
        code = draw(DIGITS // 2)
        if CODE.fullmatch(code) and not code.isdigit() and not code.isalpha() and code not in used:
            found[code] = None
    if len(found) < count:
        raise ValueError(f"{MOST_DRAWS * count} draws gave fewer than {count} codes that the ledger does not hold")
    return tuple(found)


def codes_in(text: str) -> frozenset[str]:
    """All that could be codes in a text, in lower case (R7)."""
    return frozenset(found.group().lower() for found in CODES.finditer(text))


def _wrong_with(phrase: str) -> str:
    if not phrase.strip():
        return "is empty"
    if len(phrase) > LONGEST_PHRASE:
        return f"has {len(phrase)} characters, more than {LONGEST_PHRASE}"
    if phrase != " ".join(phrase.split()):
        return "begins or ends with a blank, or has two in a row"
    if _HEX_RUN.search(phrase):
        return f"holds {DIGITS} hex digits in a row, which would be taken for the code"
    if DASH in phrase or any(sign in phrase for sign in "-‐‑‒–―−"):
        return "holds a dash or hyphen, which divides phrase and code"
    if any(quote in phrase.strip("'’") for quote in _QUOTES if quote not in "'’") or phrase[0] in "'’":
        return "holds quotes"
    if not _PHRASE.fullmatch(phrase):
        return "holds signs other than letters, digits, blanks, commas and semicolons"
    return ""
