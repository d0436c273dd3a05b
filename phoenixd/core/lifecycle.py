"""One agent's lifecycle: an event in, a decision out.

                    start                exec (command) / first hook
    stopped ----> backing_off ----> starting ----------------------> running
       ^              ^   released by the fleet                        |
       |              |                                                | stop, hung, overtime, shim lost
       |              |            tree known gone                     v
       +--------------+------------------------------------------- stopping (terminate -> kill -> fence)
       |
    quarantined: restart intensity exceeded; only an operator's start leaves it

Every start passes through `backing_off`, where the fleet releases it (`begin`). Every end of a run passes through
`ended`, which is reached only when the old tree is known gone: unknown is not gone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from phoenixd.core import (
    background,
    cleanup,
    cut,
    deafness,
    interrupt,
    opening,
    productive,
    progress,
    requests,
    restart,
    sequence,
    session,
    turns,
    unproven,
)
from phoenixd.core.actions import Alert, Fence, Kill, LookAtScreen, RecordIncident, Release, Spawn, Terminate
from phoenixd.core.agent import (
    Activity,
    Afterwards,
    Agent,
    BackingOff,
    Desired,
    Incident,
    LastExit,
    Mode,
    Parked,
    Quarantined,
    Run,
    Running,
    Starting,
    Stopped,
    Stopping,
    StopStep,
)
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.evidence import IncidentRecorded, ScreenSeen
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    AgentVanished,
    Delivered,
    NotDelivered,
    RunAdopted,
    RunMissing,
    ShimLost,
    StartFailed,
    TreeGone,
    TreeLingers,
)
from phoenixd.core.facts import HungInCall, RunProductive
from phoenixd.core.limits import parking
from phoenixd.core.limits.state import Parking
from phoenixd.core.meter import parts as meter
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.parts import Taken
from phoenixd.core.question import leftover
from phoenixd.core.transitions import close_items, end_run, enter, keep, open_item, park, raise_step
from phoenixd.core.turn import call_work, due, liveness

SPAWN_TIMEOUT = 30.0
"""Seconds in which a spawn must be answered; the performer answers sooner, this holds if it cannot."""
SOMEBODY_ELSE = 60.0
"""Seconds until a session is tried again that somebody else was at work in."""
SILENT_START_LOOK = 3.0
"""Seconds after which a start of which no hook will tell is looked at on its screen (F-PROC-16)."""
SIGKILL = 9
EXIT_RECORD_GRACE = 5.0
"""Seconds that a vanished process's exit record may take (F-PROC-7)."""


def begin(agent: Agent, state: BackingOff, now: Moment) -> Decision:
    """Turn a due start into a spawn of the next incarnation; a loop's work is measured first."""
    if productive.is_exhausted(agent):
        # What its newest run did to the work was not measured in time, so nothing speaks for it.
        return productive.quarantine(agent, now)
    if progress.must_open(agent):
        return progress.begin(agent, state, now)
    return session.begin(agent, state, now, SPAWN_TIMEOUT)


def hear_lingering(agent: Agent, event: TreeLingers, seen: Seen, now: Moment) -> Decision:
    """Processes outlive SIGKILL: told once for a run."""
    text = f"{len(event.pids)} processes of a run outlive SIGKILL: {', '.join(map(str, event.pids[:5]))}"
    is_told = any(one.kind == "lingering" and one.incarnation == event.incarnation for one in agent.alerts)
    return Decision(agent, (Alert(agent.name, "lingering", text),), "" if is_told else text)


def hear_screen(agent: Agent, event: ScreenSeen, seen: Seen, now: Moment) -> Decision:
    """Judge what the screen shows by what the run is at: parked, at work, or silent since its start."""
    if not isinstance(agent.state, Running):
        return session.judge_screen(agent, event, now)
    if any(isinstance(one, Taken) for one in seen.signals):
        return _seen_parked(seen.decision, agent, agent.state, event.verdict, now)
    return _seen_silent(agent, agent.state, event, now)


