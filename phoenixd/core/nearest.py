"""Which of the known words somebody meant who typed another one."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 64
"""Characters of a word that are compared: a longer one is no slip of the fingers."""
ALIKE = 0.6
VERB = 0.7
"""How alike a verb has to be: half of its letters shared, such as init and clinic, is another word."""


def nearest(word: str, known: Iterable[str], alike: float = ALIKE) -> str | None:
    """The known word that is most like this one; None where none is."""
    # Only who mistyped something waits for this import.
    import difflib

    close = difflib.get_close_matches(word[:LONGEST].lower(), known, n=1, cutoff=alike)
    return close[0] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence: `; did you mean status?`, or nothing."""
    close = nearest(word, known)
    return f"; did you mean {close}?" if close else ""
