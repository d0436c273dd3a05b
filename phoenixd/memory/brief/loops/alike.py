"""Whether two texts name the same thing, in any language: by the pieces of their letters, without their blanks."""

from __future__ import annotations

import re
import unicodedata

PIECE = 3
LEAST = 4
"""Pieces of a text that says enough to be compared by them."""
HELD, HELD_BY_SHORTER = 0.7, 0.8
LARGEST = 2000

_PREFIX = re.compile(r"\A\s*[\w-]{1,24}(?:\([^()\n]{0,40}\))?!?:\s+")
"""What conventional commits begin with."""


def normal(text: str) -> str:
    """A text as it is compared: its letters and digits alone, none of them wide or large."""
    folded = unicodedata.normalize("NFKC", text[:LARGEST]).casefold()
    return "".join(character for character in folded if character.isalnum() or unicodedata.combining(character))


def same(one: str, other: str) -> bool:
    """Whether two texts are the same but for blanks, case and signs."""
    return normal(one) == normal(other)


def names(text: str, other: str) -> bool:
    """Whether what `other` says (a commit, a task) is what `text` asks for."""
    wanted, found = _pieces(text), _pieces(other)
    if len(wanted) < LEAST or len(found) < LEAST:
        return same(text, other)
    bare = _pieces(_PREFIX.sub("", other))
    return _holds(wanted, found) or (len(bare) >= LEAST and _holds(wanted, bare))


def _holds(wanted: frozenset[str], found: frozenset[str]) -> bool:
    both = len(wanted & found)
    if both >= HELD * len(wanted):
        return True
    return 2 * len(found) >= len(wanted) and both >= HELD_BY_SHORTER * len(found)


def _pieces(text: str) -> frozenset[str]:
    letters = normal(text)
    size = 2 if _is_dense(letters) else PIECE
    return frozenset(letters[at : at + size] for at in range(max(0, len(letters) - size + 1)))


def _is_dense(letters: str) -> bool:
    """Whether a text is written in signs that say a syllable or more each."""
    dense = sum(character >= "⺀" and unicodedata.east_asian_width(character) in "WF" for character in letters)
    return 2 * dense > len(letters)
