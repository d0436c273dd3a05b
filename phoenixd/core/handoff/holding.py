"""What keeps a handoff from going on as it would: its predecessor is lost, or its deadline stands still."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Parked
from phoenixd.core.handoff.generations import has_died
from phoenixd.core.handoff.move import Move, back
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.meter import parts as meters
from phoenixd.core.moment import Moment


def predecessor_lost(handoff: Handoff, old: Agent | None, new: Agent | None, now: Moment) -> Move | None:
    """The predecessor's end is no reason to restart it: the handoff goes on from files."""
    if old is not None and old.run is not None:
        return None
    if old is not None and old.desired is Desired.STOPPED:
        # As where the journal was old: somebody has stopped the seat since then, or has yet to say what is to run.
        return back(handoff, "it is to be down", now, stays=True)
    if handoff.alone:
        is_due = old is not None and isinstance(old.state, BackingOff | Parked)
        return (
            Move(handoff, "its predecessor is not restarted: the handoff goes on without it", ("leave",))
            if is_due
            else None
        )
    if handoff.made and has_died(handoff, new):
        return back(handoff, "both generations ended", now, again=True)
    end = old.last_exit if old is not None else None
    full = meters.of(old).full if old is not None else ""
    how = full or (end.text if end is not None else "it does not run")
    asked = handoff.trigger == "recycle" and handoff.step is Step.FREEZE
    what = "the predecessor could say nothing any more" if full else "the predecessor ended before the fence"
    degraded = handoff.degraded if asked else (*handoff.degraded, f"{what}: {how}")
    lone = replace(handoff, alone=True, degraded=degraded, held="")
    return Move(lone, f"its predecessor is down ({how}): the handoff goes on from files", ("leave",))


def held(handoff: Handoff, old: Agent | None, new: Agent | None, waits: str, now: Moment) -> Move | None:
    """Stop the deadline, or let it run on."""
    why = _holding(handoff, old, new, waits)
    if why == handoff.held:
        return None
    if not handoff.held:
        return Move(replace(handoff, held=why, held_at=now.at), f"its deadline stands still: {why}")
    if why:
        return Move(replace(handoff, held=why), f"its deadline stands still: {why}")
    later = None if handoff.deadline is None else handoff.deadline + (now.at - handoff.held_at)
    return Move(replace(handoff, held="", deadline=later), "its deadline runs on")


def _holding(handoff: Handoff, old: Agent | None, new: Agent | None, waits: str) -> str:
    if handoff.step in (Step.FREEZE, Step.DRAIN):
        agent = old
    elif handoff.step in (Step.SPAWN, Step.AWAIT_ACK) and handoff.made:
        agent = new
    else:
        return ""
    if agent is None:
        return ""
    if agent.parking is not None:
        return f"{agent.name} is parked"
    if agent.outage is not None:
        return f"{agent.name} waits out an outage"
    if agent.activity is not None and agent.activity.waiting is not None:
        return f"{agent.name} asks a person ({agent.activity.waiting.kind})"
    if waits and isinstance(agent.state, BackingOff):
        return waits
    return ""