def hear_delivery(agent: Agent, event: Delivered, seen: Seen, now: Moment) -> Decision:
    """A text arrived."""
    # What is read in the middle of a turn is the task in hand as well, and no prompt hook says so.
    is_news = event.queued and not cut.is_ours(event.queued)
    heard = replace(agent, last_prompt=event.queued[: session.MAX_TEXT]) if is_news else agent
    heard = cut.typed(leftover.typed(heard, event.message_id, None), event.message_id)
    if any(isinstance(one, Taken) for one in seen.signals):
        return replace(seen.decision, agent=heard)
    begun = opening.over(heard, event.message_id)
    return keep(session.hear_sent(begun, event.message_id), f"text delivered ({event.evidence})")


def hear_miss(agent: Agent, event: NotDelivered, seen: Seen, now: Moment) -> Decision:
    """A text did not arrive."""
    agent = leftover.typed(agent, event.message_id, event.reason)
    if any(isinstance(one, Taken) for one in seen.signals):
        return replace(seen.decision, agent=agent)
    missed = opening.missed(agent, event.message_id, event.reason)
    missed = missed or cut.missed(agent, event.message_id, event.reason, now)
    return missed or keep(agent, f"text not delivered: {event.reason}")


def hear_record(agent: Agent, event: IncidentRecorded, seen: Seen, now: Moment) -> Decision:
    """What could be seen of a run that we ended is kept."""
    return keep(agent, f"what could be seen of it is kept in {event.file}")


def deadline(agent: Agent, now: Moment) -> Instant | None:
    """The next instant at which this agent needs a Tick, in supervised time; `accounts` knows those of the parked."""
    known = _deadline(agent), deafness.due(agent), meter.due(agent)
    return min((at for at in known if at is not None), default=None)


def _deadline(agent: Agent) -> Instant | None:
    if progress.waits(agent) and isinstance(agent.state, BackingOff | Parked | Stopped | Quarantined):
        return progress.due(agent)
    match agent.state:
        case Starting(ready_by=ready_by) as state:
            if _is_silent(agent, state.run) or state.run.pid is None or state.overdue:
                return ready_by
            look = due.start_look_due(state.activity, agent.view(), ready_by)
            return ready_by if look is None else look
        case Running(exit_due=exit_due) if exit_due is not None:
            return exit_due
        case Running(activity=activity) as state:
            seen, of_age = agent.view(), productive.due(agent, state)
            overdue, call = due.overdue(activity, seen), due.call_due(activity, seen)
            look = due.look_due(activity, seen)
            found = (overdue.at if overdue else None, of_age, look, call[0] if call else None)
            return min((at for at in found if at is not None), default=None)
        case Stopping(deadline=at):
            return at
        case BackingOff(until=until):
            return until
        case Quarantined():
            return progress.retry_at(agent)
        case Stopped() | Parked():
            return None
        case _:
            assert_never(agent.state)


def on_deadline(agent: Agent, now: Moment) -> Decision:
    """Act on a deadline that has come; a Tick that is early or late is harmless, since the state is asked again."""
    told = deafness.due(agent)
    if told is not None and told <= now.at:
        return deafness.tell(agent, now)
    unknown = meter.due(agent)
    if unknown is not None and unknown <= now.at:
        return meter.tell(agent, now)
    if progress.waits(agent) and isinstance(agent.state, BackingOff | Parked | Stopped | Quarantined):
        return progress.overdue(agent, now)
    match agent.state:
        case Starting() as state if now.at < state.ready_by:
            early = replace(state, activity=replace(state.activity, looked_at=now.at))
            order = LookAtScreen(agent.name, state.run.incarnation)
            return Decision(replace(agent, state=early), (order,), "looking at the screen whether it asks something")
        case Starting():
            return _not_ready(agent, agent.state, now)
        case Running(exit_due=exit_due) if exit_due is not None:
            return _fence(agent, agent.state, Afterwards.JUDGE, "the process is gone and left no exit record", now)
        case Running():
            of_age = productive.due(agent, agent.state)
            if of_age is not None and of_age <= now.at:
                return productive.come_of_age(agent, agent.state, now)
            seen, activity = agent.view(), agent.state.activity
            overdue, call = due.overdue(activity, seen), due.call_due(activity, seen)
            is_over = overdue is not None and overdue.at <= now.at
            if call is not None and call[0] <= now.at and not (is_over and overdue and overdue.kind != "hung"):
                # Also before a hang is told: what was done since the last look has not been seen yet.
                return call_work.look(agent, agent.state, now)
            if overdue is None or not is_over:
                return session.look(agent, agent.state, now)
            return _overdue(agent, agent.state, overdue, now)
        case Stopping():
            return raise_step(agent, agent.state, now)
        case Quarantined():
            rearmed = close_items(progress.armed(agent, "its cooldown is over"))
            return requests.queue(rearmed, "the breaker's cooldown is over", now)
        case BackingOff() | Stopped() | Parked():
            return Decision(agent)
        case _:
            assert_never(agent.state)


