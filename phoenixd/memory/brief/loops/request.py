"""What a person asked for without a turn that ended with it: prompts that nothing answered, and those that still wait.

One of an earlier session is closed by the same words, asked again and answered, or by a turn that provably went on with
it: the daemon's own words named it as the task in hand, or it was what had been asked last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from phoenixd.documents.banner import tasks_told
from phoenixd.documents.ledger_rows import Words, digest
from phoenixd.documents.loop_origin import SOURCE, extra, kind_of
from phoenixd.documents.state import OpenLoop, is_unconfirmed
from phoenixd.documents.times import read_time, timestamp
from phoenixd.memory.brief.loops import said
from phoenixd.memory.brief.loops.alike import normal
from phoenixd.memory.brief.loops.seen import Found, Seen, quoted, source_in
from phoenixd.memory.brief.loops.turns import is_over, turns_of
from phoenixd.memory.brief.loops.unanswered import LATER_LIMIT, is_one_of, unanswered

KIND = "request"
MOST_LATER = 4
WAITED = "Asked while a turn was going on, and not read"
ASKED = "asked"
"""The key of a loop that says when its newest words were said."""

_QUOTE = re.compile(r'"[^"]*"')


def found(seen: Seen) -> Iterator[Found]:
    for one in unanswered(seen):
        first, *rest = one.words
        # What was said in the middle of a turn belongs to it.
        then = "".join(f", and then {quoted(words.text, LATER_LIMIT)}" for words in rest[:MOST_LATER])
        then += f", and {len(rest) - MOST_LATER} more" if len(rest) > MOST_LATER else ""
        made = _found(first.text, one.words[-1].at, "Asked, and its turn did not end", then)
        yield replace(made, doubted=one.doubted)
    for waiting in seen.ledger.waiting:
        if not waiting.by_cli and not seen.around.typed(waiting):
            yield _found(waiting.text, waiting.at, WAITED)


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    is_open = {one.source: one for one in found(seen)}
    mine = source_in(loop, seen.session)
    if mine in is_open or any(one.text == loop.text for one in is_open.values()):
        return None
    if mine:
        return _over_in_session(loop, mine, seen, others=bool(is_open))
    if _was_asked_again(loop, seen):
        return "it was asked again, and that turn ended well"
    if _went_on(loop, seen) is not None:
        return "the session that was told to go on with it ended its turn well"
    return None


def _over_in_session(loop: OpenLoop, mine: str, seen: Seen, *, others: bool) -> str | None:
    """Why a request of this session is unanswered no more. others: another one is."""
    turns = turns_of(seen)
    its = next((at for at, turn in reversed([*enumerate(turns)]) if mine in map(_source_of, turn.words)), None)
    if its is None and is_unconfirmed(loop):
        # What was said long ago is kept no more: of a request that was in doubt then nothing new is known.
        return None
    if its is not None and turns[its].is_unclear:
        return None
    if is_over(seen) or (its is not None and any(turn.ended == "done" for turn in turns[its:])):
        return "a turn of the same session ended well after it"
    return "the session went on with another request" if others or its is not None else None


def doubted(loop: OpenLoop, seen: Seen) -> float | None:
    """When a request of an earlier session became doubtful (wall); None: it did not.

    This session spoke of it, or went on with what was asked after it in its own session, which may have asked for it.
    """
    if source_in(loop, seen.session):
        return None
    at = said.spoken_of(loop, seen, " ".join(_quotes(loop)))
    after = (_went_on(one, seen) for one in seen.known if _is_asked_after(one, loop))
    known = [one for one in (at, *after) if one is not None and _is_later(one, loop)]
    return max(known, default=None)


def _was_asked_again(loop: OpenLoop, seen: Seen) -> bool:
    """Whether all words of it were said again since, in turns that ended well."""
    again: set[str] = set()
    for turn in turns_of(seen):
        if turn.ended == "done" and _is_later(turn.prompt.at, loop):
            again |= {quoted(words.text) for words in turn.words}
            again |= {quoted(words.text, LATER_LIMIT) for words in turn.words[1:]}
    quotes = _quotes(loop)
    return bool(quotes) and all(one in again for one in quotes)


def _went_on(loop: OpenLoop, seen: Seen) -> float | None:
    """When this session was told to go on with a request of an earlier one, and ended that turn well (wall).

    A prompt to go on may name the task in hand. One that names none goes on with what the session is at; before
    anything was asked of it, that is what was asked last of the sessions before.
    """
    is_at: tuple[str, ...] | None = None
    if loop.text.startswith(WAITED):
        # What no session has read yet is no part of what it went on with.
        return None
    for turn in turns_of(seen):
        words = seen.around.goes_on(turn.prompt)
        if not words:
            if not seen.around.typed(turn.prompt) or _is_goal(turn.prompt, seen):
                is_at = ()
            continue
        is_at = tasks_told(words) or is_at
        if turn.ended != "done" or not _is_later(turn.prompt.at, loop):
            continue
        if _is_asked_last(loop, seen) if is_at is None else is_one_of(_quotes(loop), is_at):
            return turn.prompt.at or seen.now
    return None


def _is_asked_after(one: OpenLoop, loop: OpenLoop) -> bool:
    """Whether a request was made later in the same session."""
    is_there = kind_of(one) == KIND and extra(one, SOURCE).partition(": ")[0] == extra(loop, SOURCE).partition(": ")[0]
    return is_there and extra(one, ASKED) > extra(loop, ASKED)


def _is_goal(words: Words, seen: Seen) -> bool:
    goal = normal(seen.goal)
    return (goal != "" and normal(words.text).startswith(goal)) or not seen.around.goal.isdisjoint(words.names)


def _is_asked_last(loop: OpenLoop, seen: Seen) -> bool:
    """Whether no other request was left later. What an older version left has no time."""
    left = (one for one in seen.known if kind_of(one) == KIND and not one.text.startswith(WAITED))
    return all(extra(one, ASKED) <= extra(loop, ASKED) for one in left if not source_in(one, seen.session))


def _is_later(at: float | None, loop: OpenLoop) -> bool:
    """Whether something came after the request was made, as far as times are known: an earlier session may be read
    after a later one."""
    asked = read_time(extra(loop, ASKED))
    return at is None or asked is None or at > asked


def _quotes(loop: OpenLoop) -> list[str]:
    """The words that a loop quotes, each with its quotation marks: none stand within."""
    return _QUOTE.findall(loop.text)


def _source_of(words: Words) -> str:
    return _source(words.text)


def _source(text: str) -> str:
    return f"prompt {digest(text)[:8]}"


def _found(text: str, at: float | None, how: str, then: str = "") -> Found:
    extras = {ASKED: timestamp(at)} if at is not None else {}
    return Found(KIND, _source(text), f"{how}: {quoted(text)}{then}", at, extras=extras)
