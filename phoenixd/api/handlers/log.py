"""What agents said and did, out of their transcripts: the newest lines of all that are chosen, and what follows."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence

from phoenixd.api.exchange import Ask, Reply
from phoenixd.api.pages import log as pages
from phoenixd.api.pages.layout import Page, page
from phoenixd.api.problems import Problem
from phoenixd.api.representation import Json
from phoenixd.api.service import LogReader
from phoenixd.api.times import meant_past, parse_past, rfc3339
from phoenixd.core import selection
from phoenixd.core.fleet import Fleet
from phoenixd.core.projection import project
from phoenixd.core.seat.finding import is_other, meant, shown
from phoenixd.core.selection import Selector
from phoenixd.core.subjects import subjects
from phoenixd.documents.log_lines import LogLine, merged

LINES = 50
EVERY = 1.0
"""Seconds between two looks at what was added, as long as somebody follows."""
CHOSEN_EVERY = 5.0
"""Seconds between two looks at whom a selector means that asks for more than names."""
MOST_ADDED = 5_000
"""Lines of one session that is new to a follower, or that it comes back to where nobody knows the place."""
IN_A_FRAME = 500
BEAT_AFTER = 2.0
BEAT_FRAME = ": beat\n\n"
LONGEST_ID = 8_000
"""Characters of an event's id: it comes back as a header, with others."""
ID = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)(?: ([a-z0-9_,:.-]{0,8000}))?", re.ASCII)


async def read_log(ask: Ask) -> Reply:
    names = _chosen(ask)
    most, since = _most(ask), _since(ask)
    told = await ask.service.log().newest(names, most, since, ask.service.now().wall)
    return Reply({"lines": [document(one) for one in told]}, lambda here: _page(told, names, here))


async def follow(ask: Ask, last_event_id: str | None, closing: asyncio.Event) -> AsyncIterator[str]:
    """Frames of lines: those that there are, then what is added.

    An event's id says when it was told, and up to which place of each transcript: a follower that comes back, be it to
    another daemon, is told what came since, whatever times the agents write.
    """
    after = _after(last_event_id)
    names = _Names(ask, _chosen(ask))
    reader, most = ask.service.log(), _most(ask)
    began = ask.service.now().wall
    first: list[LogLine] = []
    if after is None:
        first = await reader.newest(names.now(), most, _since(ask), began)
    else:
        began = after[0]
        reader.resume(after[1])

    async def frames() -> AsyncIterator[str]:
        silent, is_more, lines = 0.0, after is not None, first
        yield BEAT_FRAME
        looked = began
        while not closing.is_set():
            if lines:
                silent = 0.0
                for frame in _frames(lines, looked, reader):
                    yield frame
                lines.clear()
            elif silent >= BEAT_AFTER:
                silent = 0.0
                yield BEAT_FRAME
            if not is_more:
                silent += EVERY
                await _unless(closing, EVERY)
            looked = ask.service.now().wall
            found, is_more = await reader.added(names.now(), began, MOST_ADDED)
            lines += merged(found, len(found), looked)

    return frames()


def document(one: LogLine) -> Json:
    return {"at": rfc3339(one.at), "agent": one.agent, "kind": one.kind, "tool": one.tool or None, "text": one.text}


class _Names:
    """Whom a follower's selector means as time goes on: agents come and go."""

    def __init__(self, ask: Ask, chosen: tuple[str, ...]) -> None:
        self._ask = ask
        self._selector = ask.selector() or selection.EVERYBODY
        self._by_name = all(term.key == selection.NAME for term in self._selector.terms)
        self._names = chosen
        self._agents: object = None
        self._due = 0.0

    def now(self) -> tuple[str, ...]:
        fleet, now = self._ask.service.fleet(), self._ask.service.now()
        if self._by_name:
            if fleet.agents is not self._agents:
                self._agents = fleet.agents
                self._names = _by_name(fleet, self._selector)
        elif now.at >= self._due:
            self._due = now.at + CHOSEN_EVERY
            known = subjects(project(fleet, now))
            self._names = tuple(one.name for one in known if self._selector.takes(one))
        return self._names


def _by_name(fleet: Fleet, selector: Selector) -> tuple[str, ...]:
    names = {shown(fleet, agent) for agent in fleet.agents.values() if not is_other(fleet, agent)}
    names |= {name for name in selector.names if meant(fleet, name) is not None}
    return tuple(sorted(name for name in names if selector.takes(selection.named(name))))


def _frames(lines: Sequence[LogLine], looked: float, reader: LogReader) -> list[str]:
    """Lines as frames; the last one bears the id, so that who comes back in between lacks none."""
    chunks = [lines[at : at + IN_A_FRAME] for at in range(0, len(lines), IN_A_FRAME)]
    told = [f"data: {json.dumps({'lines': [document(one) for one in chunk]})}\n\n" for chunk in chunks]
    return [*told[:-1], f"id: {_id(looked, reader.places())}\n{told[-1]}"]


def _id(looked: float, places: Mapping[str, str]) -> str:
    """When was looked, and the places of those that said something last, as many as there is room for."""
    found, length = [], 0
    for agent, place in places.items():
        length += len(agent) + len(place) + 2
        if length > LONGEST_ID - 30:
            break
        found.append(f"{agent}:{place}")
    return f"{looked:.3f} {','.join(found)}".strip()


def _after(last_event_id: str | None) -> tuple[float, dict[str, str]] | None:
    if last_event_id is None:
        return None
    found = ID.fullmatch(last_event_id)
    if found is None:
        raise Problem("invalid", "Last-Event-ID is no place in the log", "leave it out to begin with the newest lines")
    places = (one.partition(":") for one in (found[2] or "").split(",") if one)
    return float(found[1]), {agent: place for agent, _, place in places}


def _page(lines: Sequence[LogLine], names: Sequence[str], here: Page) -> str:
    if not lines:
        told = f"Nothing was said. The terminal itself: phoenixctl screen {names[0] if len(names) == 1 else 'NAME'}"
        return page([here.reaching(told)])
    width = pages.column(names, here)
    return "".join(f"{pages.line(one, width, here, cut=False)}\n" for one in lines)


def _chosen(ask: Ask) -> tuple[str, ...]:
    """Whom it is about; a name that is not there is refused, as is nothing at all."""
    selector = ask.selector() or selection.EVERYBODY
    fleet = ask.service.fleet()
    known = {one.name: one for one in subjects(project(fleet, ask.service.now()))}
    known |= {name: selection.named(name) for name in selector.names if meant(fleet, name) and name not in known}
    return ask.choose(selector, known.values())


def _most(ask: Ask) -> int:
    given = ask.arguments["lines"]
    return int(given) if given is not None else LINES if ask.arguments["since"] is None else 10_000


def _since(ask: Ask) -> float | None:
    words = ask.arguments["since"]
    if words is None:
        return None
    try:
        return parse_past(str(words), ask.service.now().wall, ask.zone)
    except ValueError as error:
        raise Problem("invalid", str(error), f"phoenixctl log --since {meant_past(str(words))}") from None


async def _unless(closing: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(closing.wait(), seconds)
    except TimeoutError:
        return
