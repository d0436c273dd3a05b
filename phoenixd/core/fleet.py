"""The whole fleet: one step for one event, and the brakes that only make sense across agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from phoenixd.core import lifecycle, progress, requests
from phoenixd.core.actions import Action, ObserveTerminal
from phoenixd.core.agent import Agent, BackingOff, Desired, Starting, Stopped
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events import (
    AgentDeclared,
    AgentExited,
    AgentWithdrawn,
    BreakerCorrupt,
    BreakerEdited,
    BreakerReset,
    Event,
    FleetEvent,
    LimitsDeclared,
    OperatorEvent,
    Rebooted,
    RestartRequested,
    RunEvent,
    SendRequested,
    ShimLost,
    StartRequested,
    StopRequested,
    TerminalSeen,
    Tick,
    WorkEvent,
)
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.spec import AgentSpec, FleetLimits


@dataclass(frozen=True, slots=True)
class Fleet:
    """All agents and the fleet-wide facts. Treated as a value: a step returns a new one.

    falls: when agents lost shim or terminal lately. hold_until: starts wait for the terminal to be seen again,
    because most of the fleet fell at once.
    """

    agents: Mapping[str, Agent] = field(default_factory=dict)
    limits: FleetLimits = field(default_factory=FleetLimits)
    next_item: int = 1
    falls: tuple[tuple[str, Instant], ...] = ()
    hold_until: Instant | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """The fleet after an event, and what was decided on the way, in order. `refusal` answers an operator's request."""

    fleet: Fleet
    decisions: tuple[Decision, ...] = ()
    refusal: Refusal | None = None


def step(fleet: Fleet, event: Event, now: Moment) -> Step:
    """Decide on one event: the agent's rules first, then the brakes, then the starts that are due."""
    if isinstance(event, FleetEvent):
        decided = _on_fleet_event(fleet, event, now)
    elif isinstance(event, OperatorEvent):
        decided = _on_request(fleet, event, now)
    elif isinstance(event, WorkEvent):
        decided = _on_work_event(fleet, event, now)
    else:
        decided = _on_run_event(fleet, event, now)
    braked = _brake(fleet, decided, event, now)
    return _release_starts(braked, now)


def next_deadline(fleet: Fleet, now: Moment) -> Instant | None:
    """The earliest instant at which a Tick is needed; starts that are due but held or capped need none."""
    blocked = fleet.hold_until is not None or _free_slots(fleet, now) <= 0
    earliest = fleet.hold_until
    for agent in fleet.agents.values():
        due = lifecycle.deadline(agent, now)
        if due is None or (blocked and _is_due(agent, now)):
            continue
        if earliest is None or due < earliest:
            earliest = due
    return earliest


def _on_fleet_event(fleet: Fleet, event: FleetEvent, now: Moment) -> Step:
    match event:
        case Tick():
            found = Step(fleet)
            for agent in fleet.agents.values():
                found = _put(found, lifecycle.on_deadline(agent, now))
            if fleet.hold_until is not None and fleet.hold_until <= now.at:
                return _observe(found, "still no word of the terminal: looking again", now)
            return found
        case Rebooted(ended=ended):
            found, by_agent = Step(fleet), {end.agent: end for end in ended}
            for agent in fleet.agents.values():
                found = _put(found, lifecycle.after_reboot(agent, by_agent.get(agent.name), now))
            return found
        case LimitsDeclared(limits=limits):
            changed = limits != fleet.limits
            noted = (Decision(None, reason="the fleet's limits changed"),) if changed else ()
            return Step(replace(fleet, limits=limits), noted)
        case TerminalSeen(alive=True):
            if fleet.hold_until is None:
                return Step(fleet)
            return Step(
                replace(fleet, hold_until=None, falls=()),
                (Decision(None, reason="the terminal answers: starts go on"),),
            )
        case TerminalSeen():
            # The tick at `hold_until` looks again: one look at a time, however many answers come.
            held = replace(fleet, hold_until=now.at + fleet.limits.observe_retry)
            return Step(held, (Decision(None, reason="the terminal does not answer: starts wait"),))
        case _:
            assert_never(event)


def _on_request(fleet: Fleet, event: OperatorEvent, now: Moment) -> Step:
    if isinstance(event, AgentDeclared):
        return _declare(fleet, event, now)
    agent = fleet.agents.get(event.agent)
    if agent is None:
        return Step(fleet, refusal=Refusal("not_found", f"there is no agent {event.agent}", "phoenixctl status"))
    match event:
        case StartRequested():
            decision = requests.start(agent, event, now)
        case StopRequested():
            decision = requests.stop(agent, event, now)
        case RestartRequested():
            decision = requests.restart_agent(agent, event, now)
        case SendRequested():
            decision = requests.send(agent, event, now)
        case AgentWithdrawn():
            decision = requests.withdraw(agent, now)
        case BreakerReset() | BreakerEdited() | BreakerCorrupt():
            decision = requests.set_breaker(agent, event, now)
        case _:
            assert_never(event)
    return _answer(fleet, decision)


def _answer(fleet: Fleet, decision: Decision) -> Step:
    if decision.refusal is not None:
        return Step(fleet, (replace(decision, reason=f"refused: {decision.refusal.message}"),), decision.refusal)
    return _put(Step(fleet), decision)


