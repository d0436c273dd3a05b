"""What workers did of a project's plans is in the plans: nothing of it has to be remembered for them any more."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.events.handoffs import PapersUpdated
from phoenixd.core.fleet import Fleet
from phoenixd.core.fleet import Step as Found
from phoenixd.core.handoff.state import Step
from phoenixd.core.moment import Moment


def hear_update(before: Fleet, found: Found, event: PapersUpdated, now: Moment) -> Found:
    """Tasks that had ended before the update of their project began are forgotten, but for the newest."""
    seat = before.seats.get(event.agent)
    handoff = seat.handoff if seat is not None else None
    holder = before.agents.get(seat.holder) if seat is not None else None
    if handoff is None or holder is None or (handoff.id, handoff.step) != (event.handoff, Step.UPDATE):
        return found
    tasks = found.fleet.tasks.told_of(handoff.project, holder.spec.cwd, handoff.since_wall)
    return replace(found, fleet=replace(found.fleet, tasks=tasks))
