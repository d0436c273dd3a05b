"""A handoff that is due and waits for the time between two: that is told, with why and for how long."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Action, Alert
from phoenixd.core.agent import Agent
from phoenixd.core.decision import Decision
from phoenixd.core.fleet import Step, put
from phoenixd.core.handoff import triggers
from phoenixd.core.handoff.state import Trigger
from phoenixd.core.moment import Moment, in_words
from phoenixd.core.resonance import restoring
from phoenixd.core.seat.state import Seat

STARTS_FRESH: tuple[Trigger, ...] = ("full", "recycle")
"""Reasons of a run that has ended: its agent is not kept down until a handoff may begin."""


def note(found: Step, seat: Seat, holder: Agent, now: Moment) -> Step:
    """Tell it once of each reason; of a run that ended, each time."""
    last, wait = seat.handoff, triggers.waiting(holder, seat.handoff, now)
    if last is None or (wait is None and last.waits not in STARTS_FRESH):
        return found
    known = wait.trigger if wait is not None else ""
    if last.waits == known:
        return found
    noted = replace(seat, handoff=replace(last, waits=known))
    found = replace(found, fleet=replace(found.fleet, seats={**found.fleet.seats, seat.name: noted}))
    if wait is None:
        return found
    why = words(wait, holder, now)
    told: tuple[Action, ...] = ()
    if wait.trigger == "marker":
        told = (Alert(holder.name, restoring.LOST, f"the front of its context is lost: {why}"),)
    return put(found, Decision(holder, told, why, weight="story"), now)


def words(wait: triggers.Waiting, holder: Agent, now: Moment) -> str:
    """Why a handoff that is due has not begun, and what comes instead or when."""
    left, most = in_words(max(0.0, wait.until - now.at)), in_words(holder.spec.handoff.spacing)
    what = "no handoff begins before" if wait.trigger in STARTS_FRESH else "its handoff waits"
    said = f"{wait.why}; {what} {left} from now, for {most} lie between two that begin by themselves (handoff.spacing)"
    return f"{said}: it starts fresh with its brief, and without a package" if wait.trigger in STARTS_FRESH else said
