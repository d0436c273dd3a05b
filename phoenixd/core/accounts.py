"""What agents of one account share: a limit parks them all, and they go on one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from phoenixd.core import outage, parking
from phoenixd.core.agent import Afterwards, Agent, BackingOff, Mode, Parked, ParkingKind, PromptKind, Running, Stopping
from phoenixd.core.decision import Decision
from phoenixd.core.events import AgentDeclared, AgentExited, Event, RunEvent, StartFailed, TreeGone
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.transitions import enter

Agents = Mapping[str, Agent]


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
    limits = [(limit, peer) for peer in _members(after, account) if (limit := _limit(peer, now)) is not None]
    if limits:
        until, peer = max(limits, key=lambda found: found[0])
        if decision := _park(agent, until, f"the account's limit, which {peer.name} met", now):
            yield decision


def next_due(agents: Agents, gates: Mapping[str, Instant], now: Moment) -> Instant | None:
    """The earliest instant at which a parked agent may go on."""
    earliest: Instant | None = None
    for agent in agents.values():
        at = _due(agent, now)
        if at is None:
            continue
        if _takes_a_slot(agent):
            at = max(at, gates.get(parking.account_of(agent.spec), at))
        if earliest is None or at < earliest:
            earliest = at
    return earliest


def is_due(agents: Agents, gates: Mapping[str, Instant], now: Moment) -> list[Agent]:
    """Who goes on now, the longest parked first: of each account at most one that asks the service for something."""
    ready: list[Agent] = []
    taken: set[str] = set()
    waiting = [(at, name) for name, agent in agents.items() if (at := _due(agent, now)) is not None and at <= now.at]
    for _, name in sorted(waiting, key=lambda found: (_until(agents[found[1]]), found[1])):
        agent = agents[name]
        if _takes_a_slot(agent):
            account = parking.account_of(agent.spec)
            if account in taken or now.at < gates.get(account, now.at):
                continue
            taken.add(account)
        ready.append(agent)
    return ready


def close_gate(gates: Mapping[str, Instant], agent: Agent, every: float, now: Moment) -> Mapping[str, Instant]:
    """The gates after this agent went on: the next one of its account follows after `every` seconds, more or less."""
    if not _takes_a_slot(agent):
        return gates
    open_ones = {account: at for account, at in gates.items() if at > now.at}
    return {**open_ones, parking.account_of(agent.spec): now.at + every * (0.5 + now.chance)}


def _members(agents: Agents, account: str) -> list[Agent]:
    return [agent for agent in agents.values() if parking.account_of(agent.spec) == account]


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


def _due(agent: Agent, now: Moment) -> Instant | None:
    if outage.waits(agent):
        return None
    if isinstance(agent.state, Parked):
        return now.at + max(0.0, agent.state.until_wall - now.wall)
    return parking.due(agent, now)


def _until(agent: Agent) -> float:
    held = agent.parking
    return agent.state.until_wall if isinstance(agent.state, Parked) else held.until_wall if held else 0.0


def _takes_a_slot(agent: Agent) -> bool:
    held = agent.parking
    if isinstance(agent.state, Parked):
        # After an outage each has a slot of its own already.
        return agent.state.kind is not ParkingKind.OUTAGE
    return held is not None and held.owes and held.asked is None
