"""Agents of one account in virtual time, and what a limit of it does to them."""

from __future__ import annotations

from typing import Any

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, Delivered
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.documents.hooks import hook_of
from tests.core.story import EPOCH, Story, claude

HOUR = 3600.0
RESET = EPOCH + 2 * HOUR


class Account(Story):
    """Several agents of one account. `screen` is what each screen shows when it is looked at, None for no answer."""

    def __init__(self, *specs: AgentSpec, **limits: Any) -> None:
        super().__init__(*specs, limits=FleetLimits(max_starting=100, **limits))
        self.screen = "idle"

    def named(self, name: str) -> Agent:
        return self.fleet.agents[name]

    def all_work(self) -> Account:
        for name in self.fleet.agents:
            self.tell(StartRequested(name))
            self.begin(name)
        self.decisions.clear()
        return self

    def begin(self, name: str) -> None:
        """Exec, session and turn of the run that was ordered."""
        run = self.named(name).run
        assert run is not None
        self.tell(AgentStarted(name, run.incarnation, run.run_id, 100, 1000))
        self.say(name, "session-start", session_id=run.session_id)
        self.say(name, "prompt-submit", text="Build the shop.")

    def say(self, name: str, kind: str, **details: Any) -> None:
        self.tell(hook_of(name, self.named(name).incarnation, kind, **details))

    def meets_limit(self, name: str, reset: float | None = RESET) -> None:
        self.say(name, "stop-failure", error="rate_limit", reset_wall=reset)

    def dies(self, name: str, code: int | None = None, signal: int | None = 9) -> None:
        run = self.named(name).run
        assert run is not None
        self.tell(AgentExited(name, run.incarnation, run.run_id, code, signal))

    def obeys(self, name: str) -> None:
        """The newest text that was to be typed into an agent arrives, and a turn begins."""
        order = [action for action in self.of(Deliver) if action.agent == name][-1]
        self.say(name, "prompt-submit", text=order.text)
        self.tell(Delivered(name, order.incarnation, order.message_id, "the agent took the prompt"))

    def states(self) -> set[str]:
        return {agent.state_name for agent in self.fleet.agents.values()}


def team(number: int, **changes: Any) -> list[AgentSpec]:
    return [claude(f"a{index}", account="team", **changes) for index in range(number)]
