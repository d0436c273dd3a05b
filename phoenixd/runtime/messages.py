"""The send path: look for a dialog, paste, press Enter, and wait for evidence that the text arrived."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import anyio

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent, Running
from phoenixd.core.events import Delivered, NotDelivered
from phoenixd.core.session import SCREEN_DIALOGS
from phoenixd.ports import Clock, Launcher, Terminal

ENTER_AGAIN = (2.0, 5.0)
"""Seconds after which Enter alone is pressed again; the text is never pasted twice."""
GIVE_UP = 12.0
DIALOGS = frozenset(SCREEN_DIALOGS)


class Messenger:
    """Types texts into panes and says delivered or not, never perhaps."""

    def __init__(self, terminal: Terminal, launcher: Launcher, clock: Clock) -> None:
        self._terminal = terminal
        self._launcher = launcher
        self._clock = clock
        self._awaited: dict[str, tuple[str, anyio.Event]] = {}

    def heard(self, agent: str, kind: str, payload: dict[str, Any]) -> None:
        """Take note of a hook: a submitted prompt may be the text that somebody waits for."""
        awaited = self._awaited.get(agent)
        if kind != "prompt-submit" or awaited is None:
            return
        digest, arrived = awaited
        if payload.get("prompt_sha256") in (None, digest):
            arrived.set()

    async def deliver(self, agent: Agent, order: Deliver) -> Delivered | NotDelivered:
        """Deliver one text; raises TerminalFailed where the terminal could not be asked."""
        refusal = await self._why_not(agent)
        if refusal is not None:
            return NotDelivered(order.agent, order.incarnation, order.message_id, refusal)
        arrived = anyio.Event()
        self._awaited[order.agent] = (sha256(order.text.encode("utf-8", "surrogatepass")).hexdigest(), arrived)
        try:
            await self._terminal.paste(order.agent, order.text)
            await self._terminal.press_enter(order.agent)
            if not agent.hooks_seen:
                return Delivered(order.agent, order.incarnation, order.message_id, "typed; this agent gives no receipt")
            if await self._evidence(order.agent, arrived):
                return Delivered(order.agent, order.incarnation, order.message_id, "the agent took the prompt")
            why = (
                f"the agent did not take the prompt within {GIVE_UP:.0f} s; it may be queued or stand in the input line"
            )
            return NotDelivered(order.agent, order.incarnation, order.message_id, why)
        finally:
            del self._awaited[order.agent]

    async def _why_not(self, agent: Agent) -> str | None:
        """The hooks may be late by a moment, so the pane is looked at right before anything is typed."""
        if isinstance(agent.state, Running) and agent.state.activity.waiting is not None:
            return f"it asks: {agent.state.activity.waiting.kind}"
        verdict = self._launcher.classify(agent, await self._terminal.capture(agent.name))
        return f"a dialog is open on its screen: {verdict}" if verdict in DIALOGS else None

    async def _evidence(self, agent: str, arrived: anyio.Event) -> bool:
        began, due = self._clock.now().at, [*ENTER_AGAIN, GIVE_UP]
        for after in due:
            with anyio.move_on_after(max(0.0, began + after - self._clock.now().at)):
                await arrived.wait()
                return True
            if after != GIVE_UP:
                await self._terminal.press_enter(agent)
        return False
