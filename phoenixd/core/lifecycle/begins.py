"""How a run begins: the order to spawn, what comes of it, and what is typed into it."""

from __future__ import annotations

from typing import assert_never

from phoenixd.core import cut, opening, productive, progress, prompts, requests, restart, session
from phoenixd.core.actions import Kill, Terminate
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import (
    BackingOff,
    Desired,
    Live,
    Parked,
    Quarantined,
    Running,
    Starting,
    Stopped,
    Stopping,
    StopStep,
)
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.runs import AgentStarted, Delivered, NotDelivered, RunAdopted, StartFailed
from phoenixd.core.facts import AnswerJudged
from phoenixd.core.lifecycle.ends import ended
from phoenixd.core.lifecycle.overdue import SILENT_START_LOOK, SPAWN_TIMEOUT, is_silent
from phoenixd.core.moment import Moment, in_words
from phoenixd.core.parts import Taken
from phoenixd.core.question import leftover
from phoenixd.core.resonance import codes
from phoenixd.core.transitions import enter, keep
from phoenixd.core.waiting import MAX_TEXT

SOMEBODY_ELSE = 60.0
"""Seconds until a session is tried again that somebody else was at work in."""


def begin(agent: Agent, state: BackingOff, now: Moment) -> Decision:
    """Turn a due start into a spawn of the next incarnation; a loop's work is measured first."""
    if productive.is_exhausted(agent):
        # What its newest run did to the work was not measured in time, so nothing speaks for it.
        return productive.give_up(agent, now)
    if progress.must_open(agent):
        return progress.begin(agent, state, now)
    return codes.begin(session.begin(agent, state, now, SPAWN_TIMEOUT), now)


def hear_delivery(agent: Agent, event: Delivered, seen: Seen, now: Moment) -> Decision:
    """A text arrived."""
    # What is read in the middle of a turn is the task in hand as well, and no prompt hook says so.
    is_news = event.queued and not prompts.is_ours(event.queued)
    heard = replace(agent, last_prompt=event.queued[:MAX_TEXT]) if is_news else agent
    heard = cut.typed(leftover.typed(heard, event.message_id, None), event.message_id)
    if any(isinstance(one, Taken) for one in seen.signals):
        return replace(seen.decision, agent=heard)
    begun = opening.over(heard, event.message_id)
    return keep(prompts.hear_sent(begun, event.message_id), f"text delivered ({event.evidence})")


def hear_miss(agent: Agent, event: NotDelivered, seen: Seen, now: Moment) -> Decision:
    """A text did not arrive; an answer to what an earlier run had asked is none then."""
    item, decision = leftover.typing(agent, event.message_id), _missed(agent, event, seen, now)
    return decision if item is None else replace(decision, facts=(*decision.facts, AnswerJudged(item.id, taken=False)))


def _missed(agent: Agent, event: NotDelivered, seen: Seen, now: Moment) -> Decision:
    agent = leftover.typed(agent, event.message_id, event.reason)
    if any(isinstance(one, Taken) for one in seen.signals):
        return replace(seen.decision, agent=agent)
    missed = opening.missed(agent, event.message_id, event.reason)
    missed = missed or cut.missed(agent, event.message_id, event.reason, now)
    # The operator who ordered it reads in the story what became of it.
    return missed or replace(keep(agent, f"text not delivered: {event.reason}"), weight="story")


def hear_life(agent: Agent, event: AgentStarted | RunAdopted, seen: Seen, now: Moment) -> Decision:
    """exec succeeded, or a run was found alive."""
    if isinstance(event, AgentStarted) and agent.run is not None and agent.run.run_id != event.run_id:
        return Decision(agent)
    word = "adopted" if isinstance(event, RunAdopted) else "its program began"
    if isinstance(event, RunAdopted) and event.unwatched:
        agent = _unwatched(agent)
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
            wait = SILENT_START_LOOK if is_silent(agent, run) else agent.spec.resume.window
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
                if activity.waiting is not None and activity.waiting.dismissed:
                    # Nobody knows any more whether Escape went out: the next look counts.
                    activity = replace(activity, waiting=replace(activity.waiting, touched=None))
            return keep(replace(agent, state=Running(run, activity)), f"{word}, pid {event.pid}")
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


def _unwatched(agent: Agent) -> Agent:
    state = agent.state
    if not isinstance(state, Live) or state.run.unwatched:
        return agent
    return replace(agent, state=replace(state, run=replace(state.run, unwatched=True)))


def hear_failed_start(agent: Agent, event: StartFailed, seen: Seen, now: Moment) -> Decision:
    """The run never lived: say why, and what comes next."""
    run = agent.run
    if run is None:
        return Decision(agent)
    if run.pid is not None:
        # An order that was given twice is refused the second time; the run of the first one lives.
        return keep(agent, f"a second start of this run was refused: {event.message}")
    if run.prompt is PromptKind.SEAL:
        # Its work is done: a fresh session would do it again, and there is nothing else to ask for.
        note = event.message
        failed = LastExit(event.incarnation, None, None, "not started", 0.0, now.wall, ran=False, note=note)
        return ended(agent, failed, now)
    wanted = isinstance(agent.state, Starting) and agent.desired is Desired.RUNNING
    if wanted and agent.session is not None and event.obstacle == "resume refused":
        spoiled = replace(agent.session, spoiled=event.message)
        return requests.queue(replace(agent, session=spoiled), f"{event.message}; fresh at once", now)
    if event.code:
        failed = LastExit(
            event.incarnation, event.code, None, "not started", 0.0, now.wall,
            ran=False, note=event.message, obstacle=event.obstacle,
        )  # fmt: skip
        return ended(agent, failed, now)
    if not wanted:
        return ended(agent, LastExit(event.incarnation, None, None, "start interrupted", 0.0, now.wall, ran=False), now)
    held = event.obstacle == "session in use"
    # A person who works in the session does so for a while.
    delay = (SOMEBODY_ELSE if held else restart.HOST_RETRY) * (1 + now.chance)
    session_left = restart.unborn(agent.session, run) if agent.session is not None else None
    # A try that ended in waiting is no restart.
    kept = replace(agent, session=session_left, restarts=agent.restarts - agent.has_ended)
    due = BackingOff(now.at + delay, run.mode, run.prompt, hung_up=event.obstacle == "terminal gone")
    waiting = enter(kept, due, f"could not be started here, trying again: {event.message}", now)
    return replace(waiting, reason=f"{waiting.reason}; in {in_words(delay)}")
