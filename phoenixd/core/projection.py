"""What every face shows: rows with group, reason and age, and inbox items, derived from the fleet and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from phoenixd.core import alerts, armed, restart
from phoenixd.core.agent import RESTORING, Agent
from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.run import Deaf
from phoenixd.core.agent.standing import InboxItem, StandingAlert
from phoenixd.core.agent.state import BackingOff, Parked, Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.breaker import Word
from phoenixd.core.fleet import Fleet
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import Gauge, read
from phoenixd.core.moment import Moment
from phoenixd.core.mutes import state as muting
from phoenixd.core.question.render import title
from phoenixd.core.resonance.state import Resonance
from phoenixd.core.seat import finding
from phoenixd.core.seat.state import Seat, project_of
from phoenixd.core.sight import ARGUMENT_LIMIT, NOTHING, Attached, Cost, Doing, Sight, Words
from phoenixd.core.spec import Kind
from phoenixd.core.transitions import text_hash

Hooks = Literal["ok", "missing", "none", "lost", "refused"]
Group = Literal["needs_you", "healing", "working", "resting", "unknown"]
SIGNS: dict[Group, str] = {"needs_you": "!", "healing": "~", "working": "*", "resting": ".", "unknown": "?"}

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

    @property
    def is_running(self) -> bool:
        """Whether it is alive and supervised, whatever is laid over that but parking."""
        return self.state in ("running", HANDING_OFF, RESTORING)

    @property
    def item(self) -> InboxItem | None:
        """What it asks now, else the newest of what an earlier run has left."""
        return next(reversed(sorted(self.items, key=lambda one: not one.left)), None)

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
    shown = (agent for agent in fleet.agents.values() if not finding.is_other(fleet, agent))
    rows = (row_of(fleet, agent, now, sight(agent), told) for agent in shown)
    return tuple(sorted(rows, key=lambda one: one.name))


def row_of(
    fleet: Fleet, agent: Agent, now: Moment, sight: Sight = NOTHING, told: Mapping[str, str] | None = None
) -> Row:
    """One agent's row under the name that people know it by; in a holder's, what other generations need stands too.

    told: the open Cases by agent, where they are known already.
    """
    of_agent = open_cases(fleet) if told is None else told
    muted = muting.standing(fleet.mutes, agent.spec, now.wall)
    muted_until = muted.until_wall if muted is not None else None
    one = row(agent, now, sight, _project(fleet, agent), of_agent.get(agent.name), muted_until)
    seat = fleet.seats.get(agent.spec.seat) if agent.spec.seat else None
    if seat is None:
        return one
    if seat.handoff is not None and not seat.handoff.is_over:
        one = replace(one, step=f"handoff: {seat.handoff.step}")
    is_passing = one.state in ("running", RESTORING) and seat.handoff is not None and not seat.handoff.is_over
    state = HANDING_OFF if is_passing and not finding.is_other(fleet, agent) else one.state
    one = replace(one, name=finding.shown(fleet, agent), generation=agent.spec.generation, state=state)
    others = [] if finding.is_other(fleet, agent) else _heard_of(fleet, seat)
    if not any(other.items or other.alerts for other in others):
        return one
    items = (*(item for other in others for item in other.items), *one.items)
    raised = (*(alert for other in others for alert in other.alerts), *one.alerts)
    needs = any(group(other) == "needs_you" for other in others)
    return replace(one, items=items, alerts=raised, group="needs_you" if needs else one.group)


def _heard_of(fleet: Fleet, seat: Seat) -> list[Agent]:
    """The generations beside the holder whose words count: what is fenced asks for nothing any more."""
    return [agent for agent in finding.others(fleet, seat) if agent.spec.generation > seat.fenced]


def row(
    agent: Agent,
    now: Moment,
    sight: Sight = NOTHING,
    project: str | None = None,
    case: str | None = None,
    muted_until: float | None = None,
) -> Row:
    """One agent's row; what only the fleet knows of it is given with it."""
    run = agent.run
    seen = sight if run is not None and sight.incarnation == run.incarnation else None
    activity = agent.state.activity if isinstance(agent.state, Starting | Running | Stopping) else None
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
        pid=run.pid if run else None,
        session_id=run.session_id if run else (agent.session.session_id if agent.session else None),
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
        armed=tuple(armed.words(one, now.at) for one in armed.standing(agent, now.at)),
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


def activity_word(agent: Agent) -> str | None:
    """working, idle or waiting while running, where hooks can tell; else None."""
    if not isinstance(agent.state, Running) or agent.parking is not None:
        return None
    if agent.state.activity.waiting:
        return "waiting"
    if not agent.state.run.session_seen and not agent.state.run.evidence:
        return None
    return "working" if agent.state.activity.turn_open else "idle"


