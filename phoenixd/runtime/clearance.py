"""Whether a text may be typed into an agent now: not into another run's pane, not on a dialog, not between the keys of
a person, and not behind something that stands in the input line unsent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

import anyio

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.moment import Instant
from phoenixd.core.turn.liveness import stands_on_screen
from phoenixd.harness.prompts import Prompt
from phoenixd.ports import Clock
from phoenixd.ports.terminal import Terminal
from phoenixd.runtime.input_line import InputLine, is_of

FREE_WITHIN = 10.0
"""Seconds that are waited for a CLI to draw its input line, or for a person to stop typing."""
DRAFT_STAYS = 2.0
"""Seconds after which something unsent is no late frame but somebody's draft."""
PERSON_QUIET = 5.0
"""Seconds without a key after which a person at the terminal has stopped typing."""


ATTENDED = 60.0
"""Seconds without a key after which nobody sits at the terminal any more."""


def was_touched(typed: float | None, now: float) -> bool:
    """Whether a person sits there. typed: when the newest key came from a client; both in wall seconds."""
    return typed is not None and now - typed < ATTENDED


class NotTyped(Exception):
    """Why a text was not submitted. verdict: the dialog that was read from the screen, where that was why."""

    def __init__(self, why: str, verdict: str = "") -> None:
        super().__init__(why)
        self.verdict = verdict


@dataclass(slots=True)
class Sending:
    """One text under way. `arrived` is set by a hook that names it, `asked` when a dialog opens meanwhile."""

    agent: Agent
    order: Deliver
    prompt: Prompt
    line: InputLine
    began: Instant
    transcript_end: int = 0
    pasted_wall: float = 0.0
    arrived: anyio.Event = field(default_factory=anyio.Event)
    asked: bool = False

    @property
    def name(self) -> str:
        return self.order.agent

    @property
    def digest(self) -> str:
        return sha256(self.prompt.text.encode("utf-8", "surrogatepass")).hexdigest()


class Clearance:
    """Looks before anything is typed, and again before each Enter. All may raise NotTyped and TerminalFailed."""

    def __init__(self, terminal: Terminal, clock: Clock, find: Callable[[str], Agent | None]) -> None:
        self._terminal = terminal
        self._clock = clock
        self._find = find
        self._pasted: dict[str, str] = {}

    def pasted(self, agent: str, text: str) -> None:
        """Remember what was put into its input line, so that it can be taken out should it stay there."""
        self._pasted[agent] = text

    def taken(self, agent: str) -> None:
        """It was submitted: what stands there from now on is somebody else's."""
        self._pasted.pop(agent, None)

    async def wait_until_free(self, sending: Sending) -> None:
        """Wait for what passes: a late first frame, a person who types. Raises NotTyped for what does not."""
        while (obstacle := await self._obstacle(sending)) is not None:
            if self._clock.now().at - sending.began > FREE_WITHIN:
                raise NotTyped(obstacle)
            await sending.line.pause()

    async def _obstacle(self, sending: Sending) -> str | None:
        """What must pass before anything may be typed. The hooks may be late by a moment, so the pane is looked at."""
        waiting = self.require_run(sending).activity.waiting
        if waiting is not None and stands_on_screen(waiting):
            raise NotTyped(f"it asks: {waiting.kind}")
        now = self._clock.now()
        typed = await self._terminal.last_typed(sending.name)
        if typed is not None and now.wall - typed < PERSON_QUIET:
            return "somebody types at its terminal"
        if sending.prompt.is_seen and (small := await self._terminal.make_room(sending.name)):
            raise NotTyped(small)
        look = await sending.line.look()
        if look.dialog is not None:
            await sending.line.pause()
            if (again := await sending.line.look()).dialog is not None:
                raise NotTyped(f"a dialog is open on its screen: {again.dialog}", again.verdict)
            return "its screen is not to be made out"
        if not sending.prompt.is_seen or look.line == "":
            self.taken(sending.name)
            return None
        if look.line is None:
            return "no input line is to be seen on its screen"
        if typed is None and is_of(look.line, self._pasted.get(sending.name, "")) and await sending.line.clear():
            return "what was left in its input line is being taken out"
        if now.at - sending.began > DRAFT_STAYS:
            raise NotTyped("something unsent stands in its input line already")
        return "something unsent stands in its input line"

    def require_run(self, sending: Sending) -> Running:
        """The state of the run that the text is meant for: its pane may be another run's by now."""
        agent = self._find(sending.name)
        state = agent.state if agent is not None else None
        if not isinstance(state, Running) or state.run.incarnation != sending.order.incarnation:
            raise NotTyped("the run that it was meant for is over")
        return state

    def is_over(self, sending: Sending) -> bool:
        """Whether the run that the text is meant for has ended, or is being ended."""
        try:
            self.require_run(sending)
        except NotTyped:
            return True
        return False

    async def is_attended(self, name: str) -> bool:
        """Whether a person has touched the terminal lately: a menu there may be his own."""
        return was_touched(await self._terminal.last_typed(name), self._clock.now().wall)

    async def is_interrupted(self, sending: Sending) -> bool:
        """Whether a person has touched the terminal since the text was pasted."""
        typed = await self._terminal.last_typed(sending.name)
        return typed is not None and typed >= int(sending.pasted_wall)
