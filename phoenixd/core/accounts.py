"""What agents of one account share: a limit parks them all, and they go on one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf

from phoenixd.core import outage, parking
from phoenixd.core.agent import Afterwards, Agent, BackingOff, Mode, Parked, ParkingKind, PromptKind, Running, Stopping
from phoenixd.core.decision import Decision
from phoenixd.core.events import AgentDeclared, AgentExited, Event, RunEvent, StartFailed, TreeGone
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.ranked import END, Mark
from phoenixd.core.roster import ASKED, FREE, LIMIT, MEMBER, OWN_SLOT, SLOT, Marks, Roster
from phoenixd.core.transitions import enter

Agents = Roster
ROUNDING = 0.001
"""Seconds by which a look into the marks goes too far rather than not far enough; each that is found is asked again."""


def marks(agent: Agent, place: int) -> Marks:
    """ASKED: when a run that was told to go on is asked again. FREE, SLOT, OWN_SLOT: until when (wall) it is parked;
    who takes a slot of its account is found by the account, or, where it shares that with no other, among such agents.
    LIMIT: until when (wall) an account is at its limit, the first of the fleet last."""
    held, state, name = agent.parking, agent.state, agent.name
    if held is None and not isinstance(state, Parked):
        return ()
    account = parking.account_of(agent.spec)
    if held is not None:
        limited = held.kind is ParkingKind.LIMIT and held.asked is None and held.misses == 0
        until = held.until_wall
    else:
        assert isinstance(state, Parked)
        limited, until = state.kind is ParkingKind.LIMIT, state.until_wall
    found: Marks = ((LIMIT, account, until, -place, name),) if limited else ()
    if outage.waits(agent):
        return found
    if held is not None and held.asked is not None:
        return (*found, (ASKED, "", held.asked + parking.ANSWER_TIME, 0, name))
    if not _takes_a_slot(agent):
        return (*found, (FREE, "", until, 0, name))
    return (*found, (SLOT, account, until, 0, name) if agent.spec.account else (OWN_SLOT, "", until, 0, name))


def follow(before: Agents, after: Agents, event: Event, now: Moment) -> Iterator[Decision]:
    """What the event about one agent means for the parking of all that share its account."""
    name = event.spec.name if isinstance(event, AgentDeclared) else event.agent if isinstance(event, RunEvent) else ""
    agent, earlier = after.get(name), before.get(name)
    if agent is None or agent is earlier:
        return
    account = parking.account_of(agent.spec)
    limit = _limit(agent, now)
    if limit is not None and (earlier is None or _limit(earlier, now) != limit):
        for peer in _members(after, account):
            if peer.name != name and (decision := _park(peer, limit, f"{name} met the limit of its account", now)):
                yield decision
        return
    if not _is_open_to_park(earlier, agent, event):
        return
    newest = after.marks.last((LIMIT, account, now.wall), (LIMIT, account, END, END))
    # An account that ends just now is over.
    if newest is None or newest[2] <= now.wall:
        return
    if decision := _park(agent, newest[2], f"the account's limit, which {newest[4]} met", now):
        yield decision


def next_due(agents: Agents, gates: Mapping[str, Instant], now: Moment) -> Instant | None:
    """The earliest instant at which a parked agent may go on."""
    asked = agents.marks.first((ASKED,), (ASKED, "", END, END))
    free = agents.marks.first((FREE,), (FREE, "", END, END))
    earliest = min(asked[2] if asked else inf, _at(free, now) if free else inf)
    for mark in _heads(agents):
        earliest = min(earliest, max(_at(mark, now), gates.get(mark[1], -inf)))
    for mark in agents.marks.between((OWN_SLOT,), (OWN_SLOT, "", END, END)):
        at = _at(mark, now)
        if at >= earliest:
            break
        earliest = min(earliest, max(at, gates.get(parking.account_of(agents[mark[4]].spec), at)))
    return earliest if earliest < inf else None


def is_due(agents: Agents, gates: Mapping[str, Instant], now: Moment) -> list[Agent]:
    """Who goes on now, the longest parked first: of each account at most one that asks the service for something."""
    wall = now.wall + ROUNDING
    names = [mark[4] for mark in agents.marks.between((ASKED,), (ASKED, "", now.at, END))]
    names += [mark[4] for mark in agents.marks.between((FREE,), (FREE, "", wall, END)) if _at(mark, now) <= now.at]
    names += [
        mark[4]
        for mark in (*_heads(agents), *agents.marks.between((OWN_SLOT,), (OWN_SLOT, "", wall, END)))
        if _at(mark, now) <= now.at and now.at >= gates.get(parking.account_of(agents[mark[4]].spec), now.at)
    ]
    return [agents[name] for name in sorted(names, key=lambda name: (_until(agents[name]), name))]


def _heads(agents: Agents) -> Iterator[Mark]:
    """Of each account that several may share, who takes its next slot."""
    account = ""
    while (mark := agents.marks.first((SLOT, account, END, END), (SLOT + 1,))) is not None:
        yield mark
        account = mark[1]


def _at(mark: Mark, now: Moment) -> Instant:
    """When a wall time comes, in supervised time."""
    return now.at + max(0.0, mark[2] - now.wall)


def close_gate(gates: Mapping[str, Instant], agent: Agent, every: float, now: Moment) -> Mapping[str, Instant]:
    """The gates after this agent went on: the next one of its account follows after `every` seconds, more or less."""
    if not _takes_a_slot(agent):
        return gates
    open_ones = {account: at for account, at in gates.items() if at > now.at}
    return {**open_ones, parking.account_of(agent.spec): now.at + every * (0.5 + now.chance)}


def _members(agents: Agents, account: str) -> list[Agent]:
    return agents.marked((MEMBER, account), (MEMBER, account, END, END))


def _limit(agent: Agent, now: Moment) -> float | None:
    """Until when this agent knows its account to be at its limit."""
    match agent.state:
        case Parked(kind=ParkingKind.LIMIT, until_wall=until) if until > now.wall:
            return until
        case Running(activity=activity) if activity.parking and activity.parking.kind is ParkingKind.LIMIT:
            # One that is being told to go on, or cannot be told, says nothing about the account any more.
            told = activity.parking.asked is not None or activity.parking.misses > 0
            return activity.parking.until_wall if not told and activity.parking.until_wall > now.wall else None
        case _:
            return None


def _park(agent: Agent, until: float, why: str, now: Moment) -> Decision | None:
    match agent.state:
        case Running(activity=activity, exit_due=None) as state:
            # A turn that goes on meets the limit itself, or does not.
            held = activity.parking
            later = held is not None and held.asked is None and held.until_wall < until
            idle = held is None and not activity.turn_open and activity.waiting is None and agent.hooks_seen
            return parking.join(agent, state, ParkingKind.LIMIT, until, why, now) if later or idle else None
        case BackingOff(mode=mode, prompt=prompt):
            fresh = mode is Mode.FRESH and prompt is PromptKind.GOAL and agent.session is not None
            return enter(agent, Parked(until, fresh=fresh), f"parked, limit: {why}; it starts afterwards", now)
        case Parked(until_wall=earlier, kind=kind) as state if earlier < until and kind is not ParkingKind.OUTAGE:
            return enter(agent, replace(state, until_wall=until), f"parked, limit: {why}", now)
        case _:
            return None


def _is_open_to_park(before: Agent | None, agent: Agent, event: Event) -> bool:
    """Whether an agent is about to be started without an operator's word: what one asked to start is tried."""
    if not isinstance(agent.state, BackingOff):
        return False
    if isinstance(event, AgentDeclared):
        return True
    asked_for = before is not None and isinstance(before.state, Stopping) and before.state.then is Afterwards.RESTART
    return isinstance(event, AgentExited | TreeGone | StartFailed) and not asked_for


def _until(agent: Agent) -> float:
    held = agent.parking
    return agent.state.until_wall if isinstance(agent.state, Parked) else held.until_wall if held else 0.0


def _takes_a_slot(agent: Agent) -> bool:
    held = agent.parking
    if isinstance(agent.state, Parked):
        # After an outage each has a slot of its own already.
        return agent.state.kind is not ParkingKind.OUTAGE
    return held is not None and held.owes and held.asked is None
