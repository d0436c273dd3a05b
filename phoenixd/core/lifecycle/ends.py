"""How a run ends: its death, the proof that nothing of it is left, and what follows."""

from __future__ import annotations

from typing import assert_never

from phoenixd.core import (
    background,
    cleanup,
    cut,
    exits,
    interrupt,
    kept_out,
    productive,
    progress,
    requests,
    restart,
    turns,
    unproven,
)
from phoenixd.core.actions import Alert, Fence, Release
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, Waiting
from phoenixd.core.agent.run import LastExit, Run
from phoenixd.core.agent.state import (
    Afterwards,
    BackingOff,
    Desired,
    Live,
    Quarantined,
    Running,
    Starting,
    Stopped,
    Stopping,
    StopStep,
)
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.evidence import IncidentRecorded
from phoenixd.core.events.runs import AgentExited, AgentVanished, RunMissing, ShimLost, TreeGone, TreeLingers
from phoenixd.core.facts import RunProductive
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.limits import parking
from phoenixd.core.limits.state import Parking, ParkingKind
from phoenixd.core.meter import dead_end
from phoenixd.core.moment import Moment, measured
from phoenixd.core.question import leftover
from phoenixd.core.recycling import rules as recycling
from phoenixd.core.resonance import restoring
from phoenixd.core.sequence import rules as sequence
from phoenixd.core.transitions import FAILED_TURN, enter, keep, park, quarantine
from phoenixd.core.waiting import FOR_PEOPLE, is_owed, is_too_long, refusal, waits_for

SIGKILL = 9


EXIT_RECORD_GRACE = 5.0
"""Seconds that a vanished process's exit record may take (F-PROC-7)."""


def hear_lingering(agent: Agent, event: TreeLingers, seen: Seen, now: Moment) -> Decision:
    """Processes outlive SIGKILL: told once for a run."""
    text = f"{len(event.pids)} processes of a run outlive SIGKILL: {', '.join(map(str, event.pids[:5]))}"
    is_told = any(one.kind == "lingering" and one.incarnation == event.incarnation for one in agent.alerts)
    return Decision(agent, (Alert(agent.name, "lingering", text),), "" if is_told else text)


def hear_record(agent: Agent, event: IncidentRecorded, seen: Seen, now: Moment) -> Decision:
    """What could be seen of a run that we ended is kept."""
    return Decision(agent) if event.case else keep(agent, f"what could be seen of it is kept in {event.file}")


def after_reboot(agent: Agent, end: AgentExited | None, now: Moment) -> Decision:
    """Another boot: whatever ran is gone, and nobody is to blame (F-SY-5).

    A recorded end counts only where it was one on purpose (P53): a failure may be the host's going down itself. What
    had failed before it by the word of its transcript counts all the same.
    """
    run = agent.run
    if run is None:
        return Decision(agent)
    failed = None
    if end is not None and (end.incarnation, end.run_id) == (run.incarnation, run.run_id):
        if end.code == 0 and end.cause == "exit":
            return _exited(agent, end, now)
        failed = end.failed
    gone = LastExit(run.incarnation, None, None, "reboot", 0.0, now.wall, ran=run.pid is not None)
    return ended(agent, gone, now, failed)


def hear_exit(agent: Agent, event: AgentExited, seen: Seen, now: Moment) -> Decision:
    """The agent ended, and its tree is gone."""
    return _exited(agent, event, now)


def _exited(agent: Agent, event: AgentExited, now: Moment) -> Decision:
    run = agent.run
    if run is None or run.run_id != event.run_id:
        return Decision(agent)
    at_wall = event.at_wall if event.at_wall is not None else now.wall
    code, signal, cause = event.code, event.signal, event.cause
    if isinstance(agent.state, Stopping) and agent.state.code is not None:
        code, signal, cause = agent.state.code, None, restart.CAUSES.get(agent.state.code, cause)
    # Whatever the kernel did meanwhile, this end was asked for.
    oom = event.oom if signal == SIGKILL and not isinstance(agent.state, Stopping) else ""
    note = event.note if cause == "other" else ""
    end = LastExit(
        event.incarnation, code, signal, cause, _lived(run, event, now), at_wall, len(event.killed),
        left=run.left or event.left,
        oom=oom, note=note, full_disks=event.full_disks, shown=event.shown,
    )  # fmt: skip
    return ended(agent, end, now, event.failed)


