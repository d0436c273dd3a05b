"""The ways by which alerts are told: what stands and waits for one is told by it, at a start and after it failed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Protocol

import structlog

from phoenixd.core.decision import Refusal
from phoenixd.core.events.fleet import AlertsTold, WaysBegun
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Instant
from phoenixd.core.redelivery import Way, catch_up, having_failed, having_told, is_due
from phoenixd.core.unheard import Numbered, Unheard
from phoenixd.errors import JournalFailed
from phoenixd.ports import Sink
from phoenixd.ports.journal import Journal

KEY = "alert_ways"
LOOK_EVERY = 60.0
"""Seconds between two looks whether something waits for a way that failed, or that had too much to tell."""

log = structlog.get_logger()


class Teller(Protocol):
    """What tells by the ways. See drivers.notify.notifier.Notifier."""

    @property
    def ways(self) -> dict[str, str]: ...

    def offered(self, way: str) -> Collection[int]: ...

    def let_go(self) -> bool: ...

    def is_at_rest(self, way: str) -> bool: ...

    def tell_late(self, way: str, late: Unheard) -> None: ...


class Ways:
    """Has the fleet know what was told, and each way tell late what it could not tell in time."""

    def __init__(self, fleet: Callable[[], Fleet], at: Callable[[], Instant], tell: Sink, teller: Teller) -> None:
        self._fleet, self._at, self._tell, self._teller = fleet, at, tell, teller
        self._ways = dict.fromkeys(teller.ways, Way())

    def begin(self) -> None:
        """Have told what waits from before this daemon."""
        for name in self._ways:
            self._catch_up(name)

    def hear(self, name: str, tells: tuple[Numbered, ...], problem: str | None) -> None:
        """A way has told these alerts, or could not, for good. The end of one names none."""
        if problem is not None:
            # What a message counts beside its own alert has no part in why it was refused.
            self._ways[name] = having_failed(self._ways[name], tells[0][1] if tells else None, self._at())
            return
        if tells:
            self._tell(AlertsTold(name, tells))
        way = self._ways[name] = having_told(self._ways[name], tells)
        # In one that has others to tell yet these would only take the places of those: a look finds it at rest.
        if way.behind and self._teller.is_at_rest(name):
            self._catch_up(name)

    def leave_out(self, name: str, tells: tuple[Numbered, ...], why: str) -> None:
        """A way is not to tell these alerts."""
        self._tell(AlertsTold(name, tells, why))

    async def look(self) -> None:
        """Have told what waits for ways whose time has come."""
        is_more = self._teller.let_go()
        for name, way in self._ways.items():
            self._ways[name] = way = replace(way, behind=way.behind or is_more)
            if is_due(way, self._at()) and self._teller.is_at_rest(name):
                self._catch_up(name)

    def _catch_up(self, name: str) -> None:
        found = catch_up(self._ways[name], name, self._fleet(), self._teller.offered(name), self._at())
        self._ways[name], late = found
        if late.alerts:
            self._teller.tell_late(name, late)


Ask = Callable[[WaysBegun], Awaitable[Refusal | None]]
"""Has an event be decided on; why it was refused, None once what follows from it is saved."""


async def begin_new(journal: Journal, ways: Mapping[str, str], stood: frozenset[int], ask: Ask) -> None:
    """Have what stood at the start wait for those of these ways that are new, and then none of them be new.

    ways: what tells each from another of its name. Where the journal cannot tell what an earlier daemon had, or that
    it waits is not saved, the next daemon finds them new.
    """
    try:
        kept = await journal.recall(KEY)
        new = _new(kept, ways)
        refusal = await ask(WaysBegun(tuple(sorted(new)), stood)) if new else None
        if refusal is not None:
            log.warning("ways_not_begun", reason=refusal.message)
        elif kept is None or json.loads(kept) != ways:
            await journal.remember(KEY, json.dumps(ways))
    except JournalFailed as failure:
        log.warning("ways_not_remembered", reason=failure.message)


def _new(kept: str | None, ways: Mapping[str, str]) -> frozenset[str]:
    """The names of the ways that are new. kept: those that an earlier daemon had.

    Where an older version remembered nothing, none is taken for new: people would be told twice.
    """
    known = json.loads(kept) if kept is not None else ways
    return frozenset(name for name, mark in ways.items() if known.get(name) != mark)
