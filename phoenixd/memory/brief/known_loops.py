"""Loops that are known before a writer is asked: whose they are, and which of them a text speaks of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date

from phoenixd.documents.loop_origin import KIND, SAID, kind_of
from phoenixd.documents.state import UNCONFIRMED, OpenLoop, StateDocument
from phoenixd.memory.brief.words import grams, likeness, share_of

SAME_LOOP, COVERED = 0.6, 0.8
"""How alike two texts must be to be the same loop; or how much of a loop's text a sentence holds that speaks of it."""

LEAST_HELD = 3
"""Words of a text that a loop's may hold, for it to be known by them."""

Told = tuple[OpenLoop, frozenset[str]]
"""A loop with the grams of its text."""


def is_operators(loop: OpenLoop) -> bool:
    """Whether a person wrote the loop: only a person, or `phoenixctl resolve`, closes it."""
    return not kind_of(loop)


def is_said(loop: OpenLoop) -> bool:
    """Whether it is for a writer to name: what is known by structure is kept and counted by that."""
    return str((loop.model_extra or {}).get(KIND, SAID)) == SAID


def texts_of(told: Mapping[str, str], before: StateDocument, after: StateDocument) -> dict[str, str]:
    """The texts of loops by id, for what is said of them once they are gone: of those that are open or were closed.

    told: those on record so far. A loop that there is no room for any more was closed by nobody, and is none of them.
    """
    closed = {item.id for item in (*before.resolved, *after.resolved)}
    known = {**told, **{loop.id: loop.text for loop in before.open_loops}}
    kept = {name: text for name, text in known.items() if name in closed}
    return {**kept, **{loop.id: loop.text for loop in after.open_loops}}


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
