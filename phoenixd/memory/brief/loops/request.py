"""What a person asked for without a turn that ended with it: prompts that nothing answered, and those that still wait.

A request is over once its own turn ended well, or one that went on with it. That a turn ended well with another prompt
shows neither that the request was done nor that it was not: it stays, and is unconfirmed from then on.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from phoenixd.documents.banner import tasks_told
from phoenixd.documents.ledger_rows import Words, digest
from phoenixd.documents.loop_origin import SOURCE, extra, kind_of
from phoenixd.documents.state import OpenLoop, is_unconfirmed
from phoenixd.documents.times import read_time, timestamp
from phoenixd.documents.transcript import Ending
from phoenixd.memory.brief.loops import said
from phoenixd.memory.brief.loops.alike import normal
from phoenixd.memory.brief.loops.seen import Found, Seen, quoted, source_in

KIND = "request"
LATER_LIMIT, MOST_LATER = 120, 4
WAITED = "Asked while a turn was going on, and not read"
ASKED = "asked"
"""The key of a loop that says when its newest words were said."""

_QUOTE, _CUT = re.compile(r'"[^"]*"'), " … "


@dataclass(frozen=True, slots=True)
class _Turn:
    """A prompt, and what was said in the middle of its turn.

    ended None: it did not, or not yet. is_unclear: nothing tells whether it did.
    """

    words: tuple[Words, ...]
    ended: Ending | None
    is_unclear: bool = False

    @property
    def prompt(self) -> Words:
        return self.words[0]


@dataclass(frozen=True, slots=True)
class _Request:
    """doubted: since when (wall) another prompt's turn has ended well after it."""

    words: tuple[Words, ...]
    ended: Ending | None
    doubted: float | None = None

    def in_doubt(self, turn: _Turn) -> _Request:
        return self if self.doubted is not None else replace(self, doubted=turn.prompt.at or 0.0)


def found(seen: Seen) -> Iterator[Found]:
    for one in _unanswered(seen):
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
    turns = _turns(seen)
    its = next((at for at, turn in reversed([*enumerate(turns)]) if mine in map(_source_of, turn.words)), None)
    if its is None and is_unconfirmed(loop):
        # What was said long ago is kept no more: of a request that was in doubt then nothing new is known.
        return None
    if its is not None and turns[its].is_unclear:
        return None
    if _is_over(seen) or (its is not None and any(turn.ended == "done" for turn in turns[its:])):
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


def _unanswered(seen: Seen) -> list[_Request]:
    """The requests of the session that no turn answered, oldest first."""
    standing: list[_Request] = []
    for turn in _turns(seen):
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
            standing = [*_not_stopped(standing), _Request(own, turn.ended)]
    return standing


def _after(standing: list[_Request], turn: _Turn) -> Iterator[_Request]:
    """What is unanswered yet once a turn of a person's has ended well."""
    again = {words.text for words in turn.words}
    for one in _not_stopped(standing):
        if not {words.text for words in one.words} <= again:
            yield one.in_doubt(turn)


def _after_going_on(standing: list[_Request], turn: _Turn, named: tuple[str, ...]) -> Iterator[_Request]:
    """The same of a turn that went on: with what was asked last, and with what is named as the task in hand."""
    for place, one in enumerate(standing, 1):
        is_it = place == len(standing) or _is_one_of([quoted(words.text) for words in one.words], named)
        if not is_it or one.doubted is not None:
            yield one.in_doubt(turn)


def _not_stopped(standing: list[_Request]) -> list[_Request]:
    """Without those whose turn the person stopped: who asks something else then has seen to it."""
    return [one for one in standing if one.ended != "interrupted"]


def _turns(seen: Seen) -> list[_Turn]:
    person = seen.ledger.speech.person
    parts: list[list[Words]] = []
    done: set[str] = set()
    for words in person:
        is_again = words.turn is None and words.text in done and not seen.around.typed(words)
        if is_again and words is not person[-1]:
            # One CLI writes a conversation once more, without its ends, after something was denied.
            continue
        if words.turn == "done":
            done.add(words.text)
        if parts and _is_of_the_turn(words, parts[-1], seen):
            parts[-1].append(words)
        else:
            parts.append([words])
    turns = [_Turn(tuple(one), one[-1].turn) for one in parts]
    if seen.ledger.writes_no_ends:
        # That a turn ended is concluded from the next prompt: not where that has the session go on with it.
        cut = [turn.ended == "done" and seen.around.goes_on(after.prompt) for turn, after in itertools.pairwise(turns)]
        turns = [replace(turn, ended=None) if is_cut else turn for turn, is_cut in zip(turns, [*cut, ""], strict=False)]
    if turns and turns[-1].ended is None and seen.turn_open is not True:
        is_over = _is_over(seen)
        turns[-1] = replace(turns[-1], ended="done" if is_over else None, is_unclear=not is_over)
    return turns


def _is_of_the_turn(words: Words, turn: list[Words], seen: Seen) -> bool:
    """Whether something was said in the middle of a turn."""
    if words.queued:
        return words.turn == turn[-1].turn
    if not seen.ledger.writes_no_ends or turn[-1].turn is not None:
        return False
    # No end stands between the two, and no word of ours that a process began anew.
    return not seen.around.typed(turn[0]) and not seen.around.typed(words)


def _is_over(seen: Seen) -> bool:
    """Whether the newest turn ended, and ended well."""
    ending = seen.ledger.ending
    if ending is not None:
        return ending.how == "done"
    return seen.turn_open is False


def _was_asked_again(loop: OpenLoop, seen: Seen) -> bool:
    """Whether all words of it were said again since, in turns that ended well."""
    again: set[str] = set()
    for turn in _turns(seen):
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
    for turn in _turns(seen):
        words = seen.around.goes_on(turn.prompt)
        if not words:
            if not seen.around.typed(turn.prompt) or _is_goal(turn.prompt, seen):
                is_at = ()
            continue
        is_at = tasks_told(words) or is_at
        if turn.ended != "done" or not _is_later(turn.prompt.at, loop):
            continue
        if _is_asked_last(loop, seen) if is_at is None else _is_one_of(_quotes(loop), is_at):
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


def _is_one_of(quotes: list[str], tasks: tuple[str, ...]) -> bool:
    """Whether a request that is quoted so is one of these tasks; of a long one each may have another part."""
    for quote in quotes:
        whole, (head, cut, _) = normal(quote), quote.partition(_CUT)
        for task in tasks:
            named = normal(task)
            if whole == named or (cut and len(quote) >= LATER_LIMIT and named.startswith(normal(head))):
                return True
            if named and task.endswith("…") and whole.startswith(named):
                return True
    return False


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
