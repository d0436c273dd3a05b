"""What every face shows: rows with group, reason and age, derived from the fleet and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from phoenixd.core import alerts, armed
from phoenixd.core.agent import RESTORING, Agent
from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.run import Deaf
from phoenixd.core.agent.standing import InboxItem, StandingAlert
from phoenixd.core.agent.state import BackingOff, Live, Stopping
from phoenixd.core.breaker import Word
from phoenixd.core.condition import Group, activity_word, group, is_unseen, seen_pid
from phoenixd.core.fleet import Fleet
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import Gauge, read
from phoenixd.core.moment import Moment
from phoenixd.core.mutes import state as muting
from phoenixd.core.question.render import title
from phoenixd.core.resonance.state import Resonance
from phoenixd.core.seat import finding
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import project_of
from phoenixd.core.sight import ARGUMENT_LIMIT, NOTHING, Attached, Cost, Doing, Sight, Words
from phoenixd.core.spec import Kind

Hooks = Literal["ok", "missing", "none", "lost", "refused"]
HANDING_OFF = "handing_off"
"""The state of a seat's row whose holder runs while a handoff goes on."""


@dataclass(frozen=True, slots=True)
class Row:
    """One agent as `status` tells it. Times are wall seconds; `due` is seconds from now, where something is due."""

    name: str
    kind: str
    harness: str
    desired: str
    state: str
    activity: str | None
    group: Group
    incarnation: int
    pid: int | None
    session_id: str | None
    mode: str | None
    since: float
    started_at: float | None
    last_evidence: float | None
    evidence_age: float | None
    restarts: int
    reason: str
    waiting_for: str | None
    parked_until: float | None
    due: float | None
    hooks: Hooks
    items: tuple[InboxItem, ...]
    breaker: Word
    no_progress: int
    alerts: tuple[StandingAlert, ...] = ()
    deaf: Deaf | None = None
    refused: int = 0
    strangers: int = 0
    context: Gauge | None = None
    """How full its context is, as far as anything was read of it in this run."""
    armed: tuple[str, ...] = ()
    """What its shim answers hooks with by itself now, one clause each."""
    resonance: Resonance | None = None
    """What is known of its marker, where it bears one."""
    generation: int = 0
    """Which generation of its seat this is; 0 for agents that have none."""
    doing: Doing | None = None
    said: Words | None = None
    task: str | None = None
    goal: str | None = None
    cwd: str = ""
    branch: str | None = None
    model: str | None = None
    labels: tuple[str, ...] = ()
    project: str | None = None
    attached: Attached | None = None
    cost: Cost | None = None
    step: str | None = None
    """Which step of a handoff or of a restoration goes on."""
    case: str | None = None
    """The newest Case that is open about it."""
    opened: int | None = None
    """The journal's row that opened the present state; None where it is not known."""
    muted_until: float | None = None
    """Until when nobody is told of its alerts; None where people are."""
    is_succeeded: bool = False
    """It is down, and the handoff of its seat goes on without it: nothing is to be started."""
    is_guessed: bool = False
    """It was found alive without a journal that knew it, and what it is at is to be looked at."""
    is_unseen: bool = False
    """Nothing of its run is seen any more, and nothing proves that gone: `due` says when it counts as ended."""

    @property
    def is_running(self) -> bool:
        """Whether it is alive and supervised, also during a handoff or a restoration, and not while it is parked."""
        return self.state in ("running", HANDING_OFF, RESTORING)

    @property
    def item(self) -> InboxItem | None:
        """What it asks now, else the newest of what an earlier run has left."""
        return next(reversed(sorted(self.items, key=lambda one: not one.left)), None)

    @property
    def asked_at(self) -> str:
        """The agent whose terminal shows the question: a seat's successor has a terminal of its own."""
        item = self.item
        of_holder = (self.name, generation_name(self.name, self.generation or 1))
        return self.name if item is None or item.left or item.agent in of_holder else item.agent

    @property
    def at_step(self) -> str:
        """The step alone, for texts that name the handoff or the restoration themselves."""
        return (self.step or "").rpartition(": ")[2]

    @property
    def untold(self) -> tuple[StandingAlert, ...]:
        """The alerts that neither state nor item tell already."""
        kinds = (*(item.kind for item in self.items), self.state)
        return tuple(one for one in self.alerts if one.kind not in kinds)

    @property
    def held_back(self) -> int:
        """How many of its alerts a mute has kept from people."""
        return sum(one.held for one in self.alerts)

    @property
    def is_acknowledged(self) -> bool:
        """Whether an operator has seen all for which it needs one."""
        asks: tuple[InboxItem | StandingAlert, ...] = (*self.items, *alerts.pressing(self.alerts))
        return bool(asks) and all(one.ack is not None for one in asks)

    @property
    def pressing(self) -> StandingAlert | None:
        """The newest alert that tells more than the state does why this agent needs a person."""
        return next(reversed(alerts.pressing(self.untold)), None)


