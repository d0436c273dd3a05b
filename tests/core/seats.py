"""A fleet with a seat, and the steps by which it passes on."""

from __future__ import annotations

from typing import Any

from phoenixd.core import requests
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Starting
from phoenixd.core.decision import Decision
from phoenixd.core.events.orders import (
    StartRequested,
)
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.seat import succession
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.starts import release
from tests.core.story import Story, spec

BOSS = spec("boss", kind=Kind.ORCHESTRATOR, env=(("KEY", "value"),))


class Seats(Story):
    """A fleet with the orchestrator `boss`, and one worker."""

    def __init__(self, *specs: AgentSpec) -> None:
        super().__init__(*(specs or (BOSS, spec("other"))))

    @property
    def seat(self) -> Seat:
        return self.fleet.seats["boss"]

    def of(self, name: str) -> Agent:  # type: ignore[override]
        return self.fleet.agents[name]

    def sent(self, kind: type[Any]) -> list[Any]:
        return [action for action in self.actions if isinstance(action, kind)]

    def runs(self, name: str) -> Seats:
        """Start the run that is due, or that the generation's handoff starts."""
        agent = self.fleet.agents[name]
        if not isinstance(agent.state, Starting):
            self.passes(succession_start(self.fleet, name, self))
        run = self.fleet.agents[name].run
        assert run is not None
        self.tell(AgentStarted(name, run.incarnation, run.run_id, 100, 1))
        return self

    def passes(self, passed: tuple[Fleet, tuple[Decision, ...]]) -> Seats:
        """Take what a rule of the handoff decided."""
        self.fleet, decisions = passed
        self.decisions.extend(decisions)
        return self

    def handing_over(self) -> Seats:
        """Both generations run, and the first one holds the seat."""
        self.tell(StartRequested("boss"))
        self.runs("boss")
        self.passes(succession.declare_successor(self.fleet, "boss", self.now)).runs("boss-g2")
        self.decisions.clear()
        return self

    def succeeded(self) -> Seats:
        """The second generation holds the seat, and the first one is gone."""
        self.handing_over().passes(succession.succeed(self.fleet, "boss", self.now))
        self.passes(succession.retire(self.fleet, "boss", 1, self.now))
        self.ends("boss")
        self.decisions.clear()
        return self

    def ends(self, name: str, code: int | None = 0) -> Seats:
        run = self.fleet.agents[name].run
        assert run is not None
        self.tell(AgentExited(name, run.incarnation, run.run_id, code, None))
        return self


def succession_start(fleet: Fleet, name: str, story: Story) -> tuple[Fleet, tuple[Decision, ...]]:
    """Start a generation as its handoff does, beside the door."""
    found = put(Step(fleet), requests.start(fleet.agents[name], StartRequested(name), story.now), story.now)
    found = release(fleet, found, StartRequested(name), story.now)
    return found.fleet, found.decisions
