"""What stands in an agent's input line. Screens are redrawn late, so what counts is seen twice."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.agent import Agent
from phoenixd.core.dialogs import SCREEN_DIALOGS
from phoenixd.core.moment import Instant
from phoenixd.ports import Clock
from phoenixd.ports.terminal import Screens, Terminal

LOOK_INTERVAL = 0.1
STEADY = 0.3
"""Seconds for which a screen must show what is expected: a dialog may hide behind a frame of before."""
SETTLES = 0.5
"""Seconds after which a screen is believed that shows something else than what was expected."""
PLACEHOLDER = "[Pasted "
"""How all CLIs begin what they show in place of a long text."""
CLEARS = 50
"""Lines of a text that are taken away one by one, at most."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the screen. line: what stands unsent, None where no input line is to be seen. A menu of commands that
    what stands there could become is no dialog: the input line keeps the keyboard. verdict: the harness's word for what
    is there in place of an input line."""

    line: str | None
    dialog: str | None
    verdict: str = ""


class InputLine:
    """One agent's input line. All may raise TerminalFailed."""

    def __init__(self, agent: Agent, terminal: Terminal, screens: Screens, clock: Clock) -> None:
        self._agent = agent
        self._terminal = terminal
        self._screens = screens
        self._clock = clock

    async def look(self) -> Look:
        screen = await self._terminal.capture(self._agent.name)
        line = self._screens.input_line(self._agent, screen)
        if line is not None:
            return Look(line, None)
        verdict = self._screens.classify(self._agent, screen)
        return Look(None, SCREEN_DIALOGS.get(verdict), verdict)

    async def look_twice(self) -> Look | None:
        """What two looks agree upon; None where they do not."""
        first = await self.look()
        await self.pause()
        return first if await self.look() == first else None

    async def stands(self, line: str) -> bool:
        """Whether this, and nothing else, is to be seen there for a while."""
        since = self._clock.now().at
        while await self.look() == Look(line, None):
            if self._clock.now().at - since >= STEADY:
                return True
            await self.pause()
        return False

    async def holds(self, text: str) -> bool:
        """Whether the CLI shows that it has taken this text, and keeps it for its next step."""
        return self._screens.holds(self._agent, await self._terminal.capture(self._agent.name), text)

    async def clear(self) -> bool:
        """Take away what stands there; False when something stays, or something else has the keyboard."""
        for _ in range(CLEARS):
            look = await self.look_twice()
            if look is not None and look.line is None:
                return False
            # What a late frame does not show is taken away as well.
            await self._terminal.clear_line(self._agent.name)
            if await self.stands(""):
                return True
        return False

    async def pause(self, seconds: float = LOOK_INTERVAL) -> None:
        await self._clock.sleep_until(self._clock.now().at + seconds)


class Appearance:
    """Whether a pasted text has come to stand in an input line that was empty before."""

    def __init__(self, text: str) -> None:
        self._text = _squashed(text)
        self._line: str | None = None
        self._since: Instant = 0.0

    def shows(self, look: Look, at: Instant) -> bool:
        """Whether this look at this instant shows the text: as it is, or as what a CLI shows in its place."""
        line = look.line
        if line != self._line:
            self._line, self._since = line, at
        return bool(line) and at - self._since >= (STEADY if _squashed(line or "") == self._text else SETTLES)


def is_of(line: str, text: str) -> bool:
    """Whether what stands in an input line can be this text: whole, cut at one end, or what is shown in its place."""
    seen, whole = _squashed(line), _squashed(text)
    return bool(text) and (whole.startswith(seen) or whole.endswith(seen) or line.startswith(PLACEHOLDER))


def _squashed(text: str) -> str:
    """Without blanks: an input line wraps where its box ends."""
    return "".join(text.split())
