"""Loops that are known before a writer is asked: whose they are, and which of them a text speaks of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date

from phoenixd.documents.state import UNCONFIRMED, OpenLoop
from phoenixd.memory.brief.words import grams, likeness, share_of

SAME_LOOP, COVERED = 0.6, 0.8
"""How alike two texts must be to be the same loop; or how much of a loop's text a sentence holds that speaks of it."""

LEAST_HELD = 3
"""Words of a text that a loop's may hold, for it to be known by them."""

SOURCE, SESSION = "source", "session"
"""The key that tells a loop of a brief run from an operator's, and its value where no session is named."""
KIND, SAID = "kind", "said"
"""The key of a loop's kind, and the kind of those that are known from what was said alone."""

Told = tuple[OpenLoop, frozenset[str]]
"""A loop with the grams of its text."""


def is_operators(loop: OpenLoop) -> bool:
    """Whether a person wrote the loop: only a person, or `phoenixctl resolve`, closes it."""
    extras = loop.model_extra or {}
    return extras.get(SOURCE) != SESSION and not (extras.get(KIND) and extras.get(SOURCE))


def is_said(loop: OpenLoop) -> bool:
    """Whether it is for a writer to name: what is known by structure is kept and counted by that."""
    return str((loop.model_extra or {}).get(KIND, SAID)) == SAID


def known_loop(text: str, candidates: Iterable[Told]) -> OpenLoop | None:
    """The loop that a text speaks of: by as good as the same words, or one of the two holds nearly all of the other."""
    told = grams(text)
    for loop, words in candidates:
        if likeness(words, told) >= SAME_LOOP or share_of(words, told) >= COVERED:
            return loop
        if len(told) >= LEAST_HELD and share_of(told, words) >= COVERED:
            return loop
    return None


def marked(loop: OpenLoop, today: date) -> OpenLoop:
    """The loop as one that the newest answer did not name."""
    if UNCONFIRMED in (loop.model_extra or {}):
        return loop
    return OpenLoop.model_validate({**loop.model_dump(), UNCONFIRMED: today.isoformat()})


def unmarked(loop: OpenLoop, named: Collection[str]) -> OpenLoop:
    """The loop without that mark, where it was named."""
    if loop.id not in named or UNCONFIRMED not in (loop.model_extra or {}):
        return loop
    return OpenLoop.model_validate({key: value for key, value in loop.model_dump().items() if key != UNCONFIRMED})
