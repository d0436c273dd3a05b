"""An outage of what many agents share: half of an account's or a harness's end without progress within half an hour.

That says nothing about any one of them. Those that ended wait, no count grows, and people are told once. Then one
after the other is let try, with growing waits in between, until the run of one of them is productive: the rest follow
in slots. Programs of the open contract share no harness with each other, so only an account makes a group of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.core import alert_kinds, productive, requests
from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import BackingOff, Outage, Parked, Quarantined, Running, Starting
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event, RunEvent
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.fleet import Fleet, Step, clear, put, warn
from phoenixd.core.limits.groups import WINDOW, groups_of, waits_out
from phoenixd.core.limits.marks import ROUNDING, instant_of
from phoenixd.core.limits.state import ParkingKind, over_by
from phoenixd.core.moment import Moment, in_words
from phoenixd.core.ranked import END
from phoenixd.core.roster import CALM, GROUP, OUTAGE, TURN, Roster
from phoenixd.core.transitions import close_items, keep, park

LEAST = 3
"""Agents that have to be hit: two can fail by chance."""
KIND = "outage"
TOLD_ONCE = frozenset({KIND, "hung"})
"""Alerts of single agents that many of them raise for one cause."""


def follow(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Take what the event means for outages into the fleet, and tell when one is over."""
    for decision in tuple(_follow(before.roster, found.fleet.roster, event, before.limits.resume_every, now)):
        found = put(found, decision, now) if decision.agent is not None else warn(found, decision, now)
    for standing in found.fleet.alerts:
        group = group_of(standing)
        if group is not None and not is_hit(found.fleet.roster, group):
            found = clear(found, standing, f"the outage of {group} is over")
    return found


