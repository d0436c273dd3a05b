"""The send path: look at the screen, paste, look again, press Enter, and find evidence that the text arrived."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.moment import Instant
from phoenixd.errors import TerminalFailed
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Transcripts
from phoenixd.ports.terminal import Screens, Terminal
from phoenixd.runtime.clearance import Clearance, NotTyped, Sending
from phoenixd.runtime.input_line import LOOK_INTERVAL, SETTLES, Appearance, InputLine

APPEARS_WITHIN = 10.0
"""Seconds that a CLI may take to draw what was pasted; a busy machine is slow, not wrong."""
ENTER_AGAIN = (1.0, 2.0, 3.5, 5.0, 7.0, 9.0)
"""Seconds after which Enter alone is pressed again on a text that is seen to stand there; it is never pasted twice."""
ENTER_AGAIN_UNSEEN = (2.0, 5.0)
GIVE_UP = 12.0
LAST_WORD = 1.0
"""Seconds for the evidence of an Enter that was taken just before the text was to be taken back."""
DRAWN_WITHIN = 5.0
"""Seconds that a program of which no hook tells gets to draw its screen before its prompt is typed."""
STILL = 0.3
"""Seconds in which a drawn screen does not change."""

QUEUED = "queued: the agent reads it at its next step"
TAKEN = "the agent took the prompt"
ENDED = "its run ended with it"


class Messenger:
    """Types texts into panes and says delivered or not, never perhaps.

    What it could not submit it takes out of the input line again: there it would be sent by the next Enter, and would
    stand in the way of the next text.
    """

    def __init__(
        self,
        terminal: Terminal,
        screens: Screens,
        transcripts: Transcripts,
        clock: Clock,
        find: Callable[[str], Agent | None],
        tell: Callable[[Event], None] = lambda event: None,
    ) -> None:
        """tell: takes what was read from a screen on the way, for two faces must never know different things."""
        self._terminal = terminal
        self._screens = screens
        self._transcripts = transcripts
        self._clock = clock
        self._tell = tell
        self._clearance = Clearance(terminal, clock, find)
        self._awaited: dict[str, Sending] = {}

    def left_behind(self, agent: str, text: str) -> None:
        """An earlier daemon may have left this text standing in the agent's input line."""
        self._clearance.pasted(agent, text)

    def heard(self, agent: str, kind: str, payload: dict[str, Any]) -> None:
        """Take note of a hook: a submitted prompt may be the text that somebody waits for."""
        awaited = self._awaited.get(agent)
        if awaited is None:
            return
        if kind == "permission-request":
            awaited.asked = True
        elif kind == "prompt-submit" and payload.get("prompt_sha256") in (None, awaited.digest):
            awaited.arrived.set()

    async def wait_until_drawn(self, agent: str) -> None:
        """Wait until a program that has just begun has drawn its screen, but not for one that never stands still."""
        give_up, before = self._clock.now().at + DRAWN_WITHIN, ""
        while self._clock.now().at < give_up:
            screen = await self._terminal.capture(agent)
            if screen.strip() and screen == before:
                return
            before = screen
            await self._clock.sleep_until(self._clock.now().at + STILL)

    async def deliver(self, agent: Agent, order: Deliver) -> Delivered | NotDelivered:
        """Deliver one text; raises TerminalFailed where the terminal could not be asked."""
        try:
            evidence = await self._type(agent, order)
        except NotTyped as why:
            if why.verdict:
                attended = await self._clearance.is_attended(order.agent)
                self._tell(ScreenSeen(order.agent, order.incarnation, why.verdict, "send", attended))
            return NotDelivered(order.agent, order.incarnation, order.message_id, str(why))
        finally:
            self._awaited.pop(order.agent, None)
        self._clearance.taken(order.agent)
        queued = order.text if evidence == QUEUED else ""
        return Delivered(order.agent, order.incarnation, order.message_id, evidence, queued)

    async def _type(self, agent: Agent, order: Deliver) -> str:
        """Type the text and submit it; returns the evidence that it arrived, raises NotTyped."""
        if order.until is not None and self._clock.now().at > order.until:
            raise NotTyped("the texts before it took too long")
        prompt = self._screens.prompt(agent, order.text)
        if prompt.problem:
            raise NotTyped(prompt.problem)
        line = InputLine(agent, self._terminal, self._screens, self._clock)
        sending = Sending(agent, order, prompt, line, self._clock.now().at)
        await self._clearance.wait_until_free(sending)
        sending.transcript_end = await self._transcripts.end(agent)
        self._awaited[order.agent] = sending
        sending.pasted_wall = self._clock.now().wall
        self._clearance.pasted(order.agent, prompt.text)
        pasted = await self._terminal.paste(order.agent, prompt.text)
        sending.prompt = self._screens.prompt(agent, pasted)
        sending.began = self._clock.now().at
        if prompt.is_seen:
            return await self._submit_seen(sending)
        await self._terminal.press_enter(order.agent)
        return await (self._heard_of(sending) if agent.hooks_seen else self._read_by_its_program(sending))

    # --- where the screen shows the input line -----------------------------------------------------------------------

    async def _submit_seen(self, sending: Sending) -> str:
        """Press Enter only on what was seen to stand in the input line: on a dialog it would be an answer."""
        line = await self._appearance(sending)
        await self._terminal.press_enter(sending.name)
        entered, again = self._clock.now().at, list(ENTER_AGAIN)
        gone_since: Instant | None = None
        while True:
            with anyio.move_on_after(LOOK_INTERVAL):
                await sending.arrived.wait()
                return TAKEN
            if sending.prompt.text in await self._transcripts.queued(sending.agent, sending.transcript_end):
                return QUEUED
            if sending.prompt.is_command and self._clearance.is_over(sending):
                return ENDED
            self._clearance.require_run(sending)
            waited = self._clock.now().at - entered
            is_due = bool(again) and waited >= again[0]
            no_hook_comes = sending.prompt.is_command or not sending.agent.hooks_seen
            if not no_hook_comes and not is_due and waited < GIVE_UP:
                continue
            stands = await sending.line.stands(line)
            if not stands and await sending.line.holds(sending.prompt.text):
                return QUEUED
            gone_since = None if stands else gone_since or self._clock.now().at
            if no_hook_comes and gone_since is not None and self._clock.now().at - gone_since >= SETTLES:
                return "its input line took it"
            if waited >= GIVE_UP:
                return await self._give_up(sending, line, stands)
            if is_due and stands and not sending.asked and not await self._clearance.is_interrupted(sending):
                again.pop(0)
                await self._terminal.press_enter(sending.name)

    async def _appearance(self, sending: Sending) -> str:
        """What the input line shows of the pasted text, once it does."""
        text = Appearance(sending.prompt.text)
        while True:
            self._clearance.require_run(sending)
            look = await sending.line.look()
            at = self._clock.now().at
            if sending.asked:
                raise NotTyped("it asks for a permission meanwhile; what was pasted was not submitted")
            if text.shows(look, at) and look.line:
                if await self._clearance.is_interrupted(sending):
                    raise NotTyped("somebody typed at its terminal meanwhile; what was pasted was not submitted")
                return look.line
            if look.dialog is not None and (again := await sending.line.look_twice()) and again.dialog is not None:
                words = f"a dialog opened meanwhile: {again.dialog}; what was pasted was not submitted"
                raise NotTyped(words, again.verdict)
            if at - sending.began > APPEARS_WITHIN:
                with suppress(TerminalFailed):
                    await self._terminal.discard_unread(sending.name)
                raise NotTyped(f"what was pasted did not appear within {APPEARS_WITHIN:.0f} s; it was not submitted")
            await sending.line.pause(LOOK_INTERVAL / 2)

    async def _give_up(self, sending: Sending, line: str, stands: bool) -> str:
        """Take back what was not submitted; returns the evidence where it was submitted after all."""
        if not stands:
            raise NotTyped(f"it left the input line, but within {GIVE_UP:.0f} s neither hook nor transcript told of it")
        if sending.asked or await self._clearance.is_interrupted(sending):
            raise NotTyped("it stands in the input line, unsent")
        # A program that was slow would come to the Enters later.
        await self._terminal.discard_unread(sending.name)
        if not await sending.line.clear():
            raise NotTyped("it stands in the input line, unsent")
        with anyio.move_on_after(LAST_WORD):
            await sending.arrived.wait()
            return TAKEN
        raise NotTyped(f"Enter was not taken within {GIVE_UP:.0f} s; the text was taken out of the input line again")

    # --- where it does not -------------------------------------------------------------------------------------------

    async def _heard_of(self, sending: Sending) -> str:
        """Wait for the hook, with Enter again in between."""
        for after in (*ENTER_AGAIN_UNSEEN, GIVE_UP):
            with anyio.move_on_after(max(0.0, sending.began + after - self._clock.now().at)):
                await sending.arrived.wait()
                return TAKEN
            self._clearance.require_run(sending)
            if after != GIVE_UP and not sending.asked and not await self._clearance.is_interrupted(sending):
                await self._terminal.press_enter(sending.name)
        taken_back = await self._take_back_unread(sending)
        raise NotTyped(f"its hooks did not tell within {GIVE_UP:.0f} s that it took the prompt{taken_back}")

    async def _read_by_its_program(self, sending: Sending) -> str:
        """Without hooks, the receipt is that the program has read all that was typed."""
        emptied = 0
        while self._clock.now().at - sending.began < GIVE_UP:
            if self._clearance.is_over(sending):
                return ENDED
            unread = await self._terminal.unread(sending.name)
            if unread is None:
                return "typed; this agent gives no receipt"
            emptied = emptied + 1 if unread == 0 else 0
            # Once might be before tmux has handed it over.
            if emptied == 2:
                return "its program read it, and gives no other receipt"
            await sending.line.pause()
        taken_back = await self._take_back_unread(sending)
        raise NotTyped(f"its program did not read what was typed within {GIVE_UP:.0f} s{taken_back}")

    async def _take_back_unread(self, sending: Sending) -> str:
        if not await self._terminal.unread(sending.name):
            return ""
        await self._terminal.discard_unread(sending.name)
        return "; it was taken back"
