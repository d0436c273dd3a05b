"""The whole fleet: what an event means across agents. Which of these parts hears which event, core.hearing says.

A part gets the fleet as the event found it, what the parts before it came to, the event, and the moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from phoenixd.core import (
    alerts,
    answers,
    marks,
    requests,
    sequence,
    weights,
)
from phoenixd.core.actions import Alert, ObserveTerminal
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import InboxItem, StandingAlert
from phoenixd.core.agent.state import BackingOff, Desired, Starting, Stopped
from phoenixd.core.behind import epochs, plan
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events import Event, RunEvent
from phoenixd.core.events.fleet import (
    EpochBegun,
    JournalBehind,
    LimitsDeclared,
    Rebooted,
    RecoveryConfirmed,
    SavingHalted,
    SavingResumed,
    StateEdited,
    TerminalSeen,
    Tick,
    TroubleSeen,
    WatchEvent,
)
from phoenixd.core.events.orders import (
    AgentDeclared,
    RestartRequested,
    StartRequested,
    StopRequested,
    UndoRequested,
)
from phoenixd.core.events.runs import AgentExited, ShimLost
from phoenixd.core.facts import Weight
from phoenixd.core.handoff import dues as handoffs
from phoenixd.core.lifecycle import begins, ends, overdue
from phoenixd.core.limits import groups
from phoenixd.core.limits import marks as limit_marks
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.mutes import state as muting
from phoenixd.core.mutes.state import Mutes
from phoenixd.core.roster import DUE, LAUNCH, PASSING, SPAWN, START, WANTED, Roster
from phoenixd.core.seat import state as seats
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.tasks import queue
from phoenixd.core.tasks.state import JobRules, Tasks
from phoenixd.core.transitions import keep
from phoenixd.core.treatment import unheard
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

    roster: Roster = field(init=False, compare=False, repr=False)
    """The agents, with the marks by which rules find some among all."""

    def __post_init__(self) -> None:
        if not isinstance(self.agents, Roster):
            object.__setattr__(self, "agents", Roster.of(marks.MARKER, self.agents.values()))
        object.__setattr__(self, "roster", self.agents)


@dataclass(frozen=True, slots=True)
class Step:
    """The fleet after an event, and what was decided on the way, in order. `refusal` answers an operator's request.

    kept: what changed of Cases, for the journal's tables.
    """

    fleet: Fleet
    decisions: tuple[Decision, ...] = ()
    refusal: Refusal | None = None
    kept: tuple[Kept, ...] = ()


def next_deadline(fleet: Fleet, now: Moment) -> Instant | None:
    """The earliest instant at which a Tick is needed; starts that are due but held or capped need none."""
    roster = fleet.roster
    blocked = fleet.hold_until is not None or fleet.halted is not None or _free_slots(fleet, now) <= 0
    found = (
        fleet.hold_until,
        marks.first(roster, DUE),
        marks.first(roster, START, now.at) if blocked else marks.first(roster, START),
        # A start that waits for the journal may not have been ordered yet.
        marks.first(roster, SPAWN) if fleet.halted is None else None,
        limit_marks.next_due(roster, fleet.gates, now),
        handoffs.next_due(fleet.seats, fleet.agents, now),
        queue.next_due(fleet.tasks, now) if fleet.tasks.open else None,
        muting.next_due(fleet.mutes, now) if fleet.mutes else None,
        fleet.cases.examinations.due,
        unheard.next_due(fleet.cases, fleet.agents) if fleet.cases.cases else None,
    )
    return min((at for at in found if at is not None), default=None)


def tick(before: Fleet, found: Step, event: Tick, now: Moment) -> Step:
    """Act on the deadlines that have come."""
    late = marks.due(before.roster, DUE, now.at)
    if before.halted is None:
        late += marks.due(before.roster, SPAWN, now.at)
    for agent in before.roster.named(late):
        found = put(found, overdue.on_deadline(agent, now), now)
    if before.hold_until is not None and before.hold_until <= now.at:
        return _observe(found, "still no word of the terminal: looking again", now, "noise")
    return found


def reboot(before: Fleet, found: Step, event: Rebooted, now: Moment) -> Step:
    """Another boot: no run lives."""
    by_agent = {end.agent: end for end in event.ended}
    for agent in before.agents.values():
        found = put(found, ends.after_reboot(agent, by_agent.get(agent.name), now), now)
    return found


def begin_epoch(before: Fleet, found: Step, event: EpochBegun, now: Moment) -> Step:
    """A daemon begins, in an epoch of its own."""
    newest = max(event.newest, before.epoch)
    begun = Decision(None, reason=f"a daemon begins, after epoch {newest}", weight="detail")
    # What stands in the directory of a task is its alone, also where the journal has forgotten that there was one.
    number = max(before.tasks.next, event.tasks + 1)
    return Step(replace(before, epoch=newest, tasks=replace(before.tasks, next=number)), (begun,))


def set_limits(before: Fleet, found: Step, event: LimitsDeclared, now: Moment) -> Step:
    """Take the fleet-wide limits over."""
    jobs = event.jobs if event.jobs is not None else before.jobs
    clinic = event.clinic if event.clinic is not None else before.clinic
    changed = (event.limits, jobs, clinic) != (before.limits, before.jobs, before.clinic)
    noted = (Decision(None, reason="the fleet's limits changed"),) if changed else ()
    return Step(replace(before, limits=event.limits, jobs=jobs, clinic=clinic), noted)


def halt(before: Fleet, found: Step, event: SavingHalted, now: Moment) -> Step:
    """Nothing is started while decisions cannot be made durable."""
    since = before.halted[1] if before.halted is not None else now.at
    return Step(replace(before, halted=(event.why, since)))


def see_terminal(before: Fleet, found: Step, event: TerminalSeen, now: Moment) -> Step:
    """Let starts go on once the terminal answers."""
    if not event.alive:
        # The tick at `hold_until` looks again: one look at a time, however many answers come.
        held = replace(before, hold_until=now.at + before.limits.observe_retry, is_blind=True)
        weight: Weight = "noise" if before.is_blind else "story"
        return Step(held, (Decision(None, reason="the terminal does not answer: starts wait", weight=weight),))
    if before.hold_until is None:
        return found
    released = replace(before, hold_until=None, falls=(), is_blind=False)
    reason = "the terminal answers: starts go on"
    standing = next((one for one in before.alerts if one.kind == "terminal"), None)
    if standing is not None:
        return clear(Step(released), standing, reason)
    return Step(released, (Decision(None, reason=reason),))


def resume(before: Fleet, found: Step, event: SavingResumed, now: Moment) -> Step:
    """Decisions are durable again; a start that had to wait for that has its whole time still."""
    fleet, found = before, Step(replace(before, halted=None))
    if fleet.halted is None:
        return found
    lost = now.at - fleet.halted[1]
    for agent in fleet.agents.values():
        if isinstance(agent.state, Starting) and _is_unsaved(fleet, agent):
            later = replace(agent.state, ready_by=agent.state.ready_by + lost)
            found = put(found, Decision(replace(agent, state=later)), now)
    return found


def _is_unsaved(fleet: Fleet, agent: Agent) -> bool:
    """Whether its start may not have been ordered yet, because that waits for the journal."""
    return fleet.halted is not None and isinstance(agent.state, Starting) and agent.state.run.exec_at is None


def face_the_world(before: Fleet, found: Step, event: JournalBehind, now: Moment) -> Step:
    """Bring every agent up to what the world knows of it, before anything is killed or started."""
    fleet = before
    known = replace(
        fleet, epoch=max(fleet.epoch, event.world.newest), next_item=fleet.next_item + plan.ITEM_GAP,
        tasks=replace(fleet.tasks, next=fleet.tasks.next + plan.ITEM_GAP),
    )  # fmt: skip
    found = put_all(Step(known), plan.decisions(fleet.agents, fleet.retired, event, now), now)
    left = plan.left_alone(fleet.agents, event, now)
    alert = plan.alert(event.why, found.fleet.agents.values(), left)
    return warn(found, Decision(None, (alert,), alert.text), now)


def renew_plan(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """After an order: what it settled is not to be recovered any more."""
    standing = alerts.find(found.fleet.alerts, plan.BEHIND)
    if standing is None or found.refusal is not None:
        return found
    alert = plan.renewed(standing, found.fleet.agents)
    if alert is None:
        return clear(found, standing, "every agent was settled by an order of its own")
    return warn(found, Decision(None, (alert,)), now)


def confirm_recovery(before: Fleet, found: Step, event: RecoveryConfirmed, now: Moment) -> Step:
    """Do what was proposed where the journal was old."""
    found = put_all(found, plan.confirmed(before.agents.values(), event.by, now), now)
    standing = alerts.find(before.alerts, plan.BEHIND)
    return clear(found, standing, f"confirmed by {event.by}") if standing is not None else found


def take_up_turns(
    before: Fleet, found: Step, event: StartRequested | RestartRequested | UndoRequested, now: Moment
) -> Step:
    """Who starts the first member of a sequence starts them all."""
    lead = before.agents.get(event.agent)
    if lead is None or found.refusal is not None:
        return found
    return put_all(found, sequence.taken_up(found.fleet.agents, lead), now)


def answer(found: Step, decision: Decision, now: Moment) -> Step:
    """Take the decision about an order: what is refused changes nothing, and is told."""
    if decision.refusal is not None:
        refused = replace(decision, reason=f"refused: {decision.refusal.message}", weight="story")
        return replace(found, decisions=(*found.decisions, refused), refusal=decision.refusal)
    return put(found, decision, now)


def declare(before: Fleet, found: Step, event: AgentDeclared, now: Moment) -> Step:
    """An agent is declared, or its specification changed."""
    fleet = before
    known = fleet.agents.get(event.spec.name)
    if known is not None:
        changed = groups.moved(requests.redeclare(known, event.spec, now), now)
        told = weights.ordered(event, known, changed) if changed.is_worth_keeping or changed.refusal else changed
        return answer(found, told, now)
    last = fleet.retired.get(event.spec.name, 0)
    if (living := plan.newcomer(event, last, now)) is not None:
        return put(found, weights.ordered(event, None, living), now)
    agent = declared(event.spec, now, last)
    if event.start:
        started = requests.start(agent, StartRequested(agent.name, by="autostart"), now)
        return put(found, weights.ordered(event, None, started), now)
    return put(found, weights.ordered(event, None, Decision(agent, reason="declared")), now)


def declared(spec: AgentSpec, now: Moment, incarnation: int = 0) -> Agent:
    """A new agent, down until somebody starts it. incarnation: the last one that its name ever had."""
    return Agent(spec, Desired.STOPPED, Stopped(), now.wall, "declared, never started", incarnation)


def overhear(before: Fleet, found: Step, event: RunEvent, now: Moment) -> Step:
    """The first member of a sequence hears what the run of a turn says of itself."""
    agent = before.roster.living(event.agent, event.incarnation)
    if agent is None or agent.spec.turn_of is None:
        return found
    return put_all(found, sequence.overhear(before.agents, agent, event), now)


def give_answer(before: Fleet, found: Step, event: RunEvent, now: Moment) -> Step:
    """Give the operator's prepared answer to a question that has just been asked."""
    agent = before.roster.living(event.agent, event.incarnation)
    asked = found.fleet.agents.get(event.agent)
    if agent is None or asked is None or not asked.spec.answers:
        return found
    given = answers.prepared(agent, asked)
    return put(found, answers.answer(asked, given, now), now) if given is not None else found