def after_reboot(agent: Agent, end: AgentExited | None, now: Moment) -> Decision:
    """Another boot: whatever ran is gone, and nobody is to blame (F-SY-5).

    A recorded end counts only where it was one on purpose (P53): a failure may be the host's going down itself.
    """
    run = agent.run
    if run is None:
        return Decision(agent)
    if end is not None and (end.incarnation, end.run_id) == (run.incarnation, run.run_id):
        if end.code == 0 and end.cause == "exit":
            return _exited(agent, end, now)
    return ended(agent, LastExit(run.incarnation, None, None, "reboot", 0.0, now.wall, ran=run.pid is not None), now)


def hear_life(agent: Agent, event: AgentStarted | RunAdopted, seen: Seen, now: Moment) -> Decision:
    """exec succeeded, or a run was found alive."""
    if isinstance(event, AgentStarted) and agent.run is not None and agent.run.run_id != event.run_id:
        return Decision(agent)
    word = "adopted" if isinstance(event, RunAdopted) else "exec succeeded"
    match agent.state:
        case Starting() as state:
            first_time = state.run.pid is None
            run = replace(
                state.run,
                pid=event.pid,
                start_time=event.start_time,
                exec_at=state.run.exec_at if state.run.exec_at is not None else now.at,
            )
            activity = replace(state.activity, evidence_at=now.at, stale_claim=None, claim_due=None)
            if not agent.spec.has_hooks or run.session_seen:
                return opening.begin(agent, Running(run, activity), f"{word}, pid {event.pid}", now)
            wait = SILENT_START_LOOK if _is_silent(agent, run) else agent.spec.resume.window
            ready_by = now.at + wait if first_time or word == "adopted" else state.ready_by
            return keep(
                replace(agent, state=Starting(run, activity, ready_by)),
                f"{word}, pid {event.pid}; waiting for its first hook",
            )
        case Running() as state:
            run = replace(state.run, pid=event.pid, start_time=event.start_time)
            if isinstance(event, AgentStarted):
                # Said late or twice: it is no evidence, and cannot call back a process that has vanished since.
                return keep(replace(agent, state=replace(state, run=run)), f"{word}, pid {event.pid}")
            activity = state.activity
            if event.unwatched:
                # Evidence is not journaled one by one, so what came meanwhile may be lost: one free interval.
                activity = replace(activity, evidence_at=now.at, stale_claim=None, claim_due=None, looked_at=None)
            return opening.met(replace(agent, state=Running(run, activity)), f"{word}, pid {event.pid}")
        case Stopping() as state:
            run = replace(state.run, pid=event.pid, start_time=event.start_time)
            again = (
                Terminate(agent.name, run.incarnation)
                if state.step is StopStep.TERMINATE
                else Kill(agent.name, run.incarnation)
            )
            step = state.step if state.step is not StopStep.FENCE else StopStep.KILL
            state = replace(state, run=run, step=step, deadline=now.at + agent.spec.stop.grace)
            return Decision(replace(agent, state=state), (again,), f"{word} while being stopped: {state.why}")
        case Stopped() | BackingOff() | Parked() | Quarantined():
            return Decision(agent)
        case _:
            assert_never(agent.state)


