"""When a Tick is needed for handoffs: of those that go on, and of those that wait for the spacing between two."""

from __future__ import annotations

from collections.abc import Mapping

from phoenixd.core.agent import Agent
from phoenixd.core.handoff import machine, triggers
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.seat.state import Seat


def next_due(seats: Mapping[str, Seat], agents: Mapping[str, Agent], now: Moment) -> Instant | None:
    """The earliest of these instants."""
    found: list[Instant] = []
    for seat in seats.values():
        handoff = seat.handoff
        if handoff is None:
            continue
        if not handoff.is_over:
            due = machine.due(handoff)
        else:
            holder = agents.get(seat.holder)
            due = triggers.due(holder, handoff) if holder is not None else None
            # What is past and has not begun waits for something else than time.
            due = due if due is not None and due > now.at else None
        if due is not None:
            found.append(due)
    return min(found, default=None)
