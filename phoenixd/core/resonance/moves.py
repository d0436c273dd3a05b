"""What comes of what was heard: each event brings a restoration on, and has the next check ready."""

from __future__ import annotations

from phoenixd.core.events import Event
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.moment import Moment
from phoenixd.core.resonance import due, restoring
from phoenixd.core.roster import RESTORING

MOST_MOVES = 12
"""Moves of one agent by one event. A rule that goes round is a fault, and must not stop the daemon's loop."""


def follow(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Bring on the agent that the event is about, and by a Tick all that are being restored."""
    name = event.spec.name if isinstance(event, AgentDeclared) else getattr(event, "agent", None)
    names = [] if name is None else [name]
    if isinstance(event, Tick):
        names = [agent.name for agent in found.fleet.roster.marked((RESTORING,), (RESTORING + 1,))]
    for one in names:
        found = _follow_one(found, one, now)
    return found


def _follow_one(found: Step, name: str, now: Moment) -> Step:
    for _ in range(MOST_MOVES):
        agent = found.fleet.agents.get(name)
        if agent is None or agent.resonance is None:
            return found
        decision = restoring.advance(agent, now) or due.follow(agent, now)
        if decision is None:
            return found
        found = put(found, decision, now)
    return found