def watch(before: Fleet, found: Step, event: WatchEvent, now: Moment) -> Step:
    """Raise or clear what a watch outside the core found; the same again changes nothing."""
    fleet = before
    agent = fleet.agents.get(event.agent) if event.agent is not None else None
    if event.agent is not None and agent is None:
        return found
    if isinstance(event, StateEdited):
        assert agent is not None
        told = keep(agent, "its state.json was edited by another hand, and taken over")
        return put(Step(fleet), replace(told, weight="story"), now)
    standing = alerts.find(agent.alerts if agent else fleet.alerts, event.kind)
    if isinstance(event, TroubleSeen):
        alert = Alert(event.agent, event.kind, event.text, watched=True)
        reason = f"{event.kind}: {event.text}" if standing is None else ""
        decision = Decision(agent, (alert,), reason)
        return put(Step(fleet), decision, now) if agent is not None else warn(Step(fleet), decision, now)
    if standing is None:
        return Step(fleet)
    why = event.why or f"{event.kind} is over"
    if agent is not None:
        rest = tuple(one for one in agent.alerts if one is not standing)
        return put(Step(fleet), Decision(replace(agent, alerts=rest), reason=why), now)
    return clear(Step(fleet), standing, why)


def warn(found: Step, decision: Decision, now: Moment) -> Step:
    """Take a decision about the fleet whose alerts are to stand until they are over."""
    fleet = found.fleet
    standing, actions, number = alerts.fold(None, fleet.alerts, decision.actions, fleet.next_item, now)
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


