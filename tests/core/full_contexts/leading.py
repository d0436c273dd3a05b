"""A story told of the agent that leads: the agent itself, or the generation of a seat that a session belongs to."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Run
from tests.core.handing import HandoffStory


class Leading(HandoffStory):
    """Shortcuts speak of the generation that leads, or of a successor that does not lead yet."""

    @property
    def agent(self) -> Agent:
        seat = self.fleet.seats.get("o")
        if seat is None:
            return self.fleet.agents["o"]
        following = seat.handoff is not None and not seat.handoff.is_over and f"o-g{seat.handoff.successor}"
        return self.fleet.agents.get(following or "") or self.fleet.agents[seat.holder]

    @property
    def alive(self) -> Run:
        run = self.agent.run
        assert run is not None, f"{self.agent.name} does not run: {self.agent.reason}"
        return run

    @property
    def is_handed_over(self) -> bool:
        seat = self.fleet.seats.get("o")
        return seat is not None and seat.handoff is not None and not seat.handoff.is_over
