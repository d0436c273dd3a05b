"""The records of both sessions say what became of a handoff (E50). Part of the table."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import RecordSessions
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.moment import Moment


def ordered(handoff: Handoff) -> tuple[RecordSessions, ...]:
    """The order to write them, once the handoff is over; there are none where no package was written."""
    return (RecordSessions(handoff.seat, handoff.id),) if handoff.is_over and handoff.session else ()


def begin_anew(before: Fleet, found: Step, event: EpochBegun, now: Moment) -> Step:
    """Another daemon: the one before may have died between the end of a handoff and the writing of its records.

    Ordered for each seat's newest handoff; records that say it already are left alone.
    """
    seats = found.fleet.seats.values()
    orders = tuple(order for seat in seats if seat.handoff is not None for order in ordered(seat.handoff))
    if not orders:
        return found
    why = "a daemon began: session records that do not say how the newest handoff ended are written"
    return replace(found, decisions=(*found.decisions, Decision(None, orders, why, weight="detail")))
