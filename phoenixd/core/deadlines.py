"""The fleet's deadlines: which of all comes first, and what is done when one has come."""

from __future__ import annotations

from phoenixd.core import marks, starts
from phoenixd.core.events.fleet import Tick
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.handoff import dues as handoffs
from phoenixd.core.lifecycle import overdue
from phoenixd.core.limits import marks as limit_marks
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.mutes import state as muting
from phoenixd.core.roster import DUE, SPAWN, START
from phoenixd.core.tasks import queue
from phoenixd.core.terminal import parts as terminal
from phoenixd.core.treatment import unheard


def next_deadline(fleet: Fleet, now: Moment) -> Instant | None:
    """The earliest instant at which a Tick is needed; starts that are due but held or capped need none."""
    roster = fleet.roster
    blocked = fleet.hold_until is not None or fleet.halted is not None or starts.free_slots(fleet, now) <= 0
    found = (
        fleet.hold_until,
        terminal.next_due(fleet) if fleet.server_end is not None else None,
        marks.first(roster, DUE),
        marks.first(roster, START, now.at) if blocked else marks.first(roster, START),
        # A start that waits for the journal may not have been ordered yet.
        marks.first(roster, SPAWN) if fleet.halted is None else None,
        limit_marks.next_due(roster, fleet.gates, now),
        handoffs.next_due(fleet.seats, fleet.agents, now),
        queue.next_due(fleet.tasks, now),
        muting.next_due(fleet.mutes, now) if fleet.mutes else None,
        fleet.cases.examinations.due,
        unheard.next_due(fleet.cases, fleet.agents) if fleet.cases.cases else None,
    )
    return min((at for at in found if at is not None), default=None)


def tick(before: Fleet, found: Step, event: Tick, now: Moment) -> Step:
    """Act on the deadlines that have come."""
    late = marks.due(before.roster, DUE, now.at)
    if before.halted is None:
        late += marks.due(before.roster, SPAWN, now.at)
    for agent in before.roster.named(late):
        found = put(found, overdue.on_deadline(agent, now), now)
    if before.hold_until is not None and before.hold_until <= now.at:
        return starts.observe(found, terminal.no_word(found.fleet), now, "noise")
    return found
