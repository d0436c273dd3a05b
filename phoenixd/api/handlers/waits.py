"""`wait`: until an agent is in a state, or for certain does not come to it by itself."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.api import exits, representation
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.pages import agent as text_agent
from phoenixd.api.pages.next_commands import answer_command
from phoenixd.api.problems import Problem
from phoenixd.core import condition
from phoenixd.core.agent.state import Quarantined
from phoenixd.core.fleet import Fleet
from phoenixd.core.seat.finding import asking, is_down, meant

OF_TURNS = ("idle", "waiting")
"""What only an agent can come to that tells of its turns."""


async def wait_agent(ask: Ask) -> Reply:
    ask.agent()
    wait, timeout = _Wait(ask, str(ask.arguments["for"])), float(ask.arguments["timeout"])
    # Nothing happens at the moment from which on a silent program is known as one, so it is looked at then.
    window = min(timeout, ask.agent().spec.resume.window)
    came = await ask.service.wait_for(wait.is_over, window)
    if not came and window < timeout and not wait.is_over(ask.service.fleet()):
        await ask.service.wait_for(wait.is_over, timeout - window)
    return wait.reply(ask.service.fleet())


@dataclass(frozen=True, slots=True)
class _Wait:
    """One question, and what the fleet says to it."""

    ask: Ask
    wanted: str

    def is_over(self, fleet: Fleet) -> bool:
        return self.is_met(fleet) or self._asks(fleet) or self._hopeless(fleet) is not None

    def is_met(self, fleet: Fleet) -> bool:
        agent = meant(fleet, self.ask.name)
        if agent is None:
            return self.wanted == "stopped"
        if self.wanted == "idle" and not condition.is_settled(agent, self.ask.service.now()):
            return False
        if self.wanted == "stopped" and not is_down(fleet, self.ask.name):
            return False
        if self.wanted == "waiting":
            return any(condition.activity_word(one) == "waiting" for one in asking(fleet, self.ask.name))
        return self.wanted in (agent.state_name, condition.activity_word(agent)) and not self._asks(fleet)

    def reply(self, fleet: Fleet) -> Reply:
        """What came of it; raises Problem where waiting on would be for nothing."""
        met, asks, name = self.is_met(fleet), self._asks(fleet), self.ask.name
        if not met and not asks and (problem := self._hopeless(fleet)) is not None:
            raise problem
        row = self.ask.row_if_any()
        told = text_agent.summary(row) if row is not None else f"{name} is removed"
        if met or row is None:
            message = told
        elif asks:
            why = f": {row.waiting_for}" if row.waiting_for else ""
            remedy = answer_command(row) if row.is_running else f"phoenixctl explain {name}"
            message = f"not {self.wanted} until a person helps: {told}{why}. See: phoenixctl inbox; {remedy}"
        else:
            # Without a number: phoenixctl asks in rounds, and only it knows for how long in all.
            message = f"not {self.wanted} in time: {told}. See: phoenixctl explain {name}"
        shown = representation.agent(row, self.ask.service.loops(row.name)) if row is not None else None
        body = {"met": met, "needs_person": asks and not met, "agent": shown, "message": message}
        return Reply(body, said(message), exits.OK if met else exits.CONFLICT if asks else exits.TIMED_OUT)

    def _asks(self, fleet: Fleet) -> bool:
        return self.wanted == "idle" and any(map(condition.needs_person, asking(fleet, self.ask.name)))

    def _hopeless(self, fleet: Fleet) -> Problem | None:
        """Why the agent does not come to that state by itself; None where it may."""
        agent, name = meant(fleet, self.ask.name), self.ask.name
        if agent is None:
            return Problem("not_found", f"{name} was removed meanwhile", "phoenixctl status")
        if self.wanted in OF_TURNS and condition.tells_no_turns(agent, self.ask.service.now()):
            why = f"{name} tells nothing of its turns, so nobody knows when it is {self.wanted}"
            return Problem("conflict", why, f"phoenixctl wait {name} --for running")
        if not condition.stays_down(agent):
            return None
        if not isinstance(agent.state, Quarantined):
            why = f"{name} is stopped, and does not become {self.wanted} before it is started"
            return Problem("conflict", why, f"phoenixctl start {name}")
        why = f"{name} is in quarantine, and does not become {self.wanted} by itself"
        return Problem("conflict", why, f"phoenixctl explain {name}")
