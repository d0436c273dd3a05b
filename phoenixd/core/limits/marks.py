"""The marks of limits and outages: by them the fleet finds the agent that goes on next, without a look at each.

ASKED: when a run that was told to go on is asked again. FREE, SLOT, OWN_SLOT: until when (wall) it is parked; an agent
that takes a slot of its account is found by the account, or, where it alone has that, among such agents. LIMIT: until
when (wall) an account is at its limit, the first of the fleet last.

GROUP: when one that is to run ended without progress last, in each of its groups. OUTAGE: whose it is in. TURN: until
when (wall) it waits for its turn to try. CALM: when a run of it was calm for long enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Parked
from phoenixd.core.limits import groups, parking, waits
from phoenixd.core.limits.state import Parking, ParkingKind
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.ranked import END, Mark
from phoenixd.core.roster import ASKED, CALM, FREE, GROUP, LIMIT, OUTAGE, OWN_SLOT, SLOT, TURN, Marks, Roster

ROUNDING = 0.001
"""Seconds by which a look into the marks goes too far rather than not far enough; each that is found is asked again."""


def of(agent: Agent, place: int) -> Marks:
    """The marks of what an agent waits out, and of the outage that it is in or may begin."""
    held, found = agent.parking, _of_outage(agent, place)
    return (*_of_parking(agent, held, place), *found) if held is not None else found


def _of_parking(agent: Agent, held: Parking, place: int) -> Marks:
    name, account = agent.name, waits.account_of(agent.spec)
    limited = held.kind is ParkingKind.LIMIT and held.asked is None and held.misses == 0
    found: Marks = ((LIMIT, account, held.until_wall, -place, name),) if limited else ()
    if groups.waits_out(agent):
        return found
    again = parking.due(agent.limits)
    if again is not None:
        return (*found, (ASKED, "", again, 0, name))
    if not takes_a_slot(agent):
        return (*found, (FREE, "", held.until_wall, 0, name))
    slot = (SLOT, account) if agent.spec.account else (OWN_SLOT, "")
    return (*found, (*slot, held.until_wall, 0, name))


def _of_outage(agent: Agent, place: int) -> Marks:
    name, found = agent.name, agent.outage
    last = agent.record.unproductive[-1] if agent.record.unproductive else -END
    hit: Marks = ()
    if groups.is_wanted(agent):
        hit = tuple((GROUP, group, last, place, name) for group in groups.groups_of(agent.spec))
    if found is None:
        return hit
    if groups.waits_out(agent) and agent.parking is not None:
        return (*hit, (OUTAGE, found.group, 0.0, place, name), (TURN, "", agent.parking.until_wall, place, name))
    at = groups.calm(agent)
    calm: Marks = ((CALM, "", at, place, name),) if at is not None else ()
    return (*hit, (OUTAGE, found.group, 0.0, place, name), *calm)


def next_due(agents: Roster, gates: Mapping[str, Instant], now: Moment) -> Instant | None:
    """The earliest instant at which a parked agent may go on, or has lived long enough although nothing was asked."""
    asked = agents.marks.first((ASKED,), (ASKED, "", END, END))
    free = agents.marks.first((FREE,), (FREE, "", END, END))
    earliest = min(asked[2] if asked else inf, instant_of(free[2], now) if free else inf)
    for mark in heads(agents):
        earliest = min(earliest, max(instant_of(mark[2], now), gates.get(mark[1], -inf)))
    for mark in agents.marks.between((OWN_SLOT,), (OWN_SLOT, "", END, END)):
        at = instant_of(mark[2], now)
        if at >= earliest:
            break
        earliest = min(earliest, max(at, gates.get(waits.account_of(agents[mark[4]].spec), at)))
    turn = agents.marks.first((TURN,), (TURN, "", END, END))
    calm = agents.marks.first((CALM,), (CALM, "", END, END))
    earliest = min(earliest, instant_of(turn[2], now) if turn else inf, calm[2] if calm else inf)
    return earliest if earliest < inf else None


def heads(agents: Roster) -> Iterator[Mark]:
    """Of each account that several may share, who takes its next slot."""
    account = ""
    while (mark := agents.marks.first((SLOT, account, END, END), (SLOT + 1,))) is not None:
        yield mark
        account = mark[1]


def instant_of(wall: float, now: Moment) -> Instant:
    """When a wall time comes, in supervised time."""
    return now.at + max(0.0, wall - now.wall)


def takes_a_slot(agent: Agent) -> bool:
    """Whether it asks the service for something when it goes on."""
    held = agent.parking
    if held is None:
        return False
    if isinstance(agent.state, Parked):
        # After an outage each has a slot of its own already.
        return held.kind is not ParkingKind.OUTAGE
    return held.owes and held.asked is None
