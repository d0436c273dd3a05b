"""The whole fleet as a value, what a step makes of it, and how decisions and alerts are taken into it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from phoenixd.core import alerts, marks, weights
from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import InboxItem, StandingAlert
from phoenixd.core.agent.state import Quarantined, Stopped
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.facts import Weight
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.mutes import state as muting
from phoenixd.core.mutes.state import Mutes
from phoenixd.core.roster import Roster
from phoenixd.core.seat import state as seats
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import FleetLimits
from phoenixd.core.tasks.state import JobRules, Tasks
from phoenixd.core.terminal.state import ServerEnd
from phoenixd.core.treatment.authority import Caps
from phoenixd.core.treatment.case import Cases, Kept
from phoenixd.core.undo.state import Undoable, without


@dataclass(frozen=True, slots=True)
class Fleet:
    """All agents and the fleet-wide facts. Treated as a value: a step returns a new one.

    falls: when agents lost shim or terminal lately. hold_until: starts wait for the terminal to be seen again,
    because most of the fleet fell at once. gates: when the next parked agent of an account may go on.
    """

    agents: Mapping[str, Agent] = field(default_factory=dict)
    limits: FleetLimits = field(default_factory=FleetLimits)
    next_item: int = 1
    falls: tuple[tuple[str, Instant], ...] = ()
    hold_until: Instant | None = None
    alerts: tuple[StandingAlert, ...] = ()
    """Those that concern no single agent."""
    gates: Mapping[str, Instant] = field(default_factory=dict)
    is_blind: bool = False
    """The terminal was looked at, and did not answer."""
    server_end: ServerEnd | None = None
    """The newest end of the terminal server, and who falls with it. Not saved."""
    halted: tuple[str, Instant] | None = None
    """Why decisions cannot be made durable now, and since when: nothing is started meanwhile. Not saved."""
    retired: Mapping[str, int] = field(default_factory=dict)
    """The last incarnation of each agent that was removed: a later one of its name goes on from there."""
    epoch: int = 0
    """Counts orders, starts and wishes: a journal that has a lower one than the world is old (see core.behind)."""
    jobs: JobRules = field(default_factory=JobRules)
    clinic: Caps = field(default_factory=Caps)
    """How many treatments the clinic orders at most."""
    tasks: Tasks = field(default_factory=Tasks)
    """What workers do, have done, and are to do."""
    cases: Cases = field(default_factory=Cases)
    """What fails, and what comes of what is done about it."""
    seats: Mapping[str, Seat] = field(default_factory=dict)
    """Those of the orchestrators, by the names under which they were declared."""
    undoable: tuple[Undoable, ...] = ()
    """What operators did lately and can take back, the oldest first."""
    mutes: Mutes = field(default_factory=dict)
    """Whose alerts are held back, and until when."""
    ways: tuple[str, ...] = ()
    """By what the operator is told of alerts, by name, as this daemon was configured. Not saved."""

    roster: Roster = field(init=False, compare=False, repr=False)
    """The agents, with the marks by which rules find some among all."""

    def __post_init__(self) -> None:
        if not isinstance(self.agents, Roster):
            object.__setattr__(self, "agents", Roster.of(marks.MARKER, self.agents.values()))
        object.__setattr__(self, "roster", self.agents)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing runs or is to run: no agent, and no task. False while an agent waits to be confirmed."""
        return self.is_down and all(one.found is None for one in self.agents.values())

    @property
    def is_down(self) -> bool:
        """The same, as far as is known: an agent that a person has yet to confirm counts as what it seems to be."""
        down = (isinstance(one.state, Stopped | Quarantined) for one in self.agents.values())
        return all(down) and all(task.has_ended for task in self.tasks.open)


@dataclass(frozen=True, slots=True)
class Step:
    """The fleet after an event, and what was decided on the way, in order. `refusal` answers an operator's request.

    kept: what changed of Cases, for the journal's tables.
    """

    fleet: Fleet
    decisions: tuple[Decision, ...] = ()
    refusal: Refusal | None = None
    kept: tuple[Kept, ...] = ()


