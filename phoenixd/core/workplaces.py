"""Where an agent works beside its own directory: the places that its hooks name, and which of them are worktrees."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.hooks import Hook
from phoenixd.core.iteration import Underway
from phoenixd.core.moment import Moment

MOST_WORKPLACES = 32
"""Directories that are remembered until the next measurement tells which of them are places to work in."""


def hear(agent: Agent, event: Hook, seen: Seen, now: Moment) -> Decision:
    """Note where an agent is whose work is to be measured: in an iteration, or by the turn."""
    run = seen.before.run
    is_new = run is not None and not 0 < event.seq <= run.hook_seq
    if not isinstance(agent.iteration, Underway) and not (is_new and agent.turns and agent.has_judged_turns):
        return seen.decision
    placed = follow(agent, event)
    return seen.decision if placed is agent else replace(seen.decision, agent=placed)


def follow(agent: Agent, event: Hook) -> Agent:
    """Note that the agent, a subagent of its or a member of its sequence is in another directory than its own."""
    if event.cwd is None or not event.cwd.startswith("/") or event.cwd in (agent.spec.cwd, *agent.workplaces):
        return agent
    if "\0" in event.cwd:
        # No path holds one, and a look there would fail.
        return agent
    return replace(agent, workplaces=(*agent.workplaces, event.cwd)[-MOST_WORKPLACES:])


def moved_in(agent: Agent, event: WorkMeasured) -> Agent:
    """The agent with those places that the measurement found to be worktrees of its repository."""
    if event.survey is None or event.survey.entered == agent.workplaces:
        return agent
    return replace(agent, workplaces=event.survey.entered[-MOST_WORKPLACES:])