def follow_sequences(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Give the turns of sequences on, and end those that were broken off."""
    if not (before.roster.has(PASSING) or found.fleet.roster.has(PASSING)):
        return found
    for lead, name in sequence.abandoned(before.roster, found.fleet.roster):
        agent = found.fleet.agents.get(name)
        if agent is not None and agent.spec.turn_of == lead.name:
            ended = requests.stop(agent, StopRequested(name, by=f"the end of {lead.name}'s turns"), now)
            assert ended.agent is not None
            found = put(found, replace(ended, agent=replace(ended.agent, left_out=agent.left_out)), now)
    found = _begin_turns(found, now)
    while (decision := sequence.follow(found.fleet.roster, now)) is not None:
        found = _begin_turns(put(found, decision, now), now)
    return found


def _begin_turns(found: Step, now: Moment) -> Step:
    for lead, name in tuple(sequence.wanted(found.fleet.roster)):
        agent = found.fleet.agents[name]
        started = requests.start(agent, StartRequested(name, by=f"the sequence of {lead.name}"), now)
        found = put(found, sequence.begun(lead, agent.incarnation), now)
        found = put(found, started, now)
    return found


def brake(before: Fleet, found: Step, event: ShimLost | AgentExited, now: Moment) -> Step:
    """Most of the fleet falling within moments is an outage of tmux or of the observer: look again before starting."""
    if before.roster.living(event.agent, event.incarnation) is None:
        return found
    if isinstance(event, AgentExited) and event.cause == "exit":
        return found
    fleet, limits = found.fleet, found.fleet.limits
    recent = (fall for fall in fleet.falls if fall[1] > now.at - limits.outage_window and fall[0] != event.agent)
    falls = (*recent, (event.agent, now.at))
    fleet = replace(fleet, falls=falls)
    wanted = marks.how_many(fleet.roster, WANTED)
    if fleet.hold_until is not None or len(falls) < limits.outage_min or len(falls) <= limits.outage_share * wanted:
        return replace(found, fleet=fleet)
    reason = (
        f"{len(falls)} of {wanted} agents fell within {limits.outage_window:g} s, an outage: looking before starting"
    )
    return _observe(replace(found, fleet=fleet), reason, now)


def _observe(found: Step, reason: str, now: Moment, weight: Weight | None = None) -> Step:
    held = replace(found.fleet, hold_until=now.at + found.fleet.limits.observe_retry)
    actions = (ObserveTerminal(now.at), Alert(None, "terminal", reason))
    return warn(replace(found, fleet=held), Decision(None, actions, reason, weight=weight), now)


def release_starts(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Begin the starts that are due, the longest waiting first, as many as the cap allows."""
    due = marks.first(found.fleet.roster, START)
    if due is None or due > now.at or found.fleet.hold_until is not None or found.fleet.halted is not None:
        return found
    slots = _free_slots(found.fleet, now)
    if slots <= 0:
        return found
    for mark in marks.due(found.fleet.roster, START, now.at, slots):
        agent = found.fleet.agents[mark[4]]
        assert isinstance(agent.state, BackingOff)
        found = put(found, begins.begin(agent, agent.state, now), now)
    return found


def count_epoch(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Begin a new epoch where an order, a start or another wish was decided."""
    if not epochs.moves(before.agents, found.decisions, event):
        return found
    return replace(found, fleet=replace(found.fleet, epoch=found.fleet.epoch + 1))


def _free_slots(fleet: Fleet, now: Moment) -> int:
    """How many starts may begin: one that lives but stays silent past its window must not block the others."""
    return fleet.limits.max_starting - marks.later(fleet.roster, LAUNCH, now.at)


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
    before = known.alerts if known is not None else ()
    if before or agent.alerts or any(isinstance(action, Alert) for action in decision.actions):
        called = seats.shown(fleet.seats, agent.spec)
        muted = muting.standing(fleet.mutes, agent.spec, now.wall) is not None
        agent, actions, number = alerts.settle(
            before, agent, decision.actions, number, decision.reason, now, called, muted=muted
        )
        decision = replace(decision, agent=agent, actions=actions)
    if decision.is_worth_keeping:
        decision = weights.weighed(known, decision)
        assert decision.agent is not None
        agent = decision.agent
    if agent is known:
        return found if not decision.is_worth_keeping else replace(found, decisions=(*found.decisions, decision))
    fleet = replace(fleet, agents=fleet.roster.taking(agent), next_item=number)
    return replace(found, fleet=fleet, decisions=(*found.decisions, decision))


__all__ = ["Fleet", "Refusal", "Step", "declared", "next_deadline"]