def release(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Let one of each group try whose time has come; the others wait on, longer each time."""
    for decision in tuple(_release(found.fleet.roster, found.fleet.limits.resume_every, now)):
        found = put(found, decision, now)
    return found


def once(fleet: Fleet, agent: Agent, decision: Decision) -> Decision:
    """Leave out the alerts that other agents on the same service have raised already."""
    if not any(isinstance(one, Alert) and one.kind in TOLD_ONCE for one in decision.actions):
        return decision
    kept = tuple(
        one for one in decision.actions if not (isinstance(one, Alert) and is_told(fleet.roster, agent, one.kind))
    )
    return replace(decision, actions=kept)


def _follow(before: Roster, after: Roster, event: Event, every: float, now: Moment) -> Iterator[Decision]:
    """What the event means for the outage that its agent is in, or begins, or ends.

    every: about how many seconds lie between two that go on after it.
    """
    if isinstance(event, Tick):
        names = tuple(agent.name for agent in after.marked((OUTAGE,), (OUTAGE + 1,)))
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


def _unproductive(agents: Roster, agent: Agent, now: Moment) -> Iterator[Decision]:
    known = agent.outage or next((one.outage for one in _in_outage(agents, groups_of(agent.spec))), None)
    if known is not None:
        yield _wait_out(agent, replace(known, tries=_tries(agents, known.group)), now)
        return
    for group in groups_of(agent.spec):
        recent = (GROUP, group, now.at - WINDOW, END), (GROUP, group, END, END)
        hit, wanted = agents.marks.count(*recent), agents.marks.count((GROUP, group), (GROUP, group, END, END))
        if hit >= LEAST and 2 * hit >= wanted:
            yield from _begin(group, agents.marked(*recent), wanted, now)
            return


def is_hit(agents: Roster, group: str) -> bool:
    """Whether an outage of this group goes on."""
    return agents.marks.first((OUTAGE, group), (OUTAGE, group, END, END)) is not None


def alert(group: str, text: str) -> Alert:
    """The one alert of an outage."""
    return Alert(None, f"{alert_kinds.OUTAGE_OF}{group}", text, about=(group,))


def group_of(standing: StandingAlert) -> str | None:
    """Whose outage a standing alert of the fleet tells; None for another alert."""
    is_outage = alert_kinds.of(standing.kind).name == alert_kinds.SHARED_OUTAGE
    return standing.about[0] if is_outage and standing.about else None


def is_told(agents: Roster, agent: Agent, kind: str) -> bool:
    """Whether people were told of an alert's cause already: by one, or two, that share the service with this agent."""
    if kind not in TOLD_ONCE:
        return False
    groups = groups_of(agent.spec)
    shared = [one for one in agents.values() if one.name != agent.name and set(groups) & set(groups_of(one.spec))]
    if any(one.outage is not None for one in shared):
        return True
    # Two that hang may have a reason each.
    return sum(any(told.kind == kind for told in one.alerts) for one in shared) >= (LEAST - 1 if kind == "hung" else 1)


def _release(agents: Roster, every: float, now: Moment) -> Iterator[Decision]:
    for agent in agents.marked((CALM,), (CALM, "", now.at, END)):
        assert agent.outage is not None
        yield from _over(agents, agent.outage, f"{agent.name} has lived for {in_words(WINDOW)}", every, now)
        return
    waiting = agents.marked((TURN,), (TURN, "", now.wall + ROUNDING, END))
    due = [one for one in waiting if one.parking is not None and instant_of(one.parking.until_wall, now) <= now.at]
    for group in sorted({agent.outage.group for agent in due if agent.outage is not None}):
        ready = [agent for agent in due if agent.outage is not None and agent.outage.group == group]
        first = min(ready, key=_order)
        assert first.outage is not None
        outage = replace(first.outage, tries=_tries(agents, group) + 1)
        tried = requests.queue(first, f"it tries whether the outage of {group} is over", now)
        assert tried.agent is not None
        yield replace(tried, agent=replace(tried.agent, outage=outage))
        for agent in _in_outage(agents, (group,)):
            held = agent.parking
            if agent is not first and waits_out(agent) and held is not None:
                until = now.wall + _wait(agent, outage.tries, now)
                later = replace(held, until_wall=until, over_by=over_by(until, now))
                yield Decision(replace(agent, limits=replace(agent.limits, parking=later), outage=outage))


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
        case Parked() if agent.parking is not None and agent.parking.kind is not ParkingKind.OUTAGE:
            return Decision(agent)
        case BackingOff() | Quarantined(counted=True) | Parked():
            until = now.wall + _wait(agent, outage.tries, now)
            parked = close_items(forgiven)
            return park(parked, ParkingKind.OUTAGE, until, f"parked, outage of {outage.group}", now)
        case Starting() | Running():
            return keep(forgiven, f"its run tries whether the outage of {outage.group} is over")
        case _:
            return Decision(agent)


def _over(agents: Roster, outage: Outage, why: str, every: float, now: Moment) -> Iterator[Decision]:
    """Let all go on, a slot after the other."""
    slot = 0
    for agent in sorted(_in_outage(agents, (outage.group,)), key=_order):
        free = replace(agent, outage=None)
        if not waits_out(agent):
            yield keep(free, f"the outage of {outage.group} is over: {why}")
            continue
        slot += 1
        until = now.wall + slot * every * (0.5 + now.chance)
        reason = f"the outage of {outage.group} is over: {why}; it goes on in its slot"
        yield park(free, ParkingKind.OUTAGE, until, reason, now)


def _was_productive(before: Agent, agent: Agent) -> bool:
    run, earlier = agent.run, before.run
    if run is not None and run.merit.proof:
        return earlier is not None and not earlier.merit.proof
    end = agent.last_exit
    return end is not None and bool(end.proof) and (before.last_exit is None or end != before.last_exit)


def _in_outage(agents: Roster, groups: tuple[str, ...]) -> list[Agent]:
    """In the order of the fleet."""
    found = (mark for group in groups for mark in agents.marks.between((OUTAGE, group), (OUTAGE, group, END, END)))
    return agents.named(found)


def _tries(agents: Roster, group: str) -> int:
    return max((agent.outage.tries for agent in _in_outage(agents, (group,)) if agent.outage is not None), default=0)


def _wait(agent: Agent, tries: int, now: Moment) -> float:
    rules = agent.spec.limits
    pause = min(max(rules.overload_wait, rules.wait_max), rules.overload_wait * 2.0 ** min(tries, 30))
    return pause * (1 + now.chance / 2)


def _order(agent: Agent) -> tuple[bool, float, str]:
    """Agents with something to do try first; of those, the one that has waited longest."""
    idle = agent.session is None or not agent.session.turn_open
    return (idle, agent.since_wall, agent.name)
