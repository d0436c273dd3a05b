"""The prompt of a run that is told it by typing: once, when it runs, and never twice, whatever dies in between."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert, Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Decision
from phoenixd.core.moment import Moment
from phoenixd.core.transitions import enter, keep
from phoenixd.core.turn import liveness


def begin(agent: Agent, state: Running, reason: str, now: Moment) -> Decision:
    """Let a run be running, and have its prompt typed where it is told by that."""
    run = state.run
    if not agent.spec.is_pasted or not liveness.was_told(run, agent.spec):
        return enter(agent, state, reason, now)
    message_id = now.new_id(agent.name, run.incarnation, "prompt")
    told = enter(agent, replace(state, run=replace(run, opening=message_id)), f"{reason}; typing its prompt", now)
    return replace(told, actions=(Deliver(agent.name, run.incarnation, message_id, "", opening=True),))


def unfinished(agent: Agent) -> str:
    """The message by which a run is told its prompt, as long as nobody knows what became of it; empty: none.

    A daemon that begins finds out, and types it no second time: twice would be worse than never.
    """
    return agent.state.run.opening if isinstance(agent.state, Running) else ""


def over(agent: Agent, message_id: str) -> Agent:
    """The agent when a text arrived or did not, which may have been its prompt."""
    state = agent.state
    if not isinstance(state, Running) or state.run.opening != message_id:
        return agent
    return replace(agent, state=replace(state, run=replace(state.run, opening="")))


def missed(agent: Agent, message_id: str, why: str) -> Decision | None:
    """The prompt was not typed: a person has to; None where another text is meant."""
    left = over(agent, message_id)
    return _unsaid(left, why) if left is not agent else None


def seen_idle(agent: Agent, state: Running, now: Moment) -> Decision:
    """A run that was told something shows an empty prompt, and no hook told that it took it.

    It may be about to; past the window of a start it is not, and what it was to do is lost unless somebody tells it.
    """
    run = state.run
    if agent.hooks_seen and now.at - agent.view().up_since < agent.spec.resume.window:
        return Decision(agent)
    idle = replace(state, activity=replace(state.activity, turn_open=False, leases=(), looked_at=None))
    ended = keep(replace(agent, state=idle), "its screen is idle: the turn ended without a hook")
    assert ended.agent is not None
    if not (run.session_seen and liveness.was_told(run, agent.spec)) or run.evidence:
        return ended
    return _unsaid(ended.agent, "its screen is idle, and no hook told that it took it")


def _unsaid(agent: Agent, why: str) -> Decision:
    text = f"it runs, but may not know what for: its prompt was not typed ({why})"
    return Decision(agent, (Alert(agent.name, "prompt", text),), text)
