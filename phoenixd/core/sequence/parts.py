"""What events mean for the sequences of a fleet: who starts them, what is overheard, whose turn is next."""

from __future__ import annotations

from phoenixd.core import requests
from phoenixd.core.change import replace
from phoenixd.core.events import Event, RunEvent
from phoenixd.core.events.orders import RestartRequested, StartRequested, StopRequested, UndoRequested
from phoenixd.core.fleet import Fleet, Step, put, put_all
from phoenixd.core.moment import Moment
from phoenixd.core.roster import PASSING
from phoenixd.core.sequence import rules


def take_up(before: Fleet, found: Step, event: StartRequested | RestartRequested | UndoRequested, now: Moment) -> Step:
    """To start the first member of a sequence is to start them all."""
    lead = before.agents.get(event.agent)
    if lead is None or found.refusal is not None:
        return found
    return put_all(found, rules.taken_up(found.fleet.agents, lead), now)


def overhear(before: Fleet, found: Step, event: RunEvent, now: Moment) -> Step:
    """The first member of a sequence hears what the run of a turn says of itself."""
    agent = before.roster.living(event.agent, event.incarnation)
    if agent is None or agent.spec.turn_of is None:
        return found
    return put_all(found, rules.overhear(before.agents, agent, event), now)


def follow(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Give the turns of sequences on, and end those that were broken off."""
    if not (before.roster.has(PASSING) or found.fleet.roster.has(PASSING)):
        return found
    for lead, name in rules.abandoned(before.roster, found.fleet.roster):
        agent = found.fleet.agents.get(name)
        if agent is not None and agent.spec.turn_of == lead.name:
            ended = requests.stop(agent, StopRequested(name, by=f"the end of {lead.name}'s turns"), now)
            assert ended.agent is not None
            found = put(found, replace(ended, agent=replace(ended.agent, left_out=agent.left_out)), now)
    found = _begin_turns(found, now)
    while (decision := rules.follow(found.fleet.roster, now)) is not None:
        found = _begin_turns(put(found, decision, now), now)
    return found


def _begin_turns(found: Step, now: Moment) -> Step:
    for lead, name in tuple(rules.wanted(found.fleet.roster)):
        agent = found.fleet.agents[name]
        started = requests.start(agent, StartRequested(name, by=f"the sequence of {lead.name}"), now)
        found = put(found, rules.begun(lead, agent.incarnation), now)
        found = put(found, started, now)
    return found
