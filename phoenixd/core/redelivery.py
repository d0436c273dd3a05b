"""When a way to the operator that fails is tried again, with which alert, and what it tells once it works."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from phoenixd.core.change import replace
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Instant
from phoenixd.core.unheard import Numbered, Unheard, numbers, unheard

FIRST_PAUSE, LONGEST_PAUSE = 300.0, 3600.0
"""Seconds until a way that failed for good is tried again, and those between two tries of one that fails for long: it
may be a program that tells, and then ends with an error, and each try is one more word to a person who sleeps."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An alert that a way could not tell, for good. times: how often, but where it has told nothing in between.

    told: how much it had told by the newest time. due: what it refuses again and again is not tried before that.
    """

    times: int
    told: int
    due: Instant


@dataclass(frozen=True, slots=True)
class Way:
    """behind: something may stand that it has not told. failures: since it last told something; due: the next try.

    told: how often it has told something. tried: what it was tried with, by numbers, since it fails.
    """

    behind: bool = False
    failures: int = 0
    due: Instant = 0.0
    told: int = 0
    tried: frozenset[int] = frozenset()
    refused: Mapping[int, Refused] = field(default_factory=dict)


def pause(failures: int) -> float:
    """Seconds until what failed so often in a row is tried again."""
    return min(FIRST_PAUSE * 2.0 ** min(failures - 1, 10), LONGEST_PAUSE)


def is_due(way: Way, at: Instant) -> bool:
    """Whether it may be that there is something to tell, and it may be tried."""
    return way.behind and at >= way.due


def having_told(way: Way, told: tuple[Numbered, ...]) -> Way:
    """It works: it has told these alerts, or the end of one, which names none."""
    tells = {number for _, number in told}
    refused = {number: one for number, one in way.refused.items() if number not in tells}
    return replace(way, failures=0, due=0.0, told=way.told + 1, tried=frozenset(), refused=refused)


def having_failed(way: Way, number: int | None, at: Instant) -> Way:
    """It could not tell, for good. number: of the alert that the message was for; None for the end of one."""
    if number is not None:
        known = way.refused.get(number, Refused(0, -1, 0.0))
        times = known.times + (known.told != way.told)
        newest = Refused(times, way.told, at + pause(times - 1) if times > 1 else at)
        way = replace(way, behind=True, tried=way.tried | {number}, refused={**way.refused, number: newest})
    if at < way.due:
        return way
    return replace(way, failures=way.failures + 1, due=at + pause(way.failures + 1))


def catch_up(way: Way, name: str, fleet: Fleet, offered: Collection[int], at: Instant) -> tuple[Way, Unheard]:
    """What it tells now of all that waits; one that fails is tried with one alert, and then it tells the others.

    offered: the numbers of the alerts that it has been given already.
    """
    standing = numbers(fleet) if way.refused else frozenset()
    refused = {number: one for number, one in way.refused.items() if number in standing}
    later = {number for number, one in refused.items() if at < one.due}
    given, tried = {*offered, *later}, way.tried
    late = unheard(fleet, name, given | tried if way.failures else given)
    if way.failures:
        if not late.alerts:
            # Each was tried once: the first one begins again. So one that is always refused holds up no other.
            tried, late = frozenset(), unheard(fleet, name, given)
        late = Unheard(late.alerts[:1], is_more=late.is_more)
    behind = late.is_more or bool(later) or bool(way.failures and late.alerts)
    return replace(way, behind=behind, tried=tried, refused=refused), late
