"""The ways by which alerts are told: what stands and waits for one is told by it, at a start and after it failed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from phoenixd.core.decision import Refusal
from phoenixd.core.events.fleet import AlertsTold, WaysBegun
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Instant
from phoenixd.core.unheard import Numbered, Unheard, numbers, pause, unheard
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


@dataclass(frozen=True, slots=True)
class _Refused:
    """An alert that a way could not tell, for good. times: how often, but where it has told nothing in between.

    told: how much it had told by the newest time. due: what it refuses again and again is not tried before that.
    """

    times: int
    told: int
    due: Instant


@dataclass(slots=True)
class _Way:
    """behind: something may stand that it has not told. failures: since it last told something; due: the next try.

    told: how often it has told something. tried: what it was tried with, by numbers, since it fails.
    """

    behind: bool = False
    failures: int = 0
    due: Instant = 0.0
    told: int = 0
    tried: set[int] = field(default_factory=set)
    refused: dict[int, _Refused] = field(default_factory=dict)

    def tells(self, told: tuple[Numbered, ...]) -> None:
        self.failures, self.due = 0, 0.0
        self.told += 1
        self.tried.clear()
        for _, number in told:
            self.refused.pop(number, None)

    def fails(self, number: int | None, at: Instant) -> None:
        """number: of the alert that the message was for; None for the end of one."""
        if number is not None:
            self.behind = True
            self.tried.add(number)
            known = self.refused.get(number, _Refused(0, -1, 0.0))
            times = known.times + (known.told != self.told)
            self.refused[number] = _Refused(times, self.told, at + pause(times - 1) if times > 1 else at)
        if at >= self.due:
            self.failures += 1
            self.due = at + pause(self.failures)


class Ways:
    """Has the fleet know what was told, and each way tell late what it could not tell in time."""

    def __init__(self, fleet: Callable[[], Fleet], at: Callable[[], Instant], tell: Sink, teller: Teller) -> None:
        self._fleet, self._at, self._tell, self._teller = fleet, at, tell, teller
        self._ways = {name: _Way() for name in teller.ways}

    def begin(self) -> None:
        """Have told what waits from before this daemon."""
        for name, way in self._ways.items():
            way.behind = True
            self._catch_up(name, way)

    def hear(self, name: str, tells: tuple[Numbered, ...], problem: str | None) -> None:
        """A way has told these alerts, or could not, for good. The end of one names none."""
        way = self._ways[name]
        if problem is None:
            if tells:
                self._tell(AlertsTold(name, tells))
            way.tells(tells)
            # In one that has others to tell yet these would only take the places of those: a look finds it at rest.
            if way.behind and self._teller.is_at_rest(name):
                self._catch_up(name, way)
            return
        # What a message counts beside its own alert has no part in why it was refused.
        way.fails(tells[0][1] if tells else None, self._at())

    def leave_out(self, name: str, tells: tuple[Numbered, ...], why: str) -> None:
        """A way is not to tell these alerts."""
        self._tell(AlertsTold(name, tells, why))

    async def look(self) -> None:
        """Have told what waits for ways whose time has come."""
        at, is_more = self._at(), self._teller.let_go()
        for name, way in self._ways.items():
            way.behind = way.behind or is_more
            if way.behind and at >= way.due and self._teller.is_at_rest(name):
                self._catch_up(name, way)

    def _catch_up(self, name: str, way: _Way) -> None:
        """Have a way tell what waits; one that fails is tried with one alert, and then it tells the others."""
        fleet, at = self._fleet(), self._at()
        if way.refused:
            standing = numbers(fleet)
            way.refused = {number: one for number, one in way.refused.items() if number in standing}
        later = {number for number, one in way.refused.items() if at < one.due}
        given = {*self._teller.offered(name), *later}
        late = unheard(fleet, name, given | way.tried if way.failures else given)
        if way.failures:
            if not late.alerts:
                # Each was tried once: the first one begins again. So one that is always refused holds up no other.
                way.tried.clear()
                late = unheard(fleet, name, given)
            late = Unheard(late.alerts[:1], is_more=late.is_more)
        way.behind = late.is_more or bool(later) or bool(way.failures and late.alerts)
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
