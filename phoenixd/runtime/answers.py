"""An operator's answer on its way to a held request: the screen before, the shim's word, and for a denial the proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import anyio
import structlog

from phoenixd.core.actions import AnswerHold, AttendHold
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.answers import holds_of
from phoenixd.core.dialogs import SCREEN_DIALOGS
from phoenixd.core.events.runs import HoldAnswered, HoldReleased
from phoenixd.documents.hooks import permission_answer
from phoenixd.errors import ShimFailed, TerminalFailed
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Transcripts
from phoenixd.ports.shims import ShimLinks
from phoenixd.ports.terminal import Screens, Terminal

APPEARS_WITHIN = 5.0
"""Seconds that a dialog may take to be drawn after its hook."""
WORD_WITHIN = 5.0
"""Seconds in which a shim says whether an answer was taken."""
DENIAL_WITHIN = 10.0
"""Seconds in which a denial stands in the transcript, if it counted."""
ALLOWANCE_WITHIN = 2.0
"""Seconds in which a call that is over may tell who allowed it; what still runs then was allowed by whomever."""
NEIGHBOUR_GRACE = 1.0
"""Seconds in which the end of a call may be that of another one."""
LOOK_INTERVAL = 0.05
ATTEND_INTERVAL = 1.0
"""Seconds between two looks for somebody at the terminal, while a request is held whose dialog is not drawn."""

TERMINAL_FIRST = "the terminal was first"

log = structlog.get_logger()


class Answerer:
    """Says what became of an answer: taken or not, never perhaps."""

    def __init__(
        self,
        find: Callable[[str], Agent | None],
        terminal: Terminal,
        shims: ShimLinks,
        screens: Screens,
        transcripts: Transcripts,
        clock: Clock,
    ) -> None:
        self._find = find
        self._terminal = terminal
        self._shims = shims
        self._screens = screens
        self._transcripts = transcripts
        self._clock = clock
        self._words: dict[tuple[str, int], tuple[anyio.Event, list[bool]]] = {}

    def heard(self, agent: str, hold: int, taken: bool) -> None:
        """Take the shim's word on an answer."""
        waiting = self._words.get((agent, hold))
        if waiting is not None:
            waiting[1].append(taken)
            waiting[0].set()

    async def answer(self, agent: Agent, order: AnswerHold) -> HoldAnswered:
        """Give one answer. Raises nothing: what fails leaves the question open."""
        try:
            return await self._answer(agent, order)
        except (ShimFailed, TerminalFailed) as failure:
            return _open(order, failure.message)

    async def attend(self, order: AttendHold) -> HoldReleased | None:
        """Let go of a request when somebody sits down at the terminal; None when it was settled otherwise."""
        while (agent := self._find(order.agent)) is not None and order.hold in holds_of(agent):
            if agent.incarnation != order.incarnation:
                return None
            try:
                if await self._terminal.last_typed(order.agent) is not None:
                    self._shims.answer(order.agent, order.incarnation, order.hold, {})
                    return HoldReleased(order.agent, order.incarnation, order.hold)
            except (ShimFailed, TerminalFailed) as failure:
                log.info("not_attended", agent=order.agent, reason=failure.message)
            await self._clock.sleep_until(self._clock.now().at + ATTEND_INTERVAL)
        return None

    async def _answer(self, agent: Agent, order: AnswerHold) -> HoldAnswered:
        shows = agent.spec.has_hooks and not agent.spec.hides_its_dialog
        if shows and not await self._stands(agent):
            self._shims.answer(order.agent, order.incarnation, order.hold, {})
            return _lost(order, f"{TERMINAL_FIRST}: the dialog has left its screen")
        ends = await self._transcripts.ends(agent)
        mark = f"(phoenixd #{order.item})"
        message = f"{order.reason or 'Denied by the operator.'} {mark}"
        taken = await self._hand_over(order, permission_answer(order.allow, message, order.updated))
        if taken is None:
            return _open(order, f"its shim did not say within {WORD_WITHIN:.0f} s what became of it")
        if not taken:
            return _lost(order, f"{TERMINAL_FIRST}: the agent no longer waited for an answer")
        if not await self._counted(agent, order, ends, mark):
            return _lost(order, f"{TERMINAL_FIRST}: the agent's transcript says so")
        await self._tell_attached(order)
        return HoldAnswered(order.agent, order.incarnation, order.hold, taken=True)

    async def _stands(self, agent: Agent) -> bool:
        """Whether the dialog is on the screen; the request comes a moment before it is drawn."""
        waiting = agent.state.activity.waiting if isinstance(agent.state, Running) else None
        give_up = self._clock.now().at + (0.0 if waiting is not None and waiting.seen else APPEARS_WITHIN)
        while True:
            screen = await self._terminal.capture(agent.name)
            if self._screens.classify(agent, screen) in SCREEN_DIALOGS:
                return True
            if self._clock.now().at >= give_up:
                return False
            await self._clock.sleep_until(self._clock.now().at + LOOK_INTERVAL)

    async def _hand_over(self, order: AnswerHold, body: dict[str, object]) -> bool | None:
        key, said = (order.agent, order.hold), (anyio.Event(), list[bool]())
        self._words[key] = said
        try:
            self._shims.answer(order.agent, order.incarnation, order.hold, body)
            with anyio.move_on_after(WORD_WITHIN):
                await said[0].wait()
        finally:
            del self._words[key]
        return said[1][0] if said[1] else None

    async def _counted(self, agent: Agent, order: AnswerHold, ends: Mapping[str, int], mark: str) -> bool:
        """Whether the answer settled it: a Yes at the terminal leaves the agent waiting for ours, which goes unread."""
        began = self._clock.now().at
        within = ALLOWANCE_WITHIN if order.allow else DENIAL_WITHIN
        while True:
            counted = await self._transcripts.answer_counted(agent, ends, mark, allow=order.allow)
            if counted is None and not order.allow and self._is_closed(order):
                counted = False
            waited = self._clock.now().at - began
            if counted or (counted is False and waited >= NEIGHBOUR_GRACE):
                return counted
            if waited >= within:
                return order.allow
            await self._clock.sleep_until(self._clock.now().at + LOOK_INTERVAL)

    def _is_closed(self, order: AnswerHold) -> bool:
        """Whether a program of which no transcript tells has gone on, and so has written what it ever will."""
        agent = self._find(order.agent)
        if agent is None or not isinstance(agent.state, Running):
            return True
        waiting = agent.state.activity.waiting
        return not agent.spec.has_hooks and (waiting is None or waiting.hold != order.hold)

    async def _tell_attached(self, order: AnswerHold) -> None:
        verdict = "allow" if order.allow and not order.updated else "an answer" if order.allow else "deny"
        try:
            await self._terminal.tell_attached(order.agent, f"phoenixctl answered item {order.item}: {verdict}")
        except TerminalFailed as failure:
            log.info("attached_not_told", agent=order.agent, reason=failure.message)


def _lost(order: AnswerHold, why: str) -> HoldAnswered:
    return HoldAnswered(order.agent, order.incarnation, order.hold, taken=False, why=why)


def _open(order: AnswerHold, why: str) -> HoldAnswered:
    return HoldAnswered(order.agent, order.incarnation, order.hold, taken=False, why=why, still_held=True)