def hear_failed_start(agent: Agent, event: StartFailed, seen: Seen, now: Moment) -> Decision:
    """The run never lived: say why, and what comes next."""
    run = agent.run
    if run is None:
        return Decision(agent)
    if run.pid is not None:
        # An order that was given twice is refused the second time; the run of the first one lives.
        return keep(agent, f"a second start of this run was refused: {event.message}")
    wanted = isinstance(agent.state, Starting) and agent.desired is Desired.RUNNING
    if wanted and agent.session is not None and event.obstacle == "resume refused":
        spoiled = replace(agent.session, spoiled=event.message)
        return requests.queue(replace(agent, session=spoiled), f"{event.message}; fresh at once", now)
    if event.code:
        code, words = event.code, event.message
        failed = LastExit(event.incarnation, code, None, "not started", 0.0, now.wall, ran=False, note=words)
        return ended(agent, failed, now)
    if not wanted:
        return ended(agent, LastExit(event.incarnation, None, None, "start interrupted", 0.0, now.wall, ran=False), now)
    held = event.obstacle == "session in use"
    # A person who works in the session does so for a while, and an attempt that ended in waiting is no restart.
    delay = (SOMEBODY_ELSE if held else restart.HOST_RETRY) * (1 + now.chance)
    session_left = restart.unborn(agent.session, run) if agent.session is not None else None
    return enter(
        replace(agent, session=session_left, restarts=agent.restarts - held),
        BackingOff(now.at + delay, run.mode, run.prompt),
        f"could not be started here, trying again in {delay:.0f} s: {event.message}",
        now,
    )


def hear_exit(agent: Agent, event: AgentExited, seen: Seen, now: Moment) -> Decision:
    """The agent ended, and its tree is gone."""
    return _exited(agent, event, now)


def _exited(agent: Agent, event: AgentExited, now: Moment) -> Decision:
    run = agent.run
    if run is None or run.run_id != event.run_id:
        return Decision(agent)
    lived = now.at - (run.exec_at if run.exec_at is not None else run.began)
    at_wall = now.wall
    if event.at_wall is not None:
        # Supervised time stood still while nobody watched, but the run lived on.
        at_wall, lived = event.at_wall, max(lived, event.at_wall - run.began_wall)
    code, signal, cause = event.code, event.signal, event.cause
    if isinstance(agent.state, Stopping) and agent.state.code is not None:
        code, signal, cause = agent.state.code, None, restart.CAUSES.get(agent.state.code, cause)
    # Whatever the kernel did meanwhile, this end was asked for.
    oom = event.oom if signal == SIGKILL and not isinstance(agent.state, Stopping) else ""
    note = event.note if cause == "other" else ""
    end = LastExit(
        event.incarnation, code, signal, cause, lived, at_wall, len(event.killed), left=run.left, oom=oom, note=note
    )
    return ended(agent, end, now)


def hear_vanishing(agent: Agent, event: AgentVanished, seen: Seen, now: Moment) -> Decision:
    """The process is gone: its exit record is awaited."""
    match agent.state:
        case Running(exit_due=None) as state:
            return keep(
                replace(agent, state=replace(state, exit_due=now.at + EXIT_RECORD_GRACE)),
                "the process is gone; its exit record is awaited",
            )
        case Starting() as state:
            running = Running(state.run, state.activity, exit_due=now.at + EXIT_RECORD_GRACE)
            return enter(agent, running, "the process is gone; its exit record is awaited", now)
        case _:
            return Decision(agent)


def hear_lost_shim(agent: Agent, event: ShimLost | RunMissing, seen: Seen, now: Moment) -> Decision:
    """Nobody reaps or kills for this run any more: its tree is fenced."""
    why = "the shim is gone" if isinstance(event, ShimLost) else "no shim and no process of this run was found"
    match agent.state:
        case Starting() | Running() as state:
            return _fence(agent, state, Afterwards.JUDGE, why, now)
        case Stopping() as state:
            fencing = replace(state, step=StopStep.FENCE, deadline=now.at + 2 * agent.spec.stop.kill_retry)
            return Decision(
                replace(agent, state=fencing), (_fence_action(agent, state),), f"{why}: fencing what is left"
            )
        case _:
            return Decision(agent)


def hear_empty_tree(agent: Agent, event: TreeGone, seen: Seen, now: Moment) -> Decision:
    """A fence found nothing alive any more."""
    match agent.state:
        case Stopping(step=StopStep.FENCE) as state if waiting := unproven.wait(agent, state, event, now):
            return waiting
        case Stopping(step=StopStep.FENCE, run=run) as state if event.ended and event.ended.run_id == run.run_id:
            return unproven.told(_exited(agent, event.ended, now), state, event, now)
        case Stopping(step=StopStep.FENCE, run=run, code=code) as state:
            ran = run.pid is not None
            lived = now.at - run.began if ran else 0.0
            cause = restart.CAUSES.get(code or 0, "fenced") if ran else "start interrupted"
            end = LastExit(event.incarnation, code, None, cause, lived, now.wall, len(event.killed), ran)
            return unproven.told(ended(agent, end, now), state, event, now)
        case _:
            # Only a fence may declare a tree gone; anything else waits for the exit record.
            return Decision(agent)


