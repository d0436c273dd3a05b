"""One look at an agent's terminal, as the machine that types asks for it."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.turn.liveness import stands_on_screen
from phoenixd.core.typing.orders import Look
from phoenixd.core.typing.seen import Screen, Sight
from phoenixd.ports.evidence import Transcripts
from phoenixd.ports.terminal import Screens, Terminal


class Eyes:
    """Looks, and judges nothing. All may raise TerminalFailed."""

    def __init__(
        self, terminal: Terminal, screens: Screens, transcripts: Transcripts, find: Callable[[str], Agent | None]
    ) -> None:
        self._terminal = terminal
        self._screens = screens
        self._transcripts = transcripts
        self._find = find

    async def look(self, agent: Agent, incarnation: int, order: Look, text: str, transcript_end: int) -> Sight:
        """What there is to see of this run of the agent.

        text: ours; the CLI may have put it off, and the transcript tells so behind `transcript_end`.
        """
        name = agent.name
        queued = order.transcript and text in await self._transcripts.queued(agent, transcript_end)
        unread = await self._terminal.unread(name) if order.unread else None
        typed = await self._terminal.last_typed(name)
        small = await self._terminal.make_room(name) if order.room else None
        # The screen comes last: Enter may follow, and on a dialog it would be an answer.
        screen = await self._screen(agent, text) if order.screen else None
        asks, parked, is_over = self._state(agent.name, incarnation)
        return Sight(screen, typed, asks, is_over, queued, unread, small or "", parked)

    async def _screen(self, agent: Agent, text: str) -> Screen:
        shown = await self._terminal.capture(agent.name)
        line = self._screens.input_line(agent, shown)
        verdict = self._screens.classify(agent, shown) if line is None else ""
        return Screen(line, verdict, self._screens.holds(agent, shown, text), shown)

    def _state(self, name: str, incarnation: int) -> tuple[str, str, bool]:
        """What the hooks say that it asks, what it waits out, and whether the run is over: its pane may be another
        run's by now."""
        known = self._find(name)
        state = known.state if known is not None else None
        if not isinstance(state, Running) or state.run.incarnation != incarnation:
            return "", "", True
        waiting = state.activity.waiting
        parking = known.parking if known is not None else None
        parked = parking.why if parking is not None and parking.asked is None else ""
        return (waiting.kind if waiting is not None and stands_on_screen(waiting) else ""), parked, False
