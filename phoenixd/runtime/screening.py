"""What agents' screens show: looks at them, and the one key that is pressed on them, Escape."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.core.actions import DismissDialog, InterruptTurn, LookAtScreen
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.dialogs import MENU, SCREEN_DIALOGS
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.typing.people import was_touched
from phoenixd.ports import Outside, Sink
from phoenixd.runtime.cut_answers import answer_cut

REFUSAL_LATE = 3.0
"""Seconds by which a transcript may be behind the end of a turn."""
REFUSAL_NEWS = 10.0
"""Seconds after the end of a turn in which it may yet turn out to have been refused."""

INTERRUPTED_WITHIN, INTERRUPT_LOOKS = 25.0, 0.3
"""Seconds for which a screen is looked at after Escape, and between two looks."""


class Screening:
    """Looks at screens, and tells what they show."""

    def __init__(self, outside: Outside, find: Callable[[str], Agent | None], tell: Sink) -> None:
        self._outside = outside
        self._find = find
        self._tell = tell
        self._refused: dict[str, tuple[int, float | None]] = {}

    async def look(self, action: LookAtScreen) -> None:
        agent = self._find(action.agent)
        if agent is None:
            return
        screen = await self._outside.terminal.capture(action.agent)
        verdict = self._outside.screens.classify(agent, screen)
        if isinstance(agent.state, Running) and _may_be_refused(agent.state, verdict, self._outside.clock.now().at):
            await self._look_for_refusal(agent)
        attended = False
        if verdict == MENU:
            typed = await self._outside.terminal.last_typed(action.agent)
            attended = was_touched(typed, self._outside.clock.now().wall)
        self._tell(ScreenSeen(action.agent, action.incarnation, verdict, attended=attended))

    async def dismiss(self, action: DismissDialog) -> None:
        """Press Escape on that very dialog; whether it went, the next look tells."""
        agent = self._find(action.agent)
        if agent is None or agent.incarnation != action.incarnation:
            return
        verdict = self._outside.screens.classify(agent, await self._outside.terminal.capture(action.agent))
        if SCREEN_DIALOGS.get(verdict) == action.dialog and self._outside.screens.dismisses(agent, verdict):
            await self._outside.terminal.press_escape(action.agent)

    async def interrupt(self, action: InterruptTurn) -> None:
        """Press Escape on an open turn, and never on a dialog, which it would answer.

        A screen that looks idle although the turn is open, as while some CLI draws an answer, cannot tell its end.
        """
        agent = self._find(action.agent)
        if agent is None or not _has_open_turn(agent, action.incarnation):
            return
        clock = self._outside.clock
        first = verdict = await self._screen_of(agent)
        now = self._find(action.agent)
        if now is None or not _has_open_turn(now, action.incarnation):
            return  # It ended meanwhile, and a person may write at the prompt.
        if first in ("working", "idle"):
            await self._outside.terminal.press_escape(action.agent)
        if first == "idle":
            return
        give_up, before = clock.now().at + INTERRUPTED_WITHIN, ""
        # A frame of before may still be drawn: two in a row count.
        while first == "working" and (verdict == first or verdict != before) and clock.now().at < give_up:
            await clock.sleep_until(clock.now().at + INTERRUPT_LOOKS)
            before, verdict = verdict, await self._screen_of(agent)
        self._tell(ScreenSeen(action.agent, action.incarnation, verdict, "escape"))

    async def _screen_of(self, agent: Agent) -> str:
        return self._outside.screens.classify(agent, await self._outside.terminal.capture(agent.name))

    async def _look_for_refusal(self, agent: Agent) -> None:
        """Some CLIs tell by no hook that the API refused their turn; their transcript does, some time after its end."""
        clock = self._outside.clock
        give_up = clock.now().at + REFUSAL_LATE
        while (facts := await self._outside.transcripts.facts(agent)) is not None:
            failed = self._outside.screens.failed_turn(agent, facts)
            when = facts.error.at if facts.error is not None else None
            if failed is not None and self._refused.get(agent.name) != (agent.incarnation, when):
                self._refused[agent.name] = (agent.incarnation, when)
                self._tell(failed)
                if (cut := answer_cut(agent, facts)) is not None:
                    self._tell(cut)
            if failed is not None or facts.newest_kind != "prompt" or clock.now().at >= give_up:
                return
            await clock.sleep_until(clock.now().at + REFUSAL_LATE / 10)


def _has_open_turn(agent: Agent, incarnation: int) -> bool:
    """Whether this run is at a turn, and asks nobody anything."""
    state = agent.state
    if agent.incarnation != incarnation or not isinstance(state, Running):
        return False
    return state.activity.turn_open and state.activity.waiting is None


def _may_be_refused(state: Running, verdict: str, at: float) -> bool:
    """Whether this look may find the end of a turn of which no hook told; an old one was told when it was new."""
    if state.activity.turn_open:
        return verdict == "idle"
    return at - state.activity.evidence_at <= REFUSAL_NEWS