def _declare(fleet: Fleet, event: AgentDeclared, now: Moment) -> Step:
    known = fleet.agents.get(event.spec.name)
    if known is not None:
        return _answer(fleet, requests.redeclare(known, event.spec, now))
    agent = declared(event.spec, now)
    if event.start:
        return _put(Step(fleet), requests.start(agent, StartRequested(agent.name, by="autostart"), now))
    return _put(Step(fleet), Decision(agent, reason="declared"))


def declared(spec: AgentSpec, now: Moment) -> Agent:
    """A new agent, down until somebody starts it."""
    return Agent(spec, Desired.STOPPED, Stopped(), now.wall, "declared, never started")


def _on_run_event(fleet: Fleet, event: RunEvent, now: Moment) -> Step:
    agent = _speaker(fleet, event)
    if agent is None:
        # An older incarnation's words change nothing; the performer has answered for its processes.
        return Step(fleet)
    return _put(Step(fleet), lifecycle.decide(agent, event, now))


def _on_work_event(fleet: Fleet, event: WorkEvent, now: Moment) -> Step:
    agent = fleet.agents.get(event.agent)
    return _put(Step(fleet), progress.decide(agent, event, now)) if agent is not None else Step(fleet)


def _speaker(fleet: Fleet, event: RunEvent) -> Agent | None:
    """The agent that an event speaks of, if it is about the incarnation that lives."""
    agent = fleet.agents.get(event.agent)
    return agent if agent is not None and agent.run and agent.run.incarnation == event.incarnation else None


def _brake(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Most of the fleet falling within moments is an outage of tmux or of the observer: look again before starting."""
    if not isinstance(event, ShimLost | AgentExited) or _speaker(before, event) is None:
        return found
    if isinstance(event, AgentExited) and event.cause == "exit":
        return found
    fleet, limits = found.fleet, found.fleet.limits
    recent = (fall for fall in fleet.falls if fall[1] > now.at - limits.outage_window and fall[0] != event.agent)
    falls = (*recent, (event.agent, now.at))
    fleet = replace(fleet, falls=falls)
    wanted = sum(agent.desired is Desired.RUNNING for agent in fleet.agents.values())
    if fleet.hold_until is not None or len(falls) < limits.outage_min or len(falls) <= limits.outage_share * wanted:
        return replace(found, fleet=fleet)
    reason = (
        f"{len(falls)} of {wanted} agents fell within {limits.outage_window:g} s, an outage: looking before starting"
    )
    return _observe(replace(found, fleet=fleet), reason, now)


def _observe(found: Step, reason: str, now: Moment) -> Step:
    action: Action = ObserveTerminal(now.at)
    held = replace(found.fleet, hold_until=now.at + found.fleet.limits.observe_retry)
    return replace(found, fleet=held, decisions=(*found.decisions, Decision(None, (action,), reason)))


def _release_starts(found: Step, now: Moment) -> Step:
    """Begin the starts that are due, the longest waiting first, as many as the cap allows."""
    if found.fleet.hold_until is not None:
        return found
    slots = _free_slots(found.fleet, now)
    if slots <= 0:
        return found
    due = [
        (agent.state.until, name)
        for name, agent in found.fleet.agents.items()
        if _is_due(agent, now) and isinstance(agent.state, BackingOff)
    ]
    for _, name in sorted(due)[:slots]:
        agent = found.fleet.agents[name]
        assert isinstance(agent.state, BackingOff)
        found = _put(found, lifecycle.begin(agent, agent.state, now))
    return found


def _is_due(agent: Agent, now: Moment) -> bool:
    """Whether a start may be released; a loop's waits until its work has been measured."""
    return isinstance(agent.state, BackingOff) and agent.state.until <= now.at and not progress.waits(agent)


def _free_slots(fleet: Fleet, now: Moment) -> int:
    return fleet.limits.max_starting - sum(_is_launching(agent, now) for agent in fleet.agents.values())


def _is_launching(agent: Agent, now: Moment) -> bool:
    """Whether a start weighs on the host; one that lives but stays silent past its window must not block the others."""
    if not isinstance(agent.state, Starting):
        return False
    since = agent.state.run.exec_at
    return since is None or now.at < since + agent.spec.resume.window


def _put(found: Step, decision: Decision) -> Step:
    """Take a decision into the fleet; an item that is new gets its number here."""
    agent = decision.agent
    assert agent is not None
    fleet = found.fleet
    if decision.removed:
        rest = {name: other for name, other in fleet.agents.items() if name != agent.name}
        return replace(found, fleet=replace(fleet, agents=rest), decisions=(*found.decisions, decision))
    if agent is fleet.agents.get(agent.name):
        return found if not decision.is_worth_keeping else replace(found, decisions=(*found.decisions, decision))
    number = fleet.next_item
    if agent.item is not None and agent.item.id == 0:
        agent = replace(agent, item=replace(agent.item, id=number))
        decision, number = replace(decision, agent=agent), number + 1
    fleet = replace(fleet, agents={**fleet.agents, agent.name: agent}, next_item=number)
    return replace(found, fleet=fleet, decisions=(*found.decisions, decision))


__all__ = ["Fleet", "Refusal", "Step", "declared", "next_deadline", "step"]
