"""Server-sent events: journal rows as they are committed, and a pane as it changes.

A follower holds nothing but the number of the last row it was given: rows are read from the journal when the doorbell
rings, so a slow client costs no memory, and `Last-Event-ID` goes on where it was, also over restarts of the daemon.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from functools import partial, reduce

from phoenixd.api import representation
from phoenixd.api.exchange import Ask, here
from phoenixd.api.feed.following import CHUNK, Follower
from phoenixd.api.handlers import past, queries
from phoenixd.api.pages import history as text_history
from phoenixd.api.pages.pane import pane_text
from phoenixd.api.problems import Problem
from phoenixd.api.times import meant_past, parse_past
from phoenixd.core.seat.finding import known_as, meant, written_by
from phoenixd.errors import TerminalFailed
from phoenixd.ports.journal import StoredEntry

BEAT = 2.0
"""Seconds after which a silent stream says that it lives (design section 6)."""
PANE_EVERY = 1.0
ROWS = 500
BEAT_FRAME = ": beat\n\n"

Rows = str | tuple[str, ...] | None
"""Whose rows are read; None for all."""


async def events(ask: Ask, last_event_id: str | None, closing: asyncio.Event, beat: float = BEAT) -> AsyncIterator[str]:
    """Frames of journal rows after the given one, or from now on; returned only once the start is known to be valid."""
    agent = ask.arguments["agent"]
    if agent is not None:
        ask.written_by(str(agent))
    past.rows_of(ask)  # Refused now, and not where frames are made.
    story = queries.is_story(ask)
    after, since_wall = await _start(ask, last_event_id)

    async def frames() -> AsyncIterator[str]:
        last, wall, marked, recent = after, since_wall, -1, [_rows_of(ask)]
        yield BEAT_FRAME  # The first bytes tell the client that the stream stands.
        while not closing.is_set():
            newest = await _newest(ask)  # Before the rows: what is committed in between is then read, not skipped.
            now_chosen = _rows_of(ask)  # Anew each time: a seat may have passed on meanwhile.
            # By one of these rows an agent may have left those that are chosen. The fleet is ahead of the journal by
            # what is being committed, so it stays until that was read.
            recent = [*recent[-2:], now_chosen] if newest > marked else [*recent[:-1], _either(recent[-1], now_chosen)]
            marked, rows_of = newest, reduce(_either, recent)
            rows = await ask.service.journal.read(after=last, agent=rows_of, since_wall=wall, limit=ROWS, story=story)
            for row in rows:
                last = row.seq
                yield _frame(row.seq, _told(ask, row))
            if len(rows) == ROWS:
                recent = [rows_of]
                continue
            last, wall = max(last, newest), None
            if not await _unless(closing, ask.service.wait_committed(last, beat)):
                yield BEAT_FRAME

    return frames()


async def feed(ask: Ask, last_event_id: str | None, closing: asyncio.Event, beat: float = BEAT) -> AsyncIterator[str]:
    """Frames of all that changes; returned only once the start is known to be valid."""
    assert ask.feed is not None
    after = _row(last_event_id) if last_event_id is not None else None
    follower = Follower(ask.feed, ask.service, ask.selector())
    first = await follower.begin(after)

    async def frames() -> AsyncIterator[str]:
        for chunk in range(0, len(first), CHUNK):
            yield "".join(first[chunk : chunk + CHUNK])
        first.clear()
        async for told in follower.run(closing, beat):
            yield told

    return frames()


def _row(last_event_id: str) -> int:
    if not last_event_id.isascii() or not last_event_id.isdigit() or len(last_event_id) > 18:
        raise Problem("invalid", "Last-Event-ID is not a row number", "leave it out to follow from now on")
    return int(last_event_id)


async def pane(ask: Ask, closing: asyncio.Event, every: float = PANE_EVERY) -> AsyncIterator[str]:
    """Frames of an agent's terminal, one whenever it has changed."""
    queries.has_terminal(ask)
    lines = ask.arguments["lines"] or 200

    async def frames() -> AsyncIterator[str]:
        shown: str | None = None
        silent = 0.0
        while not closing.is_set() and meant(ask.service.fleet(), ask.name) is not None:
            try:
                captured = await asyncio.to_thread(pane_text, await ask.service.pane(ask.name, lines))
            except TerminalFailed:
                captured = shown or ""  # The terminal may come back; the follower waits for it.
            if captured != shown:
                shown, silent = captured, 0.0
                yield f"data: {json.dumps({'text': captured})}\n\n"
            elif silent >= BEAT:
                silent = 0.0
                yield BEAT_FRAME
            silent += every
            # tmux tells of changes only to a client that reads all output; a look each second costs less than that.
            await _unless(closing, asyncio.sleep(every, False))

    return frames()


async def _start(ask: Ask, last_event_id: str | None) -> tuple[int, float | None]:
    if last_event_id is not None:
        return min(_row(last_event_id), await _newest(ask)), None
    words = ask.arguments["since"]
    if words is not None:
        now = ask.service.now().wall
        if words == "last":
            return 0, await ask.chronicle.last_look(ask.caller.uid, now)
        try:
            return 0, parse_past(words, now, ask.zone)
        except ValueError as error:
            raise Problem("invalid", str(error), f"phoenixctl events --since {meant_past(words)}") from None
    if ask.arguments["lines"] is not None:
        rows = await ask.service.journal.read(
            agent=_rows_of(ask), newest=True, limit=ask.arguments["lines"], story=queries.is_story(ask)
        )
        return (rows[0].seq - 1 if rows else await _newest(ask)), None
    return await _newest(ask), None


def _rows_of(ask: Ask) -> Rows:
    """Whose rows are followed; of an agent that was removed meanwhile those under its own name."""
    agent, selector = ask.arguments["agent"], ask.typed()
    fleet = ask.service.fleet()
    if agent is not None:
        return written_by(fleet, str(agent)) or str(agent)
    if selector is None:
        return None
    known = past.nameable(ask, selector)
    return past.written_of(ask, frozenset(one.name for one in known if selector.takes(one)))


def _either(before: Rows, now: Rows) -> Rows:
    if isinstance(before, tuple) and isinstance(now, tuple):
        return tuple(dict.fromkeys((*before, *now)))
    return now


async def _newest(ask: Ask) -> int:
    rows = await ask.service.journal.read(newest=True, limit=1)
    return rows[-1].seq if rows else 0


def _told(ask: Ask, row: StoredEntry) -> str:
    if ask.arguments["form"] == "text":
        called = partial(known_as, ask.service.fleet())
        return text_history.event(row, here(ask.arguments, ask.service.now()), called=called)
    return json.dumps(representation.event(row))


def _frame(row: int, data: str) -> str:
    return f"id: {row}\ndata: {data}\n\n"


async def _unless(closing: asyncio.Event, waiting: Awaitable[bool]) -> bool:
    """Await something, but no longer than until the server closes."""
    wait, close = asyncio.ensure_future(waiting), asyncio.ensure_future(closing.wait())
    try:
        done, _ = await asyncio.wait((wait, close), return_when=asyncio.FIRST_COMPLETED)
        return wait in done and wait.result()
    finally:
        wait.cancel()
        close.cancel()