def _not_ready(agent: Agent, state: Starting, now: Moment) -> Decision:
    if state.run.pid is None:
        return _fence(agent, state, Afterwards.JUDGE, f"the start was not answered within {SPAWN_TIMEOUT:.0f} s", now)
    window = agent.spec.resume.window
    silent = _is_silent(agent, state.run)
    if state.run.mode is Mode.RESUME and agent.hooks_seen and not silent:
        return end_run(
            agent,
            Afterwards.RESTART,
            f"no sign of life within {window:.0f} s of a resume: fresh with the brief",
            now,
            spoil=True,
        )
    overdue = due.overdue(state.activity, agent.view())
    if overdue is not None and overdue.at <= now.at:
        return _end_overdue(agent, state, overdue, now)
    since = now.at - (state.run.exec_at if state.run.exec_at is not None else state.run.began)
    wait = min(window, max(SILENT_START_LOOK, since)) if silent else window
    ready_by = now.at + wait if overdue is None else min(now.at + wait, overdue.at)
    waiting = Starting(state.run, state.activity, ready_by, overdue=True)
    return Decision(
        replace(agent, state=waiting),
        (LookAtScreen(agent.name, state.run.incarnation),),
        "no hook tells of this start: looking at the screen"
        if silent
        else f"no sign of life within {window:.0f} s: looking at the screen",
    )


def _is_silent(agent: Agent, run: Run) -> bool:
    """Whether no hook tells of this start even when all is well."""
    return agent.spec.starts_silently and not liveness.was_told(run, agent.spec)


def _overdue(agent: Agent, state: Running, overdue: due.Overdue, now: Moment) -> Decision:
    unseen = due.overdue(_unseen(state), agent.view())
    looked = state.activity.looked_at
    if overdue.code == restart.HUNG and agent.spec.has_hooks and unseen and (looked is None or looked < unseen.at):
        # A turn that a person broke off ends without a hook, so silence alone does not tell it from a hang.
        asked = replace(state, activity=replace(state.activity, looked_at=now.at))
        look = LookAtScreen(agent.name, state.run.incarnation)
        return Decision(replace(agent, state=asked), (look,), f"{overdue.reason}: looking at the screen first")
    return _end_overdue(agent, state, overdue, now)


def _seen_silent(agent: Agent, state: Running, event: ScreenSeen, now: Moment) -> Decision:
    """Judge a run by its screen: a dialog waits for a person, idle ends the turn; at a deadline all else is a hang."""
    is_dialog = event.verdict in session.SCREEN_DIALOGS
    if state.activity.looked_at is None and (event.reader == "look" or not is_dialog):
        # Nobody asked, or it was heard of again while the screen was being read.
        return Decision(agent)
    if event.verdict in ("idle", "working") and not state.run.drawn:
        state = replace(state, run=replace(state.run, drawn=True))
        agent = replace(agent, state=state)
    if liveness.stands_on_screen(state.activity.waiting):
        return session.judge_waiting(agent, state, event, now)
    if is_dialog and state.activity.waiting is None:
        if event.verdict == session.MENU and event.attended:
            # Who sits there sees it himself; if it stays when he has gone, the next look tells.
            return Decision(agent)
        return session.judge_dialog(agent, state, event.verdict, now)
    if event.verdict == "idle" and state.activity.turn_open and not state.run.prompt_seen:
        return opening.seen_idle(agent, state, now)
    if event.verdict == "idle" and state.activity.turn_open:
        closed = replace(state.activity, turn_open=False, leases=(), looked_at=None)
        return keep(
            replace(agent, state=replace(state, activity=closed)), "its screen is idle: the turn ended without a hook"
        )
    overdue = due.overdue(_unseen(state), agent.view())
    if overdue is None or overdue.at > now.at or is_dialog:
        return Decision(agent)
    return _end_overdue(agent, state, overdue, now)