def _lived(run: Run, event: AgentExited, now: Moment) -> float:
    if event.lived is not None:
        return event.lived
    lived = now.at - (run.exec_at if run.exec_at is not None else run.began)
    if event.at_wall is None and not run.unwatched:
        return lived
    # Supervised time stood still while nobody watched, but the run lived on. The clock may have been set meanwhile.
    return max(lived, (event.at_wall if event.at_wall is not None else now.wall) - run.began_wall)


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
            return fence(agent, state, Afterwards.JUDGE, why, now)
        case Stopping() as state:
            fencing = replace(state, step=StopStep.FENCE, deadline=now.at + 2 * agent.spec.stop.kill_retry)
            return Decision(
                replace(agent, state=fencing), (fence_action(agent, state),), f"{why}: fencing what is left"
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


def fence(agent: Agent, state: Starting | Running, then: Afterwards, why: str, now: Moment) -> Decision:
    stopping = Stopping(
        state.run, state.activity, StopStep.FENCE, now.at + 2 * agent.spec.stop.kill_retry, then, why, asked=now.at
    )
    decision = enter(agent, stopping, f"{why}: fencing what is left", now)
    return replace(decision, actions=(fence_action(agent, stopping),))


def fence_action(agent: Agent, state: Stopping) -> Fence:
    run = state.run
    return Fence(agent.name, run.incarnation, run.run_id, run.pid, run.start_time)


def ended(agent: Agent, end: LastExit, now: Moment, failed: TurnFailed | None = None) -> Decision:
    """The run is over and its tree is gone: close its books, and decide what comes next.

    failed: what had ended its newest turn, where that is told with the end.
    """
    state = agent.state
    assert isinstance(state, Live)
    ordered = isinstance(state, Stopping) and state.then is not Afterwards.JUDGE
    failed = None if ordered else failed
    agent = _told_by_exit(agent, end, now) if failed is None else _told_with_it(agent, failed, now)
    state = agent.state
    assert isinstance(state, Live)
    limits = parking.after_exit(agent.limits, state.activity.turn_open, end, agent.spec, now, failed)
    parked = limits.parking
    # Where nothing tells whether a person left it, its 0 is taken for that.
    may_be_left = end.left or ordered or agent.spec.leaves_in_silence
    by_itself = end.code == 0 and not may_be_left and not restart.is_blameless(end)
    failed_turn = by_itself and (is_owed(state.activity) or parked is not None)
    why = state.why if isinstance(state, Stopping) and ordered and end.ran else ""
    until = parked.until_wall if parked is not None and parked.kind is ParkingKind.LIMIT else None
    end = replace(end, limited=parked is not None, until_wall=until, failed_turn=failed_turn, ordered=why)
    expected = ordered or restart.ended_well(agent.spec, end)
    known, told, lost = background.lose(agent, state.run, end, now, expected=expected)
    decision = _ended(replace(known, limits=limits), state, end, parked, now)
    closed = decision.agent.last_exit if decision.agent is not None else None
    if closed is not None and closed.proof and not state.run.merit.proof:
        decision = replace(decision, facts=(RunProductive(end.incarnation),))
    if troubled := parking.trouble(agent.limits, limits, agent.name):
        decision = replace(decision, actions=(*decision.actions, *troubled))
    if lost:
        reason = f"{decision.reason}; {lost}"
        decision = replace(decision, actions=(*decision.actions, *told), reason=reason)
    decision = interrupt.ask(agent, end, decision, now)
    return restoring.closed(turns.close(progress.close(agent, cleanup.after(agent, decision), end, now), now), now)


def _told_by_exit(agent: Agent, end: LastExit, now: Moment) -> Agent:
    """The agent as a hook of its failed turn would have left it, where the exit code alone tells what failed.

    A login or a bill is for people; a request that was refused may be for a full context. What is waited out is told
    by `parking.after_exit`.
    """
    failure = exits.failure_of(agent.spec.harness, end)
    if failure != "request" and failure not in FOR_PEOPLE:
        return agent
    agent = _as_it_ran(agent)
    state = agent.state
    if not isinstance(state, Starting | Running):
        return agent
    text = f"its program ended with {exits.in_words(agent.spec.harness, end)}"
    if failure in FOR_PEOPLE and state.activity.waiting is None:
        asks = Waiting(failure, text, now.wall, since=now.at)
        return replace(agent, state=replace(state, activity=replace(state.activity, waiting=asks)))
    if failure != "request":
        return agent
    status = exits.status_of(agent.spec.harness, end.code)
    return dead_end.at_exit(
        agent, TurnFailed(agent.name, end.incarnation, text=text, failure=failure, status=status), now
    )


def _told_with_it(agent: Agent, failed: TurnFailed, now: Moment) -> Agent:
    """The same, where the end of its transcript tells what failed, and was read once the run was over."""
    agent = _as_it_ran(agent)
    state = agent.state
    if not isinstance(state, Starting | Running):
        return agent
    waiting, _ = waits_for(state.activity, failed, now)
    heard = replace(agent, state=replace(state, activity=replace(state.activity, waiting=waiting)))
    return dead_end.at_exit(heard, failed, now)


def _as_it_ran(agent: Agent) -> Agent:
    """A run that was looked for because its shim was lost, as it was before that."""
    state = agent.state
    if not isinstance(state, Stopping) or not state.is_sought:
        return agent
    return replace(agent, state=Running(state.run, state.activity))


def _ended(agent: Agent, state: Live, end: LastExit, parked: Parking | None, now: Moment) -> Decision:
    run = state.run
    deliberate = isinstance(state, Stopping) and state.then is not Afterwards.JUDGE
    refused = refusal(state.activity)
    owed = (
        is_owed(state.activity)
        or cut.is_owed(agent)
        or restoring.is_owed(agent)
        or (parked is not None and parked.owes)
    )
    # What a run was to go on with and never took up is still to be gone on with.
    turn_open = state.activity.turn_open or run.goes_on or owed
    is_ours = isinstance(state, Stopping) and state.spoiled and state.then is Afterwards.RESTART
    agent = productive.at_end(agent, run, end, deliberate and not is_ours, turn_open, now)
    end = agent.last_exit or end
    waiting = state.activity.waiting
    failed = waiting is not None and waiting.kind == FAILED_TURN
    crashes = sum(at > now.at - agent.spec.restart.period for at in agent.crashes)
    closed = replace(
        agent,
        session=restart.judge_session(agent, run, end, turn_open, deliberate or end.limited, failed, crashes),
        short_runs=agent.short_runs if deliberate or end.limited else restart.short_runs(agent, end),
    )
    closed = leftover.after(closed, state, now)
    if closed.session is not None and closed.session.spoiled is None and is_too_long(state.activity):
        closed = replace(closed, session=replace(closed.session, spoiled="nothing more fits into it"))
    if isinstance(state, Stopping) and state.then is Afterwards.REMOVE:
        return Decision(closed, (Release(agent.name),), "removed", removed=True)
    if isinstance(state, Stopping) and state.then is Afterwards.STAY:
        return enter(closed, Stopped(), f"stopped: {state.why}", now)
    if closed.desired is Desired.STOPPED:
        failed = not deliberate and not restart.ended_well(agent.spec, end) and not restart.is_blameless(end)
        return enter(closed, Stopped(failed), f"{end.text}; it was to stop after this run", now)
    if is_ours and productive.has_just_counted(closed, now) and productive.is_exhausted(closed):
        return productive.give_up(closed, now)
    if isinstance(state, Stopping) and state.then is Afterwards.RESTART:
        return requests.queue(closed, f"ended for a restart: {state.why}", now, fresh=state.fresh)
    return _judge(closed, state.activity, end, parked, refused, now)


def _judge(
    agent: Agent, activity: Activity, end: LastExit, parked: Parking | None, refused: str | None, now: Moment
) -> Decision:
    verdict = restart.judge_death(agent, end, now)
    if refused is not None and isinstance(verdict, restart.TryAgain):
        # Only a person can fix it, and each further start would be refused alike.
        verdict = restart.GiveUp(f"{end.text}, and {refused}", refused=True)
    counted = productive.has_just_counted(agent, now)
    weighed = counted and productive.is_weighed(agent)
    # A loop's work is measured at the end of its iteration, and `begin` asks again once that is judged.
    is_due = counted and productive.is_exhausted(agent) and not progress.is_measured_at_end(agent)
    if is_due and isinstance(verdict, restart.TryAgain):
        if not weighed:
            return productive.give_up(agent, now)
        reason, readings = productive.exhausted(agent)
        kept = replace(agent, crashes=verdict.crashes)
        upcoming = restart.next_start(kept, now)
        waiting = BackingOff(sequence.answer_by(agent, now), upcoming.mode, upcoming.prompt, len(verdict.crashes))
        looks = enter(kept, waiting, f"{verdict.reason}; {reason}; looking whether its work changed", now)
        return productive.order_weighing(agent, replace(looks, readings=readings))
    if parked is not None and parked.until_wall > now.wall and isinstance(verdict, restart.TryAgain):
        kept = replace(agent, crashes=verdict.crashes)
        waits = f"{verdict.reason}; parked, {parked.kind.value}: {parked.why}"
        return park(kept, parked.kind, parked.until_wall, waits, now, over=parked.over_by)
    match verdict:
        case restart.StayDown(reason=reason):
            state = Stopped(failed=not restart.ended_well(agent.spec, end))
            down = enter(replace(agent, desired=Desired.STOPPED, crashes=()), state, reason, now)
            if not agent.spec.is_question or not state.failed or end.cause != "exit":
                return down
            return replace(down, actions=(*down.actions, Alert(agent.name, restart.QUESTION, reason)))
        case restart.GiveUp(reason=reason, readings=readings, crashes=crashes):
            counted_all = replace(agent, crashes=crashes or agent.crashes)
            given_up = Quarantined(reason, verdict.counted, verdict.misdeclared, verdict.refused)
            looked_for = kept_out.given_up(counted_all, given_up, now)
            return replace(quarantine(counted_all, looked_for, now), readings=readings)
        case restart.TryAgain(delay=delay, reason=reason, crashes=crashes, readings=readings):
            kept = replace(agent, crashes=crashes)
            upcoming = restart.next_start(kept, now)
            waits = f"in {measured(delay)}" if delay > 0 else "at once"
            hung_up = end.cause in restart.CUT_SHORT
            told = productive.counts(agent) if counted else ()
            waiting = BackingOff(now.at + delay, upcoming.mode, upcoming.prompt, len(crashes), hung_up=hung_up)
            due = enter(kept, waiting, f"{reason}; {upcoming.reason}", now)
            # The row says when it is due; a time in its reason would be another one, and go stale.
            again = replace(due, reason=f"{due.reason}, {waits}", readings=readings or told)
            if agent.record.is_steady:
                again = replace(again, actions=(*again.actions, productive.steady_alert(agent)))
            if weighed:
                return productive.order_weighing(agent, again)
            return recycling.weigh(again, agent, end, activity, now) if recycling.is_judged(agent, end) else again
        case _:
            assert_never(verdict)
