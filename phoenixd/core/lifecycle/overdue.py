"""What the deadlines of a run mean: not ready, silent, hung, or to be looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from phoenixd.core import deafness, doubt, kept_out, opening, productive, progress, requests, restart, screen
from phoenixd.core.actions import Alert, LookAtScreen, RecordIncident
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity
from phoenixd.core.agent.run import Incident, Mode, Run
from phoenixd.core.agent.state import Afterwards, BackingOff, Parked, Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.dialogs import MENU, SCREEN_DIALOGS
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.facts import HungInCall
from phoenixd.core.lifecycle.ends import fence
from phoenixd.core.limits import parking
from phoenixd.core.meter import parts as meter
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.parts import Taken
from phoenixd.core.resonance import restoring
from phoenixd.core.taking import take
from phoenixd.core.transitions import close_items, end_run, keep, raise_step
from phoenixd.core.turn import call_work, due, liveness

SPAWN_TIMEOUT = 30.0
"""Seconds in which a spawn must be answered; the performer answers sooner, this holds if it cannot."""
SILENT_START_LOOK = 3.0
"""Seconds after a start that no hook will tell of, before its screen is looked at (F-PROC-16)."""


def hear_screen(agent: Agent, event: ScreenSeen, seen: Seen, now: Moment) -> Decision:
    """Judge what the screen shows by what the run is at: parked, at work, or silent since its start."""
    if not isinstance(agent.state, Running):
        return screen.judge_screen(agent, event, now)
    if any(isinstance(one, Taken) for one in seen.signals):
        return _seen_parked(seen.decision, agent, agent.state, event.verdict, now)
    return _seen_silent(agent, agent.state, event, now)


def deadline(agent: Agent, now: Moment) -> Instant | None:
    """The next instant at which this agent needs a Tick, in supervised time; `accounts` knows those of the parked."""
    waited = parking.over_at(agent.parking)
    known = _deadline(agent), deafness.due(agent), meter.due(agent), restoring.deadline(agent), waited
    return min((at for at in known if at is not None), default=None)


def _deadline(agent: Agent) -> Instant | None:
    if progress.waits(agent) and isinstance(agent.state, BackingOff | Parked | Stopped | Quarantined):
        return progress.due(agent)
    match agent.state:
        case Starting(ready_by=ready_by) as state:
            if is_silent(agent, state.run) or state.run.pid is None or state.overdue:
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
            due_then = progress.retry_at(agent), kept_out.due(agent)
            return min((at for at in due_then if at is not None), default=None)
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
    restored = restoring.deadline(agent)
    if restored is not None and restored <= now.at:
        return restoring.overdue(agent, now)
    waited = parking.over_at(agent.parking)
    if waited is not None and waited <= now.at:
        return take(agent, parking.waited_out(agent.limits, now), now)
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
            return fence(agent, agent.state, Afterwards.JUDGE, "the process is gone and left no exit record", now)
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
                return screen.look(agent, agent.state, now)
            return _overdue(agent, agent.state, overdue, now)
        case Stopping():
            return raise_step(agent, agent.state, now)
        case Quarantined() if (look_at := kept_out.due(agent)) is not None and look_at <= now.at:
            return kept_out.look(agent, now)
        case Quarantined() if progress.retry_at(agent) is None:
            return Decision(agent)
        case Quarantined():
            rearmed = close_items(progress.armed(agent, "its cooldown is over"))
            return requests.queue(rearmed, "the breaker's cooldown is over", now)
        case BackingOff() | Stopped() | Parked():
            return Decision(agent)
        case _:
            assert_never(agent.state)


def _not_ready(agent: Agent, state: Starting, now: Moment) -> Decision:
    if state.run.pid is None:
        return fence(agent, state, Afterwards.JUDGE, f"the start was not answered within {SPAWN_TIMEOUT:.0f} s", now)
    window = agent.spec.resume.window
    silent = is_silent(agent, state.run)
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
    # Of a start that hooks tell of, the window is over by then: the next look comes after as long again.
    wait = min(window, max(SILENT_START_LOOK, since))
    ready_by = now.at + wait if overdue is None else min(now.at + wait, overdue.at)
    waiting = Starting(state.run, state.activity, ready_by, overdue=True)
    return Decision(
        replace(agent, state=waiting),
        (LookAtScreen(agent.name, state.run.incarnation),),
        "no hook tells of this start: looking at the screen"
        if silent
        else f"no sign of life within {window:.0f} s: looking at the screen",
    )


def is_silent(agent: Agent, run: Run) -> bool:
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
    is_dialog = event.verdict in SCREEN_DIALOGS
    if event.reader == "escape" and not is_dialog:
        return _seen_broken_off(agent, state, event.verdict)
    if state.activity.doubted is not None:
        judged = doubt.judge(agent, state, state.activity.doubted, event, now)
        if judged is not None:
            return judged
        state = replace(state, activity=replace(state.activity, doubted=None, looked_at=now.at))
        agent = replace(agent, state=state)
    if state.activity.looked_at is None and (event.reader == "look" or not is_dialog):
        # Nobody asked, or it was heard of again while the screen was being read.
        return Decision(agent)
    if event.verdict in ("idle", "working") and not state.run.drawn:
        state = replace(state, run=replace(state.run, drawn=True))
        agent = replace(agent, state=state)
    if state.run.guessed and (is_dialog or event.verdict in ("idle", "working")):
        state = replace(state, run=replace(state.run, guessed=False))
        agent = replace(agent, state=state)
        if not is_dialog and state.activity.waiting is None:
            return screen.first_seen(agent, state, event.verdict, now)
    if liveness.stands_on_screen(state.activity.waiting):
        return screen.judge_waiting(agent, state, event, now)
    if is_dialog and state.activity.waiting is None:
        if event.verdict == MENU and event.attended:
            # The person who sits there sees it. If it stays when they have gone, the next look tells.
            return Decision(agent)
        return screen.judge_dialog(agent, state, event.verdict, now)
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


def _seen_broken_off(agent: Agent, state: Running, verdict: str) -> Decision:
    """Escape was pressed on its turn. Of its end no hook may tell, and a call that it ended may have told since."""
    if verdict != "idle" or not state.activity.turn_open or state.activity.waiting is not None:
        return Decision(agent)
    closed = replace(state.activity, turn_open=False, leases=(), looked_at=None)
    return keep(replace(agent, state=replace(state, activity=closed)), "Escape has ended its turn: its screen is idle")


def _seen_parked(told: Decision, agent: Agent, state: Running, verdict: str, now: Moment) -> Decision:
    """A parked run goes on, or not, by what its screen shows; a dialog there is a question as well."""
    if verdict not in SCREEN_DIALOGS or state.activity.waiting is not None:
        return told
    asked = screen.judge_dialog(agent, state, verdict, now)
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