def _seen_parked(told: Decision, agent: Agent, state: Running, verdict: str, now: Moment) -> Decision:
    """A parked run goes on, or not, by what its screen shows; a dialog there is a question as well."""
    if verdict not in session.SCREEN_DIALOGS or state.activity.waiting is not None:
        return told
    asked = session.judge_dialog(agent, state, verdict, now)
    return replace(asked, actions=(*told.actions, *asked.actions), reason=f"{told.reason}; {asked.reason}")


def _unseen(state: Running) -> Activity:
    """The same as if nobody had looked at its screen: what is due of a look must not hang on that look."""
    return replace(state.activity, looked_at=None)


def _end_overdue(agent: Agent, state: Starting | Running, overdue: due.Overdue, now: Moment) -> Decision:
    readings = (*due.readings(state.activity, agent.view(), now), *call_work.readings(state, now))
    call = call_work.open_call(state, agent.spec.liveness.stale, now) if overdue.kind == "hung" else None
    incident = Incident(agent.incarnation, overdue.kind, overdue.reason, now.wall, call)
    agent = replace(agent, incident=incident)
    ending = end_run(agent, Afterwards.JUDGE, overdue.reason, now, code=overdue.code)
    # First, because the screen is restored as soon as the agent ends.
    record = RecordIncident(agent.name, agent.incarnation, incident, readings)
    alert = Alert(agent.name, overdue.kind, overdue.reason)
    hung_in = (
        (HungInCall(agent.incarnation, call.tool, call.command, call.ran, call.declared, call.idle),) if call else ()
    )
    return replace(ending, actions=(record, *ending.actions, alert), readings=readings, facts=hung_in)


def _fence(agent: Agent, state: Starting | Running, then: Afterwards, why: str, now: Moment) -> Decision:
    stopping = Stopping(
        state.run, state.activity, StopStep.FENCE, now.at + 2 * agent.spec.stop.kill_retry, then, why, asked=now.at
    )
    decision = enter(agent, stopping, f"{why}: fencing what is left", now)
    return replace(decision, actions=(_fence_action(agent, stopping),))


def _fence_action(agent: Agent, state: Stopping) -> Fence:
    run = state.run
    return Fence(agent.name, run.incarnation, run.run_id, run.pid, run.start_time)


def ended(agent: Agent, end: LastExit, now: Moment) -> Decision:
    """The run is over and its tree is gone: close its books, and decide what comes next."""
    state = agent.state
    assert isinstance(state, Starting | Running | Stopping)
    limits = parking.after_exit(agent.limits, state.activity.turn_open, end, agent.spec.limits, now)
    parked = limits.parking
    end = replace(end, limited=parked is not None)
    ordered = isinstance(state, Stopping) and state.then is not Afterwards.JUDGE
    expected = ordered or restart.ended_well(agent.spec, end)
    known, told, lost = background.lose(agent, state.run, end, now, expected=expected)
    decision = _ended(replace(known, limits=limits), state, end, parked, now)
    closed = decision.agent.last_exit if decision.agent is not None else None
    if closed is not None and closed.proof and not state.run.merit.proof:
        decision = replace(decision, facts=(RunProductive(end.incarnation),))
    if lost:
        reason = f"{decision.reason}; {lost}"
        decision = replace(decision, actions=(*decision.actions, *told), reason=reason)
    decision = interrupt.ask(agent, end, decision, now)
    return turns.close(progress.close(agent, cleanup.after(agent, decision), end, now), now)


