"""What agents' screens show: looks at them, and the one key that is pressed on them, Escape."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from phoenixd.core.actions import DismissDialog, InterruptTurn, LookAtScreen
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.dialogs import MENU
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.typing.escaping import Look, Looked, Pressed, PressEscape, Seen, Unreachable, Verdict, begin, hear
from phoenixd.core.typing.people import was_touched
from phoenixd.errors import TerminalFailed
from phoenixd.ports import Outside, Sink
from phoenixd.runtime.refusals import Refusals

REFUSAL_NEWS = 10.0
"""Seconds after the end of a turn in which it may yet turn out to have been refused."""

log = structlog.get_logger()


class Screening:
    """Looks at screens, and tells what they show."""

    def __init__(self, outside: Outside, find: Callable[[str], Agent | None], tell: Sink) -> None:
        self._outside = outside
        self._find = find
        self._tell = tell
        self.refusals = Refusals(outside, find, tell)

    async def look(self, action: LookAtScreen) -> None:
        agent = self._find(action.agent)
        if agent is None:
            return
        screen = await self._outside.terminal.capture(action.agent)
        verdict = self._outside.screens.classify(agent, screen)
        if isinstance(agent.state, Running) and _may_be_refused(agent.state, verdict, self._outside.clock.now().at):
            # Some CLIs tell by no hook that the API refused their turn; their transcript does, some time after its end.
            await self.refusals.look_at_the_end(agent)
        attended = False
        if verdict == MENU:
            typed = await self._outside.terminal.last_typed(action.agent)
            attended = was_touched(typed, self._outside.clock.now().wall)
        self._tell(ScreenSeen(action.agent, action.incarnation, verdict, attended=attended))

    async def escape(self, action: DismissDialog | InterruptTurn) -> None:
        """Carry out what `core.typing.escaping` orders, and tell it what was seen."""
        clock = self._outside.clock
        dialog = action.dialog if isinstance(action, DismissDialog) else None
        escaping, order, _ = begin(dialog, clock.now())
        while not isinstance(order, Verdict):
            try:
                seen = await self._do(action, order)
            except TerminalFailed as failure:
                seen = Unreachable(failure.message)
            escaping, order, _ = hear(escaping, seen, clock.now())
        log.info("escape", agent=action.agent, dialog=dialog, pressed=order.pressed, reason=order.why)
        if order.shows:
            self._tell(ScreenSeen(action.agent, action.incarnation, order.shows, "escape"))

    async def _do(self, action: DismissDialog | InterruptTurn, order: Look | PressEscape) -> Seen:
        """Carry out one order, and say what was seen; raises TerminalFailed."""
        if isinstance(order, PressEscape):
            await self._outside.terminal.press_escape(action.agent)
            return Pressed()
        await self._outside.clock.sleep_until(order.at)
        agent = self._find(action.agent)
        if agent is None or agent.incarnation != action.incarnation:
            return Looked("", is_over=True)
        verdict = self._outside.screens.classify(agent, await self._outside.terminal.capture(agent.name))
        # The look takes its time: what hooks told meanwhile counts.
        now = self._find(action.agent)
        is_over = now is None or now.incarnation != action.incarnation or not isinstance(now.state, Starting | Running)
        turn_open = now is not None and _has_open_turn(now)
        return Looked(verdict, self._outside.screens.dismisses(agent, verdict), is_over, turn_open)


def _has_open_turn(agent: Agent) -> bool:
    """Whether its run is at a turn, and asks nobody anything."""
    state = agent.state
    return isinstance(state, Running) and state.activity.turn_open and state.activity.waiting is None


def _may_be_refused(state: Running, verdict: str, at: float) -> bool:
    """Whether this look may find the end of a turn that no hook told of; an old one was told when it was new."""
    if state.activity.turn_open:
        return verdict == "idle"
    return at - state.activity.evidence_at <= REFUSAL_NEWS
