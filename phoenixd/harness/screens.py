"""Implements ports.Screens: what a pane shows and a transcript tells, asked of the agent's own CLI. Pure."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.core.agent import Agent
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.errors import LaunchFailed
from phoenixd.harness import HARNESSES, Harness, Prompt
from phoenixd.harness.failed_turn import failed_turn

CANNOT_RUN = 126


def harness_of(spec: AgentSpec) -> Harness:
    """The harness that an agent's specification names; raises LaunchFailed for one that this version does not know."""
    try:
        return HARNESSES[spec.harness]
    except KeyError:
        raise LaunchFailed(
            f'this version cannot drive "{spec.harness}"', 'use harness = "command"', CANNOT_RUN
        ) from None


class Screens:
    """wall: the time by which a transcript's words about a limit are read."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall

    def classify(self, agent: Agent, screen: str) -> str:
        return harness_of(agent.spec).screen_says(screen)

    def dismisses(self, agent: Agent, verdict: str) -> bool:
        return verdict in harness_of(agent.spec).dismissible

    def failed_turn(self, agent: Agent, facts: SessionFacts) -> TurnFailed | None:
        return failed_turn(agent, facts, harness_of(agent.spec), self._wall())

    def left(self, agent: Agent, screen: str) -> bool:
        return agent.run is not None and harness_of(agent.spec).takes_leave(screen, agent.run.session_id)

    def input_line(self, agent: Agent, screen: str) -> str | None:
        return harness_of(agent.spec).input_line(screen)

    def holds(self, agent: Agent, screen: str, text: str) -> bool:
        return harness_of(agent.spec).holds(screen, text)

    def prompt(self, agent: Agent, text: str) -> Prompt:
        return harness_of(agent.spec).prompt(text)
