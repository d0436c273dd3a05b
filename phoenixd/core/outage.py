"""An outage of what many agents share: half of an account's or a harness's end without progress within half an hour.

That says nothing about any of them. Those that ended wait, nobody's count grows, and people are told once. Then one
after the other is let try, with growing waits in between, until the run of one of them is productive: the rest follow
in slots. Programs of the open contract share no harness with each other, so only an account makes a group of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from phoenixd.core import alert_kinds, productive, requests
from phoenixd.core.actions import Alert
from phoenixd.core.agent import (
    Agent,
    BackingOff,
    Desired,
    Outage,
    Parked,
    ParkingKind,
    Quarantined,
    Running,
    StandingAlert,
    Starting,
    Stopped,
)
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event, RunEvent, Tick, WorkMeasured
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.spec import MINUTE, AgentSpec
from phoenixd.core.transitions import close_items, enter, keep

WINDOW = 30 * MINUTE
"""Seconds within which the ends of several agents are one thing."""
LEAST = 3
"""Agents that have to be hit: two can fail by chance."""
KIND = "outage"
TOLD_ONCE = frozenset({KIND, "hung"})
"""Alerts of single agents that many of them raise for one cause."""

Agents = Mapping[str, Agent]


def groups_of(spec: AgentSpec) -> tuple[str, ...]:
    """What the agent shares with others, as people are told it."""
    account = (f"account {spec.account}",) if spec.account else ()
    return (*account, f"harness {spec.harness}") if spec.has_hooks else account


def follow(before: Agents, after: Agents, event: Event, every: float, now: Moment) -> Iterator[Decision]:
    """What the event means for the outage that its agent is in, or begins, or ends.

    every: about so many seconds lie between two that go on after it.
    """
    if isinstance(event, Tick):
        names = tuple(agent.name for agent in after.values() if agent.outage is not None)
    else:
        names = (event.agent,) if isinstance(event, RunEvent | WorkMeasured) else ()
    for name in names:
        agent, earlier = after.get(name), before.get(name)
        if agent is None or earlier is None or agent is earlier:
            continue
        if agent.outage is not None and _was_productive(earlier, agent):
            yield from _over(after, agent.outage, f"{name} works again", every, now)
            return
        if agent.record.unproductive != earlier.record.unproductive and productive.has_just_counted(agent, now):
            yield from _unproductive(after, agent, now)


def _unproductive(agents: Agents, agent: Agent, now: Moment) -> Iterator[Decision]:
    known = agent.outage or next((one.outage for one in _in_outage(agents, groups_of(agent.spec))), None)
    if known is not None:
        yield _wait_out(agent, replace(known, tries=_tries(agents, known.group)), now)
        return
    for group in groups_of(agent.spec):
        wanted = [one for one in _members(agents, group) if _is_wanted(one)]
        hit = [one for one in wanted if one.record.unproductive and one.record.unproductive[-1] > now.at - WINDOW]
        if len(hit) >= LEAST and 2 * len(hit) >= len(wanted):
            yield from _begin(group, hit, len(wanted), now)
            return


def is_hit(agents: Agents, group: str) -> bool:
    """Whether an outage of this group goes on."""
    return any(agent.outage is not None and agent.outage.group == group for agent in agents.values())


def alert(group: str, text: str) -> Alert:
    """The one alert of an outage."""
    return Alert(None, f"{alert_kinds.OUTAGE_OF}{group}", text, about=(group,))


def group_of(standing: StandingAlert) -> str | None:
    """Whose outage a standing alert of the fleet tells; None for another alert."""
    is_outage = alert_kinds.of(standing.kind).name == alert_kinds.SHARED_OUTAGE
    return standing.about[0] if is_outage and standing.about else None


def is_told(agents: Agents, agent: Agent, kind: str) -> bool:
    """Whether people were told of an alert's cause already: by one, or two, that share the service with this agent."""
    if kind not in TOLD_ONCE:
        return False
    groups = groups_of(agent.spec)
    shared = [one for one in agents.values() if one.name != agent.name and set(groups) & set(groups_of(one.spec))]
    if any(one.outage is not None for one in shared):
        return True
    # Two that hang may have a reason each.
    return sum(any(told.kind == kind for told in one.alerts) for one in shared) >= (LEAST - 1 if kind == "hung" else 1)


def moved(decision: Decision, now: Moment) -> Decision:
    """A changed specification: who no longer shares what is out of order waits no longer, and tells nothing of it."""
    agent = decision.agent
    if agent is None or agent.outage is None or agent.outage.group in groups_of(agent.spec):
        return decision
    free, why = replace(agent, outage=None), f"the outage of {agent.outage.group} is none of its own any more"
    if not waits(agent):
        return replace(decision, agent=free, reason=f"{decision.reason}; {why}")
    queued = requests.queue(free, why, now)
    return replace(queued, actions=decision.actions, reason=f"{decision.reason}; {queued.reason}")


def waits(agent: Agent) -> bool:
    """Whether the agent waits for its turn to try whether an outage is over."""
    return agent.outage is not None and isinstance(agent.state, Parked) and agent.state.kind is ParkingKind.OUTAGE


def next_due(agents: Agents, now: Moment) -> Instant | None:
    """When the next one may try, or has lived long enough although nothing was asked of it."""
    found = [_turn(agent, now) if waits(agent) else _calm(agent) for agent in agents.values() if agent.outage]
    return min((at for at in found if at is not None), default=None)