def answer(found: Step, decision: Decision, now: Moment) -> Step:
    """Take the decision about an order: what is refused changes nothing, and is told."""
    if decision.refusal is not None:
        refused = replace(decision, reason=f"refused: {decision.refusal.message}", weight="story")
        return replace(found, decisions=(*found.decisions, refused), refusal=decision.refusal)
    return put(found, decision, now)


def warn(found: Step, decision: Decision, now: Moment) -> Step:
    """Take a decision about the fleet whose alerts are to stand until they are over."""
    fleet = found.fleet
    standing, actions, number = alerts.fold(None, fleet.alerts, decision.actions, fleet.next_item, now, ways=fleet.ways)
    raised = replace(fleet, alerts=standing, next_item=number)
    told = any(isinstance(action, Alert) for action in actions)
    # The same look once more, which is neither news nor a change, is made and not journaled.
    weight: Weight = "story" if told or decision.weight is None else decision.weight
    decision = replace(decision, actions=actions, weight=weight)
    kept = (*found.decisions, decision) if decision.is_worth_keeping else found.decisions
    return replace(found, fleet=raised, decisions=kept)


def clear(found: Step, over: StandingAlert, why: str) -> Step:
    """An alert of the fleet is over."""
    rest = tuple(one for one in found.fleet.alerts if one is not over)
    told = Decision(None, (alerts.reassure(None, over, why),), why)
    return replace(found, fleet=replace(found.fleet, alerts=rest), decisions=(*found.decisions, told))


def put_all(found: Step, decisions: Iterable[Decision], now: Moment) -> Step:
    """Take several decisions into the fleet, one after the other."""
    for decision in decisions:
        found = put(found, decision, now)
    return found


def put(found: Step, decision: Decision, now: Moment) -> Step:
    """Take a decision into the fleet; an item or an alert that is new gets its number here."""
    agent = decision.agent
    assert agent is not None
    fleet = found.fleet
    known = fleet.agents.get(agent.name)
    if decision.removed:
        rest = fleet.roster.without(agent.name)
        over = tuple(alerts.reassure(seats.shown(fleet.seats, agent.spec), one, "removed") for one in agent.alerts)
        decision = weights.weighed(known, replace(decision, actions=(*decision.actions, *over)))
        retired = {**fleet.retired, agent.name: agent.incarnation}
        staying = seats.without(fleet.seats, agent.spec)
        key = muting.key_of(agent.spec)
        is_left = key in staying
        acts = fleet.undoable if is_left else without(fleet.undoable, key)
        mutes = fleet.mutes if is_left else muting.without(fleet.mutes, key)
        gone = replace(fleet, agents=rest, retired=retired, seats=staying, undoable=acts, mutes=mutes)
        return replace(found, fleet=gone, decisions=(*found.decisions, decision))
    number = fleet.next_item
    if any(item.id == 0 for item in agent.items):
        numbered: list[InboxItem] = []
        for item in agent.items:
            numbered.append(item if item.id else replace(item, id=number))
            number += item.id == 0
        agent = replace(agent, items=tuple(numbered))
        decision = replace(decision, agent=agent)
    before = (*known.alerts, *alerts.unsure(known)) if known is not None else ()
    if before or agent.alerts or any(isinstance(action, Alert) for action in decision.actions):
        called = seats.shown(fleet.seats, agent.spec)
        muted = muting.standing(fleet.mutes, agent.spec, now) is not None
        agent, actions, number = alerts.settle(
            before, agent, decision.actions, number, decision.reason, now, called, muted=muted, ways=fleet.ways
        )
        reason = decision.reason or alerts.ended(actions)
        decision = replace(decision, agent=agent, actions=actions, reason=reason)
    if decision.is_worth_keeping:
        decision = weights.weighed(known, decision)
        assert decision.agent is not None
        agent = decision.agent
    if agent is known:
        return found if not decision.is_worth_keeping else replace(found, decisions=(*found.decisions, decision))
    fleet = replace(fleet, agents=fleet.roster.taking(agent), next_item=number)
    return replace(found, fleet=fleet, decisions=(*found.decisions, decision))
