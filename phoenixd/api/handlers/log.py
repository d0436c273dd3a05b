"""What agents said and did, out of their transcripts: the newest lines of all that are chosen, and what follows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

from phoenixd.api import problems
from phoenixd.api.exchange import Ask, Reply
from phoenixd.api.handlers.acting import selected
from phoenixd.api.pages import log as pages
from phoenixd.api.pages.layout import Page, page
from phoenixd.api.problems import Problem
from phoenixd.api.representation import Json
from phoenixd.api.times import parse_past, rfc3339
from phoenixd.core import selection
from phoenixd.core.decision import Refusal
from phoenixd.core.projection import project
from phoenixd.core.subjects import subjects
from phoenixd.documents.log_lines import LogLine, merged

LINES = 50
EVERY = 1.0
"""Seconds between two looks at what was added, as long as somebody follows."""
MOST_ADDED = 5_000
"""Lines that one frame holds: of more that came between two looks, the newest."""
BEAT_AFTER = 2.0
BEAT_FRAME = ": beat\n\n"


async def read_log(ask: Ask) -> Reply:
    names = _chosen(ask, strict=True)
    most, since = _most(ask), _since(ask)
    told = merged(await ask.service.log().lines(names, most, since), most)
    return Reply({"lines": [document(one) for one in told]}, lambda here: _page(told, names, here))


async def follow(ask: Ask, last_event_id: str | None, closing: asyncio.Event) -> AsyncIterator[str]:
    """Frames of lines: those that there are, then what is added; an id is the newest line's time in wall seconds."""
    after = _after(last_event_id)
    names = _chosen(ask, strict=True)
    reader, most = ask.service.log(), _most(ask)
    since = after if after is not None else _since(ask)
    began = ask.service.now().wall
    first = merged(await reader.lines(names, most, since), most)

    async def frames() -> AsyncIterator[str]:
        newest, silent, lines = after or 0.0, 0.0, first
        yield BEAT_FRAME
        while not closing.is_set():
            # What was given before the connection broke has the time of its id, or an earlier one.
            lines = [one for one in lines if after is None or one.at is None or one.at > after]
            if lines:
                newest, silent = max(newest, *(one.at or 0.0 for one in lines)), 0.0
                yield f"id: {newest!r}\ndata: {json.dumps({'lines': [document(one) for one in lines]})}\n\n"
            elif silent >= BEAT_AFTER:
                silent = 0.0
                yield BEAT_FRAME
            silent += EVERY
            try:
                await asyncio.wait_for(closing.wait(), EVERY)
            except TimeoutError:
                # Anew each time: whom a selector means changes, and agents come and go.
                known = _chosen(ask, strict=False)
                lines = merged(await reader.lines(known, most, began), MOST_ADDED)

    return frames()


def document(one: LogLine) -> Json:
    return {"at": rfc3339(one.at), "agent": one.agent, "kind": one.kind, "tool": one.tool or None, "text": one.text}


def _page(lines: Sequence[LogLine], names: Sequence[str], here: Page) -> str:
    if not lines:
        return page(["Nothing was said. The terminal itself: phoenixctl screen NAME"])
    width = pages.column(names, here)
    return "".join(f"{pages.line(one, width, here, cut=False)}\n" for one in lines)


def _chosen(ask: Ask, *, strict: bool) -> tuple[str, ...]:
    """Whom it is about; strict: a name that is not there is refused, as is nothing at all."""
    fleet = ask.service.fleet()
    known = subjects(project(fleet, ask.service.now()))
    selector = selected(str(ask.arguments["select"]))
    if not strict:
        return tuple(one.name for one in known if selector.takes(one))
    found = selection.choose(selector, known)
    if isinstance(found, Refusal):
        raise problems.of_refusal(found)
    return found


def _most(ask: Ask) -> int:
    given = ask.arguments["lines"]
    return int(given) if given is not None else LINES if ask.arguments["since"] is None else 10_000


def _since(ask: Ask) -> float | None:
    words = ask.arguments["since"]
    if words is None:
        return None
    try:
        return parse_past(str(words), ask.service.now().wall, None)
    except ValueError as error:
        raise Problem("invalid", str(error), "phoenixctl log --since 8h") from None


def _after(last_event_id: str | None) -> float | None:
    if last_event_id is None:
        return None
    try:
        return float(last_event_id[:40])
    except ValueError:
        raise Problem("invalid", "Last-Event-ID is no time", "leave it out to begin with the newest lines") from None
