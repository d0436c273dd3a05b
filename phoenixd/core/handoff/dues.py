"""When a Tick is needed for handoffs: of those that go on, and of those that wait for the spacing between two."""

from __future__ import annotations

from collections.abc import Mapping

from phoenixd.core.agent import Agent
from phoenixd.core.handoff import freezing, letters, machine, triggers
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat


def next_due(seats: Mapping[str, Seat], agents: Mapping[str, Agent], now: Moment) -> Instant | None:
    """The earliest of these instants."""
    found: list[Instant] = []
    for seat in seats.values():
        handoff = seat.handoff
        if handoff is None:
            continue
        if not handoff.is_over:
            found += _fading(agents.get(generation_name(seat.name, handoff.predecessor)), handoff, now)
            due = machine.due(handoff)
        else:
            holder = agents.get(seat.holder)
            due = triggers.due(holder, handoff) if holder is not None else None
            # What is past and has not begun waits for something else than time.
            due = due if due is not None and due > now.at else None
        later = letters.due(handoff, now)
        if later is not None:
            found.append(later)
        if due is not None:
            found.append(due)
    return min(found, default=None)


def _fading(old: Agent | None, handoff: Handoff, now: Moment) -> tuple[Instant, ...]:
    """When what the predecessor is denied has to be armed again; what is past could not be."""
    fades = freezing.fades(old, handoff) if old is not None and handoff.is_before_fence else None
    return (fades,) if fades is not None and fades > now.at else ()
