"""For how long an act can be taken back, whatever the wall clock is set to, and what ends that before.

Supervised time never runs ahead of the world, and stands while no daemon watches. So an act is certainly too old once
that says so. What the wall clock alone calls too old is not offered, and is remembered: the clock may be put right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from phoenixd.core.events.fleet import JournalBehind
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.undo.state import KEPT, MOST, Undoable


def lasting(acts: Iterable[Undoable], now: Moment) -> tuple[Undoable, ...]:
    """Those that have to be remembered, the newest MOST of them."""
    left = [one for one in acts if not is_over(one, now.at) and (one.at is not None or _is_young(one, now))]
    return tuple(left[-MOST:])


def kept(acts: Iterable[Undoable], now: Moment) -> tuple[Undoable, ...]:
    """Those that can be taken back, the newest MOST of them, the oldest first.

    An older version noted an unmute too. It is none of them: to take an act back does not mean to hear less.
    """
    found = [one for one in acts if one.verb != "unmute" and _is_young(one, now) and not is_over(one, now.at)]
    return tuple(found[-MOST:])


def is_over(one: Undoable, at: Instant) -> bool:
    """Whether it is certain that its time has passed."""
    return one.at is not None and at - one.at >= KEPT


def forget(before: Fleet, found: Step, event: JournalBehind, now: Moment) -> Step:
    """Nobody knows what was done, and taken back, since the journal was written: nothing of before can be."""
    return found if not found.fleet.undoable else replace(found, fleet=replace(found.fleet, undoable=()))


def _is_young(one: Undoable, now: Moment) -> bool:
    """Whether the wall clock says so."""
    return now.wall - one.at_wall < KEPT
