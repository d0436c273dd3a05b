"""What operators ask of one agent: idempotent, answered by a decision or by a refusal that says what to do instead."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from phoenixd.core import breaker as breakers
from phoenixd.core import cleanup, progress, restart
from phoenixd.core.actions import Alert, Deliver, Release
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import (
    Afterwards,
    BackingOff,
    Desired,
    Parked,
    Quarantined,
    Running,
    Starting,
    Stopped,
    Stopping,
)
from phoenixd.core.breaker import Open
from phoenixd.core.correction import is_corrected, launch_changes, still_given_up
from phoenixd.core.decision import Decision, Refusal, Seen
from phoenixd.core.events.orders import (
    AgentWithdrawn,
    BreakerCorrupt,
    BreakerEdited,
    BreakerReset,
    RestartRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.iteration import Passing
from phoenixd.core.limits import parking
from phoenixd.core.limits.state import Parking, ParkingKind
from phoenixd.core.limits.waits import account_of
from phoenixd.core.merit import Record
from phoenixd.core.moment import Moment
from phoenixd.core.question.render import title
from phoenixd.core.question.reply import is_reachable
from phoenixd.core.resonance import restoring
from phoenixd.core.sequence import rules as sequence
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.taking import take
from phoenixd.core.transitions import close_items, end_run, enter, refuse
from phoenixd.core.turn.liveness import stands_on_screen
from phoenixd.core.waiting import is_too_long


def queue(agent: Agent, why: str, now: Moment, fresh: bool = False) -> Decision:
    """Make a start due now; the fleet releases it."""
    agent, seen = _returned(agent, now)
    upcoming = restart.next_start(seen, now, fresh)
    return enter(agent, BackingOff(now.at, upcoming.mode, upcoming.prompt), f"{why}; {upcoming.reason}", now)


def _returned(agent: Agent, now: Moment) -> tuple[Agent, Agent]:
    """The agent in the session that it goes back to, and as its next start is judged: however old the session is."""
    if agent.returns_to is None:
        return agent, agent
    back = replace(agent, session=agent.returns_to, returns_to=None)
    is_another = agent.session is None or agent.session.session_id != agent.returns_to.session_id
    if is_another and agent.resonance is not None:
        back = replace(back, resonance=restoring.elsewhere(agent.resonance))
    return back, replace(back, session=replace(agent.returns_to, active_wall=now.wall))


def hear_start(agent: Agent, event: StartRequested, seen: Seen, now: Moment) -> Decision:
    """An operator wants the agent running."""
    return _refuse_worker(agent) or start(agent, event, now)


def hear_stop(agent: Agent, event: StopRequested, seen: Seen, now: Moment) -> Decision:
    """An operator wants the agent down."""
    return stop(agent, event, now)


def start(agent: Agent, event: StartRequested, now: Moment) -> Decision:
    """Start an agent that is down; a quarantine is lifted, and its crashes are forgiven."""
    wanted = replace(agent, desired=Desired.RUNNING, left_out=False)
    match agent.state:
        case Stopped() | Quarantined() | Parked() | BackingOff():
            forgiven = forgive(wanted, f"started by {event.by}")
            return queue(forgiven, f"started by {event.by}", now, event.fresh or _is_clean_slate(agent))
        case Starting() | Running():
            if is_too_long(agent.state.activity):
                forgiven = replace(wanted, crashes=(), short_runs=0, dead_ends=0, record=Record())
                return end_run(forgiven, Afterwards.RESTART, f"started by {event.by}", now, fresh=event.fresh)
            if event.fresh:
                return refuse(agent, f"{agent.name} is running already", f"phoenixctl restart {agent.name} --fresh")
            if agent.parking is not None:
                return _unpark(wanted, agent.parking, event, now)
            return Decision(wanted, reason=f"start asked by {event.by}: it is running already")
        case Stopping(then=Afterwards.REMOVE):
            return refuse(agent, f"{agent.name} is being removed", f"phoenixctl add {agent.name} ... when it is gone")
        case Stopping() as state:
            again = replace(state, then=Afterwards.RESTART, fresh=event.fresh or _is_clean_slate(agent))
            if isinstance(agent.breaker, Open):
                wanted = progress.armed(wanted, f"started by {event.by}")
            return Decision(
                replace(wanted, state=again), reason=f"started by {event.by}: it starts when it has stopped"
            )
        case _:
            assert_never(agent.state)


def forgive(agent: Agent, why: str) -> Agent:
    """The agent without the ends that were counted, and without what they asked of a person."""
    armed = progress.armed(agent, why)
    return close_items(replace(armed, crashes=(), short_runs=0, dead_ends=0, let_in=(), record=Record()))


def _unpark(agent: Agent, held: Parking, event: StartRequested, now: Moment) -> Decision:
    if held.asked is not None:
        return Decision(agent, reason=f"start asked by {event.by}: it is being told to go on already")
    why = f"started by {event.by}, who does not wait for the limit"
    return take(agent, parking.go_on(agent.limits, agent.view(), now, why), now)


def _is_clean_slate(agent: Agent) -> bool:
    """Whether a fresh start was asked for that has not come about yet; asking to start once more must not undo it."""
    match agent.state:
        case BackingOff(mode=Mode.FRESH, prompt=PromptKind.GOAL):
            return True
        case Stopping(then=Afterwards.RESTART, fresh=fresh):
            return fresh
        case Parked():
            return agent.parking is not None and agent.parking.fresh
        case _:
            return False


def stop(agent: Agent, event: StopRequested, now: Moment) -> Decision:
    """Stop an agent, and keep it stopped: over daemon restarts, reboots and watchdog passes (P54, F-PROC-4)."""
    unwanted = replace(agent, desired=Desired.STOPPED, left_out=agent.spec.turn_of is not None)
    why = f"stopped by {event.by}"
    match agent.state:
        case Stopped():
            left = replace(unwanted if event.after_iteration else progress.let_go(unwanted), items=())
            asked = Decision(left, reason=f"stop asked by {event.by}: it is stopped already{left_out(agent)}")
            return cleanup.sweep(asked) if agent.unproven else asked
        case BackingOff() | Parked() | Quarantined():
            goes_on = event.after_iteration and isinstance(agent.iteration, Passing)
            left = unwanted if goes_on else progress.let_go(unwanted)
            stopped = enter(replace(left, items=()), Stopped(), f"{why} after this iteration" if goes_on else why, now)
            return cleanup.sweep(stopped) if agent.unproven else stopped
        case Starting() | Running():
            if event.after_iteration:
                return Decision(unwanted, reason=f"{why} after this run")
            return end_run(unwanted, Afterwards.STAY, why, now)
        case Stopping(then=Afterwards.REMOVE):
            return Decision(unwanted, reason=f"{why}: it is being removed already")
        case Stopping() as state:
            # One that waits because nothing proves its end need not: nothing is to start.
            due = state.deadline if state.unseen_since is None else min(state.deadline, now.at)
            staying = replace(state, then=Afterwards.STAY, why=why, deadline=due)
            return Decision(replace(unwanted, state=staying), reason=why)
        case _:
            assert_never(agent.state)


def left_out(agent: Agent) -> str:
    """What a stop means for an agent that is down between two turns, as a clause; empty where it changes nothing."""
    first = agent.spec.turn_of
    if first is None or agent.left_out:
        return ""
    return f", and has no turns in the sequence of {first} until it, or {first}, is started"


def never_ends(spec: AgentSpec) -> Refusal | None:
    """Why a stop after this iteration would never come about; None where it does. A resident has no iteration."""
    if spec.kind is not Kind.RESIDENT:
        return None
    why = f"{spec.name} is no loop: it has no iteration after which it could be stopped"
    return Refusal("invalid", why, f"phoenixctl stop {spec.name}")


def hear_restart(agent: Agent, event: RestartRequested, seen: Seen, now: Moment) -> Decision:
    """Give the agent a new incarnation; one that is down is started."""
    if (refused := _refuse_worker(agent)) is not None:
        return refused
    wanted = replace(
        agent, desired=Desired.RUNNING, crashes=(), short_runs=0, dead_ends=0, record=Record(), left_out=False
    )
    why = f"restarted by {event.by}"
    match agent.state:
        case Starting() | Running():
            return end_run(wanted, Afterwards.RESTART, why, now, fresh=event.fresh)
        case Stopping(then=Afterwards.REMOVE):
            return refuse(agent, f"{agent.name} is being removed", "")
        case Stopping() as state:
            again = replace(state, then=Afterwards.RESTART, fresh=event.fresh or _is_clean_slate(agent), why=why)
            return Decision(replace(wanted, state=again), reason=why)
        case Stopped() | BackingOff() | Parked() | Quarantined():
            rearmed = close_items(progress.armed(wanted, why))
            return queue(rearmed, why, now, event.fresh or _is_clean_slate(agent))
        case _:
            assert_never(agent.state)


def withdraw(agent: Agent, event: AgentWithdrawn, seen: Seen, now: Moment) -> Decision:
    """Remove an agent: its run is ended first, its files stay."""
    leaving = replace(agent, desired=Desired.STOPPED, removing=True)
    match agent.state:
        case Starting() | Running():
            return end_run(leaving, Afterwards.REMOVE, "removed by the operator", now)
        case Stopping() as state:
            return Decision(
                replace(leaving, state=replace(state, then=Afterwards.REMOVE)), reason="removed by the operator"
            )
        case Stopped() | BackingOff() | Parked() | Quarantined():
            return Decision(leaving, (Release(agent.name),), "removed by the operator", removed=True)
        case _:
            assert_never(agent.state)


def redeclare(agent: Agent, spec: AgentSpec, now: Moment) -> Decision:
    """Take a changed specification; only a change that needs a new process restarts a running agent.

    Such a change starts an agent that was given up because it could not be run as declared (see core.correction).
    """
    if isinstance(agent.state, Stopping) and agent.state.then is Afterwards.REMOVE:
        return refuse(agent, f"{agent.name} is being removed", f"phoenixctl add {agent.name} ... when it is gone")
    if spec == agent.spec:
        return Decision(agent)
    changed = launch_changes(agent.spec, spec)
    updated = replace(agent, spec=spec)
    if spec.kind is not agent.spec.kind:
        updated = replace(updated, iteration=None, turns=())
    if spec.loop.sequence != agent.spec.loop.sequence:
        updated = sequence.rearranged(updated)
    if "harness" in changed:
        # Another program: what is known of the old one's hooks and session does not hold for it.
        session = replace(agent.session, spoiled="its harness changed") if agent.session is not None else None
        updated = replace(updated, hooks_seen=False, session=session)
    if changed and isinstance(agent.state, Starting | Running):
        return end_run(updated, Afterwards.RESTART, f"its configuration changed: {', '.join(changed)}", now)
    held = agent.parking
    if held is not None and held.kind is ParkingKind.LIMIT and account_of(spec) != account_of(agent.spec):
        return _leave_limit(updated, held, f"its configuration changed: {', '.join((*changed, 'account'))}", now)
    if is_corrected(agent, spec):
        why = f"its configuration changed: {', '.join(changed) or 'restart'}"
        return queue(forgive(updated, why), why, now)
    if isinstance(agent.state, Quarantined):
        return Decision(updated, reason=f"its configuration changed; {still_given_up(agent)}")
    if changed:
        told = f"its configuration changed: {', '.join(changed)}; its next start takes that up"
        return Decision(updated, reason=told)
    return Decision(updated, reason="its configuration changed; nothing that needs a new process")


def _leave_limit(agent: Agent, held: Parking, why: str, now: Moment) -> Decision:
    """It belongs to another account now, whose limit this is not."""
    if isinstance(agent.state, Parked):
        return queue(agent, why, now, held.fresh)
    if held.asked is not None:
        return Decision(agent, reason=f"{why}; it is being told to go on already")
    return take(agent, parking.go_on(agent.limits, agent.view(), now, why), now)


def set_breaker(
    agent: Agent, event: BreakerReset | BreakerEdited | BreakerCorrupt, seen: Seen, now: Moment
) -> Decision:
    """What somebody did to the breaker, by a command or by its file (G33, G58, X8c)."""
    match event:
        case BreakerReset(by=by):
            changed, why = breakers.reset(agent.breaker), f"the breaker was reset by {by}"
        case BreakerEdited(state=state, no_progress=no_progress):
            changed = breakers.set_by_hand(agent.breaker, state, no_progress, now)
            why = f"the breaker was set to {state} with {no_progress} iterations without progress, by its file"
        case BreakerCorrupt(why=found):
            changed = breakers.mistrusted(agent.breaker, "its file was corrupt")
            why = f"the breaker's file was corrupt ({found}): HALF_OPEN, one iteration on trial"
    updated = replace(agent, breaker=changed)
    if isinstance(agent.breaker, Open) and isinstance(agent.state, Quarantined) and not isinstance(changed, Open):
        released = close_items(replace(updated, desired=Desired.STOPPED))
        return enter(released, Stopped(), f"{why}; it is down until: phoenixctl start {agent.name}", now)
    if isinstance(changed, Open) and isinstance(agent.state, BackingOff | Parked):
        return progress.quarantine_open(updated, changed, now)
    alert = (Alert(agent.name, "breaker", why),) if isinstance(event, BreakerCorrupt) else ()
    return Decision(updated, alert, why)


def unheard(agent: Agent) -> Decision | None:
    """Why a text would not reach an agent that runs, as a refusal; None where it would, or nothing runs."""
    match agent.state:
        case Running(activity=activity) if activity.waiting is not None and stands_on_screen(activity.waiting):
            item = agent.item
            asked = item is not None and not item.left and is_reachable(item)
            remedy = f"phoenixctl answer {item.id}" if item is not None and asked else f"phoenixctl attach {agent.name}"
            said = f"{agent.name} asks: {activity.waiting.kind} ({title(activity.waiting)}); Enter would answer that"
            return refuse(agent, said, remedy)
        case Running() if agent.parking is not None:
            return refuse(
                agent,
                f"{agent.name} is parked ({agent.parking.why}); what is sent now would be lost to the same limit",
                f"phoenixctl start {agent.name}",
            )
        case Running(exit_due=due) if due is not None:
            return refuse(agent, f"{agent.name} has ended: nobody would read it", f"phoenixctl status {agent.name}")
        case Starting():
            return refuse(agent, f"{agent.name} is still starting", f"phoenixctl wait {agent.name} --for idle")
        case _:
            return None


def send(agent: Agent, event: SendRequested, seen: Seen, now: Moment) -> Decision:
    """Type a text into a running agent; never while it asks something, for Enter would answer (F-PROC-16, F-TMUX-9)."""
    refused = unheard(agent)
    if refused is not None:
        return refused
    match agent.state:
        case Running() as state:
            action = Deliver(agent.name, state.run.incarnation, event.message_id, event.text, now.at + event.within)
            run = replace(state.run, merit=replace(state.run.merit, sent=event.message_id))
            sending = replace(agent, state=replace(state, run=run))
            return Decision(sending, (action,), f"{len(event.text)} characters to send, from {event.by}")
        case _:
            return refuse(
                agent, f"{agent.name} is {agent.state_words}: nobody would read it", f"phoenixctl start {agent.name}"
            )


def _refuse_worker(agent: Agent) -> Decision | None:
    """A worker runs when its task says so."""
    if not agent.spec.task:
        return None
    task = agent.spec.task
    return refuse(agent, f"{agent.name} is the worker of task {task}", f"phoenixctl task status {task}")
