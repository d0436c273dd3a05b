"""Which of the known words somebody meant who typed another one."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 64
"""Characters of a word that are compared: a longer one is no slip of the fingers."""
ALIKE = 0.6
MOST = 1000
"""Words that are as much alike, among which one is chosen."""
VERB = 0.7
"""How alike a verb has to be: half of its letters shared, such as init and clinic, is another word."""


def nearest(word: str, known: Iterable[str], alike: float = ALIKE) -> str | None:
    """The known word that is most like this one; None where none is."""
    # Only who mistyped something waits for this import.
    import difflib

    typed = word[:LONGEST].lower()
    close = difflib.get_close_matches(typed, known, n=MOST, cutoff=alike)
    if not close:
        return None
    shared = {one: difflib.SequenceMatcher(None, one, typed).ratio() for one in close}
    # Of those that are as much alike: web-10 goes on where web-1 ends, and web-21 does not.
    return min(close, key=lambda one: (-shared[one], not one.startswith(typed), one))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence: `; did you mean status?`, or nothing."""
    close = nearest(word, known)
    return f"; did you mean {close}?" if close else ""
