"""Markers are minted here: a phrase of ours or of an operator, and a code that the ledger has never seen.

A marker that our own parser refused would make each check of it pass or fail for a wrong reason. So `mint` hands out
none that `parse` does not read back as it was. How one is read, and what an answer proves, stands in phoenixd.planting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from phoenixd.planting import CODE, DIGITS, Marker, parse, wrong_with

MOST_DRAWS = 1000

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


class PhraseRefused(ValueError):
    """A phrase that cannot be part of a marker; its text says why, and what is accepted."""


def checked_phrase(phrase: str) -> str:
    """A phrase that a marker can bear. Raises PhraseRefused."""
    wrong = wrong_with(phrase)
    if wrong:
        raise PhraseRefused(f"the phrase {wrong}; give a few words of letters, such as: {TEMPLATES[0]}")
    return phrase


def mint(draw: Callable[[int], str], used: Collection[str], phrase: str | None = None) -> Marker:
    """A new marker, whose code the ledger has never seen. draw(n): n random bytes, in hex (secrets.token_hex).

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
