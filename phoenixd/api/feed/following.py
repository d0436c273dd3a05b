"""One follower of the feed: what is told first, then each change and each row of the story, in the order of their rows.

A frame with an id is sent only after everything of an older row. So a client that comes back with the id of the last
frame that it got lacks nothing but what changed at that row or later, and volatile things need no id of their own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from phoenixd.api.feed.ledger import Change
from phoenixd.api.feed.live import Feed
from phoenixd.api.feed.notes import Note
from phoenixd.api.service import Service
from phoenixd.api.times import rfc3339
from phoenixd.core.selection import NAME, Selector, Subject

RETRY = 2_000
"""Milliseconds after which a browser connects again."""
MOST_NOTES = 2_000
"""Rows of the story that are told to a follower that comes back; one that missed more begins anew, and is told so."""
CHUNK = 64
"""Frames that are sent in one go at most."""


@dataclass(slots=True)
class Follower:
    """selector: the agents that it is told about; None for all, and for what concerns the fleet."""

    feed: Feed
    service: Service
    selector: Selector | None = None
    change: int = 0
    row: int = 0
    _shown: set[str] = field(default_factory=set)

    async def begin(self, last_event_id: int | None) -> list[str]:
        """The first frames: who speaks, and all that the follower may lack."""
        feed = self.feed
        await feed.begin()
        feed.refresh()
        ledger = feed.ledger
        frames, after = [f"retry: {RETRY}\n\n"], last_event_id
        if after is not None and (why := await self._lost(after)):
            frames.append(_frame("resync", {"why": why, "as_of": feed.as_of}))
            after = None
        self.change, self.row = ledger.number, after if after is not None else ledger.row
        # Of a row of an older boot nobody knows what was told with it.
        goes_on = after is not None and after > max(feed.began_at_row, ledger.forgotten_row) and self.selector is None
        if goes_on and after is not None:
            frames.append(self._hello(whole=False))
            frames += [_raw(change.event, change.data, None) for change in ledger.since_row(after)]
        else:
            frames += self._whole()
        if after is None:
            # The first id: who comes back before anything happened is told what happened meanwhile.
            frames.append(self.beat())
        else:
            frames += await self._merged([], ledger.row)
        return frames

    async def run(self, closing: asyncio.Event, beat: float) -> AsyncIterator[str]:
        """Frames for ever, some at a time; a beat at least so often."""
        loop = asyncio.get_running_loop()
        self.feed.followers += 1
        try:
            due, looked = loop.time() + beat, 0.0
            while not closing.is_set():
                frames = await self._next()
                if loop.time() >= due:
                    self.feed.audit(beat)
                    frames.append(self.beat())
                    due = loop.time() + beat
                for chunk in range(0, len(frames), CHUNK):
                    yield "".join(frames[chunk : chunk + CHUNK])
                looked = loop.time()
                await _unless(closing, self.feed.news(self.change, self.row, max(0.0, due - looked), looked))
        finally:
            self.feed.followers -= 1

    def beat(self) -> str:
        """The sign of life, with what the follower now stands at."""
        told = {"as_of": {**self.feed.as_of, "row": self.row, "change": self.change}}
        return _frame("beat", {**told, "now": rfc3339(self.service.now().wall)}, self.row)

    async def _next(self) -> list[str]:
        self.feed.refresh()
        ledger = self.feed.ledger
        changes, row = self.feed.changes(self.change), ledger.row
        frames: list[str] = []
        if changes is None:
            frames, changes = self._whole(), []
        self.change = ledger.number
        return frames + await self._merged(changes, row)

    async def _merged(self, changes: list[Change], row: int) -> list[str]:
        """Changes and rows of the story in the order of their rows, the rows first: a change is of its row's end."""
        frames: list[str] = []
        # Whose row enters what is chosen with these changes: the rows that brought that about are told as well.
        chosen = self._chosen(changes) if self.selector is not None else set()
        waiting = iter(changes)
        change = next(waiting, None)
        notes = await self.feed.notes.between(self.row, row) if self.row < row else ()
        for note in notes:
            while change is not None and change.row < note.row:
                frames += self._of(change, chosen)
                change = next(waiting, None)
            frames += self._note(note, chosen)
        self.row = max(self.row, row)
        rest = [*([change] if change is not None else []), *waiting]
        return frames + [frame for one in rest for frame in self._of(one, chosen)]

    def _hello(self, *, whole: bool) -> str:
        """whole: what the client knows is void, and all that is there follows."""
        return _frame("hello", {"boot": self.feed.boot, "as_of": self.feed.as_of, "whole": whole})

    def _whole(self) -> list[str]:
        """All that is there. Without ids: a client that loses the link meanwhile has not got it all."""
        standing = list(self.feed.ledger.standing())
        if self.selector is not None:
            self._shown = self._chosen(standing)
            standing = [one for one in standing if one.agent in self._shown]
        return [self._hello(whole=True), *(_raw(change.event, change.data, None) for change in standing)]

    async def _lost(self, after: int) -> str:
        """Why what came after this row cannot be told; empty where it can."""
        ledger, journal = self.feed.ledger, self.service.journal
        if after > ledger.row:
            return f"row {after} is not in this journal, whose newest row is {ledger.row}"
        first = await journal.read(limit=1)
        if first and after < first[0].seq - 1:
            return f"the journal begins at row {first[0].seq}"
        missed = await journal.read(after=after, limit=MOST_NOTES + 1, story=True)
        return f"more than {MOST_NOTES} rows of the story followed" if len(missed) > MOST_NOTES else ""

    def _note(self, note: Note, chosen: set[str]) -> Iterator[str]:
        if self.selector is None or (note.agent is not None and self._concerns(note.agent, chosen)):
            yield _raw("note", note.data, note.row)

    def _concerns(self, name: str, chosen: set[str]) -> bool:
        if name in self._shown or name in chosen:
            return True
        # Of an agent that is gone nothing but its name is known, by which names alone can choose.
        return self.feed.ledger.body("agent", name) is None and self._takes_name(name)

    def _takes_name(self, name: str) -> bool:
        terms = self.selector.terms if self.selector is not None else ()
        return all(term.key == NAME for term in terms) and self._takes_subject(Subject(name, "", "", ()))

    def _takes_subject(self, subject: Subject) -> bool:
        return self.selector is None or self.selector.takes(subject)

    def _chosen(self, changes: Iterable[Change]) -> set[str]:
        """Of the agents that changed those that the selector takes."""
        return {one.key for one in changes if one.subject is not None and self._takes_subject(one.subject)}

    def _of(self, change: Change, chosen: set[str]) -> Iterator[str]:
        row = change.row if not change.is_volatile else None
        if self.selector is None:
            yield _raw(change.event, change.data, row)
            return
        name, was_shown = change.agent, change.agent in self._shown
        if name is None:
            return
        if change.event == "agent" and name not in chosen:
            if was_shown:
                self._shown.discard(name)
                yield _frame("gone", {"name": name, "removed": False}, row)
            return
        if change.event == "agent":
            self._shown.add(name)
            yield _raw(change.event, change.data, row)
            if not was_shown:
                # What waits since before the agent was chosen.
                beside = self.feed.ledger.beside(name, change.number)
                yield from (_raw(one.event, one.data, None) for one in beside)
        elif was_shown:
            yield _raw(change.event, change.data, row)
            if change.event == "gone":
                self._shown.discard(name)


def _frame(event: str, body: dict[str, Any], row: int | None = None) -> str:
    return _raw(event, json.dumps(body, separators=(",", ":")), row)


def _raw(event: str, data: str, row: int | None) -> str:
    return f"event: {event}\ndata: {data}\n\n" if row is None else f"id: {row}\nevent: {event}\ndata: {data}\n\n"


async def _unless(closing: asyncio.Event, waiting: Any) -> None:
    """Await something, but no longer than until the server closes."""
    wait, close = asyncio.ensure_future(waiting), asyncio.ensure_future(closing.wait())
    try:
        await asyncio.wait((wait, close), return_when=asyncio.FIRST_COMPLETED)
    finally:
        wait.cancel()
        close.cancel()
