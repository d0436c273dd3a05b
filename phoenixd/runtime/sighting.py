"""Has an agent's files say what hooks do not: its last words, its branch, its price. After each look of the meter's."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.core.agent import Agent
from phoenixd.core.sight import Cost
from phoenixd.documents.status_line import StatusLine
from phoenixd.documents.transcript import Used
from phoenixd.ports import Clock
from phoenixd.runtime.sights import Sights
from phoenixd.side_by_side import SideBySide

STATUS_LINE = "status line"

Said = tuple[str, float | None]
"""What an agent said last, and when (wall)."""


class Sighting:
    """Looks and tells `Sights`. words: of an agent; branch_of: the branch of a directory; both may block.

    heard_before: what an earlier daemon heard an agent say last, for programs that write no transcript; may block.
    """

    def __init__(
        self,
        sights: Sights,
        clock: Clock,
        words: Callable[[Agent], Said | None],
        branch_of: Callable[[str], str | None],
        heard_before: Callable[[Agent], Said | None] = lambda agent: None,
    ) -> None:
        self._sights = sights
        self._clock = clock
        self._words = words
        self._branch_of = branch_of
        self._heard_before = heard_before
        self._metered: dict[str, tuple[Agent, StatusLine | None, Used | None]] = {}
        """What the meter has read since the last look."""
        # Not the meter's own: a directory that hangs holds up no reading of a context, which lies elsewhere.
        self._looks = SideBySide("a look at its last words and branch", self._look_at)

    def note(self, agent: Agent, line: StatusLine | None, used: Used | None) -> None:
        """Look at one agent's files soon; line, used: what the meter has just read."""
        self._metered[agent.name] = agent, line, used
        self._looks.ask([agent.name])

    async def _look_at(self, name: str) -> None:
        if (metered := self._metered.pop(name, None)) is not None:
            await self.look(*metered)

    async def look(self, agent: Agent, line: StatusLine | None, used: Used | None) -> None:
        """Note what stands in one agent's files now."""
        is_first = self._sights.begins_to_look(agent.name)
        words, branch = await self._looks.aside(lambda: self._read(agent, is_first))
        model = (line.model if line is not None else None) or (used.model if used is not None else None)
        self._sights.looked(agent, words, self._cost(agent, line), model, branch)

    def _read(self, agent: Agent, is_first: bool) -> tuple[Said | None, str | None]:
        words = self._words(agent)
        if words is None and is_first:
            words = self._heard_before(agent)
        return words, self._branch_of(agent.spec.cwd)

    def _cost(self, agent: Agent, line: StatusLine | None) -> Cost | None:
        """What the CLI reports of this very session; another's price is none of its."""
        if line is None or line.usd is None:
            return None
        if line.session_id is not None and agent.session is not None and line.session_id != agent.session.session_id:
            return None
        return Cost(line.usd, line.paid, STATUS_LINE, self._clock.now().wall)
