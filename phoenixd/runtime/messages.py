"""The send path: look at the screen, paste, look again, press Enter, and find evidence that the text arrived."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import anyio

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent, Running
from phoenixd.core.events import Delivered, NotDelivered
from phoenixd.core.liveness import stands_on_screen
from phoenixd.core.moment import Instant
from phoenixd.core.session import SCREEN_DIALOGS
from phoenixd.harness.prompts import Prompt
from phoenixd.ports import Clock, Launcher, Terminal, Transcripts

ENTER_AGAIN = (2.0, 5.0)
"""Seconds after which Enter alone is pressed again; the text is never pasted twice."""
GIVE_UP = 12.0
APPEARS_WITHIN = 10.0
"""Seconds that a CLI may take to draw its input line, or what was pasted; a busy machine is slow, not wrong."""
LOOK_INTERVAL = 0.1

QUEUED = "queued: the agent reads it at its next step"


class NotTyped(Exception):
    """Why a text was not submitted."""


@dataclass(slots=True)
class _Sending:
    """One text under way. `arrived` is set by a hook that names it, `asked` when a dialog opens meanwhile."""

    agent: Agent
    order: Deliver
    prompt: Prompt
    transcript_end: int
    began: Instant
    arrived: anyio.Event = field(default_factory=anyio.Event)
    asked: bool = False

    @property
    def digest(self) -> str:
        return sha256(self.prompt.text.encode("utf-8", "surrogatepass")).hexdigest()


class Messenger:
    """Types texts into panes and says delivered or not, never perhaps."""

    def __init__(self, terminal: Terminal, launcher: Launcher, transcripts: Transcripts, clock: Clock) -> None:
        self._terminal = terminal
        self._launcher = launcher
        self._transcripts = transcripts
        self._clock = clock
        self._awaited: dict[str, _Sending] = {}

    def heard(self, agent: str, kind: str, payload: dict[str, Any]) -> None:
        """Take note of a hook: a submitted prompt may be the text that somebody waits for."""
        awaited = self._awaited.get(agent)
        if awaited is None:
            return
        if kind == "permission-request":
            awaited.asked = True
        elif kind == "prompt-submit" and payload.get("prompt_sha256") in (None, awaited.digest):
            awaited.arrived.set()

    async def deliver(self, agent: Agent, order: Deliver) -> Delivered | NotDelivered:
        """Deliver one text; raises TerminalFailed where the terminal could not be asked."""
        try:
            evidence = await self._type(agent, order)
        except NotTyped as why:
            return NotDelivered(order.agent, order.incarnation, order.message_id, str(why))
        finally:
            self._awaited.pop(order.agent, None)
        queued = order.text if evidence == QUEUED else ""
        return Delivered(order.agent, order.incarnation, order.message_id, evidence, queued)

    async def _type(self, agent: Agent, order: Deliver) -> str:
        """Type the text and submit it; returns the evidence that it arrived, raises NotTyped."""
        prompt = self._launcher.prompt(agent, order.text)
        if prompt.problem:
            raise NotTyped(prompt.problem)
        await self._require_free(agent, prompt)
        end = await self._transcripts.end(agent)
        pasted = await self._terminal.paste(order.agent, prompt.text)
        prompt = self._launcher.prompt(agent, pasted)
        sending = _Sending(agent, order, prompt, end, self._clock.now().at)
        self._awaited[order.agent] = sending
        if prompt.is_seen:
            return await self._submit_seen(sending)
        await self._terminal.press_enter(order.agent)
        if not agent.hooks_seen:
            return "typed; this agent gives no receipt"
        return await self._hook_alone(sending)

    async def _require_free(self, agent: Agent, prompt: Prompt) -> None:
        """The hooks may be late by a moment, so the pane is looked at right before anything is typed."""
        waiting = agent.state.activity.waiting if isinstance(agent.state, Running) else None
        if waiting is not None and stands_on_screen(waiting):
            raise NotTyped(f"it asks: {waiting.kind}")
        give_up = self._clock.now().at + APPEARS_WITHIN
        while True:
            screen = await self._terminal.capture(agent.name)
            verdict = self._launcher.classify(agent, screen)
            if verdict in SCREEN_DIALOGS:
                raise NotTyped(f"a dialog is open on its screen: {SCREEN_DIALOGS[verdict]}")
            if not prompt.is_seen:
                return
            unsent = self._launcher.input_line(agent, screen)
            if unsent:
                raise NotTyped("something unsent stands in its input line already")
            if unsent == "":
                return
            # A CLI that has just begun reports itself before it draws.
            if self._clock.now().at > give_up:
                raise NotTyped("no input line is to be seen on its screen")
            await self._clock.sleep_until(self._clock.now().at + LOOK_INTERVAL)

    async def _submit_seen(self, sending: _Sending) -> str:
        """Press Enter only on what was seen to stand in the input line: on a dialog it would be an answer."""
        name = sending.order.agent
        line = await self._appearance(sending)
        await self._terminal.press_enter(name)
        entered, again = self._clock.now().at, list(ENTER_AGAIN)
        while True:
            with anyio.move_on_after(LOOK_INTERVAL):
                await sending.arrived.wait()
                return "the agent took the prompt"
            if sending.prompt.text in await self._transcripts.queued(sending.agent, sending.transcript_end):
                return QUEUED
            waited = self._clock.now().at - entered
            is_due = bool(again) and waited >= again[0]
            no_hook_comes = sending.prompt.is_command or not sending.agent.hooks_seen
            if not no_hook_comes and not is_due and waited < GIVE_UP:
                continue
            shown = await self._terminal.capture(name)
            stands = self._launcher.input_line(sending.agent, shown) == line
            if not stands and self._launcher.holds(sending.agent, shown, sending.prompt.text):
                return QUEUED
            if no_hook_comes and not stands:
                return "its input line took it"
            if waited >= GIVE_UP:
                raise NotTyped(
                    "it stands in the input line, unsent"
                    if stands
                    else f"it left the input line, but within {GIVE_UP:.0f} s neither hook nor transcript told of it"
                )
            if is_due:
                again.pop(0)
                if stands:
                    await self._terminal.press_enter(name)

    async def _appearance(self, sending: _Sending) -> str:
        """What the input line shows of the pasted text, once it does."""
        name, agent = sending.order.agent, sending.agent
        while True:
            screen = await self._terminal.capture(name)
            if sending.asked:
                raise NotTyped("it asks for a permission meanwhile; what was pasted was not submitted")
            if line := self._launcher.input_line(agent, screen):
                return line
            verdict = self._launcher.classify(agent, screen)
            if verdict in SCREEN_DIALOGS:
                raise NotTyped(f"a dialog opened meanwhile: {SCREEN_DIALOGS[verdict]}")
            if self._clock.now().at - sending.began > APPEARS_WITHIN:
                raise NotTyped(f"what was pasted did not appear within {APPEARS_WITHIN:.0f} s; it was not submitted")
            await self._clock.sleep_until(self._clock.now().at + LOOK_INTERVAL / 2)

    async def _hook_alone(self, sending: _Sending) -> str:
        """Where the screen cannot be read: wait for the hook, with Enter again in between."""
        for after in (*ENTER_AGAIN, GIVE_UP):
            with anyio.move_on_after(max(0.0, sending.began + after - self._clock.now().at)):
                await sending.arrived.wait()
                return "the agent took the prompt"
            if after != GIVE_UP:
                await self._terminal.press_enter(sending.order.agent)
        raise NotTyped(f"the agent did not take the prompt within {GIVE_UP:.0f} s")
