"""What passes by in sessions of agents that bear a marker: codes that are burnt, and footers that are new.

A hook says that something was said or done; what its input holds is looked at at once, and the transcript a second
later, for CLIs write it a moment after their hooks. An agent without a marker costs a look at its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.resonance import AnchorSeen, CodesSeen, FooterSeen
from phoenixd.documents.resonance.footer import Footer
from phoenixd.documents.resonance.heard import Passed, given_at, newest_footer, spotted, wanted
from phoenixd.gathered import Gathered
from phoenixd.ports import Clock
from phoenixd.side_by_side import SideBySide


class Passing(Protocol):
    """Transcripts, as far as something passes by in them."""

    def passed_now(self, agent: Agent, words: re.Pattern[bytes]) -> tuple[Passed, ...]:
        """What of the session's main thread holds one of these words, since this was last asked. Blocking."""
        ...


class MarkerWatch:
    """Looks and tells; what follows is the core's to say."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        tell: Callable[[Event], None],
        clock: Clock,
        passing: Passing,
        agents: Callable[[], Iterable[Agent]] = tuple,
    ) -> None:
        self._find, self._tell, self._clock, self._passing, self._agents = find, tell, clock, passing, agents
        self._heard_of = Gathered(clock)
        self._looks = SideBySide("a look at what passes by in its session", self.look)
        self._footers: dict[str, tuple[int, Footer]] = {}
        """By agent: the run and the footer that was told of it last."""

    def heard(self, agent: str, kind: str, payload: dict[str, Any]) -> None:
        """A hook came. What a subagent says stands in its own context."""
        known = self._find(agent)
        if known is None or known.resonance is None or known.resonance.planting is None or payload.get("agent_id"):
            return
        # The core burns what stands in a turn's last words itself: it knows which of them answer a check.
        told = of_hook(payload)
        self._judge(known, told, tuple(one for one in told if one.where != "answer"))
        self._heard_of.note(agent)

    async def run(self) -> None:
        """Look for ever, first at all that live: something may have passed by while no daemon did."""
        for agent in self._agents():
            if agent.run is not None and agent.resonance is not None:
                self._heard_of.note(agent.name)
        await self._heard_of.look(self._looks, lambda every, due: every)

    async def look(self, name: str) -> None:
        """Read what one agent's transcript says since the last look."""
        agent = self._find(name)
        planting = agent.resonance.planting if agent is not None and agent.resonance is not None else None
        if agent is None or agent.run is None or planting is None:
            return
        told = await self._looks.aside(partial(self._passing.passed_now, agent, wanted(planting)))
        # The read takes its time: others may be planted by now, and what a run wrote that was replaced judges no other.
        now = self._find(name)
        if now is None or now.run is None:
            return
        is_the_same = now.run.incarnation == agent.run.incarnation
        # A code that was seen in a session proves nothing in its next run either.
        self._judge(now, told if is_the_same else (), told)

    def _judge(self, agent: Agent, passed: tuple[Passed, ...], burning: tuple[Passed, ...]) -> None:
        known = agent.resonance
        planting = known.planting if known is not None else None
        if known is None or planting is None:
            return
        now = self._clock.now().wall
        if not known.proven and (given := given_at(planting, passed)) is not None:
            at = min(given.at, now) if given.at is not None else now
            self._tell(AnchorSeen(agent.name, agent.incarnation, planting.marker.code, at))
        for one in spotted(planting, burning):
            at = min(one.at, now) if one.at is not None else now
            self._tell(CodesSeen(agent.name, agent.incarnation, one.codes, one.where, at))
        found = newest_footer(passed)
        if found is not None and self._footers.get(agent.name) != (agent.incarnation, found[0]):
            footer, when = found
            self._footers = {name: one for name, one in self._footers.items() if self._find(name) is not None}
            self._footers[agent.name] = (agent.incarnation, footer)
            at = min(when, now) if when is not None else now
            self._tell(FooterSeen(agent.name, agent.incarnation, footer.code, footer.role, footer.state, at))


def of_hook(payload: dict[str, Any]) -> tuple[Passed, ...]:
    """What a hook's input itself holds of it."""
    found = []
    said = payload.get("last_assistant_message")
    if isinstance(said, str):
        found.append(Passed("answer", said))
    called = payload.get("tool_input")
    if isinstance(called, dict):
        found += [Passed("call", text) for text in called.values() if isinstance(text, str)]
    return tuple(found)