def release(agents: Agents, every: float, now: Moment) -> Iterator[Decision]:
    """Let one of each group try whose time has come; the others wait on, longer each time."""
    for agent in agents.values():
        if agent.outage is not None and (at := _calm(agent)) is not None and at <= now.at:
            yield from _over(agents, agent.outage, f"{agent.name} has lived for {in_words(WINDOW)}", every, now)
            return
    due = [agent for agent in agents.values() if waits(agent) and _turn(agent, now) <= now.at]
    for group in sorted({agent.outage.group for agent in due if agent.outage is not None}):
        ready = [agent for agent in due if agent.outage is not None and agent.outage.group == group]
        first = min(ready, key=_order)
        assert first.outage is not None
        outage = replace(first.outage, tries=_tries(agents, group) + 1)
        tried = requests.queue(first, f"it tries whether the outage of {group} is over", now)
        assert tried.agent is not None
        yield replace(tried, agent=replace(tried.agent, outage=outage))
        for agent in agents.values():
            if agent is not first and waits(agent) and agent.outage is not None and agent.outage.group == group:
                assert isinstance(agent.state, Parked)
                later = replace(agent.state, until_wall=now.wall + _wait(agent, outage.tries, now))
                yield Decision(replace(agent, state=later, outage=outage))


def _begin(group: str, hit: list[Agent], wanted: int, now: Moment) -> Iterator[Decision]:
    outage = Outage(group, now.wall)
    for agent in hit:
        yield _wait_out(agent, outage, now)
    text = (
        f"an outage of {group}: {len(hit)} of {wanted} agents ended without progress within {in_words(WINDOW)}. "
        f"They wait, and try one after the other; nothing is counted against them"
    )
    yield Decision(None, (alert(group, text),), text, (("hit", len(hit)), ("wanted", wanted)))


def _wait_out(agent: Agent, outage: Outage, now: Moment) -> Decision:
    """Park an agent that an outage ended, and forgive what was counted; one that runs again already tries."""
    since = now.at - WINDOW
    record = replace(agent.record, unproductive=tuple(at for at in agent.record.unproductive if at <= since))
    crashes = tuple(at for at in agent.crashes if at <= since)
    forgiven = replace(agent, record=record, crashes=crashes, outage=outage)
    match agent.state:
        case BackingOff() | Quarantined(counted=True) | Parked(kind=ParkingKind.OUTAGE):
            until = now.wall + _wait(agent, outage.tries, now)
            parked = close_items(forgiven)
            return enter(parked, Parked(until, ParkingKind.OUTAGE), f"parked, outage of {outage.group}", now)
        case Starting() | Running():
            return keep(forgiven, f"its run tries whether the outage of {outage.group} is over")
        case _:
            return Decision(agent)


def _over(agents: Agents, outage: Outage, why: str, every: float, now: Moment) -> Iterator[Decision]:
    """Let all go on, a slot after the other."""
    slot = 0
    for agent in sorted(_in_outage(agents, (outage.group,)), key=_order):
        free = replace(agent, outage=None)
        if not waits(agent):
            yield keep(free, f"the outage of {outage.group} is over: {why}")
            continue
        slot += 1
        until = now.wall + slot * every * (0.5 + now.chance)
        reason = f"the outage of {outage.group} is over: {why}; it goes on in its slot"
        yield enter(free, Parked(until, ParkingKind.OUTAGE), reason, now)


def _was_productive(before: Agent, agent: Agent) -> bool:
    run, earlier = agent.run, before.run
    if run is not None and run.merit.proof:
        return earlier is not None and not earlier.merit.proof
    end = agent.last_exit
    return end is not None and bool(end.proof) and (before.last_exit is None or end != before.last_exit)


def _in_outage(agents: Agents, groups: tuple[str, ...]) -> list[Agent]:
    return [agent for agent in agents.values() if agent.outage is not None and agent.outage.group in groups]


def _members(agents: Agents, group: str) -> list[Agent]:
    return [agent for agent in agents.values() if group in groups_of(agent.spec)]


def _is_wanted(agent: Agent) -> bool:
    """Whether it is to run; one that was given up for how often it ended was to."""
    given_up = isinstance(agent.state, Quarantined) and not agent.state.counted
    return agent.desired is Desired.RUNNING and not given_up and not isinstance(agent.state, Stopped)


def _tries(agents: Agents, group: str) -> int:
    return max((agent.outage.tries for agent in _in_outage(agents, (group,)) if agent.outage is not None), default=0)


def _wait(agent: Agent, tries: int, now: Moment) -> float:
    rules = agent.spec.limits
    pause = min(max(rules.overload_wait, rules.wait_max), rules.overload_wait * 2.0 ** min(tries, 30))
    return pause * (1 + now.chance / 2)


def _turn(agent: Agent, now: Moment) -> Instant:
    assert isinstance(agent.state, Parked)
    return now.at + max(0.0, agent.state.until_wall - now.wall)


def _calm(agent: Agent) -> Instant | None:
    """When a run of which nothing is asked has lived as long as an outage would let nobody live.

    One that waits, for a person or for the service itself, shows nothing by that.
    """
    state = agent.state
    if not isinstance(state, Running):
        return None
    activity = state.activity
    if activity.turn_open or activity.parking is not None or activity.waiting is not None:
        return None
    return state.run.began + WINDOW + activity.waited


def _order(agent: Agent) -> tuple[bool, float, str]:
    """Who has something to do tries first, of those the one that has waited longest."""
    idle = agent.session is None or not agent.session.turn_open
    return (idle, agent.since_wall, agent.name)
