"""What is known from words alone: no structure shows it, and a task or a commit of the same words closes it.

Where a later session speaks of it, that says neither that it is open nor that it is done: it is unconfirmed from then
on, until a writer finds it open by a quote.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from phoenixd.documents.ledger_rows import Words
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops import tasks
from phoenixd.memory.brief.loops.alike import names
from phoenixd.memory.brief.loops.commits import subjects
from phoenixd.memory.brief.loops.seen import Found, Seen, source_in
from phoenixd.memory.brief.words import grams, is_small_number, shared, weight

KIND = "said"
SPOKEN, LEAST = 8, 2
"""What words must share with a loop to speak of it, and in how many parts: one word may stand in another matter."""
CACHED = 4096
"""Pairs of a loop and of words that are remembered: each turn's reading has nearly all of those of the one before."""
RECITED = 0.8
"""The share of a loop's words that an agent has which only reads it out, as the brief tells it."""


def found(seen: Seen) -> Iterator[Found]:
    return iter(())


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    rows = seen.ledger.tasks.rows
    if any(task.status in tasks.OPEN and names(loop.text, task.text) for task in rows):
        return None
    if any(task.status == "done" and names(loop.text, task.text) for task in rows):
        return "a task of that name is done"
    return "a commit of that name was made" if any(names(loop.text, one) for one in subjects(seen)) else None


def spoken_of(loop: OpenLoop, seen: Seen, about: str = "") -> float | None:
    """When this session spoke last of a loop of an earlier one, in a turn that ended (wall); None: it did not.

    about: what it is about, where its text says more.
    """
    if source_in(loop, seen.session):
        return None
    about = about or loop.text
    told = (words for words in _told(seen) if _speaks_of(words.text, words.speaker == "person", about))
    return max((words.at or 0.0 for words in told), default=None)


@functools.lru_cache(CACHED)
def _speaks_of(text: str, is_person: bool, loop: str) -> bool:
    rare = grams(loop)
    both = shared(rare, grams(text))
    if sum(not is_small_number(one) for one in both) < LEAST or weight(both) < SPOKEN:
        return False
    return is_person or weight(both) < RECITED * weight(rare)


def _told(seen: Seen) -> Iterator[Words]:
    """What was said in turns that ended well; the prompts that the daemon typed are no words of the session."""
    ended = False
    for words in seen.ledger.speech.newest():
        if words.speaker == "person" and not words.queued:
            # Only of the last turn it may be that nothing but the hooks told of its end.
            ended = words.turn == "done" or (words.turn is None and seen.turn_open is False)
        if ended and not (words.speaker == "person" and seen.around.typed(words)):
            yield words