def is_settled(agent: Agent | None, now: Moment) -> bool:
    """Whether what a run shows can be believed: a dialog of its start is drawn some time after its first hook."""
    if agent is None or not isinstance(agent.state, Running) or not agent.spec.has_hooks:
        return True
    run = agent.state.run
    return run.prompt_seen or run.drawn or now.at - agent.view().up_since >= agent.spec.resume.window


def needs_person(agent: Agent | None) -> bool:
    """Whether an agent gets no further until a person does something; an answer that is under way is one."""
    if agent is None:
        return False
    if agent.item is not None and agent.item.answering:
        return False
    state = agent.state
    if isinstance(state, Running) and state.activity.waiting is not None and state.activity.waiting.dismissed:
        return False
    return isinstance(agent.state, Quarantined) or activity_word(agent) == "waiting"


def is_between_iterations(agent: Agent) -> bool:
    """Whether a loop rests after an iteration that ended as it should: healthy, though nothing of it runs."""
    is_waiting = isinstance(agent.state, BackingOff) and agent.spec.kind is Kind.LOOP
    return is_waiting and agent.last_exit is not None and not _heals(agent)


def group(agent: Agent) -> Group:
    """Which of the five groups an agent belongs to."""
    if agent.items or alerts.pressing(agent.alerts):
        return "needs_you"
    match agent.state:
        case Quarantined():
            return "needs_you"
        case BackingOff() if agent.spec.kind is Kind.LOOP and not _heals(agent):
            return "working"
        case Starting() if not agent.restarts:
            return "working"  # A first start heals nothing.
        case Starting() | BackingOff() | Stopping():
            return "healing"
        case Running(exit_due=due, run=run) if due is not None or run.deaf is not None:
            return "unknown"
        case Running():
            return "resting" if agent.parking or activity_word(agent) == "idle" else "working"
        case Stopped() | Parked():
            return "resting"
        case _:
            assert_never(agent.state)


def public_status(agent: Agent) -> Literal["working", "idle", "error"]:
    """The seed's `status` of state.json (P7, P69, X9): the process table over hooks over anything a model said."""
    match agent.state:
        case Running(exit_due=due) if due is not None:
            return "error"
        case Running(activity=activity, run=run):
            return "working" if activity.turn_open or not run.session_seen else "idle"
        case Stopping(then=then):
            return "idle" if then.value in ("stay", "remove") else "error"
        case Stopped(failed=failed):
            return "error" if failed else "idle"
        case BackingOff():
            return "error" if _heals(agent) else "idle"
        case Starting() | Parked():
            return "idle"
        case Quarantined():
            return "error"
        case _:
            assert_never(agent.state)


def inbox(fleet: Fleet) -> tuple[InboxItem, ...]:
    """All open items, and the alerts that no item stands for, oldest first."""
    items = (item for agent in fleet.agents.values() for item in _own_items(fleet, agent))
    return tuple(sorted(items, key=lambda item: (item.opened_wall, item.id)))


def items_of(fleet: Fleet, agent: Agent) -> tuple[InboxItem, ...]:
    """What of the inbox stands in this agent's row: in a holder's that of the other generations too."""
    seat = fleet.seats.get(agent.spec.seat) if agent.spec.seat else None
    agents = finding.generations(fleet, seat) if seat is not None else (agent,)
    return tuple(item for one in agents for item in _own_items(fleet, one))


def _own_items(fleet: Fleet, agent: Agent) -> Iterator[InboxItem]:
    if finding.why_fenced(fleet, agent):
        return
    name = finding.shown(fleet, agent)
    for item in (*agent.items, *_alert_items(agent)):
        yield item if name == agent.name else replace(item, agent=name)


def _alert_items(agent: Agent) -> Iterator[InboxItem]:
    for one in alerts.pressing(agent.alerts):
        if all(item.kind != one.kind for item in agent.items):
            yield InboxItem(
                one.id, agent.name, one.incarnation, one.kind, one.text, text_hash(one.text), one.raised_wall,
                "command", ack=one.ack,
            )  # fmt: skip


def _waiting_for(waiting: Waiting) -> str:
    return f"{waiting.kind} ({title(waiting)})" if waiting.text else waiting.kind


def _heals(agent: Agent) -> bool:
    """Whether the start that is due answers a death, and not a request or the pause between two iterations."""
    end = agent.last_exit
    return end is not None and not restart.ended_well(agent.spec, end) and end.cause != restart.CAUSES[restart.OVERTIME]


def _parked_until(agent: Agent) -> float | None:
    return agent.parking.until_wall if agent.parking is not None else None


def _due(agent: Agent, now: Moment) -> float | None:
    match agent.state:
        case BackingOff(until=until):
            return max(0.0, until - now.at)
        case Stopping(deadline=deadline):
            return max(0.0, deadline - now.at)
        case _ if agent.parking is not None:
            return max(0.0, agent.parking.until_wall - now.wall)
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
