"""Where an agent works beside its own directory: where its hooks say that it is, and which of that are worktrees."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.events import WorkMeasured
from phoenixd.core.hooks import Hook

MOST_WORKPLACES = 32
"""Directories that are remembered until the next measurement tells which of them are places to work in."""


def follow(agent: Agent, event: Hook) -> Agent:
    """Note that the agent, a subagent of its or a member of its sequence is in another directory than its own."""
    if event.cwd is None or not event.cwd.startswith("/") or event.cwd in (agent.spec.cwd, *agent.workplaces):
        return agent
    if "\0" in event.cwd:
        # No path holds one, and whoever would look there could look nowhere.
        return agent
    return replace(agent, workplaces=(*agent.workplaces, event.cwd)[-MOST_WORKPLACES:])


def moved_in(agent: Agent, event: WorkMeasured) -> Agent:
    """The agent with those places that the measurement found to be worktrees of its repository."""
    if event.survey is None or event.survey.entered == agent.workplaces:
        return agent
    return replace(agent, workplaces=event.survey.entered[-MOST_WORKPLACES:])