def project(fleet: Fleet, now: Moment, sight: Callable[[Agent], Sight] = lambda agent: NOTHING) -> tuple[Row, ...]:
    """All agents in the order of their names, each seat as one: as the generation that holds it."""
    told = open_cases(fleet)
    shown = (agent for agent in fleet.agents.values() if finding.is_listed(fleet, agent))
    rows = (row_of(fleet, agent, now, sight(agent), told) for agent in shown)
    return tuple(sorted(rows, key=lambda one: one.name))


def row_of(
    fleet: Fleet, agent: Agent, now: Moment, sight: Sight = NOTHING, told: Mapping[str, str] | None = None
) -> Row:
    """One agent's row under the name that people know it by; in a holder's, what other generations need stands too.

    told: the open Cases by agent, where they are known already.
    """
    of_agent = open_cases(fleet) if told is None else told
    muted = muting.standing(fleet.mutes, agent.spec, now)
    muted_until = muting.ends_at(muted, now) if muted is not None else None
    one = row(agent, now, sight, _project(fleet, agent), of_agent.get(agent.name), muted_until)
    seat = fleet.seats.get(agent.spec.seat) if agent.spec.seat else None
    if seat is None:
        return one
    if seat.handoff is not None and not seat.handoff.is_over:
        one = replace(one, step=f"handoff: {seat.handoff.step}")
    is_passing = one.state in ("running", RESTORING) and seat.handoff is not None and not seat.handoff.is_over
    state = HANDING_OFF if is_passing and not finding.is_other(fleet, agent) else one.state
    goes_on = seat.handoff is not None and not seat.handoff.is_over and seat.handoff.alone and not seat.handoff.stays
    is_succeeded = one.state == "stopped" and goes_on and not finding.is_other(fleet, agent)
    heals = (state == HANDING_OFF or is_succeeded) and one.group in ("working", "resting")
    one = replace(
        one,
        name=finding.shown(fleet, agent),
        generation=agent.spec.generation,
        state=state,
        group="healing" if heals else one.group,
        is_succeeded=is_succeeded,
    )
    others = () if finding.is_other(fleet, agent) else finding.heard_of(fleet, seat)
    if not any(other.items or other.alerts for other in others):
        return one
    items = (*(item for other in others for item in other.items), *one.items)
    raised = (*(alert for other in others for alert in other.alerts), *one.alerts)
    needs = any(group(other) == "needs_you" for other in others)
    asks = next((other.activity.waiting for other in others if other.activity and other.activity.waiting), None)
    if asks is not None and one.activity != "waiting":
        one = replace(one, activity="waiting", waiting_for=_waiting_for(asks))
    return replace(one, items=items, alerts=raised, group="needs_you" if needs else one.group)