def _ended(
    agent: Agent, state: Starting | Running | Stopping, end: LastExit, parked: Parking | None, now: Moment
) -> Decision:
    run = state.run
    deliberate = isinstance(state, Stopping) and state.then is not Afterwards.JUDGE
    refused = session.refusal(state.activity)
    owed = session.is_owed(state.activity) or cut.is_owed(agent) or (parked is not None and parked.owes)
    turn_open = state.activity.turn_open or owed
    is_ours = isinstance(state, Stopping) and state.spoiled and state.then is Afterwards.RESTART
    agent = productive.at_end(agent, run, end, deliberate and not is_ours, turn_open, now)
    end = agent.last_exit or end
    closed = replace(
        agent,
        session=restart.judge_session(agent, run, end, turn_open, deliberate or end.limited),
        short_runs=agent.short_runs if deliberate or end.limited else restart.short_runs(agent, end),
    )
    closed = leftover.after(closed, state, now)
    if isinstance(state, Stopping) and state.then is Afterwards.REMOVE:
        return Decision(closed, (Release(agent.name),), "removed", removed=True)
    if isinstance(state, Stopping) and state.then is Afterwards.STAY:
        return enter(closed, Stopped(), f"stopped: {state.why}", now)
    if closed.desired is Desired.STOPPED:
        failed = not deliberate and not restart.ended_well(agent.spec, end) and not restart.is_blameless(end)
        return enter(closed, Stopped(failed), f"{end.text}; it was to stop after this run", now)
    if is_ours and productive.has_just_counted(closed, now) and productive.is_exhausted(closed):
        return productive.quarantine(closed, now)
    if isinstance(state, Stopping) and state.then is Afterwards.RESTART:
        return requests.queue(closed, f"ended for a restart: {state.why}", now, fresh=state.fresh)
    return _judge(closed, end, parked, refused, now)


def _judge(agent: Agent, end: LastExit, parked: Parking | None, refused: str | None, now: Moment) -> Decision:
    verdict = restart.judge_death(agent, end, now)
    if refused is not None and isinstance(verdict, restart.TryAgain):
        # Only a person can mend it, and each further start would be refused alike.
        verdict = restart.GiveUp(f"{end.text}, and {refused}")
    counted = productive.has_just_counted(agent, now)
    weighed = counted and productive.is_weighed(agent)
    # A loop's work is measured at the end of its iteration, and `begin` asks again once that is judged.
    is_due = counted and productive.is_exhausted(agent) and not progress.is_measured_at_end(agent)
    if is_due and isinstance(verdict, restart.TryAgain):
        if not weighed:
            return productive.quarantine(agent, now)
        reason, readings = productive.exhausted(agent)
        kept = replace(agent, crashes=verdict.crashes)
        upcoming = restart.next_start(kept, now)
        waiting = BackingOff(sequence.answer_by(agent, now), upcoming.mode, upcoming.prompt, len(verdict.crashes))
        looks = enter(kept, waiting, f"{verdict.reason}; {reason}; looking whether its work changed", now)
        return productive.order_weighing(agent, replace(looks, readings=readings))
    if parked is not None and parked.until_wall > now.wall and isinstance(verdict, restart.TryAgain):
        kept = replace(agent, crashes=verdict.crashes)
        waits = f"{verdict.reason}; parked, {parked.kind.value}: {parked.why}"
        return park(kept, parked.kind, parked.until_wall, waits, now)
    match verdict:
        case restart.StayDown(reason=reason):
            state = Stopped(failed=not restart.ended_well(agent.spec, end))
            return enter(replace(agent, desired=Desired.STOPPED, crashes=()), state, reason, now)
        case restart.GiveUp(reason=reason, readings=readings, counted=is_count):
            decision = enter(agent, Quarantined(reason, is_count), f"quarantined: {reason}", now)
            assert decision.agent is not None
            agent = open_item(decision.agent, "quarantined", reason, "command", now)
            alert = Alert(agent.name, "quarantined", reason)
            return replace(decision, agent=agent, actions=(*decision.actions, alert), readings=readings)
        case restart.TryAgain(delay=delay, reason=reason, crashes=crashes, readings=readings):
            kept = replace(agent, crashes=crashes)
            upcoming = restart.next_start(kept, now)
            waits = f"in {delay:.1f} s" if delay > 0 else "at once"
            waiting = BackingOff(now.at + delay, upcoming.mode, upcoming.prompt, len(crashes))
            again = replace(enter(kept, waiting, f"{reason}; {upcoming.reason}, {waits}", now), readings=readings)
            if agent.record.is_steady:
                again = replace(again, actions=(*again.actions, productive.steady_alert(agent)))
            return productive.order_weighing(agent, again) if weighed else again
        case _:
            assert_never(verdict)


__all__ = ["Spawn", "after_reboot", "begin", "deadline", "ended", "on_deadline"]
