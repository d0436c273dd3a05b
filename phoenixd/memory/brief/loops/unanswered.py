"""The requests of a session that no turn answered.

One is over once its own turn ended well, or one that went on with it. That a turn ended well with another prompt shows
neither that it was done nor that it was not: it is in doubt from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from phoenixd.documents.banner import tasks_told
from phoenixd.documents.ledger_rows import Words
from phoenixd.documents.transcript import Ending
from phoenixd.memory.brief.loops.alike import normal
from phoenixd.memory.brief.loops.seen import Seen, quoted
from phoenixd.memory.brief.loops.turns import Turn, turns_of

LATER_LIMIT = 120
"""Characters of what was said in the middle of a turn; quotations of that length and more may be cut."""
_CUT = " … "


@dataclass(frozen=True, slots=True)
class Request:
    """doubted: since when (wall) another prompt's turn has ended well after it."""

    words: tuple[Words, ...]
    ended: Ending | None
    doubted: float | None = None

    def in_doubt(self, turn: Turn) -> Request:
        return self if self.doubted is not None else replace(self, doubted=turn.prompt.at or 0.0)


def unanswered(seen: Seen) -> list[Request]:
    """The requests of the session that no turn answered, oldest first."""
    standing: list[Request] = []
    for turn in turns_of(seen):
        is_ours, goes_on = seen.around.typed(turn.prompt), seen.around.goes_on(turn.prompt)
        own = tuple(words for words in turn.words if not seen.around.typed(words))
        if turn.is_unclear:
            continue
        if turn.ended == "done":
            if goes_on:
                standing = list(_after_going_on(standing, turn, tasks_told(goes_on)))
            elif not is_ours:
                standing = list(_after(standing, turn))
        elif is_ours and goes_on and own and standing:
            standing[-1] = replace(standing[-1], words=(*standing[-1].words, *own))
        elif own:
            standing = [*_not_stopped(standing), Request(own, turn.ended)]
    return standing


def _after(standing: list[Request], turn: Turn) -> Iterator[Request]:
    """What is unanswered yet once a turn of a person's has ended well."""
    again = {words.text for words in turn.words}
    for one in _not_stopped(standing):
        if not {words.text for words in one.words} <= again:
            yield one.in_doubt(turn)


def _after_going_on(standing: list[Request], turn: Turn, named: tuple[str, ...]) -> Iterator[Request]:
    """The same of a turn that went on: with what was asked last, and with what is named as the task in hand."""
    for place, one in enumerate(standing, 1):
        is_it = place == len(standing) or is_one_of([quoted(words.text) for words in one.words], named)
        if not is_it or one.doubted is not None:
            yield one.in_doubt(turn)


def _not_stopped(standing: list[Request]) -> list[Request]:
    """Without those whose turn the person stopped: who asks something else then has seen to it."""
    return [one for one in standing if one.ended != "interrupted"]


def is_one_of(quotes: list[str], tasks: tuple[str, ...]) -> bool:
    """Whether a request that is quoted so is one of these tasks; of a long one each may have another part."""
    return any(_is_one(quote, task) for quote in quotes for task in tasks)


def _is_one(quote: str, task: str) -> bool:
    whole, named = normal(quote), normal(task)
    if not whole or not named:
        return quote.strip('"') == task.strip()
    head, cut, _ = quote.partition(_CUT)
    is_cut = bool(cut) and len(quote) >= LATER_LIMIT
    return whole == named or (is_cut and named.startswith(normal(head)))