def row(
    agent: Agent,
    now: Moment,
    sight: Sight = NOTHING,
    project: str | None = None,
    case: str | None = None,
    muted_until: float | None = None,
) -> Row:
    """One agent's row; what only the fleet knows of it is given with it."""
    run, session = agent.run, agent.returns_to or agent.session
    seen = sight if run is not None and sight.incarnation == run.incarnation else None
    activity = agent.state.activity if isinstance(agent.state, Live) else None
    waiting = activity.waiting if activity else None
    return Row(
        name=agent.name,
        kind=agent.spec.kind.value,
        harness=agent.spec.harness,
        desired=agent.desired.value,
        state=agent.state_name,
        activity=activity_word(agent),
        group=group(agent),
        incarnation=agent.incarnation,
        pid=seen_pid(agent),
        session_id=run.session_id if run else (session.session_id if session else None),
        mode=run.mode.value if run else None,
        since=agent.since_wall,
        started_at=run.began_wall if run else None,
        last_evidence=activity.evidence_wall if run and run.evidence and activity else None,
        evidence_age=now.at - activity.evidence_at if run and run.evidence and activity else None,
        restarts=agent.restarts,
        reason=agent.reason,
        waiting_for=_waiting_for(waiting) if waiting else None,
        parked_until=_parked_until(agent),
        due=_due(agent, now),
        hooks=_hooks(agent, now),
        items=agent.items,
        alerts=agent.alerts,
        breaker=agent.breaker.name,
        no_progress=agent.breaker.tally.no_progress,
        deaf=run.deaf if run else None,
        refused=run.refused if run else 0,
        strangers=run.strangers if run else 0,
        context=_context(agent),
        armed=armed.told(agent, now.at),
        resonance=agent.resonance if agent.spec.has_resonance else None,
        doing=_doing(agent, now, seen),
        said=sight.said,
        task=sight.task,
        goal=sight.goal,
        cwd=agent.spec.cwd,
        branch=sight.branch,
        model=sight.model,
        labels=agent.spec.labels,
        project=project,
        attached=seen.attached if seen is not None else None,
        cost=sight.cost,
        step=_step(agent),
        opened=sight.opened,
        case=case,
        muted_until=muted_until,
        is_guessed=run is not None and run.guessed,
        is_unseen=is_unseen(agent),
    )


def open_cases(fleet: Fleet) -> dict[str, str]:
    """The newest Case that is open, for each agent that it is about."""
    return {name: case.id for case in fleet.cases.cases if case.closed is None for name in case.agents}


def _project(fleet: Fleet, agent: Agent) -> str | None:
    """The project that an agent leads, or works for as the worker of a task."""
    if agent.spec.kind is Kind.ORCHESTRATOR:
        return project_of(agent.spec)
    task = fleet.tasks.find(agent.spec.task) if agent.spec.task else None
    return (task.project or None) if task is not None else agent.spec.project


def _doing(agent: Agent, now: Moment, seen: Sight | None) -> Doing | None:
    """The open call of the main thread, of a turn that goes on; by what the journal keeps where nothing was seen."""
    activity = agent.activity
    if activity is None or not activity.turn_open:
        return None
    if seen is not None and seen.has_calls:
        return seen.doing
    lease = max((one for one in activity.leases if not one.sub), key=lambda one: one.started, default=None)
    if lease is None:
        return None
    return Doing(lease.tool, lease.command[:ARGUMENT_LIMIT], now.wall - max(0.0, now.at - lease.started))


def _step(agent: Agent) -> str | None:
    restoring = agent.resonance.restoration if agent.resonance is not None else None
    return f"restoration: {restoring.step}" if restoring is not None and not restoring.is_over else None


def _waiting_for(waiting: Waiting) -> str:
    return f"{waiting.kind} ({title(waiting)})" if waiting.text else waiting.kind


def _parked_until(agent: Agent) -> float | None:
    return agent.parking.until_wall if agent.parking is not None else None


def _due(agent: Agent, now: Moment) -> float | None:
    match agent.state:
        case BackingOff(until=until):
            return max(0.0, until - now.at)
        case Stopping(unseen_since=since) if since is not None and since + agent.spec.stop.unproven > now.at:
            return since + agent.spec.stop.unproven - now.at
        case Stopping(deadline=deadline):
            return max(0.0, deadline - now.at)
        case _ if agent.parking is not None:
            left, over = agent.parking.until_wall - now.wall, agent.parking.over_by
            # A wall clock that was set back makes no wait longer.
            return max(0.0, left if over is None else min(left, over - now.at))
        case _:
            return None


def _context(agent: Agent) -> Gauge | None:
    meter = meters.of(agent)
    if meter.tokens is None and not meter.doubt:
        return None
    return read(meter, agent.spec.context)


def _hooks(agent: Agent, now: Moment) -> Hooks:
    run = agent.run
    if run is not None and run.deaf is not None:
        return "lost"
    if run is not None and run.refused:
        return "refused"
    if agent.hooks_seen:
        return "ok"
    if agent.spec.has_hooks and run is not None and run.exec_at is not None and now.at - run.exec_at > 60:
        return "missing"
    return "none"
