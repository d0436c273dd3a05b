"""A turn that the API refused, which some CLIs tell by no hook: looked up in the transcript, and told once."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.core.agent import Agent
from phoenixd.ports import Outside, Sink
from phoenixd.runtime.cut_answers import answer_cut

REFUSAL_LATE = 3.0
"""Seconds by which a transcript may be behind the end of a turn."""


class Refusals:
    """Looks and tells; what follows is the core's to say. Those who look for another reason share it."""

    def __init__(self, outside: Outside, find: Callable[[str], Agent | None], tell: Sink) -> None:
        self._outside = outside
        self._find = find
        self._tell = tell
        self._told: dict[str, tuple[int, float | None]] = {}
        """By agent: the run, and when the refusal was written that was told last."""

    async def look(self, agent: Agent) -> None:
        """What the transcript says now."""
        await self._look(agent)

    async def look_at_the_end(self, agent: Agent) -> None:
        """The turn is over: where the transcript does not have its end yet, that is waited for."""
        clock = self._outside.clock
        give_up = clock.now().at + REFUSAL_LATE
        while await self._look(agent) and clock.now().at < give_up:
            await clock.sleep_until(clock.now().at + REFUSAL_LATE / 10)

    async def _look(self, agent: Agent) -> bool:
        """Whether the end of the turn is yet to be written."""
        facts = await self._outside.transcripts.facts(agent)
        if facts is None:
            return False
        failed = self._outside.screens.failed_turn(agent, facts)
        when = facts.error.at if facts.error is not None else None
        if failed is not None and self._told.get(agent.name) != (agent.incarnation, when):
            # Nothing of those that were removed: each worker has a name of its own.
            self._told = {name: told for name, told in self._told.items() if self._find(name) is not None}
            self._told[agent.name] = (agent.incarnation, when)
            self._tell(failed)
            if (cut := answer_cut(agent, facts)) is not None:
                self._tell(cut)
        return failed is None and facts.newest_kind == "prompt"
