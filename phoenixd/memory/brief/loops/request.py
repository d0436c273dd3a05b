"""What a person asked for without a turn that ended with it: the last prompt, and those that still wait."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.documents.ledger_rows import Words, digest
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops.alike import normal
from phoenixd.memory.brief.loops.seen import Found, Seen, quoted, source_in

KIND = "request"
LATER_LIMIT, MOST_LATER = 120, 2
WAITED = "Asked while a turn was going on, and not read"


def found(seen: Seen) -> Iterator[Found]:
    turn = list(_unfinished(seen))
    if turn:
        # What was said in the middle of a turn belongs to it.
        then = "".join(f", and then {quoted(words.text, LATER_LIMIT)}" for words in turn[1:][-MOST_LATER:])
        yield _found(turn[0].text, turn[-1].at, "Asked, and its turn did not end", then)
    for waiting in seen.ledger.waiting:
        if not waiting.by_cli and not seen.around.typed(waiting):
            yield _found(waiting.text, waiting.at, WAITED)


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    is_open = {one.source: one for one in found(seen)}
    mine = source_in(loop, seen.session)
    if mine in is_open or any(one.text == loop.text for one in is_open.values()):
        return None
    if mine:
        if _is_over(seen):
            return "a turn of the same session ended well after it"
        return "the session went on with another request" if is_open else None
    if any(words.turn == "done" and quoted(words.text) in loop.text for words in seen.ledger.speech.person):
        return "it was asked again, and that turn ended well"
    # What no session has read yet is no part of what it went on with.
    is_read = not loop.text.startswith(WAITED)
    return "the session that was told to go on with it ended its turn well" if is_read and _went_on(seen) else None


def _unfinished(seen: Seen) -> Iterator[Words]:
    """The person's words of the turn that did not end: its prompt, and what was said in the middle of it.

    A run that is told to go on goes on with the prompt before.
    """
    if seen.turn_open is False and _is_over(seen):
        return
    if seen.turn_open is None and not _ended_badly(seen):
        return
    spoken = [words for words in seen.ledger.speech.person if not seen.around.typed(words)]
    newest: list[Words] = []
    for words in reversed(spoken):
        if words.turn == "done":
            break
        newest.append(words)
        if not words.queued:
            break
    yield from reversed(newest)


def _is_over(seen: Seen) -> bool:
    """Whether the newest turn ended, and ended well."""
    ending = seen.ledger.ending
    if ending is not None:
        return ending.how == "done"
    return seen.turn_open is False


def _ended_badly(seen: Seen) -> bool:
    ending = seen.ledger.ending
    return ending is not None and ending.how != "done"


def _went_on(seen: Seen) -> bool:
    """Whether the session was told to go on with what was left, and not only its goal, and ended that turn well."""
    ours = [words for words in seen.ledger.speech.person if seen.around.typed(words)]
    goal = normal(seen.goal)
    return any(
        words.turn == "done" and normal(words.text) != goal and seen.around.goal.isdisjoint(words.begins[:1])
        for words in ours
    )


def _found(text: str, at: float | None, how: str, then: str = "") -> Found:
    return Found(KIND, f"prompt {digest(text)[:8]}", f"{how}: {quoted(text)}{then}", at)
