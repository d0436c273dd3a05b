"""How an agent is, in a word: its group, what it is at, and whether it needs a person."""

from __future__ import annotations

from typing import Literal, assert_never

from phoenixd.core import alerts, progress, restart
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Parked, Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.moment import Moment
from phoenixd.core.spec import Kind

Group = Literal["needs_you", "healing", "working", "resting", "unknown"]
URGENCY: tuple[Group, ...] = ("needs_you", "healing", "unknown", "working", "resting")
"""The groups in the order in which a person is told of them."""
BY_EXCEPTION, FINE = URGENCY[:3], URGENCY[3:]
SIGNS: dict[Group, str] = {"needs_you": "!", "healing": "~", "working": "*", "resting": ".", "unknown": "?"}


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
        case Running() if is_unknown(agent):
            return "unknown"
        case Running() if agent.is_restoring:
            return "healing"
        case Running():
            return "resting" if agent.parking or activity_word(agent) == "idle" else "working"
        case Stopped() | Parked():
            return "resting"
        case _:
            assert_never(agent.state)


def is_unknown(agent: Agent) -> bool:
    """Whether nobody can say how it is, though it may live: it cannot be heard, or its exit record is awaited.

    That is so also where a person is needed for it, and its group says that first.
    """
    state = agent.state
    return isinstance(state, Running) and (state.exit_due is not None or state.run.deaf is not None)


def is_unseen(agent: Agent) -> bool:
    """Whether nothing of its run was found, though nothing proves that it is gone."""
    return isinstance(agent.state, Stopping) and agent.state.unseen_since is not None


def seen_pid(agent: Agent) -> int | None:
    """The process of its run; None where none is known to be there."""
    return agent.run.pid if agent.run is not None and not is_unseen(agent) else None


def runs_again(agent: Agent) -> bool:
    """Whether a run of it is known to be up, and is not healed any more."""
    return isinstance(agent.state, Running) and group(agent) != "healing" and not is_unknown(agent)


def activity_word(agent: Agent) -> str | None:
    """working, idle or waiting while running, where hooks can tell, or a look has told; else None."""
    if not isinstance(agent.state, Running) or agent.parking is not None:
        return None
    if agent.state.activity.waiting:
        return "waiting"
    if agent.state.run.guessed:
        return None
    if not agent.state.run.session_seen and not agent.state.run.evidence:
        return None
    return "working" if agent.state.activity.turn_open else "idle"


def is_settled(agent: Agent | None, now: Moment) -> bool:
    """Whether what a run shows can be believed: a dialog of its start is drawn some time after its first hook."""
    if agent is None or not isinstance(agent.state, Running) or not agent.spec.has_hooks:
        return True
    run = agent.state.run
    return run.prompt_seen or run.drawn or now.at - agent.view().up_since >= agent.spec.resume.window


def tells_no_turns(agent: Agent | None, now: Moment) -> bool:
    """Whether a program has been up so long without a word of its turns that it tells of none. It is never idle."""
    if agent is None or not isinstance(agent.state, Running) or agent.parking is not None:
        return False
    if agent.spec.has_hooks or agent.spec.transcript or agent.hooks_seen or activity_word(agent) is not None:
        return False
    return now.at - agent.view().up_since >= agent.spec.resume.window


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


def stays_down(agent: Agent | None) -> bool:
    """Whether no run of an agent begins before a person starts it; a member of a sequence is started for its turns."""
    if agent is None or (agent.spec.turn_of is not None and not agent.left_out):
        return False
    is_stopped = isinstance(agent.state, Stopped) and agent.desired is Desired.STOPPED
    return is_stopped or (isinstance(agent.state, Quarantined) and progress.retry_at(agent) is None)


def is_between_iterations(agent: Agent) -> bool:
    """Whether a loop rests after an iteration that ended as it should: healthy, though nothing of it runs."""
    is_waiting = isinstance(agent.state, BackingOff) and agent.spec.kind is Kind.LOOP
    return is_waiting and agent.last_exit is not None and not _heals(agent)


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


def _heals(agent: Agent) -> bool:
    """Whether the start that is due answers a death, and not a request or the pause between two iterations."""
    end = agent.last_exit
    return end is not None and not restart.ended_well(agent.spec, end) and end.cause != restart.CAUSES[restart.OVERTIME]
