"""What agents of one account share: a limit parks them all, and they go on one after the other."""

from __future__ import annotations

from collections.abc import Mapping

from phoenixd.core import requests
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Afterwards, BackingOff, Parked, Running, Stopping
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event, RunEvent
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.events.runs import AgentExited, StartFailed, TreeGone
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.limits import parking, waits
from phoenixd.core.limits.marks import ROUNDING, heads, instant_of, takes_a_slot
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.ranked import END
from phoenixd.core.roster import ASKED, FREE, LIMIT, MEMBER, OWN_SLOT, SLOT, Roster
from phoenixd.core.taking import take
from phoenixd.core.transitions import park


def follow(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """What the event about one agent means for the parking of all that share its account."""
    name = event.spec.name if isinstance(event, AgentDeclared) else event.agent if isinstance(event, RunEvent) else ""
    after = found.fleet.roster
    agent, earlier = after.get(name), before.roster.get(name)
    if agent is None or agent is earlier:
        return found
    limit = _limit(agent, now)
    if limit is not None and (earlier is None or _limit(earlier, now) != limit):
        why, over = f"{name} met the limit of its account", _over_by(agent)
        for peer in _members(after, waits.account_of(agent.spec)):
            if peer.name != name and (decision := _park(peer, limit, why, now, over)):
                found = put(found, decision, now)
        return found
    if not _is_open_to_park(earlier, agent, event):
        return found
    account = waits.account_of(agent.spec)
    newest = after.marks.last((LIMIT, account, now.wall), (LIMIT, account, END, END))
    # An account that ends just now is over.
    if newest is None or newest[2] <= now.wall:
        return found
    met = found.fleet.agents[newest[4]]
    decision = _park(agent, newest[2], f"the account's limit, which {met.name} met", now, _over_by(met))
    return put(found, decision, now) if decision is not None else found


def release(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Let those go on whose limit is over, of each account one after the other."""
    for agent in _due(found.fleet.roster, found.fleet.gates, now):
        gates = _close_gate(found.fleet.gates, agent, found.fleet.limits.resume_every, now)
        found = put(replace(found, fleet=replace(found.fleet, gates=gates)), _go_on(agent, now), now)
    return found


def _go_on(agent: Agent, now: Moment) -> Decision:
    """Start a parked agent, or let its run go on: its time has come."""
    held = agent.parking
    assert held is not None
    if isinstance(agent.state, Running):
        return take(agent, parking.go_on(agent.limits, agent.view(), now, "its limit is over"), now)
    what = "the outage" if held.kind is ParkingKind.OUTAGE else "its limit"
    return requests.queue(agent, f"{what} is over", now, held.fresh)


def _due(agents: Roster, gates: Mapping[str, Instant], now: Moment) -> list[Agent]:
    """Who goes on now, the longest parked first: of each account at most one that asks the service for something."""
    wall = now.wall + ROUNDING
    names = [mark[4] for mark in agents.marks.between((ASKED,), (ASKED, "", now.at, END))]
    names += [
        mark[4] for mark in agents.marks.between((FREE,), (FREE, "", wall, END)) if instant_of(mark[2], now) <= now.at
    ]
    names += [
        mark[4]
        for mark in (
            *(heads(agents) if agents.has(SLOT) else ()),
            *agents.marks.between((OWN_SLOT,), (OWN_SLOT, "", wall, END)),
        )
        if instant_of(mark[2], now) <= now.at and now.at >= gates.get(waits.account_of(agents[mark[4]].spec), now.at)
    ]
    return [agents[name] for name in sorted(names, key=lambda name: (_until(agents[name]), name))]


def _close_gate(gates: Mapping[str, Instant], agent: Agent, every: float, now: Moment) -> Mapping[str, Instant]:
    """The gates after this agent went on: the next one of its account follows after `every` seconds, more or less."""
    if not takes_a_slot(agent):
        return gates
    open_ones = {account: at for account, at in gates.items() if at > now.at}
    return {**open_ones, waits.account_of(agent.spec): now.at + every * (0.5 + now.chance)}


def _members(agents: Roster, account: str) -> list[Agent]:
    return agents.marked((MEMBER, account), (MEMBER, account, END, END))


def _limit(agent: Agent, now: Moment) -> float | None:
    """Until when this agent knows its account to be at its limit."""
    held = agent.parking
    if held is None or held.kind is not ParkingKind.LIMIT or held.until_wall <= now.wall:
        return None
    # One that is being told to go on, or cannot be told, says nothing about the account any more.
    return held.until_wall if held.asked is None and held.misses == 0 else None


def _over_by(agent: Agent) -> Instant | None:
    return agent.parking.over_by if agent.parking is not None else None


def _park(agent: Agent, until: float, why: str, now: Moment, over: Instant | None = None) -> Decision | None:
    """The agent, parked until then; None where it is not. over: when that is over at the latest, in supervised time."""
    held = agent.parking
    match agent.state:
        case Running(activity=activity, exit_due=None):
            # A turn that goes on meets the limit itself, or does not.
            later = held is not None and held.asked is None and held.until_wall < until
            idle = held is None and not activity.turn_open and activity.waiting is None and agent.hooks_seen
            if not (later or idle):
                return None
            return take(agent, parking.join(agent.limits, until, over, why, now), now)
        case BackingOff(mode=mode, prompt=prompt):
            fresh = mode is Mode.FRESH and prompt is PromptKind.GOAL and agent.session is not None
            reason = f"parked, limit: {why}; it starts afterwards"
            return park(agent, ParkingKind.LIMIT, until, reason, now, fresh=fresh, over=over)
        case Parked() if held is not None and held.until_wall < until and held.kind is not ParkingKind.OUTAGE:
            return park(agent, ParkingKind.LIMIT, until, f"parked, limit: {why}", now, fresh=held.fresh, over=over)
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
    return agent.parking.until_wall if agent.parking is not None else 0.0
